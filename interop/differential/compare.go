package main

// Running the written cases on both servers and comparing the transcripts.

import (
	"fmt"
	"strings"
	"sync"
)

// runCases plays every case; those without "fresh" share one pair of servers.
func runCases(o options, cases []testCase, r *rules, t *tally) error {
	shared, err := launchPair(o, nil)
	if err != nil {
		return err
	}
	defer func() { shared.stop() }()
	identity(shared, t)
	for _, c := range cases {
		p := shared
		if c.fresh {
			if p, err = launchPair(o, c.args); err != nil {
				t.fail(c.name, fmt.Sprintf("  %v\n", err))
				continue
			}
		}
		runCase(o, p, c, r, t)
		if c.fresh {
			p.stop()
			continue
		}
		if err := shared.oracle.crashed(); err != nil {
			return err
		}
		if err := shared.subject.crashed(); err != nil {
			t.fail(c.name+" (the server ended)", err.Error()+"\n")
			shared.stop()
			if shared, err = launchPair(o, nil); err != nil {
				return err
			}
		}
	}
	return nil
}

// identity compares the ids that both servers computed from the same peer URL, name and token.
func identity(p pair, t *tally) {
	if p.oracle.member == p.subject.member && p.oracle.cluster == p.subject.cluster {
		t.pass()
		return
	}
	t.fail("cluster/ids-of-a-bootstrap", fmt.Sprintf("  - member %x cluster %x\n  + member %x cluster %x\n",
		p.oracle.member, p.oracle.cluster, p.subject.member, p.subject.cluster))
}

func runCase(o options, p pair, c testCase, r *rules, t *tally) {
	first, second := playBoth(p, c, r)
	diff := compare(first, second) + scriptErrors(first)
	if o.verbose {
		fmt.Printf("== %s\n%s", c.name, transcript(first))
	}
	listed, known := r.testCase(c.name)
	switch {
	case !known && diff == "":
		t.pass()
	case !known:
		t.fail(c.name+" ("+c.place+")", diff)
	case diff == "":
		t.fail(c.name, "  is listed as difference "+listed.id+", but both servers answer the same\n")
	default:
		t.pass()
	}
}

func playBoth(p pair, c testCase, r *rules) (first, second []line) {
	var both sync.WaitGroup
	both.Go(func() { first = newPlayer(p.oracle, r).play(c) })
	both.Go(func() { second = newPlayer(p.subject, r).play(c) })
	both.Wait()
	return first, second
}

// scriptErrors shows steps that could not be played, which would compare equal.
func scriptErrors(lines []line) string {
	var out strings.Builder
	for _, l := range lines {
		if strings.HasPrefix(l.text, "script error") {
			fmt.Fprintf(&out, "  %s\n", l.text)
		}
	}
	return out.String()
}

func transcript(lines []line) string {
	var out strings.Builder
	for _, l := range lines {
		fmt.Fprintf(&out, "    %s\n", shorten(l.text))
	}
	return out.String()
}

// compare returns the differing lines, each after the step that it belongs to; "" if there are none.
func compare(first, second []line) string {
	a, b := bySteps(first), bySteps(second)
	var out strings.Builder
	for i := range max(len(a), len(b)) {
		var left, right []string
		if i < len(a) {
			left = a[i]
		}
		if i < len(b) {
			right = b[i]
		}
		diffStep(&out, left, right)
	}
	return out.String()
}

// bySteps cuts a transcript before each "> step" line.
func bySteps(lines []line) [][]string {
	steps := [][]string{nil}
	for _, l := range lines {
		if strings.HasPrefix(l.text, "> ") {
			steps = append(steps, nil)
		}
		steps[len(steps)-1] = append(steps[len(steps)-1], l.text)
	}
	return steps
}

func diffStep(out *strings.Builder, left, right []string) {
	if strings.Join(left, "\n") == strings.Join(right, "\n") {
		return
	}
	head := 0
	for head < min(len(left), len(right)) && left[head] == right[head] {
		head++
	}
	tail := 0
	for tail < min(len(left), len(right))-head &&
		left[len(left)-1-tail] == right[len(right)-1-tail] {
		tail++
	}
	if len(left) > 0 {
		fmt.Fprintf(out, "  %s\n", shorten(left[0]))
	}
	for _, text := range left[head : len(left)-tail] {
		fmt.Fprintf(out, "    - %s\n", shorten(text))
	}
	for _, text := range right[head : len(right)-tail] {
		fmt.Fprintf(out, "    + %s\n", shorten(text))
	}
}

func shorten(text string) string {
	if len(text) <= 400 {
		return text
	}
	return fmt.Sprintf("%s... (%d characters)", text[:400], len(text))
}
