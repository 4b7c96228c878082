package search_test

import (
	"cmp"
	"flag"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"

	"github.com/memsidecar/memsidecar/internal/memory"
	"github.com/memsidecar/memsidecar/internal/search"
)

var update = flag.Bool("update", false, "rewrite the golden files")

// TestGolden keeps the ranking of sample memories in testdata/ranking, one file for each query, so that a change of
// it is a diff to review. A "*" marks what should be found; what a score is made of stands below it, and how good the
// ranking is at the foot. summary.txt has the means. Rewrite all with -update.
func TestGolden(t *testing.T) {
	var memories []*memory.Memory
	for _, m := range search.ReadLines[memory.Memory](t, filepath.Join("testdata", "memories.jsonl")) {
		memories = append(memories, &m)
	}
	e := inDefault(memories...)
	got := map[string]string{}
	var sum quality
	answerable, unanswerable, silent := 0, 0, 0
	for i, q := range search.ReadLines[evalQuery](t, filepath.Join("testdata", "queries.jsonl")) {
		resp := find(t, e, search.Request{Query: q.Text, K: 10, AsOf: epoch, Explain: true})
		one := rate(ids(resp.Hits), q.Relevant)
		foot := fmt.Sprintf("silent %v, should be true\n", resp.Abstained)
		if len(q.Relevant) > 0 {
			answerable++
			sum.add(one)
			foot = one.String() + "\n"
		} else if unanswerable++; resp.Abstained {
			silent++
		}
		got[fmt.Sprintf("%03d.txt", i+1)] = golden(q, resp) + "\n" + foot
	}
	got["summary.txt"] = fmt.Sprintf("%s over %d questions\nsilent on %d of %d questions without an answer\n",
		sum.over(answerable), answerable, silent, unanswerable)
	compareGolden(t, filepath.Join("testdata", "ranking"), got)
}

// golden is one query and the first five memories it finds.
func golden(q evalQuery, resp *search.Response) string {
	var out strings.Builder
	fmt.Fprintf(&out, "%s\n", q.Text)
	for _, h := range resp.Hits[:min(5, len(resp.Hits))] {
		mark := " "
		if slices.Contains(q.Relevant, h.Memory.ID) {
			mark = "*"
		}
		fmt.Fprintf(&out, "  %s %.3f %-4s %s\n       ", mark, h.Score, h.Memory.ID, h.Memory.Content)
		for _, p := range h.Parts {
			fmt.Fprintf(&out, " %s %.3f", p.Name, p.Value)
		}
		out.WriteByte('\n')
	}
	if resp.Abstained {
		fmt.Fprintf(&out, "    - %s\n", resp.Reason)
	}
	return out.String()
}

// compareGolden compares the files of a directory with what they should be, or rewrites them.
func compareGolden(t *testing.T, dir string, got map[string]string) {
	t.Helper()
	if *update {
		if err := cmp.Or(os.RemoveAll(dir), os.MkdirAll(dir, 0o755)); err != nil {
			t.Fatal(err)
		}
		for name, text := range got {
			if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
				t.Fatal(err)
			}
		}
	}
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]string{}
	for _, e := range entries {
		text, err := os.ReadFile(filepath.Join(dir, e.Name()))
		if err != nil {
			t.Fatal(err)
		}
		want[e.Name()] = string(text)
	}
	for _, name := range slices.Sorted(maps.Keys(got)) {
		if diff := gocmp.Diff(want[name], got[name]); diff != "" {
			t.Errorf("%s changed; review and run with -update (-want +got):\n%s", name, diff)
		}
		delete(want, name)
	}
	for name := range want {
		t.Errorf("%s is of no query; run with -update", name)
	}
}
