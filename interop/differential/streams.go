package main

// Steps on open streams, and what a case leaves behind.

import (
	"context"
	"encoding/hex"
	"fmt"
	"strconv"
	"strings"

	"go.etcd.io/etcd/api/v3/etcdserverpb"
	"go.etcd.io/etcd/server/v3/etcdserver/api/v3election/v3electionpb"
	"go.etcd.io/etcd/server/v3/etcdserver/api/v3lock/v3lockpb"
	"google.golang.org/protobuf/proto"
)

// streamStep handles "stream NAME open METHOD", "send {..}", "rawsend HEX", "many N {..}", "recv N", "events N", "quiet", "half",
// "cancel" and "end".
func (p *player) streamStep(rest string) error {
	name, rest, _ := strings.Cut(rest, " ")
	verb, rest, _ := strings.Cut(rest, " ")
	if verb == "open" {
		m, err := lookup(rest)
		if err != nil {
			return err
		}
		st, err := p.s.open(p.context(), m)
		if err != nil {
			return err
		}
		p.streams[name] = st
		return nil
	}
	st := p.streams[name]
	if st == nil {
		return fmt.Errorf("no stream %q", name)
	}
	switch verb {
	case "send":
		body, err := encode(st.m.desc.Input(), rest)
		if err != nil {
			return err
		}
		return st.send(body)
	case "rawsend":
		body, err := hex.DecodeString(strings.ReplaceAll(rest, " ", ""))
		if err != nil {
			return err
		}
		return st.send(body)
	case "many":
		return p.many(st, rest)
	case "recv":
		p.receive(st, rest)
	case "events":
		p.events(st, rest)
	case "quiet":
		if body := st.next(quietTime); body != nil {
			p.say(st.m.short+" message", "unexpected message")
			p.message(st.m, body, "")
		}
	case "half":
		return st.call.CloseSend()
	case "cancel":
		st.cancel()
	case "end":
		p.end(st)
	default:
		return fmt.Errorf("no stream step %q", verb)
	}
	return nil
}

// many sends the same message several times: "many N {..}".
func (p *player) many(st *stream, rest string) error {
	count, text, _ := strings.Cut(rest, " ")
	body, err := encode(st.m.desc.Input(), text)
	times, _ := strconv.Atoi(count)
	for i := 0; err == nil && i < times; i++ {
		err = st.send(body)
	}
	return err
}

func (p *player) receive(st *stream, count string) {
	want, err := strconv.Atoi(count)
	if err != nil {
		want = 1
	}
	for i := range want {
		body := st.next(receiveTimeout)
		if body == nil {
			p.say(st.m.short+" message", "only %d of %d messages", i, want)
			return
		}
		p.say(st.m.short+" message", "message %d", i)
		p.message(st.m, body, "")
	}
}

// events takes messages until they held so many events, and shows the events without the grouping
// into messages (several revisions may share one message while a watcher catches up).
func (p *player) events(st *stream, count string) {
	want, _ := strconv.Atoi(count)
	for got := 0; got < want; {
		body := st.next(receiveTimeout)
		if body == nil {
			p.say(st.m.short+" message", "only %d of %d events", got, want)
			return
		}
		var response etcdserverpb.WatchResponse
		if err := proto.Unmarshal(body, &response); err != nil {
			p.say(st.m.short+" message", "not a WatchResponse: %v", err)
			return
		}
		for _, event := range response.Events {
			part, _ := proto.Marshal(&etcdserverpb.WatchResponse{
				WatchId: response.WatchId, Events: response.Events[:0:0],
			})
			encoded, _ := proto.Marshal(event)
			p.message(st.m, append(part, wrap(11, encoded)...), "")
		}
		got += len(response.Events)
		if response.Canceled {
			p.say(st.m.short+" message", "canceled after %d events", got)
			return
		}
	}
}

// learn notes the lease ids that a server chose.
func (p *player) learn(m method, body []byte) {
	var id int64
	switch m.short {
	case "Lease.LeaseGrant":
		var response etcdserverpb.LeaseGrantResponse
		if proto.Unmarshal(body, &response) == nil {
			id = response.ID
		}
	case "Lease.LeaseLeases":
		var response etcdserverpb.LeaseLeasesResponse
		if proto.Unmarshal(body, &response) == nil {
			for _, status := range response.Leases {
				p.learnID(status.ID)
			}
		}
	case "Lock.Lock":
		var response v3lockpb.LockResponse
		if proto.Unmarshal(body, &response) == nil {
			id = leaseOfKey(response.Key)
		}
	case "Election.Campaign":
		var response v3electionpb.CampaignResponse
		if proto.Unmarshal(body, &response) == nil && response.Leader != nil {
			id = response.Leader.Lease
		}
	}
	p.learnID(id)
}

func (p *player) learnID(id int64) {
	// Ids below 2^32 are those that scripts choose.
	if id >= 1<<32 && p.leaseName(strconv.FormatInt(id, 10)) == strconv.FormatInt(id, 10) {
		p.leases = append(p.leases, id)
	}
}

// leaseOfKey reads the lease id at the end of a lock's key.
func leaseOfKey(key []byte) int64 {
	at := strings.LastIndexByte(string(key), '/')
	id, _ := strconv.ParseInt(string(key[at+1:]), 16, 64)
	return id
}

func (p *player) revision() int64 {
	ctx, cancel := context.WithTimeout(context.Background(), callTimeout)
	defer cancel()
	answer, err := etcdserverpb.NewKVClient(p.s.conn).Range(ctx,
		&etcdserverpb.RangeRequest{Key: []byte("k"), CountOnly: true})
	if err != nil {
		p.say("", "no revision: %v", err)
		return 0
	}
	return answer.Header.Revision
}

// clean removes keys, leases and alarms, so that the next case starts from nothing.
func (p *player) clean() {
	ctx, cancel := context.WithTimeout(context.Background(), callTimeout)
	defer cancel()
	maintenance := etcdserverpb.NewMaintenanceClient(p.s.conn)
	alarms, err := maintenance.Alarm(ctx, &etcdserverpb.AlarmRequest{})
	if err == nil {
		for _, alarm := range alarms.Alarms {
			maintenance.Alarm(ctx, &etcdserverpb.AlarmRequest{MemberID: alarm.MemberID,
				Action: etcdserverpb.AlarmRequest_DEACTIVATE, Alarm: alarm.Alarm})
		}
	}
	lease := etcdserverpb.NewLeaseClient(p.s.conn)
	leases, err := lease.LeaseLeases(ctx, &etcdserverpb.LeaseLeasesRequest{})
	if err == nil {
		for _, status := range leases.Leases {
			lease.LeaseRevoke(ctx, &etcdserverpb.LeaseRevokeRequest{ID: status.ID})
		}
	}
	etcdserverpb.NewKVClient(p.s.conn).DeleteRange(ctx,
		&etcdserverpb.DeleteRangeRequest{Key: []byte{0}, RangeEnd: []byte{0}})
}

func countOf(body []byte) string {
	var response etcdserverpb.RangeResponse
	if proto.Unmarshal(body, &response) != nil {
		return "?"
	}
	return strconv.FormatInt(response.Count, 10)
}

// wrap makes a length-delimited field.
func wrap(number int, body []byte) []byte {
	out := append([]byte{byte(number<<3 | 2)}, varint(uint64(len(body)))...)
	return append(out, body...)
}

func varint(n uint64) []byte {
	var out []byte
	for ; n >= 0x80; n >>= 7 {
		out = append(out, byte(n)|0x80)
	}
	return append(out, byte(n))
}
