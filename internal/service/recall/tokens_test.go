package recall_test

import (
	"encoding/json"
	"math"
	"os"
	"path/filepath"
	"testing"

	"github.com/memsidecar/memsidecar/internal/service/recall"
)

// TestTokens compares the estimate with the counts of a real encoding; testdata/tokens/count.mjs made them.
func TestTokens(t *testing.T) {
	raw, err := os.ReadFile("testdata/tokens/counts.json")
	if err != nil {
		t.Fatal(err)
	}
	var counts map[string]int
	if err := json.Unmarshal(raw, &counts); err != nil {
		t.Fatal(err)
	}
	files, err := filepath.Glob("testdata/tokens/*.txt")
	if err != nil || len(files) != len(counts) || len(files) < 10 {
		t.Fatalf("%d samples with %d counts: %v", len(files), len(counts), err)
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		want, got := counts[filepath.Base(file)], recall.Tokens(string(text))
		off := float64(got-want) / float64(want)
		t.Logf("%-24s real %4d  estimated %4d  %+5.1f %%", filepath.Base(file), want, got, 100*off)
		if math.Abs(off) > 0.15 {
			t.Errorf("%s: estimated %d tokens, has %d: off by %.0f %%", file, got, want, 100*off)
		}
	}
}
