package search_test

import (
	"testing"

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
