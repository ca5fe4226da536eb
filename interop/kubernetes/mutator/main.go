// Mutator is a gRPC proxy in front of a store that makes it faulty on purpose, so that the drive
// can show that it notices: it drops watch events, or removes the compares of transactions.
// It passes everything through until SIGUSR1: a control plane that never comes up shows nothing
// about the scenario that must notice.
//
//	mutator LISTEN TARGET drop-event|ignore-compare
package main

import (
	"fmt"
	"io"
	"net"
	"os"
	"os/signal"
	"sync/atomic"
	"syscall"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
)

// frame is a message as it came off the wire.
type frame struct{ data []byte }

// raw passes frames through without looking into them.
type raw struct{}

func (raw) Name() string { return "proto" }

func (raw) Marshal(v any) ([]byte, error) { return v.(*frame).data, nil }

func (raw) Unmarshal(data []byte, v any) error {
	v.(*frame).data = append([]byte(nil), data...)
	return nil
}

type proxy struct {
	target *grpc.ClientConn
	mutant string
	armed  atomic.Bool
	events atomic.Int64
}

// mutates says whether this mutant is at work.
func (p *proxy) mutates(mutant string) bool {
	return p.mutant == mutant && p.armed.Load()
}

func (p *proxy) handle(_ any, in grpc.ServerStream) error {
	method, _ := grpc.MethodFromServerStream(in)
	ctx := in.Context()
	if md, ok := metadata.FromIncomingContext(ctx); ok {
		ctx = metadata.NewOutgoingContext(ctx, md.Copy())
	}
	desc := &grpc.StreamDesc{ServerStreams: true, ClientStreams: true}
	out, err := p.target.NewStream(ctx, desc, method)
	if err != nil {
		return err
	}
	go func() {
		for {
			f := &frame{}
			if err := in.RecvMsg(f); err != nil {
				_ = out.CloseSend()
				return
			}
			if method == "/etcdserverpb.KV/Txn" && p.mutates("ignore-compare") {
				f.data = withoutCompares(f.data)
			}
			if out.SendMsg(f) != nil {
				return
			}
		}
	}()
	for {
		f := &frame{}
		if err := out.RecvMsg(f); err == io.EOF {
			return nil
		} else if err != nil {
			in.SetTrailer(out.Trailer())
			return err
		}
		if method == "/etcdserverpb.Watch/Watch" && p.mutates("drop-event") {
			f.data = p.withoutSomeEvents(f.data)
		}
		if err := in.SendMsg(f); err != nil {
			return err
		}
	}
}

func withoutCompares(data []byte) []byte {
	req := &pb.TxnRequest{}
	if proto.Unmarshal(data, req) != nil {
		return data
	}
	req.Compare = nil
	return mustMarshal(req)
}

// withoutSomeEvents drops one event in twenty.
func (p *proxy) withoutSomeEvents(data []byte) []byte {
	resp := &pb.WatchResponse{}
	if proto.Unmarshal(data, resp) != nil || len(resp.Events) == 0 {
		return data
	}
	kept := resp.Events[:0]
	for _, event := range resp.Events {
		if p.events.Add(1)%20 != 0 {
			kept = append(kept, event)
		}
	}
	resp.Events = kept
	return mustMarshal(resp)
}

func mustMarshal(m proto.Message) []byte {
	data, err := proto.Marshal(m)
	if err != nil {
		panic(err)
	}
	return data
}

func main() {
	if len(os.Args) != 4 {
		fmt.Fprintln(os.Stderr, "usage: mutator LISTEN TARGET drop-event|ignore-compare")
		os.Exit(2)
	}
	const most = 1 << 30
	target, err := grpc.NewClient(
		"passthrough:///"+os.Args[2],
		grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithDefaultCallOptions(grpc.ForceCodec(raw{}), grpc.MaxCallRecvMsgSize(most), grpc.MaxCallSendMsgSize(most)),
	)
	if err != nil {
		fmt.Fprintln(os.Stderr, "mutator:", err)
		os.Exit(1)
	}
	listener, err := net.Listen("tcp", os.Args[1])
	if err != nil {
		fmt.Fprintln(os.Stderr, "mutator:", err)
		os.Exit(1)
	}
	p := &proxy{target: target, mutant: os.Args[3]}
	arm := make(chan os.Signal, 1)
	signal.Notify(arm, syscall.SIGUSR1)
	go func() {
		<-arm
		p.armed.Store(true)
	}()
	unknown := func(srv any, stream grpc.ServerStream) error {
		err := p.handle(srv, stream)
		if err != nil && status.Code(err) == codes.Unknown {
			return status.Error(codes.Unavailable, err.Error())
		}
		return err
	}
	server := grpc.NewServer(
		grpc.ForceServerCodec(raw{}),
		grpc.UnknownServiceHandler(unknown),
		grpc.MaxRecvMsgSize(most),
		grpc.MaxSendMsgSize(most),
	)
	if err := server.Serve(listener); err != nil {
		fmt.Fprintln(os.Stderr, "mutator:", err)
		os.Exit(1)
	}
}
