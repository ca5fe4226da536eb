package main

// Seeded random requests: each goes to both servers, each answer is compared, and at checkpoints the
// whole state and all watch events are. The same seed and count replay the same requests.

import (
	"fmt"
	"sort"
	"strings"
	"sync"

	"google.golang.org/protobuf/encoding/prototext"
	"google.golang.org/protobuf/proto"
)

const (
	checkpointEvery = 250
	failuresShown   = 10
)

// duel is a run of random requests against a pair of servers.
type duel struct {
	pair      pair
	rules     *rules
	generator *generator
	watches   [2]*watchLog
	tally     *tally
	failed    int
	answered  map[string]int // by method and code
	verbose   bool
}

func runRandom(o options, r *rules, t *tally) error {
	p, err := launchPair(o, nil)
	if err != nil {
		return err
	}
	defer p.stop()
	d := duel{pair: p, rules: r, generator: newGenerator(o.seed), tally: t,
		answered: map[string]int{}, verbose: o.verbose}
	for i, s := range p.sides() {
		if d.watches[i], err = newWatchLog(s); err != nil {
			return err
		}
	}
	fmt.Printf("random: %d requests, replay with -seed %d -requests %d\n", o.requests, o.seed, o.requests)
	for i := 0; i < o.requests && d.failed < failuresShown; i++ {
		d.one(i)
		if (i+1)%checkpointEvery == 0 {
			d.checkpoint(i + 1)
		}
		if err := p.oracle.crashed(); err != nil {
			return err
		}
		if err := p.subject.crashed(); err != nil {
			t.fail(fmt.Sprintf("random/%d (the server ended)", i), err.Error()+"\n")
			return nil
		}
	}
	d.checkpoint(o.requests)
	fmt.Println("random:", d.summary())
	return nil
}

// count notes which codes the random requests meet: a run of errors only would prove little.
func (d *duel) count(method string, lines []line) {
	code, _, _ := strings.Cut(lines[0].text, " ")
	d.answered[method+" "+code]++
}

func (d *duel) summary() string {
	var parts []string
	for what, n := range d.answered {
		parts = append(parts, fmt.Sprintf("%s %d", what, n))
	}
	sort.Strings(parts)
	return strings.Join(parts, ", ")
}

// one plays the next random step.
func (d *duel) one(number int) {
	next := d.generator.next()
	if d.verbose {
		fmt.Println(number, next.method, strings.Join(strings.Fields(fmt.Sprint(next.request, next.watch)), " "))
	}
	if next.settle {
		d.settle(number)
	}
	if next.watch != nil {
		d.both(func(i int, s *side) []line { return d.watches[i].play(next, s) },
			number, "Watch.Watch", next.watch)
		return
	}
	body, err := proto.MarshalOptions{Deterministic: true}.Marshal(next.request)
	if err != nil {
		panic(err)
	}
	for attempt := 0; ; attempt++ {
		lines := d.answers(next.method, body)
		diff := compare(lines[0], lines[1])
		// A remaining time may tick over between the two servers: ask again.
		if diff != "" && next.method == "Lease.LeaseTimeToLive" && attempt < 3 {
			continue
		}
		d.report(number, next.method, next.request, diff)
		d.generator.learn(next, lines[0])
		d.count(next.method, lines[0])
		return
	}
}

// answers sends one unary request to both sides.
func (d *duel) answers(method string, body []byte) [2][]line {
	var out [2][]line
	var both sync.WaitGroup
	for i, s := range d.pair.sides() {
		both.Go(func() {
			p := newPlayer(s, d.rules)
			if err := p.unary(method, body); err != nil {
				p.say("", "script error: %v", err)
			}
			out[i] = p.out
		})
	}
	both.Wait()
	return out
}

// both runs a step on both sides at once and compares what it says.
func (d *duel) both(step func(int, *side) []line, number int, method string, what proto.Message) {
	var out [2][]line
	var both sync.WaitGroup
	for i, s := range d.pair.sides() {
		both.Go(func() { out[i] = step(i, s) })
	}
	both.Wait()
	d.report(number, method, what, compare(out[0], out[1]))
}

// settle waits until all watchers of both sides have seen everything, so that neither a compaction nor
// a timer decides what they get.
func (d *duel) settle(number int) {
	revision := d.generator.revision
	d.both(func(i int, _ *side) []line { return d.watches[i].settle(revision) }, number, "Watch settle", nil)
}

// checkpoint compares watch events and state.
func (d *duel) checkpoint(number int) {
	before := d.failed
	d.settle(number)
	d.both(func(i int, _ *side) []line { return d.watches[i].take() }, number, "Watch events", nil)
	for _, probe := range d.generator.probes() {
		body, _ := proto.Marshal(probe.request)
		lines := d.answers(probe.method, body)
		d.report(number, probe.method, probe.request, compare(lines[0], lines[1]))
	}
	if d.failed == before {
		d.tally.pass()
	}
}

func (d *duel) report(number int, method string, request proto.Message, diff string) {
	if diff == "" {
		return
	}
	d.failed++
	text := ""
	if request != nil {
		text = strings.Join(strings.Fields(prototext.MarshalOptions{}.Format(request)), " ")
	}
	d.tally.fail(fmt.Sprintf("random/%d %s {%s}", number, method, shorten(text)), diff)
}
