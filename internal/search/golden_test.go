package search_test

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/memsidecar/memsidecar/internal/memory"
	"github.com/memsidecar/memsidecar/internal/search"
)

var update = flag.Bool("update", false, "rewrite the golden files")

// TestGolden keeps the ranking of sample memories in testdata/ranking.txt, so that a change of it is a diff to review.
// A "*" marks what should be found. Rewrite it with -update.
func TestGolden(t *testing.T) {
	var memories []*memory.Memory
	for _, m := range readJSONL[memory.Memory](t, filepath.Join("testdata", "memories.jsonl")) {
		memories = append(memories, &m)
	}
	e := inDefault(memories...)
	var out strings.Builder
	var sum quality
	answerable, unanswerable, silent := 0, 0, 0
	for _, q := range readJSONL[evalQuery](t, filepath.Join("testdata", "queries.jsonl")) {
		resp := find(t, e, search.Request{Query: q.Text, AsOf: epoch})
		fmt.Fprintf(&out, "%s\n", q.Text)
		for _, h := range resp.Hits[:min(5, len(resp.Hits))] {
			mark := " "
			if strings.Contains(" "+strings.Join(q.Relevant, " ")+" ", " "+h.Memory.ID+" ") {
				mark = "*"
			}
			fmt.Fprintf(&out, "  %s %.3f %-4s %s\n", mark, h.Score, h.Memory.ID, h.Memory.Content)
		}
		if resp.Abstained {
			fmt.Fprintf(&out, "    - %s\n", resp.Reason)
		}
		if len(q.Relevant) > 0 {
			answerable++
			sum.add(rate(ids(resp.Hits), q.Relevant))
		} else if unanswerable++; resp.Abstained {
			silent++
		}
	}
	fmt.Fprintf(&out, "\n%s over %d questions\nsilent on %d of %d questions without an answer\n", sum.over(answerable), answerable, silent, unanswerable)
	path := filepath.Join("testdata", "ranking.txt")
	if *update {
		if err := os.WriteFile(path, []byte(out.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), out.String()); diff != "" {
		t.Errorf("ranking changed; review and run with -update (-want +got):\n%s", diff)
	}
}
