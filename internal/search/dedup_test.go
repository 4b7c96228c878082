package search_test

import (
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/memsidecar/memsidecar/internal/search"
)

// TestNumbersDiffer: texts that are taken for different by their numbers would not have been repeats by their words
// either.
func TestNumbersDiffer(t *testing.T) {
	words := strings.Fields("apricot basalt port 8443 8080 v1.26 v1.27 item_12 item-13 2026-02-21 1,000 e2e #7 第3章 " +
		"3个 4个 １２ x86_64 7% 0x1f don't 数据库 a.example:443/b?c=1")
	seen := 0
	rapid.Check(t, func(t *rapid.T) {
		one := rapid.SliceOfN(rapid.SampledFrom(words), 1, 25).Draw(t, "one")
		other := slices.Clone(one)
		if rapid.Bool().Draw(t, "changed") {
			other[rapid.IntRange(0, len(other)-1).Draw(t, "at")] = rapid.SampledFrom(words).Draw(t, "to")
		}
		different, alike := search.NumbersDiffer(strings.Join(one, " "), strings.Join(other, " "))
		if different {
			seen++
		}
		if different && alike > search.DuplicateSimilarity {
			t.Fatalf("%q and %q: taken for different, yet alike by %v", one, other, alike)
		}
	})
	if seen == 0 {
		t.Error("no two texts had different numbers: nothing was tested")
	}
}
