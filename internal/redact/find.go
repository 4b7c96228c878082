package redact

import (
	"cmp"
	"math/bits"
	"slices"
	"strings"
	"sync"
	"unicode/utf8"
)

// Of a long text an expression sees only windows around its keywords. A window begins and ends between words, so that
// no word is judged by a part of it.
const (
	smallText = 2 << 10 // bytes; shorter texts are one window
	before    = 160     // bytes of a window before a keyword
	reach     = 700     // and behind it
	maxWord   = 512     // bytes by which a window grows to the end of a word
)

// ruleSet is every shape with the automaton of their keywords.
type ruleSet struct {
	shapes []shape
	hints  []hint
	owners [][]uint16 // by hint, the shapes that look around it
	words  *automaton // its ids are indices of hints
}

// hint is a keyword, and whether a word must begin or end there.
type hint struct {
	keyword     string // lower case
	begins, end bool
	assigned    bool // a sign of assignment must follow, see maxName
}

// maxName is how many bytes may stand between a keyword and the sign of assignment: the rest of the name, quotes and
// spaces.
const maxName = 40

// hintOf reads a hint of a shape: "~" is a space, and "|" before or behind a keyword says that it is no part of a
// longer word there.
func hintOf(s string) (h hint) {
	s, h.begins = strings.CutPrefix(strings.ReplaceAll(s, "~", " "), "|")
	s, h.end = strings.CutSuffix(s, "|")
	h.keyword = s
	return h
}

// at reports whether the hint's keyword, which ends at an offset of s, begins and ends a word where it must.
func (h *hint) at(s string, end int) bool {
	from := end - len(h.keyword)
	return !(h.begins && from > 0 && isWordByte(s[from-1])) && !(h.end && end < len(s) && isWordByte(s[end])) &&
		(!h.assigned || strings.ContainsAny(s[end:min(len(s), end+maxName)], "=:>|：＝→"))
}

// isWordByte is what \b calls part of a word.
func isWordByte(c byte) bool { return class(c) != 0 || c == '_' }

// rules are built when they are first used: many commands look at no text.
var rules = sync.OnceValue(func() *ruleSet {
	r := &ruleSet{shapes: slices.Concat(shapes, readGitleaks(), prose, chinese, forms, numbers, languages, answers,
		[]shape{drawnShape})}
	ids := map[hint]int{}
	var keywords []string
	for i := range r.shapes {
		r.shapes[i].prepare()
		for _, h := range r.shapes[i].hints {
			h.assigned = r.shapes[i].assigned
			id, known := ids[h]
			if !known {
				id = len(r.hints)
				ids[h] = id
				r.hints, r.owners = append(r.hints, h), append(r.owners, nil)
				keywords = append(keywords, h.keyword)
			}
			r.owners[id] = append(r.owners[id], uint16(i))
		}
	}
	r.words = newAutomaton(keywords)
	return r
})

// find returns what looks like a secret, sorted and without overlaps.
func find(s string) []Finding {
	if len(s) < 4 {
		return nil
	}
	v := newView(s)
	return outsideMarkers(s, v.spans(rules().find(v.text)))
}

// outsideMarkers drops findings that touch a marker: what is left there was judged before.
func outsideMarkers(s string, list []Finding) []Finding {
	if !strings.Contains(s, markerOpen) {
		return list
	}
	return slices.DeleteFunc(list, func(f Finding) bool {
		// A marker holds no bracket, so the last "[" or "]" before the finding tells whether it begins inside one.
		open := strings.LastIndexAny(s[:f.From], "[]")
		return strings.Contains(s[f.From:f.To], markerOpen) ||
			open >= 0 && s[open] == '[' && strings.HasPrefix(s[open:], markerOpen)
	})
}

// window is a part of a text.
type window struct{ from, to int }

// find looks for every shape whose keyword occurs. A part of the text that two shapes claim is of the kind of the one
// that comes first in the list: it knows the form of the value, others only its surroundings.
func (r *ruleSet) find(s string) []Finding {
	t := traitsOf(s)
	var list []Finding
	if len(s) <= smallText {
		list = r.findInSmall(s, &t)
	} else {
		list = r.findInWindows(s, &t)
	}
	if t.bytes.has('|') {
		list = append(list, tableSecrets(s)...)
	}
	if t.bytes.has(',') && t.bytes.has('\n') {
		list = append(list, csvSecrets(s)...)
	}
	if t.digits >= minCard {
		list = append(list, cardNumbers(s)...)
		list = append(list, identityNumbers(s)...)
	}
	if t.token >= minRandom {
		list = append(list, highEntropy(s)...)
	}
	if t.mixed {
		list = append(list, suspectValues(s, inPair)...)
	}
	if t.mixed && t.bytes.meets(&passwordSymbols) {
		list = append(list, suspectValues(s, everyClass)...)
	}
	return union(list)
}

