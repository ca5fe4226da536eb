package main

// What the random run asks: a small key space, so that requests meet each other.

import (
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
	"google.golang.org/protobuf/proto"
)

// Twelve keys: up to twelve results, etcd's sort keeps the order of equal ones.
var keys = []string{"a", "a\x00", "ab", "b", "b\xff", "c", "ca", "d", "dd", "e", "\x01", "\xff\xfe"}

const leaseIDs = 8

// planned is one random step: a unary request or a step of the watch stream.
type planned struct {
	method  string
	request proto.Message
	watch   *pb.WatchRequest
	settle  bool // all watchers must be caught up before
	// revision that watchers must have reached to be caught up
	revision int64
}

type generator struct {
	random    *rand.Rand
	revision  int64
	compacted int64
	watchers  []int64 // ids in use on the watch stream
	nextWatch int64
	txns      map[int64]bool // revisions that transactions made
}

func newGenerator(seed uint64) *generator {
	return &generator{random: rand.New(rand.NewPCG(seed, 1)), revision: 1, nextWatch: 1,
		txns: map[int64]bool{}}
}

func (g *generator) chance(percent int) bool { return g.random.IntN(100) < percent }

func (g *generator) next() planned {
	switch roll := g.random.IntN(1000); {
	case roll < 300:
		return planned{method: "KV.Put", request: g.put()}
	case roll < 380:
		return planned{method: "KV.DeleteRange", request: g.deleteRange()}
	case roll < 600:
		txn := g.txn(0)
		if deletes(txn) {
			keepNothing(txn)
		}
		return planned{method: "KV.Txn", request: txn}
	case roll < 840:
		return planned{method: "KV.Range", request: g.ranges()}
	case roll < 855:
		return planned{method: "KV.Compact", settle: true,
			request: &pb.CompactionRequest{Revision: g.compactable(), Physical: g.chance(50)}}
	case roll < 945:
		return g.lease()
	case roll < 985:
		return g.watch()
	case roll < 995:
		return planned{method: "Maintenance.HashKV", request: &pb.HashKVRequest{Revision: g.hashRevision()}}
	default:
		return planned{method: "Cluster.MemberList", request: &pb.MemberListRequest{Linearizable: g.chance(50)}}
	}
}

// learn follows revision and compaction from the oracle's answer.
func (g *generator) learn(p planned, lines []line) {
	ok, before := false, g.revision
	for _, l := range lines {
		ok = ok || strings.HasSuffix(l.where, " status") && l.text == "OK"
		if rest, found := strings.CutPrefix(strings.TrimSpace(l.text), "header.revision: r+"); found {
			if n, err := strconv.ParseInt(rest, 10, 64); err == nil {
				g.revision = max(g.revision, n)
			}
		}
	}
	if _, is := p.request.(*pb.TxnRequest); is && g.revision > before {
		g.txns[g.revision] = true
	}
	if compaction, is := p.request.(*pb.CompactionRequest); is && ok {
		g.compacted = compaction.Revision
	}
}

func (g *generator) key() []byte {
	if g.chance(1) {
		return nil
	}
	return []byte(keys[g.random.IntN(len(keys))])
}

// end is a range end: none, from-key, another key (maybe below the key), or a prefix end.
func (g *generator) end() []byte {
	switch g.random.IntN(6) {
	case 0, 1:
		return nil
	case 2:
		return []byte{0}
	case 3:
		return []byte("z")
	default:
		return g.key()
	}
}

func (g *generator) someRevision() int64 {
	switch g.random.IntN(12) {
	case 0:
		return g.revision + 1 + g.random.Int64N(3)
	case 1:
		return -g.random.Int64N(3)
	case 2:
		return g.compacted
	case 3:
		return g.compacted - 1
	case 4:
		return g.revision
	default:
		return max(1, g.revision-g.random.Int64N(30))
	}
}

// compactable leaves out the revisions of transactions: etcd loses a key that a transaction deleted
// and put again when it compacts at just that revision, and then ends in a panic.
func (g *generator) compactable() int64 {
	for {
		if r := g.someRevision(); !g.txns[r] {
			return r
		}
	}
}

