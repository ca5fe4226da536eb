// Command go drives etcd's own Go client, unmodified, against a server: reads and writes, transactions,
// watches and leases across restarts, locks, elections, namespaces and naming. SERVER is the command
// line of the server.
package main

import (
	"context"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
)

const startTimeout = 30 * time.Second

// server is the process under test; a restart keeps its data and its ports.
type server struct {
	words   []string
	folder  string
	client  string
	peer    string
	process *exec.Cmd
}

func newServer(command string) (*server, error) {
	folder, err := os.MkdirTemp("", "interop-go-")
	if err != nil {
		return nil, err
	}
	s := &server{words: strings.Fields(command), folder: folder}
	for _, address := range []*string{&s.client, &s.peer} {
		listener, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			return nil, err
		}
		defer listener.Close()
		*address = listener.Addr().String()
	}
	return s, nil
}

// start runs the process and waits until it answers.
func (s *server) start() error {
	log, err := os.OpenFile(filepath.Join(s.folder, "log"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	defer log.Close()
	s.process = exec.Command(s.words[0], append(s.words[1:],
		"--name=interop", "--data-dir="+filepath.Join(s.folder, "data"),
		"--listen-client-urls=http://"+s.client, "--advertise-client-urls=http://"+s.client,
		"--listen-peer-urls=http://"+s.peer, "--initial-advertise-peer-urls=http://"+s.peer,
		"--initial-cluster=interop=http://"+s.peer)...)
	s.process.Stdout, s.process.Stderr = log, log
	if err := s.process.Start(); err != nil {
		return err
	}
	client, err := s.dial()
	if err != nil {
		return err
	}
	defer client.Close()
	ctx, cancel := context.WithTimeout(context.Background(), startTimeout)
	defer cancel()
	for {
		attempt, done := context.WithTimeout(ctx, 2*time.Second)
		_, err := client.Get(attempt, "k")
		done()
		if err == nil {
			return nil
		}
		if ctx.Err() != nil {
			return fmt.Errorf("the server answers nothing: %w\n%s", err, s.log())
		}
	}
}

// kill ends the process without a chance to tidy up.
func (s *server) kill() {
	s.process.Process.Kill()
	s.process.Wait()
}

// stop asks the process to end.
func (s *server) stop() {
	s.process.Process.Signal(syscall.SIGTERM)
	s.process.Wait()
}

func (s *server) log() string {
	text, _ := os.ReadFile(filepath.Join(s.folder, "log"))
	return string(text[max(0, len(text)-2000):])
}

func (s *server) dial() (*clientv3.Client, error) {
	return clientv3.New(clientv3.Config{Endpoints: []string{s.client}, DialTimeout: 5 * time.Second})
}
