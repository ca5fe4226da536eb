package main

// Playing one case on one side: each step adds lines to a transcript, and transcripts are compared.

import (
	"context"
	"encoding/hex"
	"fmt"
	"sort"
	"strconv"
	"strings"
	"time"

	"google.golang.org/grpc/metadata"
	"google.golang.org/protobuf/encoding/prototext"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/dynamicpb"
)

const (
	receiveTimeout = 5 * time.Second        // for a message that must come
	quietTime      = 250 * time.Millisecond // for one that must not; above etcd's catch-up round
	pollPause      = 50 * time.Millisecond
)

// line is one line of a transcript. where names the compared field, for the list of differences and
// for the self-test.
type line struct {
	text, where string
}

type player struct {
	s       *side
	rules   *rules
	base    int64 // revision when the case began
	leases  []int64
	streams map[string]*stream
	waiting map[string]*pendingCall
	meta    metadata.MD
	ready   func() // called when the start of the case is known: the self-test changes nothing before
	out     []line
}

func newPlayer(s *side, r *rules) *player {
	return &player{s: s, rules: r, streams: map[string]*stream{}, waiting: map[string]*pendingCall{},
		meta: metadata.MD{}}
}

func (p *player) say(where, format string, args ...any) {
	p.out = append(p.out, line{fmt.Sprintf(format, args...), where})
}

func (p *player) context() context.Context {
	return metadata.NewOutgoingContext(context.Background(), p.meta)
}

// play runs the case and returns its transcript; the end state is part of it.
func (p *player) play(c testCase) []line {
	p.base = p.revision()
	if p.ready != nil {
		p.ready()
	}
	if c.code != nil {
		c.code(p)
	}
	for _, step := range c.steps {
		p.say("", "> %s %s", step.verb, step.rest)
		if err := p.step(step.verb, p.expand(step.rest)); err != nil {
			p.say("", "script error: %v", err)
		}
	}
	for _, st := range p.streams {
		st.cancel()
	}
	for _, call := range p.waiting {
		call.cancel()
	}
	p.meta = metadata.MD{}
	p.say("", "> end state")
	p.unary("KV.Range", []byte("\n\x01\x00\x12\x01\x00"))
	p.leasesLeft()
	p.clean()
	return p.out
}

// leasesLeft shows the leases without their order: it is by remaining time, of which two may be equal.
func (p *player) leasesLeft() {
	start := len(p.out)
	p.unary("Lease.LeaseLeases", nil)
	lines := p.out[start:]
	for i, l := range lines {
		if strings.HasPrefix(l.text, "  leases[") {
			_, value, _ := strings.Cut(l.text, "]")
			lines[i].text = "  leases" + value
		}
	}
	sort.SliceStable(lines, func(i, j int) bool {
		first, second := lines[i].text, lines[j].text
		return strings.HasPrefix(first, "  leases") && strings.HasPrefix(second, "  leases") && first < second
	})
}

func (p *player) step(verb, rest string) error {
	switch verb {
	case "stream":
		return p.streamStep(rest)
	case "all":
		return p.all(rest)
	case "raw":
		name, digits, _ := strings.Cut(rest, " ")
		body, err := hex.DecodeString(strings.ReplaceAll(digits, " ", ""))
		if err != nil {
			return err
		}
		return p.unary(name, body)
	case "start", "await", "pending", "abort":
		return p.background(verb, rest)
	case "until-count":
		return p.untilCount(rest)
	case "meta":
		p.meta = metadata.MD{}
		for _, word := range strings.Fields(rest) {
			key, value, _ := strings.Cut(word, "=")
			p.meta.Append(key, value)
		}
		return nil
	case "http":
		return p.http(rest, true)
	case "scrape":
		return p.scrape()
	case "http-status":
		return p.http(rest, false)
	case "repeat":
		return p.repeat(rest)
	case "deep":
		return p.deep(rest)
	}
	m, err := lookup(verb)
	if err != nil {
		return err
	}
	body, err := encode(m.desc.Input(), rest)
	if err != nil {
		return err
	}
	return p.unary(verb, body)
}

// repeat plays a unary step several times with %i replaced; only failures are shown.
func (p *player) repeat(rest string) error {
	count, rest, _ := strings.Cut(rest, " ")
	short, text, _ := strings.Cut(rest, " ")
	m, err := lookup(short)
	if err != nil {
		return err
	}
	times, _ := strconv.Atoi(count)
	for i := range times {
		body, err := encode(m.desc.Input(), strings.ReplaceAll(text, "%i", fmt.Sprintf("%05d", i)))
		if err != nil {
			return err
		}
		if a := p.s.call(p.context(), m, body); a.err != nil {
			p.show(m, a)
		}
	}
	return nil
}

// deep sends a txn nested so deep that no client library would build it.
func (p *player) deep(rest string) error {
	depth, err := strconv.Atoi(rest)
	if err != nil {
		return err
	}
	var body []byte
	for range depth {
		body = wrap(2, wrap(4, body)) // success { request_txn { .. } }
	}
	return p.unary("KV.Txn", body)
}

