package lazyregexp

import (
	"cmp"
	"regexp/syntax"
	"slices"
	"unicode"
	"unicode/utf8"
)

const (
	// maxExact is how many texts a part of an expression may stand for to be written out as a list of them.
	maxExact = 512
	// maxRequired is how many texts are looked for at most, instead of matching.
	maxRequired = 1024
	// maxLists is how many lists of texts are looked for at most: each takes a pass over the text.
	maxLists = 3
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
		begin := cut(k.beginnings(), maxRequired)
		if shortest(begin) > 0 {
			all = append(all, requirement{texts: begin, atStart: true, fold: fold})
		}
		contained = slices.DeleteFunc(contained, func(list []string) bool { return slices.Equal(begin, list) })
	}
	for _, list := range contained {
		if len(list) <= maxRequired {
			all = append(all, requirement{texts: list, fold: fold})
		}
	}
	return all
}

// cut shortens texts until at most n different ones are left, and returns these; nil when there is no way.
func cut(texts []string, n int) []string {
	texts = slices.Clone(texts)
	for most := 4; len(texts) > n && most > 0; most-- {
		for i, s := range texts {
			texts[i] = s[:min(len(s), most)]
		}
		slices.Sort(texts)
		texts = slices.Compact(texts)
	}
	if len(texts) > n {
		return nil
	}
	return texts
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
// the begun ones. When there are begun ones, each also contains one text of each list in contains; all are selective.
type knowledge struct {
	whole, begun []string
	contains     [][]string
}

var (
	// nothing is what is known about an expression that consumes nothing.
	nothing = knowledge{whole: []string{""}}
	// anything is what is known about one of which nothing is known.
	anything = knowledge{begun: []string{""}}
)

// required returns selective lists of texts, the best first: each match contains one text of each.
func (k knowledge) required() [][]string {
	if len(k.begun) == 0 {
		return best([][]string{k.whole})
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
	var lists [][]string
	for _, p := range parts {
		if len(k.whole) > 1 && len(k.whole)*(len(p.whole)+len(p.begun)) > maxExact {
			k.begun, k.whole = k.beginnings(), nil
		} else {
			k.begun = append(k.begun[:len(k.begun):len(k.begun)], product(k.whole, p.begun)...)
			k.whole = product(k.whole, p.whole)
		}
		switch {
		case len(p.begun) > 0:
			lists = append(append(lists, run), p.contains...)
			run = nothing.whole
		case len(run)*len(p.whole) > maxExact:
			lists = append(lists, run)
			run = p.whole
		default:
			run = product(run, p.whole)
		}
	}
	k.contains = best(append(lists, run))
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
	var list []string // of the best of each part
	known := true
	for _, p := range parts {
		if required := p.required(); len(required) > 0 {
			list = append(list, required[0]...)
		} else {
			known = false
		}
		k.whole = append(k.whole, p.whole...)
		k.begun = append(k.begun, p.begun...)
	}
	if known {
		k.contains = best([][]string{list})
	}
	return k
}

// best returns the lists that exclude most texts, and no more than maxLists: those whose shortest text is long, and
// that are short themselves.
func best(lists [][]string) [][]string {
	lists = slices.DeleteFunc(slices.Clone(lists), func(list []string) bool { return !selective(list) })
	slices.SortStableFunc(lists, func(a, b []string) int {
		return cmp.Or(cmp.Compare(shortest(b), shortest(a)), cmp.Compare(len(a), len(b)))
	})
	lists = slices.CompactFunc(lists, slices.Equal)
	return lists[:min(len(lists), maxLists)]
}

// selective reports whether there are texts that contain none of a list: a single letter or space is in most.
func selective(list []string) bool {
	return shortest(list) > 0 && !slices.ContainsFunc(list, func(s string) bool {
		return len(s) == 1 && (s[0] <= ' ' || 'a' <= s[0] && s[0] <= 'z')
	})
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
