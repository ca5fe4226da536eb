package main

// Requests and answers as raw bytes over gRPC.

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sort"
	"strings"
	"time"

	_ "go.etcd.io/etcd/api/v3/etcdserverpb"
	_ "go.etcd.io/etcd/server/v3/etcdserver/api/v3election/v3electionpb"
	_ "go.etcd.io/etcd/server/v3/etcdserver/api/v3lock/v3lockpb"
	"google.golang.org/grpc"
	_ "google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"
)

const callTimeout = 15 * time.Second

// rawCodec passes message bytes through, so that answers are compared as sent.
type rawCodec struct{}

func (rawCodec) Marshal(v any) ([]byte, error) { return *v.(*[]byte), nil }
func (rawCodec) Name() string                  { return "" }
func (rawCodec) Unmarshal(data []byte, v any) error {
	*v.(*[]byte) = append([]byte{}, data...)
	return nil
}

// method is one RPC, found by the short name that scripts use.
type method struct {
	short string
	path  string
	desc  protoreflect.MethodDescriptor
}

var services = map[string]protoreflect.FullName{
	"KV": "etcdserverpb.KV", "Watch": "etcdserverpb.Watch", "Lease": "etcdserverpb.Lease",
	"Cluster": "etcdserverpb.Cluster", "Maintenance": "etcdserverpb.Maintenance",
	"Auth": "etcdserverpb.Auth", "Lock": "v3lockpb.Lock", "Election": "v3electionpb.Election",
	"Health": "grpc.health.v1.Health",
}

// lookup finds "KV.Range".
func lookup(short string) (method, error) {
	service, name, _ := strings.Cut(short, ".")
	full, ok := services[service]
	if !ok {
		return method{}, fmt.Errorf("no service %q", service)
	}
	found, err := protoregistry.GlobalFiles.FindDescriptorByName(full)
	if err != nil {
		return method{}, err
	}
	desc := found.(protoreflect.ServiceDescriptor).Methods().ByName(protoreflect.Name(name))
	if desc == nil {
		return method{}, fmt.Errorf("no method %q", short)
	}
	return method{short: short, path: fmt.Sprintf("/%s/%s", full, name), desc: desc}, nil
}

// answer is all that a client sees of one unary call.
type answer struct {
	body    []byte
	err     error
	header  metadata.MD
	trailer metadata.MD
}

// call sends one request; timeout 0 means the usual one.
func (s *side) call(ctx context.Context, m method, request []byte) answer {
	var a answer
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	a.err = s.conn.Invoke(ctx, m.path, &request, &a.body, grpc.ForceCodec(rawCodec{}),
		grpc.Header(&a.header), grpc.Trailer(&a.trailer), grpc.WaitForReady(true))
	return a
}

// stream is an open streaming call with everything received so far.
type stream struct {
	m        method
	call     grpc.ClientStream
	cancel   context.CancelFunc
	messages chan []byte
	ended    chan error
}

func (s *side) open(ctx context.Context, m method) (*stream, error) {
	ctx, cancel := context.WithCancel(ctx)
	desc := &grpc.StreamDesc{ServerStreams: true, ClientStreams: m.desc.IsStreamingClient()}
	call, err := s.conn.NewStream(ctx, desc, m.path, grpc.ForceCodec(rawCodec{}),
		grpc.WaitForReady(true))
	if err != nil {
		cancel()
		return nil, err
	}
	st := &stream{m: m, call: call, cancel: cancel, messages: make(chan []byte, 1<<16),
		ended: make(chan error, 1)}
	go st.pump()
	return st, nil
}

func (st *stream) pump() {
	for {
		var body []byte
		if err := st.call.RecvMsg(&body); err != nil {
			st.ended <- err
			close(st.messages)
			return
		}
		st.messages <- body
	}
}

func (st *stream) send(body []byte) error { return st.call.SendMsg(&body) }

// next waits for one message. It returns nil when none came in time or the stream ended.
func (st *stream) next(wait time.Duration) []byte {
	timer := time.NewTimer(wait)
	defer timer.Stop()
	select {
	case body, ok := <-st.messages:
		if !ok {
			return nil
		}
		if body == nil {
			body = []byte{}
		}
		return body
	case <-timer.C:
		return nil
	}
}

// statusLine shows code and text; a clean end is OK.
func statusLine(err error) string {
	if err == nil || errors.Is(err, io.EOF) {
		return "OK"
	}
	st := status.Convert(err)
	line := fmt.Sprintf("%s %q", st.Code(), plainBlank(st.Message()))
	if len(st.Details()) > 0 {
		line += fmt.Sprintf(" details %v", st.Details())
	}
	return line
}

// metadataLine shows header or trailer fields in a fixed order.
func metadataLine(md metadata.MD) string {
	var parts []string
	for key, values := range md {
		parts = append(parts, fmt.Sprintf("%s=%s", key, strings.Join(values, ",")))
	}
	sort.Strings(parts)
	return strings.Join(parts, " ")
}

// plainBlank undoes Go's protobuf library, which writes a blank or a no-break space into its error
// texts, by a coin thrown at build time.
func plainBlank(text string) string {
	return strings.ReplaceAll(strings.ReplaceAll(text, "\u00a0", " "), "%C2%A0", " ")
}