// encode turns protobuf text, with its outer braces, into wire bytes.
func encode(desc protoreflect.MessageDescriptor, text string) ([]byte, error) {
	message := dynamicpb.NewMessage(desc)
	text = strings.TrimSpace(text)
	text = strings.TrimSuffix(strings.TrimPrefix(text, "{"), "}")
	if err := prototext.Unmarshal([]byte(text), message); err != nil {
		return nil, err
	}
	return proto.MarshalOptions{Deterministic: true}.Marshal(message)
}

func (p *player) unary(name string, body []byte) error {
	m, err := lookup(name)
	if err != nil {
		return err
	}
	p.show(m, p.s.call(p.context(), m, body))
	return nil
}

// show adds an answer: status, metadata, then each field.
func (p *player) show(m method, a answer) {
	p.say(m.short+" status", "%s", statusLine(a.err))
	p.say(m.short+" header-metadata", "header metadata: %s", metadataLine(a.header))
	p.say(m.short+" trailer-metadata", "trailer metadata: %s", metadataLine(a.trailer))
	if a.err == nil {
		p.learn(m, a.body)
		p.message(m, a.body, "")
	}
}

// message adds the fields of one message.
func (p *player) message(m method, body []byte, prefix string) {
	d := dumper{mask: p.masker(m)}
	d.dump(m.desc.Output(), body, prefix)
	for _, f := range d.out {
		p.say(fmt.Sprintf("%s %s.%s", m.short, f.message.Name(), f.name), "  %s", f)
	}
}

// all sends one request on a stream and shows every message until the end.
func (p *player) all(rest string) error {
	name, text, _ := strings.Cut(rest, " ")
	m, err := lookup(name)
	if err != nil {
		return err
	}
	body, err := encode(m.desc.Input(), text)
	if err != nil {
		return err
	}
	st, err := p.s.open(p.context(), m)
	if err != nil {
		p.say(name+" status", "open: %s", statusLine(err))
		return nil
	}
	defer st.cancel()
	if err := st.send(body); err != nil {
		p.say(name+" status", "send: %s", statusLine(err))
	}
	st.call.CloseSend()
	for i := 0; ; i++ {
		got := st.next(receiveTimeout)
		if got == nil {
			break
		}
		p.say(name+" message", "message %d", i)
		p.message(m, got, "")
	}
	p.end(st)
	return nil
}

func (p *player) end(st *stream) {
	select {
	case err := <-st.ended:
		p.say(st.m.short+" status", "end: %s", statusLine(err))
		p.say(st.m.short+" trailer-metadata", "trailer metadata: %s", metadataLine(st.call.Trailer()))
	case <-time.After(receiveTimeout):
		p.say(st.m.short+" status", "end: still open")
	}
}

// pendingCall is a unary call that may block.
type pendingCall struct {
	m      method
	result chan answer
	cancel context.CancelFunc
}

// background handles calls that may block: "start NAME METHOD {..}", then "pending NAME" (still
// blocked), "await NAME" (its answer) or "abort NAME" (the client gives up).
func (p *player) background(verb, rest string) error {
	name, text, _ := strings.Cut(rest, " ")
	if verb == "start" {
		return p.start(name, text)
	}
	call := p.waiting[name]
	if call == nil {
		return fmt.Errorf("nothing was started as %q", name)
	}
	wait := receiveTimeout
	if verb == "pending" {
		wait = quietTime
	}
	if verb == "abort" {
		call.cancel()
	}
	select {
	case a := <-call.result:
		p.show(call.m, a)
	case <-time.After(wait):
		p.say(call.m.short+" status", "still waiting")
	}
	return nil
}

func (p *player) start(name, text string) error {
	short, request, _ := strings.Cut(text, " ")
	m, err := lookup(short)
	if err != nil {
		return err
	}
	body, err := encode(m.desc.Input(), request)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(p.context())
	call := &pendingCall{m: m, result: make(chan answer, 1), cancel: cancel}
	p.waiting[name] = call
	go func() { call.result <- p.s.call(ctx, m, body) }()
	return nil
}

// untilCount polls a count-only range until it has the wanted count: "until-count N KV.Range {..}".
func (p *player) untilCount(rest string) error {
	want, text, _ := strings.Cut(rest, " ")
	m, _ := lookup("KV.Range")
	body, err := encode(m.desc.Input(), strings.TrimPrefix(text, "KV.Range "))
	if err != nil {
		return err
	}
	deadline := time.Now().Add(2 * callTimeout)
	for time.Now().Before(deadline) {
		a := p.s.call(p.context(), m, body)
		if a.err == nil && countOf(a.body) == want {
			p.say("", "count is %s", want)
			return nil
		}
		time.Sleep(pollPause)
	}
	p.say("KV.Range RangeResponse.count", "count never became %s", want)
	return nil
}
