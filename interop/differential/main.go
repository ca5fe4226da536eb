// Command differential sends the same requests to real etcd and to Mainstay and compares everything a
// client sees. README.md tells how to run it and how to write a case.
package main

import (
	"flag"
	"fmt"
	"os"
	"path"
	"time"
)

type options struct {
	oracle, subject string
	scratch         string
	cases           string
	compat          string
	only            string
	seed            uint64
	requests        int
	selftest        bool
	verbose         bool
}

func parse() options {
	var o options
	flag.StringVar(&o.oracle, "oracle", os.Getenv("ETCD"), "command line of etcd [ETCD]")
	flag.StringVar(&o.subject, "subject", os.Getenv("SERVER"), "command line of the server under test [SERVER]")
	flag.StringVar(&o.cases, "cases", "cases", "folder of the written cases")
	flag.StringVar(&o.compat, "compat", "../../docs/compat.md", "file with the table of differences")
	flag.StringVar(&o.only, "only", "", "run only cases whose name matches this pattern, and no random requests")
	flag.Uint64Var(&o.seed, "seed", uint64(time.Now().UnixNano()), "seed of the random requests")
	flag.IntVar(&o.requests, "requests", 6000, "number of random requests")
	flag.BoolVar(&o.selftest, "selftest", false, "change each compared field once: every change must be caught")
	flag.BoolVar(&o.verbose, "v", false, "print the transcript of every case")
	flag.Parse()
	return o
}

func main() {
	o := parse()
	if o.oracle == "" || (o.subject == "" && !o.selftest) {
		fmt.Fprintln(os.Stderr, "differential: give -oracle and -subject (or ETCD and SERVER)")
		os.Exit(2)
	}
	scratch, err := os.MkdirTemp("", "differential-")
	if err == nil {
		o.scratch = scratch
		err = run(o)
		os.RemoveAll(scratch)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "differential:", err)
		os.Exit(1)
	}
}

// tally counts what passed and prints what failed.
type tally struct {
	passed, failed int
}

func (t *tally) pass() { t.passed++ }

func (t *tally) fail(name, detail string) {
	t.failed++
	fmt.Printf("FAIL %s\n%s", name, detail)
}

func (t *tally) end() error {
	fmt.Printf("%d passed, %d failed\n", t.passed, t.failed)
	if t.failed > 0 {
		return fmt.Errorf("%d failed", t.failed)
	}
	return nil
}

func run(o options) error {
	cases, err := readCases(o.cases)
	if err != nil {
		return err
	}
	cases = append(cases, transportCases()...)
	if o.only != "" {
		cases = matching(cases, o.only)
	}
	r, err := readRules(o.compat)
	if err != nil {
		return err
	}
	if o.selftest {
		return selftest(o, cases)
	}
	var t tally
	if err := runCases(o, cases, r, &t); err != nil {
		return err
	}
	if o.only == "" || o.only == "random" {
		if err := runRandom(o, r, &t); err != nil {
			return err
		}
	}
	return t.end()
}

func matching(cases []testCase, pattern string) []testCase {
	var kept []testCase
	for _, c := range cases {
		if ok, _ := path.Match(pattern, c.name); ok {
			kept = append(kept, c)
		}
	}
	return kept
}
