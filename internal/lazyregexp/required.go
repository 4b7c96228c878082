package lazyregexp

import (
	"regexp/syntax"
	"slices"
	"unicode"
	"unicode/utf8"
)

const (
	// maxExact is how many texts a part of an expression may stand for to be written out as a list of them.
	maxExact = 128
	// maxRequired is how many texts are looked for at most, instead of matching.
	maxRequired = 1024
	// maxClass is how many characters a class may have to be written out.
	maxClass = 16
)

// requirement is what a text must contain to match an expression.
type requirement struct {
	// texts, with ASCII letters in lower case; nil when none are known.
	texts []string
	// atStart says that a match begins with one of the texts and is at the beginning, else that it contains one.
	atStart bool
	// fold says that a match may have ſ or the Kelvin sign where the texts have s or k.
	fold bool
}

// require returns what is known about an expression. All of it must hold.
func require(expr string) (all []requirement) {
	re, err := syntax.Parse(expr, syntax.Perl)
	if err != nil {
		return nil
	}
	k, fold := analyse(re), foldsCase(re)
	contained := k.required()
	if beginsAtStart(re) {
		begin := k.beginnings()
		if shortest(begin) > 0 && len(begin) <= maxRequired {
			all = append(all, requirement{texts: begin, atStart: true, fold: fold})
		}
		if slices.Equal(begin, contained) {
			return all
		}
	}
	if shortest(contained) >= minLiteral && len(contained) <= maxRequired {
		all = append(all, requirement{texts: contained, fold: fold})
	}
	return all
}

// beginsAtStart reports whether an expression can only match at the beginning of a text.
func beginsAtStart(re *syntax.Regexp) bool {
	switch re.Op {
	case syntax.OpBeginText:
		return true
	case syntax.OpConcat, syntax.OpCapture:
		return beginsAtStart(re.Sub[0])
	case syntax.OpAlternate:
		for _, sub := range re.Sub {
			if !beginsAtStart(sub) {
				return false
			}
		}
		return true
	}
	return false
}

// foldsCase reports whether any part of an expression ignores case.
func foldsCase(re *syntax.Regexp) bool {
	if re.Op == syntax.OpLiteral && re.Flags&syntax.FoldCase != 0 {
		return true
	}
	return slices.ContainsFunc(re.Sub, foldsCase)
}

// knowledge is what is known about the matches of an expression. Each is one of the whole texts, or begins with one of
// the begun ones. When there are begun ones, each also contains one of the texts in contains, if that is not nil.
type knowledge struct{ whole, begun, contains []string }

var (
	// nothing is what is known about an expression that consumes nothing.
	nothing = knowledge{whole: []string{""}}
	// anything is what is known about one of which nothing is known.
	anything = knowledge{begun: []string{""}}
)

// required returns texts of which each match contains one, nil when there are none.
func (k knowledge) required() []string {
	if len(k.begun) == 0 {
		return k.whole
	}
	return k.contains
}

// beginnings returns texts with one of which each match begins.
func (k knowledge) beginnings() []string {
	return append(k.whole[:len(k.whole):len(k.whole)], k.begun...)
}

// analyse returns what is known about the matches of an expression.
func analyse(re *syntax.Regexp) knowledge {
	switch re.Op {
	case syntax.OpLiteral:
		parts := make([]knowledge, len(re.Rune))
		for i, r := range re.Rune {
			parts[i] = ofRune(r, re.Flags&syntax.FoldCase != 0)
		}
		return sequence(parts)
	case syntax.OpCharClass:
		return ofClass(re.Rune)
	case syntax.OpEmptyMatch, syntax.OpBeginLine, syntax.OpEndLine, syntax.OpBeginText, syntax.OpEndText,
		syntax.OpWordBoundary, syntax.OpNoWordBoundary:
		return nothing
	case syntax.OpCapture:
		return analyse(re.Sub[0])
	case syntax.OpQuest:
		return anyOf([]knowledge{analyse(re.Sub[0]), nothing})
	case syntax.OpStar, syntax.OpPlus, syntax.OpRepeat:
		once := analyse(re.Sub[0])
		k := knowledge{begun: once.beginnings(), contains: once.required()}
		if re.Op == syntax.OpStar || re.Op == syntax.OpRepeat && re.Min == 0 {
			return anyOf([]knowledge{k, nothing})
		}
		return k
	case syntax.OpConcat, syntax.OpAlternate:
		parts := make([]knowledge, len(re.Sub))
		for i, sub := range re.Sub {
			parts[i] = analyse(sub)
		}
		if re.Op == syntax.OpConcat {
			return sequence(parts)
		}
		return anyOf(parts)
	}
	return anything
}

// ofRune is what is known about a character. One that equals others outside ASCII when case is ignored is unknown, as
// is the one that stands for invalid UTF-8.
func ofRune(r rune, fold bool) knowledge {
	if r == utf8.RuneError || fold && r > unicode.MaxASCII && unicode.SimpleFold(r) != r {
		return anything
	}
	return knowledge{whole: []string{lowerASCII(string(r))}}
}

// ofClass is what is known about a class of characters, given as pairs of first and last.
func ofClass(pairs []rune) (k knowledge) {
	for i := 0; i < len(pairs); i += 2 {
		if int(pairs[i+1]-pairs[i])+len(k.whole) >= maxClass {
			return anything
		}
		for r := pairs[i]; r <= pairs[i+1]; r++ {
			if r == utf8.RuneError {
				return anything
			}
			k.whole = append(k.whole, lowerASCII(string(r)))
		}
	}
	if k.whole == nil {
		return anything
	}
	return k
}

// sequence is what is known about matches one behind the other.
func sequence(parts []knowledge) knowledge {
	k := nothing
	run := nothing.whole // run is the list of what the last parts stand for
	for _, p := range parts {
		if len(k.whole) > 1 && len(k.whole)*(len(p.whole)+len(p.begun)) > maxExact {
			k.begun, k.whole = k.beginnings(), nil
		} else {
			k.begun = append(k.begun[:len(k.begun):len(k.begun)], product(k.whole, p.begun)...)
			k.whole = product(k.whole, p.whole)
		}
		switch {
		case len(p.begun) > 0:
			k.contains = better(better(k.contains, run), p.contains)
			run = nothing.whole
		case len(run)*len(p.whole) > maxExact:
			k.contains = better(k.contains, run)
			run = p.whole
		default:
			run = product(run, p.whole)
		}
	}
	k.contains = better(k.contains, run)
	return k
}

// product returns each text of a followed by each of b.
func product(a, b []string) []string {
	out := make([]string, 0, len(a)*len(b))
	for _, x := range a {
		for _, y := range b {
			out = append(out, x+y)
		}
	}
	return out
}

// anyOf is what is known about matches of one of several parts.
func anyOf(parts []knowledge) (k knowledge) {
	known := true
	for _, p := range parts {
		known = known && shortest(p.required()) > 0
		k.contains = append(k.contains, p.required()...)
		k.whole = append(k.whole, p.whole...)
		k.begun = append(k.begun, p.begun...)
	}
	if !known {
		k.contains = nil
	}
	return k
}

// better returns the list that excludes more texts: the one whose shortest is longer, or that is shorter itself.
func better(a, b []string) []string {
	if x, y := shortest(a), shortest(b); x > y || x == y && len(a) <= len(b) {
		return a
	}
	return b
}

// shortest is the length of the shortest text, 0 when there is none.
func shortest(texts []string) int {
	if len(texts) == 0 {
		return 0
	}
	n := len(texts[0])
	for _, s := range texts {
		n = min(n, len(s))
	}
	return n
}
