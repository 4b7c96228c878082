package lazyregexp

import (
	"fmt"
	"math/rand/v2"
	"regexp"
	"regexp/syntax"
	"slices"
	"strings"
	"testing"
	"unicode"

	"github.com/google/go-cmp/cmp"
)

func TestRequire(t *testing.T) {
	long := make([]string, maxExact+1)
	for i := range long {
		long[i] = fmt.Sprintf("%dth", i)
	}
	for _, c := range []struct {
		expr string
		// texts of which each match begins with one, and contains one; nil when none are known
		begins, contains []string
		// what else each match contains one of
		also [][]string
	}{
		{`(?i)\b(?:Decided|agreed to)\b`, nil, []string{"decided", "agreed to"}, nil},
		{`(?:the )?(?:data|code)base [a-z]+ is (.+)`, nil, []string{"database ", "codebase ", "the database ",
			"the codebase "}, [][]string{{" is "}}},
		{`\d+ berths?`, nil, []string{" berth", " berths"}, [][]string{strings.Split("0123456789", "")}},
		{`(?i)\b(?:says?|output)\b[^:：]*[:：]$`, nil, []string{"say", "says", "output"}, [][]string{{":", "："}}},
		{`(?:[,;]|and|but)\s+(?:[a-z]|1)`, nil, []string{",", ";", "and", "but"}, nil},
		{`吧$|试试`, nil, []string{"吧", "试试"}, nil},
		{`^(?:the )?our (.+)`, []string{"the our ", "our "}, nil, nil},
		{`^(?i:i|WE) [a-z]+`, []string{"i ", "we "}, nil, nil},
		{`^\s*(?:at|in) `, []string{"at ", "in ", "\t", "\n", "\f", "\r", " "}, []string{"at ", "in "}, nil},
		{`^(?:the|our) [a-z]+ (?:freeze|launch)`, []string{"the ", "our "}, []string{" freeze", " launch"}, nil},
		{`^[a-z ]{0,14}(?:freeze|launch)`, nil, []string{"freeze", "launch"}, nil},
		{`^(?:` + strings.Join(long, "|") + `) [a-z]+`, long, nil, nil},
		{`^(?:ab|[a-z]+x)`, nil, nil, nil},
		{`x|abc`, nil, nil, nil},
		{`[a-z]+`, nil, nil, nil},
		{`(?i)é`, nil, nil, nil},
		{`(?i)café`, nil, []string{"caf"}, nil},
		{`a\x{FFFD}`, nil, nil, nil},
		{`(?:abc)*`, nil, nil, nil},
		{`(?:abc){2,}`, nil, []string{"abc"}, nil},
		{`(?:abc)?`, nil, nil, nil},
		{`(`, nil, nil, nil},
	} {
		var begins []string
		var contains [][]string
		for _, r := range require(c.expr) {
			slices.Sort(r.texts)
			if r.atStart {
				begins = r.texts
			} else {
				contains = append(contains, r.texts)
			}
		}
		var want [][]string
		if c.contains != nil {
			want = append([][]string{c.contains}, c.also...)
		}
		for _, list := range append(want, c.begins) {
			slices.Sort(list)
		}
		if diff := cmp.Diff(c.begins, begins) + cmp.Diff(want, contains); diff != "" {
			t.Errorf("%s (-want +got):\n%s", c.expr, diff)
		}
	}
}

