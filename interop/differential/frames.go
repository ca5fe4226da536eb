package main

// Hand-made HTTP/2 for what no gRPC client would send: one connection, one broken request, then a
// good one to see that the connection still serves.

import (
	"bytes"
	"compress/gzip"
	"encoding/binary"
	"fmt"
	"io"
	"net"
	"sort"
	"strings"
	"time"

	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"
)

// exchange is one request made of raw parts.
type exchange struct {
	headers [][2]string
	body    []byte
	open    bool // the client does not end its side of the stream
}

// method is what the answer is read as: that of the path, or Range if there is none.
func (e exchange) method() method {
	for _, h := range e.headers {
		if m, err := lookupPath(h[1]); h[0] == ":path" && err == nil {
			return m
		}
	}
	m, err := lookup("KV.Range")
	if err != nil {
		panic(err)
	}
	return m
}

// frameConn is a client connection that speaks frames.
type frameConn struct {
	net.Conn
	framer  *http2.Framer
	encoded bytes.Buffer
	encoder *hpack.Encoder
}

func dialFrames(address string) (*frameConn, error) {
	conn, err := net.Dial("tcp", address)
	if err != nil {
		return nil, err
	}
	c := &frameConn{Conn: conn, framer: http2.NewFramer(conn, conn)}
	c.framer.ReadMetaHeaders = hpack.NewDecoder(4096, nil)
	c.framer.AllowIllegalWrites = true
	c.encoder = hpack.NewEncoder(&c.encoded)
	if _, err := io.WriteString(conn, http2.ClientPreface); err != nil {
		return nil, err
	}
	if err := c.framer.WriteSettings(); err != nil {
		return nil, err
	}
	return c, nil
}

// write sends one exchange on a stream.
func (c *frameConn) write(stream uint32, e exchange) error {
	c.encoded.Reset()
	for _, h := range e.headers {
		c.encoder.WriteField(hpack.HeaderField{Name: h[0], Value: h[1]})
	}
	block := c.encoded.Bytes()
	first := block[:min(len(block), 16000)]
	err := c.framer.WriteHeaders(http2.HeadersFrameParam{StreamID: stream, BlockFragment: first,
		EndStream: len(e.body) == 0 && !e.open, EndHeaders: len(first) == len(block)})
	for rest := block[len(first):]; err == nil && len(rest) > 0; {
		part := rest[:min(len(rest), 16000)]
		rest = rest[len(part):]
		err = c.framer.WriteContinuation(stream, len(rest) == 0, part)
	}
	for rest := e.body; err == nil && len(rest) > 0; {
		part := rest[:min(len(rest), 16000)]
		rest = rest[len(part):]
		err = c.framer.WriteData(stream, len(rest) == 0 && !e.open, part)
	}
	return err
}

// read shows what the server answers on a stream until it ends, is reset, or nothing comes.
func (c *frameConn) read(p *player, stream uint32, m method) {
	var data []byte
	sawHeaders := false
	for {
		c.SetReadDeadline(time.Now().Add(receiveTimeout / 2))
		frame, err := c.framer.ReadFrame()
		if err != nil {
			c.messages(p, m, data)
			p.say("", "connection: %s", connectionEnd(err))
			return
		}
		switch f := frame.(type) {
		case *http2.GoAwayFrame:
			p.say("", "GOAWAY %s %q", f.ErrCode, f.DebugData())
			return
		case *http2.SettingsFrame:
			if !f.IsAck() {
				c.framer.WriteSettingsAck()
			}
		case *http2.RSTStreamFrame:
			if f.StreamID == stream {
				p.say("H2 reset", "RST_STREAM %s", f.ErrCode)
				return
			}
		case *http2.DataFrame:
			data = append(data, f.Data()...)
			if f.StreamEnded() {
				c.messages(p, m, data)
				p.say("", "end of stream in DATA")
				return
			}
		case *http2.MetaHeadersFrame:
			if f.StreamID != stream {
				continue
			}
			if sawHeaders || f.StreamEnded() {
				c.messages(p, m, data)
			}
			c.fields(p, f, sawHeaders)
			sawHeaders = true
			if f.StreamEnded() {
				return
			}
		}
	}
}

func (c *frameConn) fields(p *player, f *http2.MetaHeadersFrame, trailers bool) {
	kind := "header"
	if trailers {
		kind = "trailer"
	}
	var lines []string
	for _, h := range f.Fields {
		if h.Name == "date" {
			continue
		}
		lines = append(lines, fmt.Sprintf("%s %s: %s", kind, h.Name,
			plainBlank(strings.ReplaceAll(h.Value, p.s.h2Via, "<address>"))))
	}
	sort.Strings(lines)
	for _, text := range lines {
		name, _, _ := strings.Cut(strings.TrimPrefix(text, kind+" "), ": ")
		p.say("H2 "+kind+" "+name, "%s", text)
	}
}

// messages shows gRPC frames, or a body that is none.
func (c *frameConn) messages(p *player, m method, data []byte) {
	for len(data) > 0 {
		if len(data) < 5 || len(data)-5 < int(binary.BigEndian.Uint32(data[1:5])) {
			p.say("H2 body", "body: %q", data)
			return
		}
		size := int(binary.BigEndian.Uint32(data[1:5]))
		p.say("H2 body", "message with flag %d", data[0])
		p.message(m, plainBody(data[0], data[5:5+size]), "")
		data = data[5+size:]
	}
}

// plainBody undoes gzip: the compressed bytes may differ, what they say may not.
func plainBody(flag byte, body []byte) []byte {
	if flag == 0 {
		return body
	}
	reader, err := gzip.NewReader(bytes.NewReader(body))
	if err != nil {
		return body
	}
	plain, err := io.ReadAll(reader)
	if err != nil {
		return body
	}
	return plain
}

// connectionEnd names the two ways in which a connection says nothing more.
func connectionEnd(err error) string {
	if timeout, ok := err.(net.Error); ok && timeout.Timeout() {
		return "silent"
	}
	return "closed"
}

// framed puts gRPC's 5-byte prefix before a message.
func framed(flag byte, message []byte) []byte {
	out := []byte{flag, 0, 0, 0, 0}
	binary.BigEndian.PutUint32(out[1:], uint32(len(message)))
	return append(out, message...)
}

// converse sends one exchange, shows the answer, then a good request on the same connection.
func converse(p *player, e exchange) {
	good := goodExchange()
	c, err := dialFrames(p.s.h2Via)
	if err != nil {
		p.say("", "dial: %v", err)
		return
	}
	defer c.Close()
	if err := c.write(1, e); err != nil {
		p.say("", "write: %v", err)
	}
	c.read(p, 1, e.method())
	p.say("", "> then a good request")
	c.write(3, good)
	c.read(p, 3, good.method())
}
