package main

// Rows about compressed messages: what is taken, how it is answered, what damage is called.

import (
	"bytes"
	"compress/gzip"
)

// gzipRows change the encoding of a good Range request and what follows its header.
var gzipRows = []bodyRow{
	{"gzip encoding on a plain message", gzipAlso(), framed(0, goodMessage), false},
	{"gzip encoding on an empty message", gzipAlso(), framed(0, nil), false},
	{"gzip flag on a plain message", gzipAlso(), framed(1, goodMessage), false},
	{"gzip flag on ten plain bytes", gzipAlso(), framed(1, []byte("\n\x01a\x1a\x05longe")), false},
	{"gzip flag on nothing", gzipAlso(), framed(1, nil), false},
	{"gzip flag without encoding", nil, framed(1, gzipped(goodMessage)), false},
	{"gzip message", gzipAlso(), framed(1, gzipped(goodMessage)), false},
	{"gzip message in two members", gzipAlso(), framed(1, append(gzipped(goodMessage[:1]), gzipped(goodMessage[1:])...)), false},
	{"gzip message with fields in its header", gzipAlso(), framed(1, gzipNamed(goodMessage)), false},
	{"gzip message with trailing bytes", gzipAlso(), framed(1, append(gzipped(goodMessage), 1, 2, 3)), false},
	{"gzip message with trailing text", gzipAlso(), framed(1, append(gzipped(goodMessage), "0123456789"...)), false},
	{"gzip message without its end", gzipAlso(), framed(1, gzipped(goodMessage)[:20]), false},
	{"gzip message of a header only", gzipAlso(), framed(1, gzipped(goodMessage)[:10]), false},
	{"gzip message of half a header", gzipAlso(), framed(1, gzipped(goodMessage)[:5]), false},
	{"gzip message with another checksum", gzipAlso(), framed(1, flipped(gzipped(goodMessage), -5)), false},
	{"gzip message with another length", gzipAlso(), framed(1, flipped(gzipped(goodMessage), -1)), false},
	{"gzip message of another method", gzipAlso(), framed(1, flipped(gzipped(goodMessage), 2)), false},
	{"gzip message of a bad block", gzipAlso(), framed(1, append(gzipped(nil)[:10], 7, 0, 0, 0, 0, 0, 0, 0, 0)), false},
	{"gzip message of garbage", gzipAlso(), framed(1, gzipped([]byte("\xff\xff\xff\xff"))), false},
	{"gzip of zeros up to the limit", gzipAlso(), framed(1, gzipped(make([]byte, 2<<20))), false},
	{"gzip of zeros over the limit", gzipAlso(), framed(1, gzipped(make([]byte, 2<<20+1))), false},
	{"gzip of a mebibyte of zeros times three", gzipAlso(), framed(1, gzipped(make([]byte, 3<<20))), false},
	{"gzip request that is refused", gzipAlso(), framed(1, gzipped([]byte("\x18\x01"))), false},
	{"gzip request of an unknown method", gzipAlso(":path=/etcdserverpb.KV/Nothing"), framed(1, gzipped(goodMessage)), false},
	{"gzip request that accepts no gzip", gzipAlso("grpc-accept-encoding=identity"), framed(1, gzipped(goodMessage)), false},
	{"gzip in upper case", []string{"grpc-encoding=GZIP"}, framed(1, gzipped(goodMessage)), false},
	{"gzip accepted and not used", []string{"grpc-accept-encoding=gzip,identity"}, framed(0, goodMessage), false},
	{"gzip put", gzipAlso(":path=/etcdserverpb.KV/Put"), framed(1, gzipped([]byte("\n\x01a\x12\x05value"))), false},
	{"gzip stream of ranges", gzipAlso(":path=/etcdserverpb.KV/RangeStream"), framed(1, gzipped(goodMessage)), false},
	{"gzip watch", gzipAlso(":path=/etcdserverpb.Watch/Watch"), framed(1, gzipped([]byte("\n\x03\n\x01a"))), true},
	{"gzip watch with another checksum", gzipAlso(":path=/etcdserverpb.Watch/Watch"), framed(1, flipped(gzipped([]byte("\n\x03\n\x01a")), -5)), true},
	{"gzip keep-alive", gzipAlso(":path=/etcdserverpb.Lease/LeaseKeepAlive"), append(framed(1, gzipped([]byte("\x08\x07"))), framed(0, []byte("\x08\x08"))...), false},
}

// gzipAlso declares gzip, with more changes of the header.
func gzipAlso(changes ...string) []string {
	return append([]string{"grpc-encoding=gzip"}, changes...)
}

func gzipped(message []byte) []byte {
	return gzipWith(gzip.Header{OS: 255}, message)
}

// gzipNamed has the optional fields of a header that Go writes.
func gzipNamed(message []byte) []byte {
	return gzipWith(gzip.Header{Name: "name", Comment: "comment", Extra: []byte("xx"), OS: 3}, message)
}

func gzipWith(header gzip.Header, message []byte) []byte {
	var out bytes.Buffer
	writer := gzip.NewWriter(&out)
	writer.Header = header
	writer.Write(message)
	writer.Close()
	return out.Bytes()
}

// flipped changes one bit; a negative place counts from the end.
func flipped(message []byte, at int) []byte {
	if at < 0 {
		at += len(message)
	}
	message[at] ^= 1
	return message
}
