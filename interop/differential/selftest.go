package main

// The runner's own test: etcd against etcd, where a proxy changes one compared field of one answer.
// Each change must make the comparison fail.

import (
	"fmt"
	"sort"
	"strings"
)

func selftest(o options, cases []testCase) error {
	o.subject = o.oracle
	r, err := readRules(o.compat)
	if err != nil {
		return err
	}
	p, err := launchPair(o, nil)
	if err != nil {
		return err
	}
	defer p.stop()
	var m mutation
	if err := interpose(p.subject, &m); err != nil {
		return err
	}
	var t tally
	targets := survey(p, cases, r, &t)
	for _, where := range sortedTargets(targets) {
		trial(p, where, targets[where], r, &m, &t)
	}
	return t.end()
}

// survey plays the cases without a change, which must compare equal through the proxies, and picks for
// each compared field the shortest case that has it.
func survey(p pair, cases []testCase, r *rules, t *tally) map[string]testCase {
	targets := map[string]testCase{}
	for _, c := range cases {
		if c.fresh || isSlow(c) {
			continue
		}
		first, second := playBoth(p, c, r)
		if diff := compare(first, second); diff != "" {
			if c.code == nil {
				t.fail("selftest/unchanged "+c.name, diff)
			}
			continue
		}
		for _, l := range second {
			for _, where := range aims(l) {
				if strings.HasSuffix(where, " duplicate") && !endsQuiet(c) {
					continue // nobody looks for one message more
				}
				best, known := targets[where]
				if !known || len(c.steps) < len(best.steps) || best.code != nil && c.code == nil {
					targets[where] = c
				}
			}
		}
	}
	return targets
}

// aims lists the changes that a transcript line allows.
func aims(l line) []string {
	switch {
	case l.where == "" || strings.Contains(l.text, "<listed difference>"):
		return nil
	case strings.HasPrefix(l.text, "still waiting"):
		return nil
	case strings.HasSuffix(l.where, " status") && !strings.HasSuffix(l.text, "OK") && !strings.HasPrefix(l.where, "HTTP"):
		return []string{l.where, strings.TrimSuffix(l.where, "status") + "text"}
	case strings.HasSuffix(l.where, " message"):
		return []string{l.where, strings.TrimSuffix(l.where, "message") + "duplicate"}
	case strings.HasSuffix(l.where, "header-metadata") && l.text == "header metadata: ":
		return nil // an answer of trailers only
	}
	return []string{l.where}
}

func endsQuiet(c testCase) bool {
	return len(c.steps) > 0 && strings.HasSuffix(c.steps[len(c.steps)-1].rest, " quiet")
}

// isSlow leaves out cases that wait for time to pass.
func isSlow(c testCase) bool {
	for _, s := range c.steps {
		if s.verb == "until-count" || s.verb == "deep" || s.verb == "repeat" || len(s.rest) > 300 {
			return true
		}
	}
	return false
}

// trial makes one change and expects a difference. etcd's own servers keep the same state whatever the
// proxy shows, so trials do not disturb each other.
func trial(p pair, where string, c testCase, r *rules, m *mutation, t *tally) {
	m.aim(where)
	first := make(chan []line)
	go func() { first <- newPlayer(p.oracle, r).play(c) }()
	player := newPlayer(p.subject, r)
	player.ready = m.arm
	second := player.play(c)
	diff := compare(<-first, second)
	switch {
	case !m.hit():
		t.fail("selftest/"+where, fmt.Sprintf("  %s does not have it any more\n", c.name))
	case diff == "":
		t.fail("selftest/"+where, fmt.Sprintf("  a change in %s was not noticed\n", c.name))
	default:
		t.pass()
	}
	m.aim("")
}

func sortedTargets(targets map[string]testCase) []string {
	var all []string
	for where := range targets {
		all = append(all, where)
	}
	sort.Strings(all)
	return all
}