// hashRevision leaves out the revisions of compactions: what etcd kept of them is listed in
// docs/compat.md as a difference.
func (g *generator) hashRevision() int64 {
	for {
		if r := g.someRevision(); r <= 0 || r > g.compacted {
			return r
		}
	}
}

func (g *generator) leaseID() int64 {
	switch {
	case g.chance(70):
		return 0
	case g.chance(10):
		return 999
	default:
		return 1 + g.random.Int64N(leaseIDs)
	}
}

func (g *generator) put() *pb.PutRequest {
	size := g.random.IntN(30)
	if g.chance(2) {
		size = 5000
	}
	p := &pb.PutRequest{Key: g.key(), Value: []byte(strings.Repeat(string('a'+rune(g.random.IntN(26))), size)),
		Lease: g.leaseID(), PrevKv: g.chance(30), IgnoreValue: g.chance(6), IgnoreLease: g.chance(6)}
	if p.IgnoreValue && g.chance(80) {
		p.Value = nil
	}
	if p.IgnoreLease && g.chance(80) {
		p.Lease = 0
	}
	return p
}

func (g *generator) deleteRange() *pb.DeleteRangeRequest {
	return &pb.DeleteRangeRequest{Key: g.key(), RangeEnd: g.end(), PrevKv: g.chance(50)}
}

func (g *generator) ranges() *pb.RangeRequest {
	r := &pb.RangeRequest{Key: g.key(), RangeEnd: g.end(), Serializable: g.chance(20),
		KeysOnly: g.chance(10), CountOnly: g.chance(10)}
	if g.chance(30) {
		r.Limit = g.random.Int64N(6) - 1
	}
	if g.chance(35) {
		r.Revision = g.someRevision()
	}
	if g.chance(30) {
		r.SortOrder = pb.RangeRequest_SortOrder(g.random.IntN(3))
		r.SortTarget = pb.RangeRequest_SortTarget(g.random.IntN(5))
	}
	for _, bound := range []*int64{&r.MinModRevision, &r.MaxModRevision, &r.MinCreateRevision, &r.MaxCreateRevision} {
		if g.chance(6) {
			*bound = g.someRevision()
		}
	}
	return r
}

func (g *generator) txn(depth int) *pb.TxnRequest {
	t := &pb.TxnRequest{}
	for range g.random.IntN(3) {
		t.Compare = append(t.Compare, g.compare())
	}
	for range g.random.IntN(4) {
		t.Success = append(t.Success, g.op(depth))
	}
	for range g.random.IntN(3) {
		t.Failure = append(t.Failure, g.op(depth))
	}
	return t
}

// deletes tells whether a transaction deletes anything, at any depth.
func deletes(t *pb.TxnRequest) bool {
	for _, op := range slices.Concat(t.Success, t.Failure) {
		if op.GetRequestDeleteRange() != nil || op.GetRequestTxn() != nil && deletes(op.GetRequestTxn()) {
			return true
		}
	}
	return false
}

// keepNothing makes all puts bring value and lease: etcd ends in a panic when a put keeps those of a
// key that the same transaction has deleted, which its checks of duplicate keys do not always see.
func keepNothing(t *pb.TxnRequest) {
	for _, op := range slices.Concat(t.Success, t.Failure) {
		if put := op.GetRequestPut(); put != nil {
			put.IgnoreValue, put.IgnoreLease = false, false
		}
		if nested := op.GetRequestTxn(); nested != nil {
			keepNothing(nested)
		}
	}
}

func (g *generator) op(depth int) *pb.RequestOp {
	switch roll := g.random.IntN(100); {
	case roll < 45:
		return &pb.RequestOp{Request: &pb.RequestOp_RequestPut{RequestPut: g.put()}}
	case roll < 75:
		return &pb.RequestOp{Request: &pb.RequestOp_RequestRange{RequestRange: g.ranges()}}
	case roll < 88 || depth > 2:
		return &pb.RequestOp{Request: &pb.RequestOp_RequestDeleteRange{RequestDeleteRange: g.deleteRange()}}
	case roll < 89:
		return &pb.RequestOp{}
	default:
		return &pb.RequestOp{Request: &pb.RequestOp_RequestTxn{RequestTxn: g.txn(depth + 1)}}
	}
}

