package acceptance_test

import (
	"encoding/json"
	"slices"
	"testing"
	"time"

	"github.com/memsidecar/memsidecar/internal/memtest/process"
)

// TestCompression: memories that nobody has asked for in more than ninety days, and seldom before, become one to three
// where at least three are alike. Ninety days to the hour are not more, five accesses are not seldom, and what was
// merged can be had back.
func TestCompression(t *testing.T) {
	p := process.New(t, program)
	type old struct {
		ID           string    `json:"id"`
		Category     string    `json:"category"`
		Content      string    `json:"content"`
		CreatedAt    time.Time `json:"created_at"`
		LastAccessed time.Time `json:"last_accessed"`
		AccessCount  int       `json:"access_count"`
	}
	accessed := func(id, category, content string, days float64, count int) old {
		at := time.Now().Add(-time.Duration(days * 24 * float64(time.Hour)))
		return old{id, category, content, at.AddDate(0, 0, -5), at, count}
	}
	file, err := json.Marshal(map[string]any{"version": 2, "memories": []old{
		accessed("roof1", "facts", "The roof of the boat house is made of slate", 91.5, 0),
		accessed("roof2", "facts", "The boat house roof is slate", 120, 4),
		accessed("roof3", "facts", "The roof of the boat house is slate from Wales", 300, 1),
		accessed("rope1", "tasks", "Buy twine for the fence", 89.9, 0),
		accessed("rope2", "tasks", "Buy twine for a fence", 120, 5),
		accessed("rope3", "tasks", "Buy twine for the fences", 120, 0),
		accessed("other", "facts", "The ferry leaves at noon", 400, 0),
	}})
	if err != nil {
		t.Fatal(err)
	}
	write(t, p, "memory.json", string(file))
	p.Serve(t)
	p.Succeeds(t, "memory", "compress")

	all := list(t, p)
	if merged := containing(all, "slate"); len(merged) == 0 || len(merged) > 2 || len(containing(merged, "Wales")) != 1 {
		t.Errorf("of three alike there are %+v", merged)
	}
	if kept := containing(all, "twine"); len(kept) != 3 {
		t.Errorf("one is too young and one is used, and there are %+v", kept)
	}
	if len(containing(all, "ferry")) != 1 {
		t.Error("what is like nothing else is gone")
	}
	p.Succeeds(t, "restore", "roof2")
	back := containing(list(t, p), "The boat house roof is slate")
	if !slices.ContainsFunc(back, func(m memory) bool { return m.ID == "roof2" }) {
		t.Errorf("restored: %+v", back)
	}
}
