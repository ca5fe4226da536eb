package main

// The script language of the written cases (see README.md): one case per "== name" heading, one step
// per line, requests in protobuf's text format.

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"sort"
	"strconv"
	"strings"
)

// testCase is one named list of steps.
type testCase struct {
	name  string
	place string // file:line
	fresh bool   // runs on servers of its own, started with args
	args  []string
	steps []step
	code  func(*player) // instead of steps, for the hand-made HTTP/2 frames
}

type step struct {
	verb, rest string
}

// readCases reads all script files of a folder, in order of file name.
func readCases(folder string) ([]testCase, error) {
	files, err := filepath.Glob(filepath.Join(folder, "*.txt"))
	if err != nil || len(files) == 0 {
		return nil, fmt.Errorf("no case files in %s: %w", folder, err)
	}
	sort.Strings(files)
	var all []testCase
	names := map[string]string{}
	for _, file := range files {
		cases, err := readFile(file)
		if err != nil {
			return nil, err
		}
		for _, c := range cases {
			if other, dup := names[c.name]; dup {
				return nil, fmt.Errorf("%s: %s is also at %s", c.place, c.name, other)
			}
			names[c.name] = c.place
		}
		all = append(all, cases...)
	}
	return all, nil
}

func readFile(file string) ([]testCase, error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	area := strings.TrimSuffix(filepath.Base(file), ".txt")
	if _, rest, found := strings.Cut(area, "-"); found {
		area = rest
	}
	var cases []testCase
	for number, line := range strings.Split(string(text), "\n") {
		line = strings.TrimSpace(line)
		place := fmt.Sprintf("%s:%d", filepath.Base(file), number+1)
		switch {
		case line == "" || strings.HasPrefix(line, "#"):
		case strings.HasPrefix(line, "== "):
			cases = append(cases, heading(area, place, line))
		case len(cases) == 0:
			return nil, fmt.Errorf("%s: a step before the first case", place)
		default:
			verb, rest, _ := strings.Cut(line, " ")
			last := &cases[len(cases)-1]
			last.steps = append(last.steps, step{verb, strings.TrimSpace(rest)})
		}
	}
	return cases, nil
}

// heading reads "== name words | fresh --flag=value".
func heading(area, place, line string) testCase {
	name, flags, _ := strings.Cut(strings.TrimPrefix(line, "== "), "|")
	c := testCase{name: area + "/" + strings.ReplaceAll(strings.TrimSpace(name), " ", "-"), place: place}
	words := strings.Fields(flags)
	if len(words) > 0 && words[0] == "fresh" {
		c.fresh, c.args = true, words[1:]
	}
	return c
}

var (
	repeatMacro = regexp.MustCompile(`%rep\((\d+)\|([^|]*)\|\)`)
	fillMacro   = regexp.MustCompile(`%x\((\d+)\)`)
	nestMacro   = regexp.MustCompile(`%nest\((\d+)\)`)
	revVariable = regexp.MustCompile(`@r(?:([+-])(\d+))?\b`)
	idVariable  = regexp.MustCompile(`@(leasehex|lease|member|cluster)(\d*)\b`)
)

// expand replaces the macros and variables of a step's text for one side.
func (p *player) expand(text string) string {
	text = repeatMacro.ReplaceAllStringFunc(text, func(found string) string {
		parts := repeatMacro.FindStringSubmatch(found)
		count, _ := strconv.Atoi(parts[1])
		var out strings.Builder
		for i := range count {
			out.WriteString(strings.ReplaceAll(parts[2], "%i", fmt.Sprintf("%05d", i)))
			out.WriteString(" ")
		}
		return out.String()
	})
	text = fillMacro.ReplaceAllStringFunc(text, func(found string) string {
		count, _ := strconv.Atoi(fillMacro.FindStringSubmatch(found)[1])
		return strings.Repeat("x", count)
	})
	text = nestMacro.ReplaceAllStringFunc(text, func(found string) string {
		depth, _ := strconv.Atoi(nestMacro.FindStringSubmatch(found)[1])
		return strings.Repeat("success:{request_txn:{", depth) + strings.Repeat("}}", depth)
	})
	text = revVariable.ReplaceAllStringFunc(text, func(found string) string {
		parts := revVariable.FindStringSubmatch(found)
		delta, _ := strconv.ParseInt(parts[1]+parts[2], 10, 64)
		return strconv.FormatInt(p.base+delta, 10)
	})
	return idVariable.ReplaceAllStringFunc(text, func(found string) string {
		return p.identifier(idVariable.FindStringSubmatch(found))
	})
}

func (p *player) identifier(parts []string) string {
	switch parts[1] {
	case "member":
		return strconv.FormatUint(p.s.member, 10)
	case "cluster":
		return strconv.FormatUint(p.s.cluster, 10)
	}
	number, _ := strconv.Atoi(parts[2])
	if number < 1 || number > len(p.leases) {
		return "0"
	}
	if parts[1] == "leasehex" {
		return strconv.FormatInt(p.leases[number-1], 16)
	}
	return strconv.FormatInt(p.leases[number-1], 10)
}
