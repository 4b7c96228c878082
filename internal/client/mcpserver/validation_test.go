package mcpserver_test

import (
	"strings"
	"testing"
	"time"

	"github.com/memsidecar/memsidecar/internal/client/mcpserver"
)

// TestArgumentsAreNotRepeated refuses arguments with the limit, and never with the argument.
func TestArgumentsAreNotRepeated(t *testing.T) {
	a := newTestDaemon(t).connectAgent(t, mcpserver.SetDefault)
	const canary = "xyzzy-canary: validating /properties/salience: maximum: 5"
	long := canary + strings.Repeat("x", 9000)
	for _, tt := range []struct {
		tool string
		in   args
		want string
	}{
		{"memory_write", args{"content": long}, "The argument content has 9057 characters; the limit is 8000."},
		{"memory_write", args{"content": ""}, "The argument content must have at least 1 characters."},
		{"memory_write", args{"content": "x", "salience": 5}, "The argument salience must be at most 1."},
		{"memory_write", args{"content": "x", "write_to": canary}, "The argument write_to must be one of [memory daily]."},
		{"memory_write", args{"content": []string{canary}}, "The argument content is of type array; it must be string."},
		{"memory_write", args{"title": canary}, `The call lacks ["content"].`},
		{"memory_search", args{"query": "x", "top_k": 100000}, "The argument top_k must be at most 20."},
		{"memory_search", args{"query": "x", "from": canary}, "from must be a date such as 2026-02-21."},
	} {
		said := a.callError(t, tt.tool, tt.in)
		if !strings.HasPrefix(said, tt.want) || strings.Contains(said, "xyzzy") {
			t.Errorf("%s: said %q, want %q first and none of the argument", tt.tool, said, tt.want)
		}
	}
}

// TestRedactionIsTold says that a secret was taken out, and only then.
func TestRedactionIsTold(t *testing.T) {
	a := newTestDaemon(t).connectAgent(t, mcpserver.SetDefault)
	const secret = "AKIAQ3EGP7XSZ2LMN5RT"
	text, out := a.call(t, "memory_write", args{"content": "The deploy key is " + secret})
	if !strings.Contains(text, "aws-key at characters 19-38 of content") || valueAt(out, "reason") != "REDACTED" ||
		valueAt(out, "redactions", 0, "start") != 18.0 || strings.Contains(text, secret) {
		t.Errorf("said %q, %v", text, out)
	}
	// The log of a day is told of, too; the next reader will not find the secret there.
	text, out = a.call(t, "memory_write", args{"content": "Rotated " + secret, "write_to": "daily"})
	if !strings.Contains(text, "aws-key at characters 9-28 of content") || valueAt(out, "reason") != "REDACTED" {
		t.Errorf("daily: said %q, %v", text, out)
	}
	text, out = a.call(t, "save_memory", args{"history_entry": "Rotated " + secret + " again"})
	if !strings.Contains(text, "aws-key at characters 9-28 of history_entry") || valueAt(out, "reason") != "REDACTED" {
		t.Errorf("history: said %q, %v", text, out)
	}
	text, out = a.call(t, "memory_write", args{"content": "Painted the mast", "write_to": "daily"})
	if strings.Contains(text, "taken out") || valueAt(out, "reason") == "REDACTED" {
		t.Errorf("nothing was removed: said %q, %v", text, out)
	}
	if text, _ := a.call(t, "memory_write", args{"content": "The deploy host is delphi"}); strings.Contains(text, "taken out") {
		t.Errorf("said %q", text)
	}
}

// TestSearchFilters filters by tags and days, and finds entries of daily logs unless told not to.
func TestSearchFilters(t *testing.T) {
	a := newTestDaemon(t).connectAgent(t, mcpserver.SetDefault)
	a.call(t, "memory_write", args{"content": "The harbour pilot is called Ines", "tags": []string{"crew"}})
	a.call(t, "memory_write", args{"content": "The harbour opens at six", "tags": []string{"hours"}})
	a.call(t, "memory_write", args{"content": "Repainted the harbour crane in yellow", "write_to": "daily"})
	today := time.Now().Format(time.DateOnly)
	yesterday := time.Now().AddDate(0, 0, -1).Format(time.DateOnly)
	for _, tt := range []struct {
		name string
		in   args
		want int
	}{
		{"all", args{}, 3},
		{"no logs", args{"logs": false}, 2},
		{"a tag", args{"tags": []string{"crew"}}, 1},
		{"until yesterday", args{"until": yesterday}, 0},
		{"from yesterday to today", args{"from": yesterday, "until": today}, 3},
		{"another space", args{"space": "elsewhere"}, 0},
	} {
		tt.in["query"] = "harbour"
		_, out := a.call(t, "memory_search", tt.in)
		if got := len(valueAt(out, "memories").([]any)); got != tt.want {
			t.Errorf("%s: %d memories, want %d: %v", tt.name, got, tt.want, out)
		}
	}
	text, out := a.call(t, "memory_search", args{"query": "crane yellow repainted"})
	if !strings.Contains(text, "Repainted the harbour crane") || valueAt(out, "memories", 0, "source") != "log" {
		t.Errorf("with logs: %s, %v", text, out)
	}
}

// TestSearchFetch finds an id and reads what stands under it; the text is the result as JSON, which connectors read.
func TestSearchFetch(t *testing.T) {
	h := newTestDaemon(t)
	h.connectAgent(t, mcpserver.SetDefault).call(t, "memory_write", args{"content": "The harbour pilot is called Ines"})
	a := h.connectAgent(t, mcpserver.SetSearchFetch)
	text, out := a.call(t, "search", args{"query": "who is the harbour pilot"})
	id := valueAt(out, "results", 0, "id")
	if id == nil || valueAt(out, "results", 0, "title") != "The harbour pilot is called Ines" ||
		!strings.HasPrefix(text, "{\n  \"results\"") {
		t.Fatalf("search: %s, %v", text, out)
	}
	text, out = a.call(t, "fetch", args{"id": id})
	if valueAt(out, "text") != "The harbour pilot is called Ines" || valueAt(out, "metadata", "category") == nil ||
		!strings.HasPrefix(text, "{\n  \"id\"") {
		t.Errorf("fetch: %s, %v", text, out)
	}
	if said := a.callError(t, "fetch", args{"id": "nobody"}); !strings.Contains(said, "Ids come from") {
		t.Errorf("said %q", said)
	}
	if _, out := a.call(t, "search", args{"query": "submarine periscope"}); len(valueAt(out, "results").([]any)) != 0 {
		t.Errorf("found %v", out)
	}
}
