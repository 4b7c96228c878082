package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestCorpusHasNoDuplicates(t *testing.T) {
	seen := map[string]int{}
	for i := range names {
		if j, ok := seen[name(i)]; ok {
			t.Fatalf("name(%d) and name(%d) are both %q", i, j, name(i))
		}
		seen[name(i)] = i
	}
	clear(seen)
	for i := range 3 * names {
		if j, ok := seen[content(i)]; ok {
			t.Fatalf("content(%d) and content(%d) are both %q", i, j, content(i))
		}
		seen[content(i)] = i
	}
}

func TestQueryNamesItsMemory(t *testing.T) {
	for _, i := range []int{0, 1, 2, 3, 7, names - 1, names + 3} {
		if n, _, _ := strings.Cut(query(i), " "); !strings.Contains(content(i), n) {
			t.Errorf("query %q names nothing in %q", query(i), content(i))
		}
	}
}

func TestSample(t *testing.T) {
	var s sample
	s.merge(sample{calls: []time.Duration{4, 2}, elapsed: time.Second})
	s.merge(sample{calls: []time.Duration{1, 3}, elapsed: time.Second})
	got := fmt.Sprint(s.at(0), s.at(.5), s.at(.99), s.at(1), s.perSecond(), sample{}.at(.5), sample{}.perSecond())
	if diff := cmp.Diff("1ns 3ns 4ns 4ns 2 0s 0", got); diff != "" {
		t.Errorf("quantiles and rates (-want +got):\n%s", diff)
	}
}

func TestTargets(t *testing.T) {
	for _, tt := range []struct {
		name string
		set  func(*row)
		want string
	}{
		{"at most, met", func(r *row) { r.compare(15, 10, "f"); r.atMost(1.5) }, "≤ 1.5 × met"},
		{"at most, missed", func(r *row) { r.compare(16, 10, "f"); r.atMost(1.5) }, "≤ 1.5 × MISSED"},
		{"at least, met", func(r *row) { r.compare(4, 10, "f"); r.atLeast(0.4) }, "≥ 0.4 × met"},
		{"at least, missed", func(r *row) { r.compare(3, 10, "f"); r.atLeast(0.4) }, "≥ 0.4 × MISSED"},
		{"limit, missed", func(r *row) { r.limit(26, 25, "≤ 25 MB") }, "≤ 25 MB MISSED"},
		{"none", func(r *row) { r.compare(3, 10, "f") }, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var r row
			tt.set(&r)
			if got := r.verdict(); got != tt.want {
				t.Errorf("verdict %q, want %q", got, tt.want)
			}
		})
	}
}

func TestWrittenLeavesOutReservedSpace(t *testing.T) {
	dir := t.TempDir()
	for file, text := range map[string]string{"1.jsonl": "abc\n", "2.jsonl": "de\n\x00\x00\x00\x00"} {
		if err := os.WriteFile(filepath.Join(dir, file), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if got, err := written(dir); err != nil || got != 7 {
		t.Errorf("written = %d, %v; want 7", got, err)
	}
}
