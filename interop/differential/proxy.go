package main

// The three in-process proxies of the self-test: gRPC, HTTP/1, and HTTP/2 frames.

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httputil"
	"net/url"
	"strconv"
	"strings"

	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
)

// interpose puts the proxies before a running server.
func interpose(s *side, m *mutation) error {
	listen := func() (net.Listener, error) { return net.Listen("tcp", "127.0.0.1:0") }
	grpcListener, err := listen()
	if err != nil {
		return err
	}
	httpListener, err := listen()
	if err != nil {
		return err
	}
	h2Listener, err := listen()
	if err != nil {
		return err
	}
	proxy := grpcProxy{backend: s.conn, mutation: m}
	server := grpc.NewServer(grpc.ForceServerCodec(rawCodec{}), grpc.MaxRecvMsgSize(1<<30),
		grpc.UnknownServiceHandler(proxy.handle))
	go server.Serve(grpcListener)
	go http.Serve(httpListener, httpProxy(s.client, m))
	go frameProxy(h2Listener, s.client, m)
	s.grpcVia = grpcListener.Addr().String()
	s.httpVia = httpListener.Addr().String()
	s.h2Via = h2Listener.Addr().String()
	return s.connect()
}

type grpcProxy struct {
	backend  *grpc.ClientConn
	mutation *mutation
}

// handle forwards one call of any kind.
func (p grpcProxy) handle(_ any, up grpc.ServerStream) error {
	path, _ := grpc.MethodFromServerStream(up)
	rpc, err := lookupPath(path)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(up.Context())
	defer cancel()
	if md, ok := metadata.FromIncomingContext(ctx); ok {
		md = md.Copy()
		for _, key := range []string{":authority", "content-type", "user-agent", "te"} {
			delete(md, key)
		}
		ctx = metadata.NewOutgoingContext(ctx, md)
	}
	desc := &grpc.StreamDesc{ServerStreams: true, ClientStreams: true}
	down, err := p.backend.NewStream(ctx, desc, path, grpc.ForceCodec(rawCodec{}))
	if err != nil {
		return err
	}
	go func() {
		for {
			var body []byte
			if err := up.RecvMsg(&body); err != nil {
				if errors.Is(err, io.EOF) {
					down.CloseSend()
				} else {
					cancel()
				}
				return
			}
			down.SendMsg(&body)
		}
	}()
	return p.answers(rpc, up, down)
}

func (p grpcProxy) answers(rpc method, up grpc.ServerStream, down grpc.ClientStream) error {
	for {
		var body []byte
		err := down.RecvMsg(&body)
		if err != nil {
			return p.end(rpc, up, down, err)
		}
		body = p.mutation.message(rpc, body)
		if p.mutation.take(rpc.short + " header-metadata") {
			up.SetHeader(metadata.Pairs("x-changed", "1"))
		}
		if p.mutation.take(rpc.short + " message") {
			continue // a lost message
		}
		if p.mutation.take(rpc.short + " duplicate") {
			up.SendMsg(&body)
		}
		if err := up.SendMsg(&body); err != nil {
			return err
		}
	}
}

func (p grpcProxy) end(rpc method, up grpc.ServerStream, down grpc.ClientStream, err error) error {
	trailer := down.Trailer().Copy()
	delete(trailer, "content-type")
	up.SetTrailer(trailer)
	if p.mutation.take(rpc.short + " trailer-metadata") {
		up.SetTrailer(metadata.Pairs("x-changed", "1"))
	}
	ended := status.Convert(err)
	if errors.Is(err, io.EOF) {
		ended = status.New(codes.OK, "")
	}
	if p.mutation.take(rpc.short + " status") {
		return status.Error(ended.Code()%16+1, ended.Message())
	}
	if ended.Code() != codes.OK && p.mutation.take(rpc.short+" text") {
		return status.Error(ended.Code(), ended.Message()+"x")
	}
	return ended.Err()
}

func lookupPath(path string) (method, error) {
	full, name, _ := strings.Cut(strings.TrimPrefix(path, "/"), "/")
	for short, service := range services {
		if string(service) == full {
			return lookup(short + "." + name)
		}
	}
	return method{}, status.Error(codes.Unimplemented, "unknown service "+full)
}

