package main

import (
	"context"
	"fmt"
	"os"
	"strings"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
)

const checkTimeout = 40 * time.Second

// check is one named expectation; it gets an empty key space.
type check struct {
	name string
	run  func(*bench) error
}

// bench is what a check works with.
type bench struct {
	ctx    context.Context
	server *server
	client *clientv3.Client
}

func main() {
	command := os.Getenv("SERVER")
	if command == "" {
		fmt.Fprintln(os.Stderr, "SERVER must hold the command line of the server")
		os.Exit(2)
	}
	passed, failed, err := run(command)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		failed++
	}
	fmt.Printf("%d passed, %d failed\n", passed, failed)
	if failed > 0 {
		os.Exit(1)
	}
}

func run(command string) (passed, failed int, err error) {
	s, err := newServer(command)
	if err != nil {
		return 0, 0, err
	}
	defer os.RemoveAll(s.folder)
	if err := s.start(); err != nil {
		return 0, 0, err
	}
	defer s.stop()
	for _, group := range [][]check{dataChecks, watchChecks, leaseChecks, layerChecks} {
		for _, c := range group {
			if err := one(s, c); err != nil {
				failed++
				fmt.Printf("FAIL %s: %v\n", c.name, err)
				continue
			}
			passed++
		}
	}
	return passed, failed, nil
}

// one runs a check with a client of its own on an emptied key space.
func one(s *server, c check) error {
	client, err := s.dial()
	if err != nil {
		return err
	}
	defer client.Close()
	ctx, cancel := context.WithTimeout(context.Background(), checkTimeout)
	defer cancel()
	if _, err := client.Delete(ctx, "", clientv3.WithFromKey()); err != nil {
		return fmt.Errorf("empty the key space: %w", err)
	}
	return c.run(&bench{ctx: ctx, server: s, client: client})
}

// same compares what was got with what was wanted.
func same(what string, got, want any) error {
	if fmt.Sprint(got) != fmt.Sprint(want) {
		return fmt.Errorf("%s is %v, not %v", what, got, want)
	}
	return nil
}

// all returns the first failure.
func all(results ...error) error {
	for _, err := range results {
		if err != nil {
			return err
		}
	}
	return nil
}

// keysOf lists "key=value" of an answer.
func keysOf(answer *clientv3.GetResponse) string {
	var parts []string
	for _, kv := range answer.Kvs {
		parts = append(parts, string(kv.Key)+"="+string(kv.Value))
	}
	return strings.Join(parts, " ")
}
