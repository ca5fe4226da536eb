package main

// What is not compared as sent: ids, terms and indexes of one server, revisions relative to the start
// of the case, lease ids that the server chose, and the differences that docs/compat.md lists.

import (
	"fmt"
	"os"
	"path"
	"strconv"
	"strings"

	"google.golang.org/protobuf/reflect/protoreflect"
)

// rules holds the documented differences and which of them were met.
type rules struct {
	fields []difference
	cases  []difference
	used   map[string]bool
	// plain turns all listed differences off (the self-test compares etcd with etcd)
	plain bool
}

// difference is one row of the table in docs/compat.md.
type difference struct {
	id, where, reason string
}

const (
	tableStart = "<!-- differences: read by interop/differential -->"
	tableEnd   = "<!-- end of differences -->"
)

// readRules reads the table rows "| id | where | what is compared | reason |": where is
// "KV.Range RangeResponse.count" for a field or "case pattern" for a case.
func readRules(file string) (*rules, error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	_, rest, found := strings.Cut(string(text), tableStart)
	table, _, closed := strings.Cut(rest, tableEnd)
	if !found || !closed {
		return nil, fmt.Errorf("%s has no table of differences", file)
	}
	r := &rules{used: map[string]bool{}}
	for _, row := range strings.Split(table, "\n") {
		cells := strings.Split(strings.TrimSpace(row), "|")
		if len(cells) != 6 || strings.HasPrefix(strings.TrimSpace(cells[1]), "-") {
			continue
		}
		d := difference{id: strings.TrimSpace(cells[1]), reason: strings.TrimSpace(cells[4]),
			where: strings.Trim(strings.TrimSpace(cells[2]), "`")}
		switch {
		case d.id == "id":
		case d.reason == "":
			return nil, fmt.Errorf("%s: difference %s has no reason", file, d.id)
		case strings.HasPrefix(d.where, "case "):
			d.where = strings.TrimPrefix(d.where, "case ")
			r.cases = append(r.cases, d)
		default:
			r.fields = append(r.fields, d)
		}
	}
	return r, nil
}

// field finds the listed difference of one compared field.
func (r *rules) field(where string) bool {
	for _, d := range r.fields {
		if !r.plain && d.where == where {
			r.used[d.id] = true
			return true
		}
	}
	return false
}

// testCase finds the listed difference of a whole case.
func (r *rules) testCase(name string) (difference, bool) {
	for _, d := range r.cases {
		if matched, _ := path.Match(d.where, name); matched && !r.plain {
			return d, true
		}
	}
	return difference{}, false
}

// masker rewrites the values of one RPC's answers.
func (p *player) masker(m method) func(protoreflect.FullName, protoreflect.Name, string) string {
	return func(message protoreflect.FullName, name protoreflect.Name, value string) string {
		if p.rules.field(fmt.Sprintf("%s %s.%s", m.short, message.Name(), name)) {
			return "<listed difference>"
		}
		if mask := masks[string(message.Name())+"."+string(name)]; mask != nil {
			return mask(p, value)
		}
		return value
	}
}

var masks = map[string]func(*player, string) string{
	"ResponseHeader.cluster_id":       (*player).ownCluster,
	"ResponseHeader.member_id":        (*player).ownMember,
	"ResponseHeader.raft_term":        hidden("term"),
	"ResponseHeader.revision":         (*player).revisionName,
	"KeyValue.create_revision":        (*player).revisionName,
	"KeyValue.mod_revision":           (*player).revisionName,
	"KeyValue.lease":                  (*player).leaseName,
	"KeyValue.key":                    (*player).leaseKey,
	"StatusResponse.leader":           (*player).ownMember,
	"StatusResponse.raftIndex":        hidden("index"),
	"StatusResponse.raftAppliedIndex": hidden("index"),
	"StatusResponse.raftTerm":         hidden("term"),
	"StatusResponse.errors":           (*player).alarmText,
	"Member.ID":                       (*player).ownMember,
	"Member.clientURLs":               (*player).ownURL,
	"AlarmMember.memberID":            (*player).ownMember,
	"WatchResponse.compact_revision":  (*player).revisionName,
	"HashKVResponse.compact_revision": (*player).revisionName,
	"HashKVResponse.hash_revision":    (*player).revisionName,
	"LeaseGrantResponse.ID":           (*player).leaseName,
	"LeaseKeepAliveResponse.ID":       (*player).leaseName,
	"LeaseTimeToLiveResponse.ID":      (*player).leaseName,
	"LeaseTimeToLiveResponse.TTL":     (*player).remaining,
	"LeaseTimeToLiveResponse.keys":    (*player).leaseKey,
	"LeaseStatus.ID":                  (*player).leaseName,
	"LockResponse.key":                (*player).leaseKey,
	"LeaderKey.key":                   (*player).leaseKey,
	"LeaderKey.rev":                   (*player).revisionName,
	"LeaderKey.lease":                 (*player).leaseName,
}

// hidden shows only whether a value is there.
func hidden(what string) func(*player, string) string {
	return func(_ *player, value string) string {
		if value == "0" {
			return value
		}
		return "<" + what + ">"
	}
}

func (p *player) ownCluster(value string) string {
	if value == strconv.FormatUint(p.s.cluster, 10) {
		return "<cluster>"
	}
	return value
}

func (p *player) ownMember(value string) string {
	if value == strconv.FormatUint(p.s.member, 10) {
		return "<member>"
	}
	return value
}

func (p *player) ownURL(value string) string {
	return strings.ReplaceAll(value, p.s.client, "<client address>")
}

// alarmText replaces the member id in the text of an alarm; upstream's own formatter writes one or
// two blanks between fields, by a coin thrown at build time.
func (p *player) alarmText(value string) string {
	value = strings.ReplaceAll(value, strconv.FormatUint(p.s.member, 10), "<member>")
	return strings.ReplaceAll(value, "  ", " ")
}

// revisionName shows a revision relative to the one at the start of the case.
func (p *player) revisionName(value string) string {
	number, err := strconv.ParseInt(value, 10, 64)
	if err != nil || number <= 0 {
		return value
	}
	return fmt.Sprintf("r%+d", number-p.base)
}

func (p *player) leaseName(value string) string {
	for i, id := range p.leases {
		if value == strconv.FormatInt(id, 10) {
			return fmt.Sprintf("<lease%d>", i+1)
		}
	}
	return value
}

func (p *player) leaseKey(value string) string {
	for i, id := range p.leases {
		value = strings.ReplaceAll(value, strconv.FormatInt(id, 16), fmt.Sprintf("<leasehex%d>", i+1))
	}
	return value
}

// remaining shows a remaining TTL in steps of four seconds and the start of its range apart: both
// sides are asked at about the same time, not at the same time.
func (p *player) remaining(value string) string {
	number, err := strconv.ParseInt(value, 10, 64)
	if err != nil || number <= 0 {
		return value
	}
	return fmt.Sprintf("%d..%d", number/4*4, number/4*4+3)
}
