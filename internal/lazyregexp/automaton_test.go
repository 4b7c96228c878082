package lazyregexp

import (
	"math/rand/v2"
	"regexp"
	"strings"
	"sync"
	"testing"
)

// TestAutomatonIsRegexp compares what automata decide with package regexp, on texts that many goroutines search at
// once, and with tables that become full.
func TestAutomatonIsRegexp(t *testing.T) {
	for _, expr := range []string{`(?i)\bk[st]\b|x(?:yz)*?é`, `(?m)^a.{0,9}b$`, `[ab]*a[ab]{14}c`, `^(?:a|b\B)+$|\z1`, ``,
		`(?s)a.c\x{FFFD}`, `的[^，,]{1,8}(?:吗|呢)$`} {
		a, re := newAutomaton(expr), regexp.MustCompile(expr)
		var wg sync.WaitGroup
		for n := range 4 {
			wg.Go(func() {
				rng := rand.New(rand.NewPCG(uint64(n), 7))
				decided := 0
				for range 500 {
					var b strings.Builder
					for range rng.IntN(60) {
						b.WriteString([]string{"a", "b", "c", "aab", "k", "S", "t", "xyz", "é", "\u212a", "ſ", "的", "吗", "，",
							" ", "\n", "1", "_", "\xff", "\xe4"}[rng.IntN(20)])
					}
					s := b.String()
					v := a.search(s)
					if v != undecided && (v == matches) != re.MatchString(s) {
						t.Errorf("%s in %q: %v", expr, s, v)
					}
					if v != undecided {
						decided++
					}
				}
				if decided < 400 {
					t.Errorf("%s: %d of 500 texts decided", expr, decided)
				}
			})
		}
		wg.Wait()
	}
}

// TestFullTableBeginsAnew: an expression of many states stays within its room, and decides again afterwards.
func TestFullTableBeginsAnew(t *testing.T) {
	a, re := newAutomaton(`a[ab]{30}c`), regexp.MustCompile(`a[ab]{30}c`)
	rng := rand.New(rand.NewPCG(1, 1))
	gaveUp := 0
	for range 20 {
		b := make([]byte, 2000)
		for i := range b {
			b[i] = "ab"[rng.IntN(2)]
		}
		if a.search(string(b)) == undecided {
			gaveUp++
		}
		if n := len(a.table.Load().next); n > maxSteps {
			t.Fatalf("%d steps", n)
		}
	}
	short := strings.Repeat("a", 32) + "c"
	if v := a.search(short); gaveUp == 0 || (v == matches) != re.MatchString(short) {
		t.Errorf("%d gave up, then %v", gaveUp, v)
	}
}

// TestOlderTable: a search that began with an older table follows steps to states that it does not have.
func TestOlderTable(t *testing.T) {
	for range 500 {
		a := newAutomaton(`a[ab]{6}c`)
		var wg sync.WaitGroup
		for n := range uint64(4) {
			wg.Go(func() {
				rng := rand.New(rand.NewPCG(n, 1))
				for range 3 {
					b := make([]byte, 40)
					for i := range b {
						b[i] = "ab"[rng.IntN(2)]
					}
					if v := a.search(string(b) + "aabababc"); v != matches {
						t.Errorf("%s: %v", b, v)
					}
				}
			})
		}
		wg.Wait()
	}
}
