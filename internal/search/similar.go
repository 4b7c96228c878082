package search

import (
	"bytes"
	"context"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/memsidecar/memsidecar/internal/memory"
)

// different caps the similarity of texts that differ in a number or in a negation: however many words they share, they
// do not say the same.
const different = 0.9

// notSame caps the similarity of texts with the same words that are not the same text.
const notSame = 0.99

// distant is the share of a text's information below which nothing is a neighbour.
const distant = 0.15

// repeatAt is the similarity from which a hit repeats a better one.
const repeatAt = 0.9

// outline is what similarity compares of a text.
type outline struct {
	normal    []byte   // the text after memory.Normalize
	terms     []string // sorted, distinct
	negations int
}

// outline makes the outline of a text, in the room that o has.
func (a *analyzer) outline(o *outline, text string) {
	o.normal = appendNormal(o.normal[:0], text)
	text = normalize(text)
	o.terms = o.terms[:0]
	for _, t := range a.tokenize(text) {
		if t.kind != unigram && t.kind != part {
			o.terms = append(o.terms, t.term)
		}
	}
	slices.Sort(o.terms)
	o.terms = slices.Compact(o.terms)
	o.negations = negations(text)
}

// appendNormal appends what memory.Normalize makes of a text.
func appendNormal(dst []byte, text string) []byte {
	from, gap := len(dst), false
	for i := 0; i < len(text); {
		r, size := decode(text, i)
		i += size
		if unicode.IsSpace(r) {
			gap = len(dst) > from
			continue
		}
		if gap {
			dst, gap = append(dst, ' '), false
		}
		dst = utf8.AppendRune(dst, unicode.ToLower(r))
	}
	for len(dst) > from {
		r, size := utf8.DecodeLastRune(dst[from:])
		if !strings.ContainsRune(".!。！", r) {
			break
		}
		dst = dst[:len(dst)-size]
	}
	return dst
}

// negations counts the words and characters that turn a statement round.
func negations(text string) (n int) {
	if isASCII(text) {
		return asciiNegations(text)
	}
	for w := range strings.FieldsFuncSeq(strings.ToLower(text), func(r rune) bool {
		return !unicode.IsLetter(r) && r != '\'' && r != '’' || unicode.Is(unicode.Han, r)
	}) {
		if negationWords[w] || strings.HasSuffix(w, "n't") || strings.HasSuffix(w, "n’t") {
			n++
		}
	}
	for _, r := range text {
		if r >= 0x4e00 && strings.ContainsRune(negationHan, r) {
			n++
		}
	}
	return n
}

func asciiNegations(text string) (n int) {
	for i := 0; i < len(text); {
		var low [longestNegation]byte
		from := i
		for ; i < len(text) && (isLetter(rune(text[i])) || text[i] == '\''); i++ {
			if i-from < len(low) {
				low[i-from] = text[i] | 0x20 // an apostrophe has that bit
			}
		}
		if w := text[from:i]; len(w) > 0 {
			if len(w) <= len(low) && negationWords[string(low[:len(w)])] || len(w) > 2 && strings.EqualFold(w[len(w)-3:], "n't") {
				n++
			}
		} else {
			i++
		}
	}
	return n
}

// similarity of two texts, 0 to 1: twice what they share over what both have (Dice), each term by its weight. It is 1
// only for texts that are equal after memory.Normalize.
func similarity(a, b *outline, weight func(term string) float64) float64 {
	if bytes.Equal(a.normal, b.normal) {
		return 1
	}
	var shared, all float64
	limit := notSame
	lone := func(term string) {
		all += weight(term)
		if strings.ContainsFunc(term, unicode.IsNumber) {
			limit = different
		}
	}
	i, j := 0, 0
	for i < len(a.terms) && j < len(b.terms) {
		switch c := strings.Compare(a.terms[i], b.terms[j]); {
		case c == 0:
			w := weight(a.terms[i])
			shared, all = shared+2*w, all+2*w
			i, j = i+1, j+1
		case c < 0:
			lone(a.terms[i])
			i++
		default:
			lone(b.terms[j])
			j++
		}
	}
	for _, t := range a.terms[i:] {
		lone(t)
	}
	for _, t := range b.terms[j:] {
		lone(t)
	}
	if all == 0 {
		return 0
	}
	if a.negations != b.negations {
		limit = different
	}
	return min(shared/all, limit)
}

// said is a memory among the hits, prepared for the question whether another one repeats it.
type said struct {
	memory   *memory.Memory
	sketch   sketch
	numbers  []string // runs of digits, made only when needed, as outline is
	wide     bool     // and there are full-width digits
	counted  bool
	outline  outline
	outlined bool
}

// of makes s that of a memory, in the room that it has.
func (s *said) of(m *memory.Memory) {
	s.memory, s.counted, s.outlined = m, false, false
	s.sketch.of(m.Content)
}

// otherNumbers reports whether one of two texts holds a number that the other does not. Full-width digits are not looked at: then it is false.
func (s *said) otherNumbers(o *said) bool {
	s.count()
	o.count()
	missing := func(all []string) func(string) bool {
		return func(n string) bool { return !slices.Contains(all, n) }
	}
	return !s.wide && !o.wide &&
		(slices.ContainsFunc(s.numbers, missing(o.numbers)) || slices.ContainsFunc(o.numbers, missing(s.numbers)))
}

