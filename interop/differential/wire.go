package main

// Reading of answers: every field as it stands on the wire, in wire order, one line each.

import (
	"crypto/sha256"
	"fmt"
	"math"
	"strconv"

	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/reflect/protoreflect"
)

// field is one line of an answer.
type field struct {
	path    string // with indexes, as "kvs[1].key"
	message protoreflect.FullName
	name    protoreflect.Name
	value   string
}

func (f field) String() string { return f.path + ": " + f.value }

// dumper turns wire bytes into fields; mask rewrites single values (ids, terms, revisions).
type dumper struct {
	mask func(message protoreflect.FullName, name protoreflect.Name, value string) string
	out  []field
}

// dump lists the fields of an encoded message. Defaults that were sent, empty messages and unknown
// fields show up, and so does the order of fields.
func (d *dumper) dump(desc protoreflect.MessageDescriptor, data []byte, prefix string) {
	seen := map[protowire.Number]int{}
	for len(data) > 0 {
		number, kind, n := protowire.ConsumeTag(data)
		if n < 0 {
			d.add(desc, prefix+"?", "?", fmt.Sprintf("broken tag: %x", clip(data)))
			return
		}
		data = data[n:]
		size := protowire.ConsumeFieldValue(number, kind, data)
		if size < 0 {
			d.add(desc, prefix+"?", "?", fmt.Sprintf("broken value of field %d", number))
			return
		}
		d.one(desc, prefix, number, kind, data[:size], seen)
		data = data[size:]
	}
}

func (d *dumper) one(desc protoreflect.MessageDescriptor, prefix string, number protowire.Number,
	kind protowire.Type, raw []byte, seen map[protowire.Number]int) {
	fd := desc.Fields().ByNumber(number)
	if fd == nil || !fits(fd, kind) {
		path := fmt.Sprintf("%s#%d", prefix, number)
		d.add(desc, path, "#", fmt.Sprintf("wire type %d %x", kind, clip(raw)))
		return
	}
	path := prefix + string(fd.Name())
	if fd.IsList() {
		path = fmt.Sprintf("%s[%d]", path, seen[number])
	} else if seen[number] > 0 {
		path += "(again)"
	}
	seen[number]++
	if fd.Message() != nil {
		body, _ := protowire.ConsumeBytes(raw)
		if len(body) == 0 {
			d.add(desc, path, fd.Name(), "{}")
			return
		}
		d.dump(fd.Message(), body, path+".")
		return
	}
	d.add(desc, path, fd.Name(), scalar(fd, raw))
}

func (d *dumper) add(desc protoreflect.MessageDescriptor, path string, name protoreflect.Name,
	value string) {
	if d.mask != nil {
		value = d.mask(desc.FullName(), name, value)
	}
	d.out = append(d.out, field{path: path, message: desc.FullName(), name: name, value: value})
}

// fits tells whether a wire type is the one of the field (packed lists count as unknown: no answer of
// etcd holds one).
func fits(fd protoreflect.FieldDescriptor, kind protowire.Type) bool {
	switch fd.Kind() {
	case protoreflect.MessageKind, protoreflect.BytesKind, protoreflect.StringKind:
		return kind == protowire.BytesType
	case protoreflect.DoubleKind:
		return kind == protowire.Fixed64Type
	default:
		return kind == protowire.VarintType
	}
}

func scalar(fd protoreflect.FieldDescriptor, raw []byte) string {
	switch fd.Kind() {
	case protoreflect.BytesKind, protoreflect.StringKind:
		value, _ := protowire.ConsumeBytes(raw)
		return quoted(value)
	case protoreflect.DoubleKind:
		bits, _ := protowire.ConsumeFixed64(raw)
		return strconv.FormatFloat(math.Float64frombits(bits), 'g', -1, 64)
	}
	number, _ := protowire.ConsumeVarint(raw)
	switch fd.Kind() {
	case protoreflect.BoolKind:
		return strconv.FormatBool(number != 0)
	case protoreflect.EnumKind:
		if v := fd.Enum().Values().ByNumber(protoreflect.EnumNumber(int32(number))); v != nil {
			return string(v.Name())
		}
		return strconv.FormatInt(int64(int32(number)), 10)
	case protoreflect.Uint64Kind, protoreflect.Uint32Kind:
		return strconv.FormatUint(number, 10)
	default:
		return strconv.FormatInt(int64(number), 10)
	}
}

// quoted shows bytes in full when short, by length and digest when long.
func quoted(value []byte) string {
	if len(value) <= 120 {
		return strconv.QuoteToASCII(string(value))
	}
	return fmt.Sprintf("%d bytes, sha256 %x", len(value), sha256.Sum256(value))
}

func clip(data []byte) []byte {
	return data[:min(len(data), 40)]
}
