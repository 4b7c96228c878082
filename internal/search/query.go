package search

import (
	"strings"
	"unicode"

	"github.com/memsidecar/memsidecar/internal/search/analysis"
	"github.com/memsidecar/memsidecar/internal/search/embedding"
)

// query is the analysed text of a request.
type query struct {
	terms       []queryTerm
	dates       []analysis.DateRange
	phrase      string // the folded text, for literal comparison
	identifiers []analysis.Identifier
	relations   []string // words for the relatives that it names, see analysis.OwnRelations
	topic       bool     // it names something beside dates and words of general use
	literal     bool     // it is nothing but words that say something about its topic, so no sentence
	broad       bool     // it names neither a topic nor a date: "Tell me about people"
}

const (
	maxTerms    = 400 // distinct terms of a query; a longer text is cut at its end
	longMessage = 40  // terms from which on a text describes days rather than asking about one
)

// parseQuery analyses a query. The result is valid until the next call.
func (a *analyzer) parseQuery(req *Request) *query {
	text := analysis.Normalize(req.Query)
	q := &a.query
	*q = query{phrase: analysis.FoldPhrase(text), terms: q.terms[:0]}
	if !req.bySource() {
		q.relations = analysis.OwnRelations(text)
		q.dates = analysis.ParseDates(text, req.AsOf)
	}
	if a.queryTerms == nil {
		a.queryTerms = map[string]int{}
	}
	clear(a.queryTerms)
	tokens := a.Tokenize(text)
	q.identifiers = analysis.Identifiers(text, tokens)
	q.literal = isLiteral(text, tokens)
	capitals, name, nameEnd := analysis.CapitalsMeaningful(text), 0, 0
	emphasis := embedding.EmphasisOf(text)
	for _, t := range tokens {
		if analysis.Overlaps(q.dates, t.Start, t.End) {
			continue
		}
		term := queryTerm{term: t.Term, kind: t.Kind, weak: t.Weak, count: 1, emphasis: emphasis.At(t.Start)}
		if capitals && analysis.IsNameAt(text, t.Start) {
			if name == 0 || t.Start > nameEnd+1 { // "Green Wheat Park" is one name
				name++
			}
			term.name, nameEnd = name, t.End
		}
		a.addQueryTerm(term)
		q.topic = q.topic || t.Informative()
	}
	q.broad = !q.topic && len(q.dates) == 0
	if words := strings.Count(q.phrase, " ") + 1; !q.topic && len(q.dates) == 0 && words <= 2 && len(q.terms) >= words {
		// One or two general words alone are a search for these words, not a question that happens to contain them.
		for i := range q.terms {
			q.terms[i].weak = false
		}
		q.topic = len(q.terms) > 0
	}
	if q.topic && len(q.terms) > longMessage {
		q.dates = nil
	}
	for _, d := range q.dates {
		if s := d.ISO(); s != "" {
			a.addQueryTerm(queryTerm{term: s, kind: analysis.Compound, count: 1, emphasis: 1, optional: true})
		}
	}
	return q
}

// isLiteral reports whether every letter of a text belongs to an informative token.
func isLiteral(text string, tokens []analysis.Token) bool {
	end := 0 // of the text covered so far
	uncovered := func(from, to int) bool {
		return from < to && strings.ContainsFunc(text[from:to], unicode.IsLetter)
	}
	for i := range tokens {
		if t := &tokens[i]; t.Informative() {
			if uncovered(end, t.Start) {
				return false
			}
			end = max(end, t.End)
		}
	}
	return end > 0 && !uncovered(end, len(text))
}

// addQueryTerm adds a term to the query, or counts it when the query has it.
func (a *analyzer) addQueryTerm(t queryTerm) {
	q := &a.query
	if i, ok := a.queryTerms[t.term]; ok {
		q.terms[i].count += t.count
		q.terms[i].emphasis = max(q.terms[i].emphasis, t.emphasis)
		q.terms[i].kind = min(q.terms[i].kind, t.kind)
		return
	}
	if len(q.terms) < maxTerms {
		a.queryTerms[t.term] = len(q.terms)
		q.terms = append(q.terms, t)
	}
}
