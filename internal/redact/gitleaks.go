package redact

import (
	_ "embed"
	"encoding/json"
	"math"
	"strings"

	"github.com/memsidecar/memsidecar/internal/lazyregexp"
)

// gitleaksRules are the rules of gitleaks (MIT, see gitleaks.LICENSE). tools/secretrules/update brings them up to date.
//
//go:embed gitleaks.json
var gitleaksRules []byte

const (
	// Gitleaks wants one of a few characters behind a token, as source code has them. In prose a token also ends with
	// a full stop, a bracket, or a Chinese character.
	gitleaksEnd = `(?:[\x60'"\s;]|\\[nr]|$)`
	proseEnd    = `(?:[^\w/+=-]|$)`
)

// readGitleaks returns the rules of gitleaks.
func readGitleaks() []shape {
	var file struct {
		Allow []string
		Rules []struct {
			ID, Regex string
			Entropy   float64
			Keywords  []string
			Allow     []string
		}
	}
	if err := json.Unmarshal(gitleaksRules, &file); err != nil {
		panic("redact: gitleaks.json: " + err.Error()) // embedded, and read by every test
	}
	out := make([]shape, 0, len(file.Rules))
	for _, r := range file.Rules {
		allow := patterns(append(r.Allow, file.Allow...))
		entropy := r.Entropy
		s := newShape(kindOf(r.ID), "", strings.ReplaceAll(r.Regex, gitleaksEnd, proseEnd), func(value, _ string) bool {
			return shannon(value) > entropy && !matchesAny(allow, value) && !isPlaceholder(value)
		})
		for _, word := range r.Keywords {
			s.hints = append(s.hints, hint{keyword: word})
		}
		out = append(out, s)
	}
	return out
}

// kindOf is the kind that a marker names: the id of the rule without "api", "access" and the like.
func kindOf(id string) string {
	for _, end := range []string{"-api-key", "-api-token", "-access-token", "-personal-access-token"} {
		if name, ok := strings.CutSuffix(id, end); ok {
			return name + "-token"
		}
	}
	return id
}

// patterns compiles expressions when they are first used.
func patterns(exprs []string) []*lazyregexp.Pattern {
	out := make([]*lazyregexp.Pattern, len(exprs))
	for i, e := range exprs {
		out[i] = lazyregexp.New(e)
	}
	return out
}

// matchesAny reports whether s matches one of the patterns.
func matchesAny(list []*lazyregexp.Pattern, s string) bool {
	for _, p := range list {
		if p.MatchString(s) {
			return true
		}
	}
	return false
}

// shannon is the entropy of the bytes of s in bits per byte, which gitleaks compares with a minimum of each rule.
func shannon(s string) float64 {
	var counts [256]int
	for i := range len(s) {
		counts[s[i]]++
	}
	bits := 0.0
	for _, n := range counts {
		if n > 0 {
			p := float64(n) / float64(len(s))
			bits -= p * math.Log2(p)
		}
	}
	return bits
}
