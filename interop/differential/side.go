package main

// One of the two servers under comparison: its process, its addresses and what it calls things.

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"go.etcd.io/etcd/api/v3/etcdserverpb"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
)

// Both members are told the same advertised peer URL and token, so both must compute the same ids.
const peerURL = "http://127.0.0.1:2380"

const startTimeout = 30 * time.Second

// side is one running server with the connection that all cases of a run use.
type side struct {
	name    string
	folder  string
	process *exec.Cmd
	exited  chan error
	client  string // host:port of the client listener
	peer    string
	grpcVia string // address that gRPC requests go to: a proxy in the self-test
	httpVia string // the same for HTTP/1
	h2Via   string // the same for hand-made HTTP/2 frames
	conn    *grpc.ClientConn
	member  uint64
	cluster uint64
}

// launch starts a server given as a command line (program and leading arguments) and waits until it
// answers a linearizable read.
func launch(name, command, scratch string, extra []string) (*side, error) {
	folder, err := os.MkdirTemp(scratch, name+"-")
	if err != nil {
		return nil, err
	}
	s := &side{name: name, folder: folder, exited: make(chan error, 1)}
	if err := s.ports(); err != nil {
		return nil, err
	}
	words := strings.Fields(command)
	args := append(words[1:], "--name=differential", "--data-dir="+filepath.Join(folder, "data"),
		"--listen-client-urls=http://"+s.client, "--advertise-client-urls=http://"+s.client,
		"--listen-peer-urls=http://"+s.peer, "--initial-advertise-peer-urls="+peerURL,
		"--initial-cluster=differential="+peerURL, "--initial-cluster-token=differential")
	s.process = exec.Command(words[0], append(args, extra...)...)
	log, err := os.Create(filepath.Join(folder, "log"))
	if err != nil {
		return nil, err
	}
	defer log.Close()
	s.process.Stdout, s.process.Stderr = log, log
	if err := s.process.Start(); err != nil {
		return nil, fmt.Errorf("start %s: %w", name, err)
	}
	go func() { s.exited <- s.process.Wait() }()
	s.grpcVia, s.httpVia, s.h2Via = s.client, s.client, s.client
	if err := s.connect(); err != nil {
		s.stop()
		return nil, err
	}
	return s, nil
}

func (s *side) ports() error {
	for _, address := range []*string{&s.client, &s.peer} {
		listener, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			return err
		}
		defer listener.Close()
		*address = listener.Addr().String()
	}
	return nil
}

// connect opens the run's connection and learns the server's ids.
func (s *side) connect() error {
	conn, err := grpc.NewClient("passthrough:///"+s.grpcVia,
		grpc.WithTransportCredentials(insecure.NewCredentials()), grpc.WithDisableServiceConfig(),
		grpc.WithDefaultCallOptions(grpc.MaxCallRecvMsgSize(1<<30), grpc.MaxCallSendMsgSize(1<<30)))
	if err != nil {
		return err
	}
	s.conn = conn
	deadline := time.Now().Add(startTimeout)
	for {
		ctx, cancel := context.WithTimeout(context.Background(), 2*time.Second)
		answer, err := etcdserverpb.NewKVClient(conn).Range(ctx, &etcdserverpb.RangeRequest{
			Key: []byte("k"),
		}, grpc.WaitForReady(true))
		cancel()
		if err == nil {
			s.member, s.cluster = answer.Header.MemberId, answer.Header.ClusterId
			return nil
		}
		select {
		case err := <-s.exited:
			s.exited <- err
			return fmt.Errorf("%s ended while starting: %v\n%s", s.name, err, s.logTail())
		default:
		}
		if time.Now().After(deadline) {
			return fmt.Errorf("%s answers nothing: %w\n%s", s.name, err, s.logTail())
		}
	}
}

func (s *side) logTail() string {
	text, _ := os.ReadFile(filepath.Join(s.folder, "log"))
	return string(text[max(0, len(text)-2000):])
}

// crashed tells whether the process has ended by itself.
func (s *side) crashed() error {
	select {
	case err := <-s.exited:
		s.exited <- err
		return fmt.Errorf("%s has ended: %v\n%s", s.name, err, s.logTail())
	default:
		return nil
	}
}

// stop ends the process that launch started, and removes its folder.
func (s *side) stop() {
	if s.conn != nil {
		s.conn.Close()
	}
	if err := s.process.Process.Signal(syscall.SIGTERM); !errors.Is(err, os.ErrProcessDone) {
		select {
		case <-s.exited:
		case <-time.After(5 * time.Second):
			s.process.Process.Kill()
			<-s.exited
		}
	}
	os.RemoveAll(s.folder)
}

// pair is the two servers that get the same requests.
type pair struct {
	oracle, subject *side
}

func (p pair) sides() []*side { return []*side{p.oracle, p.subject} }

func (p pair) stop() {
	for _, s := range p.sides() {
		s.stop()
	}
}

// launchPair starts both servers at the same time.
func launchPair(o options, extra []string) (pair, error) {
	type result struct {
		side *side
		err  error
	}
	second := make(chan result, 1)
	go func() {
		s, err := launch("subject", o.subject, o.scratch, extra)
		second <- result{s, err}
	}()
	first, err := launch("oracle", o.oracle, o.scratch, extra)
	other := <-second
	if err == nil && other.err == nil {
		return pair{first, other.side}, nil
	}
	for _, s := range []*side{first, other.side} {
		if s != nil {
			s.stop()
		}
	}
	return pair{}, errors.Join(err, other.err)
}
