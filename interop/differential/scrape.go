package main

// What a scrape shows: names, types and labels of metrics. Values, and the figures of Go's runtime, are
// each server's own.

import (
	"fmt"
	"io"
	"net/http"
	"regexp"
	"sort"
	"strings"
)

var labelName = regexp.MustCompile(`([a-zA-Z_]+)="`)

// scrape handles "scrape": a line per metric with its type, and one per name and set of labels; the whole
// of those lines that hold no value of a server's own.
func (p *player) scrape() error {
	response, err := http.Get("http://" + p.s.httpVia + "/metrics")
	if err != nil {
		return err
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	if err != nil {
		return err
	}
	seen := map[string]bool{}
	for _, text := range strings.Split(string(body), "\n") {
		name := strings.TrimPrefix(text, "# TYPE ")
		switch {
		case text == "" || strings.HasPrefix(text, "# HELP") || strings.HasPrefix(name, "go_"):
		case name != text:
			seen["type "+name] = true
		case strings.HasPrefix(text, "etcd_server_feature_enabled"):
			seen[text] = true
		default:
			series := text[:strings.LastIndex(text, " ")]
			family, _, _ := strings.Cut(series, "{")
			var labels []string
			for _, found := range labelName.FindAllStringSubmatch(series, -1) {
				labels = append(labels, found[1])
			}
			sort.Strings(labels)
			seen[fmt.Sprintf("series %s%v", family, labels)] = true
		}
	}
	var lines []string
	for text := range seen {
		lines = append(lines, text)
	}
	sort.Strings(lines)
	for _, text := range lines {
		p.say("HTTP body", "%s", text)
	}
	return nil
}
