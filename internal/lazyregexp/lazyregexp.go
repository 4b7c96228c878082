// Package lazyregexp holds regular expressions that are compiled when they are first used. Some hundred of them
// compiled at the start cost every command, most of which use none, 20 ms.
//
// An expression is matched only against a text that contains one of the words without which it cannot match, found in
// one pass over the text, and begins with one of the words that a match begins with. Most expressions are lists of
// words that most texts do not contain, and package regexp tries every alternative at every place: some 50 times as
// long. Of the other texts an automaton tells which match; package regexp only says where.
package lazyregexp

import (
	"regexp"
	"sync"
)

// Pattern is a regular expression. It is safe for concurrent use. Its methods are those of regexp.Regexp. It is one
// object until it is used: a program has some hundreds of them.
type Pattern struct {
	expr     string
	compile  sync.Once
	compiled *regexp.Regexp // set by compile
	find     sync.Once
	found    []*literals // set by find
	automate sync.Once
	decides  *automaton // set by automate, nil for an expression that has none
}

// New returns the pattern of an expression in the syntax of package regexp. One that is not valid panics when it is
// first used: each needs a test that uses it.
func New(expr string) *Pattern { return &Pattern{expr: expr} }

// regexp compiles the expression when it is first called.
func (p *Pattern) regexp() *regexp.Regexp {
	p.compile.Do(func() { p.compiled = regexp.MustCompile(p.expr) })
	return p.compiled
}

// words are searches for texts that every match contains one of each.
func (p *Pattern) words() []*literals {
	p.find.Do(func() {
		for _, r := range require(p.expr) {
			p.found = append(p.found, newLiterals(r))
		}
	})
	return p.found
}

// possible reports whether s may contain a match. It is false only when s contains none.
func (p *Pattern) possible(s string) bool {
	for _, l := range p.words() {
		if !l.in(s) {
			return false
		}
	}
	return true
}

// search reports whether s contains a match.
func (p *Pattern) search(s string) verdict {
	if !p.possible(s) {
		return matchesNot
	}
	p.automate.Do(func() { p.decides = newAutomaton(p.expr) })
	if p.decides == nil {
		return undecided
	}
	return p.decides.search(s)
}

// String returns the expression.
func (p *Pattern) String() string { return p.expr }

// MatchString reports whether s contains a match.
func (p *Pattern) MatchString(s string) bool {
	if v := p.search(s); v != undecided {
		return v == matches
	}
	return p.regexp().MatchString(s)
}

// FindString returns the leftmost match, "" for none.
func (p *Pattern) FindString(s string) string {
	if p.search(s) == matchesNot {
		return ""
	}
	return p.regexp().FindString(s)
}

// FindStringIndex returns where the leftmost match begins and ends, nil for none.
func (p *Pattern) FindStringIndex(s string) []int {
	if p.search(s) == matchesNot {
		return nil
	}
	return p.regexp().FindStringIndex(s)
}

// FindStringSubmatch returns the leftmost match and its groups, nil for none.
func (p *Pattern) FindStringSubmatch(s string) []string {
	if p.search(s) == matchesNot {
		return nil
	}
	return p.regexp().FindStringSubmatch(s)
}

// FindStringSubmatchIndex returns where the leftmost match and its groups begin and end, nil for none.
func (p *Pattern) FindStringSubmatchIndex(s string) []int {
	if p.search(s) == matchesNot {
		return nil
	}
	return p.regexp().FindStringSubmatchIndex(s)
}

// FindAllString returns the first n matches, all when n is negative.
func (p *Pattern) FindAllString(s string, n int) []string {
	if p.search(s) == matchesNot {
		return nil
	}
	return p.regexp().FindAllString(s, n)
}

// FindAllStringIndex returns where the first n matches begin and end, all when n is negative.
func (p *Pattern) FindAllStringIndex(s string, n int) [][]int {
	if p.search(s) == matchesNot {
		return nil
	}
	return p.regexp().FindAllStringIndex(s, n)
}

// FindAllStringSubmatch returns the first n matches with their groups, all when n is negative.
func (p *Pattern) FindAllStringSubmatch(s string, n int) [][]string {
	if p.search(s) == matchesNot {
		return nil
	}
	return p.regexp().FindAllStringSubmatch(s, n)
}

// FindAllStringSubmatchIndex returns where the first n matches and their groups begin and end, all when n is negative.
func (p *Pattern) FindAllStringSubmatchIndex(s string, n int) [][]int {
	if p.search(s) == matchesNot {
		return nil
	}
	return p.regexp().FindAllStringSubmatchIndex(s, n)
}

// ReplaceAllString replaces all matches by with, in which $1 stands for the first group.
func (p *Pattern) ReplaceAllString(s, with string) string {
	if p.search(s) == matchesNot {
		return s
	}
	return p.regexp().ReplaceAllString(s, with)
}

// ReplaceAllStringFunc replaces each match by what with makes of it.
func (p *Pattern) ReplaceAllStringFunc(s string, with func(string) string) string {
	if p.search(s) == matchesNot {
		return s
	}
	return p.regexp().ReplaceAllStringFunc(s, with)
}

// Split divides s at the matches into at most n parts, all when n is negative.
func (p *Pattern) Split(s string, n int) []string { return p.regexp().Split(s, n) }

// SubexpIndex returns the number of the group of that name, -1 for none.
func (p *Pattern) SubexpIndex(name string) int { return p.regexp().SubexpIndex(name) }
