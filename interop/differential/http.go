package main

// HTTP/1 rows: status, every header but the date, and the body.

import (
	"fmt"
	"io"
	"net/http"
	"sort"
	"strings"
)

// http handles "http METHOD PATH [Header:value ...]"; without detail only status and content type.
func (p *player) http(rest string, detail bool) error {
	words := strings.Fields(rest)
	if len(words) < 2 {
		return fmt.Errorf("http needs a method and a path")
	}
	request, err := http.NewRequest(words[0], "http://"+p.s.httpVia+words[1], nil)
	if err != nil {
		return err
	}
	for _, word := range words[2:] {
		key, value, _ := strings.Cut(word, ":")
		if strings.EqualFold(key, "Host") {
			request.Host = value
			continue
		}
		request.Header.Add(key, value)
	}
	client := &http.Client{Timeout: callTimeout, Transport: &http.Transport{DisableKeepAlives: true},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	response, err := client.Do(request)
	if err != nil {
		p.say("HTTP status", "error: %s", strings.ReplaceAll(err.Error(), p.s.httpVia, "<address>"))
		return nil
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	p.say("HTTP status", "status: %d", response.StatusCode)
	if !detail {
		p.say("HTTP header Content-Type", "type: %s", response.Header.Get("Content-Type"))
		return nil
	}
	var keys []string
	for key := range response.Header {
		keys = append(keys, key)
	}
	sort.Strings(keys)
	for _, key := range keys {
		if key != "Date" {
			p.say("HTTP header "+key, "%s: %s", key, strings.Join(response.Header[key], ", "))
		}
	}
	lines := strings.Split(string(body), "\n")
	if strings.HasPrefix(words[1], "/livez") || strings.HasPrefix(words[1], "/readyz") {
		sort.Strings(lines) // upstream lists the checks in the random order of a map
	}
	for _, text := range lines {
		p.say("HTTP body", "body: %q", text)
	}
	if err != nil {
		p.say("HTTP body", "body ends with: %v", err)
	}
	return nil
}
