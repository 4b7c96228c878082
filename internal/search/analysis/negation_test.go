package analysis_test

import (
	"testing"

	"github.com/memsidecar/memsidecar/internal/search/analysis"
)

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
		if got := analysis.Negations(text); got != want {
			t.Errorf("%q has %d negations, want %d", text, got, want)
		}
		// A character of no meaning makes it another way of counting.
		if got := analysis.Negations(text + " …"); got != want {
			t.Errorf("%q beside another script has %d negations, want %d", text, got, want)
		}
	}
}