func (g *generator) compare() *pb.Compare {
	c := &pb.Compare{Result: pb.Compare_CompareResult(g.random.IntN(4)),
		Target: pb.Compare_CompareTarget(g.random.IntN(5)), Key: g.key()}
	if g.chance(20) {
		c.RangeEnd = g.end()
	}
	kind := int(c.Target)
	if g.chance(5) {
		kind = g.random.IntN(6)
	}
	switch kind {
	case 0:
		c.TargetUnion = &pb.Compare_Version{Version: g.random.Int64N(4)}
	case 1:
		c.TargetUnion = &pb.Compare_CreateRevision{CreateRevision: g.zeroOr(g.someRevision())}
	case 2:
		c.TargetUnion = &pb.Compare_ModRevision{ModRevision: g.zeroOr(g.someRevision())}
	case 3:
		c.TargetUnion = &pb.Compare_Value{Value: []byte(strings.Repeat(string('a'+rune(g.random.IntN(26))), 5))}
	case 4:
		c.TargetUnion = &pb.Compare_Lease{Lease: g.leaseID()}
	}
	return c
}

func (g *generator) zeroOr(n int64) int64 {
	if g.chance(40) {
		return 0
	}
	return n
}

func (g *generator) lease() planned {
	id := 1 + g.random.Int64N(leaseIDs)
	if g.chance(5) {
		id = 999
	}
	switch g.random.IntN(6) {
	case 0, 1:
		// Times far apart, so that LeaseLeases has one order.
		return planned{method: "Lease.LeaseGrant", request: &pb.LeaseGrantRequest{ID: id, TTL: id * 10000}}
	case 2:
		return planned{method: "Lease.LeaseRevoke", request: &pb.LeaseRevokeRequest{ID: id}}
	case 3:
		return planned{method: "Lease.LeaseLeases", request: &pb.LeaseLeasesRequest{}}
	default:
		// One key at most may be listed in any order.
		return planned{method: "Lease.LeaseTimeToLive", request: &pb.LeaseTimeToLiveRequest{ID: id}}
	}
}

func (g *generator) watch() planned {
	if len(g.watchers) > 12 || (len(g.watchers) > 0 && g.chance(25)) {
		at := g.random.IntN(len(g.watchers))
		id := g.watchers[at]
		g.watchers = append(g.watchers[:at], g.watchers[at+1:]...)
		return planned{revision: g.revision, settle: true, watch: &pb.WatchRequest{RequestUnion: &pb.WatchRequest_CancelRequest{
			CancelRequest: &pb.WatchCancelRequest{WatchId: id}}}}
	}
	create := &pb.WatchCreateRequest{Key: []byte(keys[g.random.IntN(len(keys))]), WatchId: g.nextWatch,
		PrevKv: g.chance(40), Fragment: g.chance(20), ProgressNotify: g.chance(20)}
	if g.chance(70) {
		create.RangeEnd = []byte("\xff\xff")
	}
	if g.chance(40) {
		create.StartRevision = max(1, g.revision+1-g.random.Int64N(40))
	}
	if g.chance(20) {
		create.Filters = append(create.Filters, pb.WatchCreateRequest_FilterType(g.random.IntN(2)))
	}
	if create.StartRevision == 0 || create.StartRevision >= g.compacted {
		g.watchers = append(g.watchers, g.nextWatch)
	}
	g.nextWatch++
	return planned{revision: g.revision, watch: &pb.WatchRequest{RequestUnion: &pb.WatchRequest_CreateRequest{
		CreateRequest: create}}}
}

// probes compare the state at a checkpoint.
func (g *generator) probes() []planned {
	everything := []byte{0}
	return []planned{
		{method: "KV.Range", request: &pb.RangeRequest{Key: everything, RangeEnd: everything}},
		{method: "KV.Range", request: &pb.RangeRequest{Key: everything, RangeEnd: everything,
			Revision: max(g.compacted, g.revision-10, 1)}},
		{method: "Maintenance.HashKV", request: &pb.HashKVRequest{Revision: g.revision}},
		{method: "Lease.LeaseLeases", request: &pb.LeaseLeasesRequest{}},
		{method: "Maintenance.Alarm", request: &pb.AlarmRequest{}},
	}
}
