package main

// A change of one compared field in what the server under test answers, for the self-test.

import (
	"strings"
	"sync"

	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/reflect/protoreflect"
)

// mutation is armed once per trial and strikes once. It is shared by the three proxies.
type mutation struct {
	mutex  sync.Mutex // proxies answer on their own goroutines
	where  string
	armed  bool
	struck bool
}

func (m *mutation) arm() {
	m.mutex.Lock()
	defer m.mutex.Unlock()
	m.armed = m.where != ""
}

func (m *mutation) aim(where string) {
	m.mutex.Lock()
	defer m.mutex.Unlock()
	m.where, m.armed, m.struck = where, false, false
}

func (m *mutation) hit() bool {
	m.mutex.Lock()
	defer m.mutex.Unlock()
	return m.struck
}

// take reports whether the armed mutation is this one, and disarms it.
func (m *mutation) take(where string) bool {
	m.mutex.Lock()
	defer m.mutex.Unlock()
	if !m.armed || m.where != where {
		return false
	}
	m.armed, m.struck = false, true
	return true
}

// message changes the aimed field of a message of a method, if it has it.
func (m *mutation) message(rpc method, body []byte) []byte {
	m.mutex.Lock()
	defer m.mutex.Unlock()
	short, target, found := strings.Cut(m.where, " ")
	if !m.armed || !found || short != rpc.short {
		return body
	}
	changed, struck := changeField(rpc.desc.Output(), body, target)
	if struck {
		m.armed, m.struck = false, true
	}
	return changed
}

// changeField changes the first field "Message.name" in a message, at any depth.
func changeField(desc protoreflect.MessageDescriptor, body []byte, target string) ([]byte, bool) {
	var out []byte
	rest := body
	for len(rest) > 0 {
		number, kind, n := protowire.ConsumeTag(rest)
		if n < 0 {
			return body, false
		}
		size := protowire.ConsumeFieldValue(number, kind, rest[n:])
		if size < 0 {
			return body, false
		}
		value := rest[n : n+size]
		head := rest[:n]
		rest = rest[n+size:]
		fd := desc.Fields().ByNumber(number)
		if fd == nil {
			out = append(append(out, head...), value...)
			continue
		}
		if string(desc.Name())+"."+string(fd.Name()) == target {
			out = append(out, changeValue(fd, head, value, target)...)
			return append(out, rest...), true
		}
		if fd.Message() != nil {
			inner, _ := protowire.ConsumeBytes(value)
			if changed, struck := changeField(fd.Message(), inner, target); struck {
				out = append(protowire.AppendBytes(append(out, head...), changed), rest...)
				return out, true
			}
		}
		out = append(append(out, head...), value...)
	}
	return body, false
}

// changeValue gives the field another value; fields whose value is hidden, and empty messages, are
// left out instead.
func changeValue(fd protoreflect.FieldDescriptor, head, value []byte, target string) []byte {
	if fd.Message() != nil || hiddenFields[target] {
		return nil
	}
	out := append([]byte{}, head...)
	switch fd.Kind() {
	case protoreflect.BytesKind, protoreflect.StringKind:
		inner, _ := protowire.ConsumeBytes(value)
		return protowire.AppendBytes(out, append(append([]byte{}, inner...), 'x'))
	case protoreflect.BoolKind:
		return protowire.AppendVarint(out, 1^value0(value))
	case protoreflect.EnumKind:
		return protowire.AppendVarint(out, 1+value0(value))
	default:
		// More than the step in which remaining times are shown.
		return protowire.AppendVarint(out, 1000+value0(value))
	}
}

func value0(value []byte) uint64 {
	number, _ := protowire.ConsumeVarint(value)
	return number
}

var hiddenFields = map[string]bool{
	"ResponseHeader.raft_term": true, "StatusResponse.raftIndex": true,
	"StatusResponse.raftAppliedIndex": true, "StatusResponse.raftTerm": true,
}