// TestNothingIsMissed makes up texts that match each expression of this module, and texts around them.
func TestNothingIsMissed(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	filtered, matched, spared, tried := 0, 0, 0, 0
	for _, expr := range Expressions(t) {
		for _, expr := range []string{expr, "(?i)" + expr} {
			re, p := regexp.MustCompile(expr), New(expr)
			if p.words() != nil {
				filtered++
			}
			parsed, err := syntax.Parse(expr, syntax.Perl)
			if err != nil {
				t.Fatal(err)
			}
			for range 30 {
				var b strings.Builder
				writeMatch(&b, parsed, rng)
				text := b.String()
				for _, s := range []string{text, strings.ToUpper(text), "x " + text + " y", text[min(1, len(text)):],
					strings.NewReplacer("k", "\u212a", "s", "ſ").Replace(text)} {
					want := re.FindStringSubmatchIndex(s)
					if got := p.FindStringSubmatchIndex(s); !slices.Equal(got, want) {
						t.Fatalf("%s in %q: %v, not %v", expr, s, got, want)
					}
					if got := p.MatchString(s); got != (want != nil) {
						t.Fatalf("%s in %q: %v", expr, s, got)
					}
					tried++
					if want != nil {
						matched++
					}
					if !p.possible(s) {
						spared++
					}
				}
			}
		}
	}
	t.Logf("%d filtered; of %d texts %d match, %d were not matched", filtered, tried, matched, spared)
	if filtered < 500 || matched < tried/3 || spared == 0 {
		t.Errorf("%d filtered, %d of %d match, %d not matched: too few to show anything", filtered, matched, tried,
			spared)
	}
}

// writeMatch writes a text that the expression matches, but for its assertions.
func writeMatch(b *strings.Builder, re *syntax.Regexp, rng *rand.Rand) {
	repeat := func(least, most int) {
		for range least + rng.IntN(most-least+1) {
			writeMatch(b, re.Sub[0], rng)
		}
	}
	switch re.Op {
	case syntax.OpLiteral:
		for _, r := range re.Rune {
			if re.Flags&syntax.FoldCase != 0 {
				for range rng.IntN(3) {
					r = unicode.SimpleFold(r)
				}
			}
			b.WriteRune(r)
		}
	case syntax.OpCharClass:
		i := rng.IntN(len(re.Rune)/2) * 2
		b.WriteRune(re.Rune[i] + rng.Int32N(min(re.Rune[i+1]-re.Rune[i], 100)+1))
	case syntax.OpAnyChar, syntax.OpAnyCharNotNL:
		b.WriteByte("a 1é-"[rng.IntN(6)%5])
	case syntax.OpStar, syntax.OpQuest:
		repeat(0, 1)
	case syntax.OpPlus:
		repeat(1, 2)
	case syntax.OpRepeat:
		repeat(re.Min, re.Min+1)
	case syntax.OpConcat, syntax.OpCapture:
		for _, sub := range re.Sub {
			writeMatch(b, sub, rng)
		}
	case syntax.OpAlternate:
		writeMatch(b, re.Sub[rng.IntN(len(re.Sub))], rng)
	}
}

// FuzzLikeRegexp compares matches with those of package regexp.
func FuzzLikeRegexp(f *testing.F) {
	f.Add(`(?i)^(?:a|bc)+\b`, "Bca")
	f.Add(`(?i)k[st]|x(?:yz)*?é`, "\u212aſ")
	f.Add(`(ab|c\x{FFFD})d?$`, "c\xff")
	f.Add(`(?:(?:ab){0,2}|^q)[^a]`, "qq")
	f.Fuzz(func(t *testing.T, expr, text string) {
		re, err := regexp.Compile(expr)
		if err != nil || len(expr) > 200 {
			return
		}
		if got, want := New(expr).FindStringIndex(text), re.FindStringIndex(text); !slices.Equal(got, want) {
			t.Errorf("%q in %q: %v, not %v", expr, text, got, want)
		}
		if got := New(expr).MatchString(text); got != re.MatchString(text) {
			t.Errorf("%q in %q: %v", expr, text, got)
		}
	})
}

// BenchmarkNoMatch looks for one of some words in a text that has none of them.
func BenchmarkNoMatch(b *testing.B) {
	const expr = `(?i)\b(decided|decision|agreed (to|on|that)|(we|they) will use|going with|chose|switched to)\b`
	text := strings.Repeat("looked at file 17 of the timetable service and moved on to the next one; ", 2)
	for name, match := range map[string]func(string) bool{"regexp": regexp.MustCompile(expr).MatchString,
		"lazyregexp": New(expr).MatchString} {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				if match(text) {
					b.Fatal("it matches")
				}
			}
		})
	}
}