// findInSmall lets each shape whose keyword occurs see the whole text.
func (r *ruleSet) findInSmall(s string, t *traits) (list []Finding) {
	var wanted shapeSet
	r.words.scan(s, func(id uint16, end int) {
		if r.hints[id].at(s, end) {
			for _, owner := range r.owners[id] {
				wanted[owner>>6] |= 1 << (owner & 63)
			}
		}
	})
	for i, set := range wanted {
		for ; set != 0; set &= set - 1 {
			if p := &r.shapes[i<<6+bits.TrailingZeros64(set)]; p.canMatch(t) && (p.worth == nil || p.worth(s)) {
				list = p.find(list, s, window{0, len(s)})
			}
		}
	}
	return list
}

// shapeSet is a set of indices of shapes; there is room for 512.
type shapeSet [8]uint64

// findInWindows shows each shape the parts of the text around its keywords.
func (r *ruleSet) findInWindows(s string, t *traits) (list []Finding) {
	windows := r.windows(s)
	for i := range r.shapes {
		p := &r.shapes[i]
		if len(windows[i]) == 0 || !p.canMatch(t) {
			continue
		}
		for _, w := range windows[i] {
			text := s[w.from:w.to]
			part := traitsOf(text)
			if p.canMatch(&part) && (p.worth == nil || p.worth(text)) {
				list = p.find(list, s, w)
			}
		}
	}
	return list
}

// windows returns the parts of s that each shape must see.
func (r *ruleSet) windows(s string) [][]window {
	out := make([][]window, len(r.shapes))
	r.words.scan(s, func(id uint16, end int) {
		if !r.hints[id].at(s, end) {
			return
		}
		for _, owner := range r.owners[id] {
			list := out[owner]
			switch n := len(list); {
			case n > 0 && (list[n-1].to >= end+reach || list[n-1].to == len(s)):
			case n > 0 && list[n-1].to >= end-before:
				list[n-1].to = wordBreak(s, end+reach)
			default:
				out[owner] = append(list, window{wordStart(s, end-before), wordBreak(s, end+reach)})
			}
		}
	})
	return out
}

// wordStart moves an offset back to the start of a word, and wordBreak forward to the end of one.
func wordStart(s string, at int) int {
	if at <= 0 {
		return 0
	}
	for low := max(0, at-maxWord); at > low && isTokenByte(s[at-1]); {
		at--
	}
	for at > 0 && !utf8.RuneStart(s[at]) {
		at--
	}
	return at
}

func wordBreak(s string, at int) int {
	if at >= len(s) {
		return len(s)
	}
	for high := min(len(s), at+maxWord); at < high && isTokenByte(s[at]); {
		at++
	}
	for at < len(s) && !utf8.RuneStart(s[at]) {
		at++
	}
	return at
}

// maxRetried is the length of a rejected match, in bytes, up to which its inside is looked at again. Longer ones are
// passed over, so that the time stays linear.
const maxRetried = 300

// find appends the values of this shape in a window of s.
func (p *shape) find(list []Finding, s string, w window) []Finding {
	if p.values != nil {
		for _, f := range p.values(s[w.from:w.to]) {
			list = append(list, Finding{f.Kind, f.From + w.from, f.To + w.from})
		}
		return list
	}
	for at := w.from; at < w.to; {
		m := p.re.FindStringSubmatchIndex(s[at:w.to])
		if m == nil {
			return list
		}
		from, to := p.value(m)
		switch {
		case from < 0 || from == to:
			at += max(m[1], 1)
		case p.accepts == nil || p.accepts(s[at+from:at+to], s[at+m[0]:at+m[1]]):
			list = append(list, Finding{p.kind, at + from, at + to})
			at += max(to, 1)
		case m[1]-m[0] > maxRetried:
			at += m[1]
		default:
			at += max(from, m[0]+1)
		}
	}
	return list
}

// value returns where the value of a match is, -1 for none.
func (p *shape) value(m []int) (from, to int) {
	if g := p.derived().group; g > 0 {
		return m[2*g], m[2*g+1]
	}
	for g := 2; g+1 < len(m); g += 2 {
		if m[g] >= 0 && m[g] < m[g+1] {
			return m[g], m[g+1]
		}
	}
	return m[0], m[1]
}

// union sorts findings, which come in the order of their shapes, and joins those that overlap.
func union(list []Finding) []Finding {
	if len(list) < 2 {
		return list
	}
	rank := make(map[Finding]int, len(list))
	for i, f := range list {
		if _, ok := rank[f]; !ok {
			rank[f] = i
		}
	}
	slices.SortStableFunc(list, func(a, b Finding) int { return cmp.Or(a.From-b.From, b.To-a.To, rank[a]-rank[b]) })
	out := list[:1]
	best := rank[list[0]]
	for _, f := range list[1:] {
		last := &out[len(out)-1]
		if f.From >= last.To {
			out, best = append(out, f), rank[f]
			continue
		}
		if r := rank[f]; r < best {
			best, last.Kind = r, f.Kind
		}
		last.To = max(last.To, f.To)
	}
	return out
}
