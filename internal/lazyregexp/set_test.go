package lazyregexp

import (
	"math/rand/v2"
	"regexp/syntax"
	"slices"
	"strings"
	"testing"
)

// TestSetIsEachOfItsPatterns: the set of all expressions of this module finds in one pass what each finds in a
// pass for itself.
func TestSetIsEachOfItsPatterns(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	var patterns []*Pattern
	for _, expr := range Expressions(t) {
		patterns = append(patterns, New(expr))
	}
	set := NewSet(patterns...)
	candidates, spared := 0, 0
	for _, p := range patterns {
		parsed, err := syntax.Parse(p.String(), syntax.Perl)
		if err != nil {
			t.Fatal(err)
		}
		var b strings.Builder
		writeMatch(&b, parsed, rng)
		for _, s := range []string{b.String(), strings.ToUpper(b.String()), "x " + b.String() + " y"} {
			got := set.Candidates(s)
			for i, p := range patterns {
				found := slices.Contains(got, i)
				// Both may take a text for another one, but not where there is a match.
				if possible := p.possible(s); found && !possible && !mayFold(s) ||
					!found && possible && p.FindStringIndex(s) != nil {
					t.Fatalf("%s in %q: found %v, possible %v", p, s, found, possible)
				}
			}
			candidates, spared = candidates+len(got), spared+len(patterns)-len(got)
		}
	}
	if candidates == 0 || spared < candidates {
		t.Errorf("%d candidates, %d spared: too few to show anything", candidates, spared)
	}
}

// TestSetFolds: ſ and the Kelvin sign equal s and k when case is ignored.
func TestSetFolds(t *testing.T) {
	set := NewSet(New(`(?i)disk`), New(`(?i)berth`))
	for s, want := range map[string][]int{"a DISK": {0}, "the berth": {1}, "di\u017f\u212a": {0, 1}, "": nil} {
		if got := set.Candidates(s); !slices.Equal(got, want) {
			t.Errorf("%q: %v, not %v", s, got, want)
		}
	}
}
