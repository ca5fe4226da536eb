package main

// Transport rows: paths, methods, content types, encodings, deadlines, lengths and odd headers.

import "strings"

var goodMessage = []byte("\n\x01a") // RangeRequest{key: "a"}

func goodHeaders() [][2]string {
	return [][2]string{
		{":method", "POST"}, {":scheme", "http"}, {":path", "/etcdserverpb.KV/Range"},
		{":authority", "localhost"}, {"content-type", "application/grpc"}, {"te", "trailers"},
	}
}

func goodExchange() exchange {
	return exchange{headers: goodHeaders(), body: framed(0, goodMessage)}
}

// with changes, adds or (value "-") drops header fields of a good request: "name=value".
func with(changes ...string) [][2]string {
	headers := goodHeaders()
	for _, change := range changes {
		name, value, _ := strings.Cut(change, "=")
		at := -1
		for i, h := range headers {
			if h[0] == name {
				at = i
			}
		}
		switch {
		case value == "-":
			headers = append(headers[:at], headers[at+1:]...)
		case at >= 0:
			headers[at][1] = value
		default:
			headers = append(headers, [2]string{name, value})
		}
	}
	return headers
}

// headerRows change the header of a good Range request.
var headerRows = []struct {
	name    string
	changes []string
}{
	{"unknown service", []string{":path=/etcdserverpb.Nothing/Range"}},
	{"unknown method", []string{":path=/etcdserverpb.KV/Nothing"}},
	{"method in lower case", []string{":path=/etcdserverpb.KV/range"}},
	{"package missing", []string{":path=/KV/Range"}},
	{"path without method", []string{":path=/etcdserverpb.KV"}},
	{"path is a slash", []string{":path=/"}},
	{"path without slash", []string{":path=etcdserverpb.KV/Range"}},
	{"path with trailing slash", []string{":path=/etcdserverpb.KV/Range/"}},
	{"path with query", []string{":path=/etcdserverpb.KV/Range?x=1"}},
	{"path of an http handler", []string{":path=/health"}},
	{"method GET", []string{":method=GET"}},
	{"method PUT", []string{":method=PUT"}},
	{"method OPTIONS", []string{":method=OPTIONS"}},
	{"content type json", []string{"content-type=application/json"}},
	{"content type missing", []string{"content-type=-"}},
	{"content type empty", []string{"content-type="}},
	{"content type grpc+proto", []string{"content-type=application/grpc+proto"}},
	{"content type grpc+json", []string{"content-type=application/grpc+json"}},
	{"content type grpc with parameter", []string{"content-type=application/grpc;charset=utf-8"}},
	{"content type grpcx", []string{"content-type=application/grpcx"}},
	{"content type grpc-web", []string{"content-type=application/grpc-web"}},
	{"content type text", []string{"content-type=text/plain"}},
	{"content type in upper case", []string{"content-type=APPLICATION/GRPC"}},
	{"te missing", []string{"te=-"}},
	{"te gzip", []string{"te=gzip"}},
	{"scheme https", []string{":scheme=https"}},
	{"authority of another host", []string{":authority=example.com:1"}},
	{"authority missing", []string{":authority=-"}},
	{"timeout zero", []string{"grpc-timeout=0S"}},
	{"timeout without unit", []string{"grpc-timeout=1"}},
	{"timeout unknown unit", []string{"grpc-timeout=1x"}},
	{"timeout negative", []string{"grpc-timeout=-1S"}},
	{"timeout empty", []string{"grpc-timeout="}},
	{"timeout only unit", []string{"grpc-timeout=S"}},
	{"timeout too many digits", []string{"grpc-timeout=123456789S"}},
	{"timeout huge", []string{"grpc-timeout=99999999H"}},
	{"timeout words", []string{"grpc-timeout=soon"}},
	{"timeout in the past", []string{"grpc-timeout=1n"}},
	{"encoding identity", []string{"grpc-encoding=identity"}},
	{"encoding unknown on a plain message", []string{"grpc-encoding=br2"}},
	{"api version not utf8", []string{"client-api-version=\xff\xfe"}},
	{"api version text", []string{"client-api-version=3.7"}},
	{"hasleader", []string{"hasleader=true"}},
	{"hasleader false", []string{"hasleader=false"}},
	{"token while auth is off", []string{"token=nonsense"}},
	{"authorization while auth is off", []string{"authorization=Bearer nonsense"}},
	{"binary header", []string{"x-some-bin=AAEC"}},
	{"binary header with bad base64", []string{"x-some-bin=!!!"}},
	{"reserved header", []string{"grpc-message=hello"}},
	{"cookie", []string{"cookie=a=b"}},
	{"header name in upper case", []string{"X-Upper=1"}},
	{"connection header", []string{"connection=close"}},
	{"user agent", []string{"user-agent=grpc-test/1"}},
	{"header of 8 KiB", []string{"x-long=" + strings.Repeat("v", 8192)}},
}

type bodyRow struct {
	name    string
	changes []string
	body    []byte
	open    bool
}

// bodyRows change what follows a good header.
var bodyRows = []bodyRow{
	{"no body", nil, nil, false},
	{"prefix cut", nil, []byte{0, 0, 0}, false},
	{"length longer than the body", nil, append([]byte{0, 0, 0, 0, 9}, goodMessage...), false},
	{"length shorter than the body", nil, append([]byte{0, 0, 0, 0, 2}, goodMessage...), false},
	{"length of 4 GiB", nil, append([]byte{0, 255, 255, 255, 255}, goodMessage...), false},
	{"length over the limit", nil, []byte{0, 0, 48, 0, 0, 10}, false},
	{"empty message", nil, framed(0, nil), false},
	{"two messages", nil, append(framed(0, goodMessage), framed(0, goodMessage)...), false},
	{"trailing bytes", nil, append(framed(0, goodMessage), 1, 2, 3), false},
	{"flag compressed without encoding", nil, framed(1, goodMessage), false},
	{"flag compressed with identity", []string{"grpc-encoding=identity"}, framed(1, goodMessage), false},
	{"flag compressed with unknown", []string{"grpc-encoding=br2"}, framed(1, goodMessage), false},
	{"flag unknown", nil, framed(2, goodMessage), false},
	{"message is garbage", nil, framed(0, []byte("\xff\xff\xff\xff")), false},
	{"field cut", nil, framed(0, []byte("\n\x05ab")), false},
	{"field with wrong wire type", nil, framed(0, []byte("\n\x01a\x10\x05")), false},
	{"field number zero", nil, framed(0, []byte("\x02\x01a")), false},
	{"unknown field", nil, framed(0, []byte("\n\x01a\xfa\x7f\x01z")), false},
	{"group", nil, framed(0, []byte("\n\x01a\x7b\x7c")), false},
	{"group without end", nil, framed(0, []byte("\n\x01a\x7b")), false},
	{"varint too long", nil, framed(0, []byte("\n\x01a\x18\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01")), false},
	{"stream left open", nil, framed(0, goodMessage), true},
}

// transportCases turns the rows into cases.
func transportCases() []testCase {
	var cases []testCase
	add := func(name string, e exchange) {
		cases = append(cases, testCase{
			name: "transport/" + strings.ReplaceAll(name, " ", "-"), place: "transport.go",
			code: func(p *player) {
				converse(p, e)
			},
		})
	}
	for _, row := range headerRows {
		add(row.name, exchange{headers: with(row.changes...), body: framed(0, goodMessage)})
	}
	for _, row := range append(bodyRows, gzipRows...) {
		add(row.name, exchange{headers: with(row.changes...), body: row.body, open: row.open})
	}
	return cases
}