func httpProxy(address string, m *mutation) http.Handler {
	proxy := httputil.NewSingleHostReverseProxy(&url.URL{Scheme: "http", Host: address})
	proxy.ModifyResponse = func(r *http.Response) error {
		for key := range r.Header {
			if m.take("HTTP header " + key) {
				r.Header.Set(key, "1"+r.Header.Get(key))
			}
		}
		if m.take("HTTP status") {
			r.StatusCode++
		}
		if m.take("HTTP body") {
			body, err := io.ReadAll(r.Body)
			r.Body = io.NopCloser(bytes.NewReader(append(body, 'x')))
			r.ContentLength = int64(len(body) + 1)
			r.Header.Set("Content-Length", strconv.Itoa(len(body)+1))
			return err
		}
		return nil
	}
	return proxy
}

// frameProxy copies what the client sends and rewrites the server's frames.
func frameProxy(listener net.Listener, address string, m *mutation) {
	for {
		client, err := listener.Accept()
		if err != nil {
			return
		}
		server, err := net.Dial("tcp", address)
		if err != nil {
			client.Close()
			continue
		}
		go func() {
			io.Copy(server, client)
			server.Close()
		}()
		go func() {
			defer client.Close()
			if err := rewrite(server, client, m); err != nil && !errors.Is(err, io.EOF) {
				return
			}
		}()
	}
}

func rewrite(server io.Reader, client io.Writer, m *mutation) error {
	in := http2.NewFramer(io.Discard, server)
	in.ReadMetaHeaders = hpack.NewDecoder(4096, nil)
	out := http2.NewFramer(client, nil)
	started := map[uint32]bool{}
	var block bytes.Buffer
	encoder := hpack.NewEncoder(&block)
	for {
		frame, err := in.ReadFrame()
		if err != nil {
			return err
		}
		switch f := frame.(type) {
		case *http2.MetaHeadersFrame:
			kind := "header"
			if started[f.StreamID] {
				kind = "trailer"
			}
			started[f.StreamID] = true
			block.Reset()
			for _, h := range f.Fields {
				if m.take(fmt.Sprintf("H2 %s %s", kind, h.Name)) {
					h.Value = changedHeader(h.Value)
				}
				encoder.WriteField(h)
			}
			err = out.WriteHeaders(http2.HeadersFrameParam{StreamID: f.StreamID, EndHeaders: true,
				BlockFragment: block.Bytes(), EndStream: f.StreamEnded()})
		case *http2.DataFrame:
			data := append([]byte{}, f.Data()...)
			if len(data) > 0 && m.take("H2 body") {
				data[0] ^= 1
			}
			err = out.WriteData(f.StreamID, f.StreamEnded(), data)
		case *http2.RSTStreamFrame:
			code := f.ErrCode
			if m.take("H2 reset") {
				code++
			}
			err = out.WriteRSTStream(f.StreamID, code)
		default:
			err = copyFrame(out, frame)
		}
		if err != nil {
			return err
		}
	}
}

func copyFrame(out *http2.Framer, frame http2.Frame) error {
	switch f := frame.(type) {
	case *http2.SettingsFrame:
		if f.IsAck() {
			return out.WriteSettingsAck()
		}
		var settings []http2.Setting
		f.ForeachSetting(func(s http2.Setting) error {
			settings = append(settings, s)
			return nil
		})
		return out.WriteSettings(settings...)
	case *http2.WindowUpdateFrame:
		return out.WriteWindowUpdate(f.StreamID, f.Increment)
	case *http2.PingFrame:
		return out.WritePing(f.IsAck(), f.Data)
	case *http2.GoAwayFrame:
		return out.WriteGoAway(f.LastStreamID, f.ErrCode, f.DebugData())
	}
	return nil
}

// changedHeader keeps numbers numbers, so that the client still reads the frame.
func changedHeader(value string) string {
	if n, err := strconv.Atoi(value); err == nil {
		return strconv.Itoa(n + 1)
	}
	return value + "x"
}
