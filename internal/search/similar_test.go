package search_test

import (
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/memsidecar/memsidecar/internal/memory"
	"github.com/memsidecar/memsidecar/internal/search"
)

func FuzzNormal(f *testing.F) {
	for _, s := range []string{
		"", " ", "Deploy  on\tFriday!", "  部署　在周五。！ ", "A . .", "...", "İstanbul ẞ K", "a\xffb\xe4\xbd", "x 。!.", "\u0085line\u2028two",
	} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		if got, want := search.Normal(s), memory.Normalize(s); got != want {
			t.Errorf("normal form of %q is %q, want %q", s, got, want)
		}
	})
}

func TestNegationsWithoutOtherScripts(t *testing.T) {
	for text, want := range map[string]int{
		"":                             0,
		"Never do it without asking":   2,
		"DON'T, won't and n't":         3,
		"notes, nobody, knot, another": 0,
		"no-one":                       1,
		"'not' is quoted":              0,
		"cannot stop; NEITHER avoid x": 4,
		"1not2 none":                   2,
	} {
		if got := search.Negations(text); got != want {
			t.Errorf("%q has %d negations, want %d", text, got, want)
		}
		// A character of no meaning makes it another way of counting.
		if got := search.Negations(text + " …"); got != want {
			t.Errorf("%q beside another script has %d negations, want %d", text, got, want)
		}
	}
}

// TestOtherNumbers: texts that are taken for different by their numbers would not have been repeats by their words either.
func TestOtherNumbers(t *testing.T) {
	words := strings.Fields("apricot basalt port 8443 8080 v1.26 v1.27 item_12 item-13 2026-02-21 1,000 e2e #7 第3章 3个 4个 １２ x86_64 7% 0x1f don't 数据库 a.example:443/b?c=1")
	seen := 0
	rapid.Check(t, func(t *rapid.T) {
		one := rapid.SliceOfN(rapid.SampledFrom(words), 1, 25).Draw(t, "one")
		other := slices.Clone(one)
		if rapid.Bool().Draw(t, "changed") {
			other[rapid.IntRange(0, len(other)-1).Draw(t, "at")] = rapid.SampledFrom(words).Draw(t, "to")
		}
		different, alike := search.OtherNumbers(strings.Join(one, " "), strings.Join(other, " "))
		if different {
			seen++
		}
		if different && alike > search.RepeatAt {
			t.Fatalf("%q and %q: taken for different, yet alike by %v", one, other, alike)
		}
	})
	if seen == 0 {
		t.Error("no two texts had different numbers: nothing was tested")
	}
}