// count finds the numbers of a text.
func (s *said) count() {
	if s.counted {
		return
	}
	s.counted, s.numbers = true, s.numbers[:0]
	text := s.memory.Content
	s.wide = strings.ContainsAny(text, "０１２３４５６７８９")
	for i := 0; i < len(text); i++ {
		from := i
		for i < len(text) && text[i]-'0' < 10 {
			i++
		}
		if i > from {
			s.numbers = append(s.numbers, text[from:i])
		}
	}
}

// sketch counts pairs of neighbouring bytes. Texts with nearly the same words have nearly the same sketch.
type sketch [256]uint8

func (s *sketch) of(text string) {
	clear(s[:])
	last := byte(0)
	for i := range len(text) {
		b := text[i] | 0x20
		s[last*31+b]++
		last = b
	}
}

func (s *sketch) distance(o *sketch) (n int) {
	for i := range s {
		d := int(int8(s[i] - o[i]))
		n += max(d, -d)
	}
	return n
}

// repeats reports whether m says what a better hit has said. Memories of different length are not compared.
func (a *analyzer) repeats(better, m *said) bool {
	short, long := len(better.memory.Content), len(m.memory.Content)
	if short > long {
		short, long = long, short
	}
	if short*5 < long*4 || better.sketch.distance(&m.sketch)*2 > long {
		return false
	}
	if better.memory.Content == m.memory.Content {
		return true
	}
	if better.otherNumbers(m) {
		return false // a lone number keeps the similarity at repeatAt
	}
	for _, s := range []*said{better, m} {
		if !s.outlined {
			a.outline(&s.outline, s.memory.Content)
			s.outlined = true
		}
	}
	return similarity(&better.outline, &m.outline, func(string) float64 { return 1 }) > repeatAt
}

// Similar returns the active memories of a space whose content is nearest to text, best first, at most k (1 to 200). The
// score is 0 to 1 and is 1 exactly for the same text, letter case, white space and closing punctuation aside; texts that
// differ in a number or a negation stay at or below 0.9. No boost enters it. Errors: *memory.InvalidError, or that of ctx.
func (e *Engine) Similar(ctx context.Context, space, text string, k int) ([]Hit, error) {
	var check memory.Check
	check.Text("text", text, maxQuery, false)
	if k < 1 || k > memory.MaxK {
		check.Add("k", "OUT_OF_RANGE", "must be from 1 to %d", memory.MaxK)
	}
	if err := check.Err(); err != nil {
		return nil, err
	}
	if err := e.wait(ctx); err != nil {
		return nil, err
	}
	x := e.reader(space)
	if x == nil {
		return nil, nil
	}
	a := e.analyzers.get()
	defer e.analyzers.put(a)
	s := e.scratches.get()
	defer func() {
		s.release()
		e.scratches.put(s)
	}()
	now := e.now()
	terms := a.distinct(text)
	var mine, other outline
	a.outline(&mine, text)
	pool, weights := x.neighbours(s, terms, 2*k+20, func(m *memory.Memory) bool {
		return m.IsActive() && !m.Expired(now) && (len(terms) > 0 || memory.Normalize(m.Content) == string(mine.normal))
	})
	weight := func(term string) float64 {
		if w, ok := weights[term]; ok {
			return w
		}
		return weights[""]
	}
	for i := range pool {
		a.outline(&other, pool[i].memory.Content)
		pool[i].score = similarity(&mine, &other, weight)
	}
	sortFound(pool)
	var hits []Hit
	for _, f := range pool[:min(k, len(pool))] {
		if f.score > 0 {
			hits = append(hits, Hit{Space: spaceName(space), Memory: f.memory, Score: f.score})
		}
	}
	return hits, nil
}

// distinct lists the terms of a text that similarity compares.
func (a *analyzer) distinct(text string) []queryTerm {
	var terms []queryTerm
	for _, t := range a.tokenize(normalize(text)) {
		if t.kind != unigram && t.kind != part {
			terms = append(terms, queryTerm{term: t.term, kind: t.kind, weak: t.weak, count: 1})
		}
	}
	slices.SortFunc(terms, func(a, b queryTerm) int { return strings.Compare(a.term, b.term) })
	return slices.CompactFunc(terms, func(a, b queryTerm) bool { return a.term == b.term })
}

// neighbours proposes the memories that share most with the terms, and returns the weights of the terms; that of a term
// no memory of the space has stands under "".
func (x *index) neighbours(s *scratch, terms []queryTerm, limit int, admit func(*memory.Memory) bool) ([]found, map[string]float64) {
	x.mu.RLock()
	defer x.mu.RUnlock()
	pool := best{limit: limit}
	if len(terms) == 0 { // nothing but stop words: only the same text is near
		for doc, m := range x.docs {
			if m != nil && admit(m) {
				pool.push(&found{memory: m, detail: x.facts[doc].detail})
			}
		}
		return pool.kept, nil
	}
	total := x.weigh(terms)
	s.prepared = prepare(s.prepared, terms, total*distant)
	x.gather(s, s.prepared)
	length := float32(len(terms))
	for _, doc := range s.touched {
		d := s.sums[doc]
		ratio := min(length, x.facts[doc].length) / max(length, x.facts[doc].length)
		f := found{memory: x.docs[doc], detail: x.facts[doc].detail, score: float64(d.weight / total * (1 + ratio) / 2)}
		if f.score >= pool.bar() && admit(f.memory) {
			pool.push(&f)
		}
	}
	weights := make(map[string]float64, len(terms)+1)
	for _, t := range terms {
		weights[t.term] = float64(t.weight)
	}
	unknown := []queryTerm{{count: 1}}
	x.weigh(unknown)
	weights[""] = float64(unknown[0].weight)
	return pool.kept, weights
}
