package guard

import (
	"slices"
	"strings"

	"golang.org/x/text/unicode/norm"

	"github.com/memsidecar/memsidecar/internal/lazyregexp"
)

// value is a run of protected tokens without other words between, such as "Debian 12" or "900 EUR".
type value []token

// values returns the runs of protected tokens, without those that keep reports.
func values(tokens []token, keep func(token) bool) (out []value) {
	var run value
	for _, t := range append(slices.Clip(tokens), token{}) {
		if t.kind != plainToken && !keep(t) {
			run = append(run, t)
			continue
		}
		if len(run) > 0 {
			out, run = append(out, run), nil
		}
	}
	return out
}

// lossOf returns the reason for a value that is gone.
func lossOf(v value) string {
	for _, k := range []struct {
		kind   tokenKind
		reason string
	}{{numberToken, ReasonLostNumber}, {nameToken, ReasonLostName}} {
		if hasKind(v, k.kind) {
			return k.reason
		}
	}
	return ReasonLostUnit
}

// changeReason returns why a model's new text of a memory is left to a person, "" if it is not. Protected tokens of the
// old text must be in the new one, or one value has a new one in the same place. What is new in place of something old,
// and every new number and name, must be in said: the words of the user or of the agent.
func changeReason(before, after, said string) string {
	old, now := tokensOf(before), tokensOf(after)
	if reason := movedNegation(before, after, said); reason != "" {
		return reason
	}
	c := comparison{before: newWords(before, old), after: newWords(after, now), said: newWords(said, tokensOf(said))}
	changed := 0
	for _, h := range diff(old, now) {
		lost := values(h.removed, func(t token) bool {
			return c.after.has(t) && (t.kind == nameToken || c.after.keys[t.key] >= c.before.keys[t.key])
		})
		instead := values(h.added, c.before.has)
		for i, v := range lost {
			switch {
			case i >= len(instead):
				return lossOf(v)
			case hasKind(v, unitToken) && !hasKind(instead[i], unitToken) || hasKind(v, limitToken):
				return ReasonLostUnit
			case !slices.ContainsFunc(v, func(t token) bool { return !c.said.has(t) }):
				// said names the old value, too: "not X any more"
			default:
				changed++
			}
		}
		if changed > 1 || !c.supported(h, after) {
			return ReasonNewValue // of two values, one may be the other's
		}
		if c.drops(h) {
			return ReasonLostText
		}
	}
	if swapped(old, now) {
		return ReasonNewValue
	}
	return polarityReason(before, after, said)
}

// comparison holds the words of both texts of a memory and of what was said.
type comparison struct{ before, after, said words }

// words are the tokens of a text, and the text for names of several words.
type words struct {
	text string
	keys map[string]int // how often each occurs
}

// newWords prepares a text.
func newWords(text string, tokens []token) words {
	return words{strings.ToLower(norm.NFKC.String(text)), keys(tokens)}
}

// has reports whether the text has a token.
func (w words) has(t token) bool {
	return w.keys[t.key] > 0 || t.kind == nameToken && (containsName(w.text, t.key) ||
		strings.HasSuffix(t.key, "days") && w.keys[strings.TrimSuffix(t.key, "s")] > 0)
}

// containsName reports whether a name stands in lower-case text, not as a part of an identifier.
func containsName(text, name string) bool {
	const joins = "-_./@\\"
	for from := 0; ; {
		i := strings.Index(text[from:], name)
		if i < 0 {
			return false
		}
		before, after := text[:from+i], text[from+i+len(name):]
		if !hasLatinEdge(before, true) && !hasLatinEdge(after, false) &&
			!strings.ContainsAny(before[max(0, len(before)-1):], joins) &&
			!(len(after) > 1 && strings.ContainsAny(after[:1], joins) && hasLatinEdge(after[1:], false)) {
			return true
		}
		from += i + len(name)
	}
}

// stemLength is the number of letters from which on words of the same beginning count as forms of one word.
const stemLength = 4

// supported reports whether what a hunk adds was said or known: numbers and names always, other words where they stand
// in place of removed ones. Dates are computed from what was said.
func (c *comparison) supported(h hunk, after string) bool {
	dates := strings.Join(isoDate.FindAllString(after, -1), " ")
	replaces := slices.ContainsFunc(h.removed, func(t token) bool { return !fillers[t.key] && !c.after.has(t) })
	for _, t := range h.added {
		if c.said.has(t) || c.before.has(t) || t.kind == numberToken && strings.Contains(dates, t.key) {
			continue
		}
		switch {
		case t.kind == numberToken, t.kind == nameToken:
			return false
		case replaces && !fillers[t.key] && !fillerHan[t.key] && !c.hasForm(t.key):
			return false
		}
	}
	return true
}

// mostDropped is how many words that carry a meaning a change may leave out in one place.
const mostDropped = 1

// drops reports whether a hunk only leaves out: words of which nothing is left, in place of which nothing stands, and
// which were not spoken of.
func (c *comparison) drops(h hunk) bool {
	meaning := func(t token) bool { return !fillers[t.key] && !fillerHan[t.key] }
	if slices.ContainsFunc(h.added, meaning) {
		return false
	}
	dropped := 0
	for _, t := range h.removed {
		if meaning(t) && !c.after.has(t) && !c.said.has(t) {
			dropped++
		}
	}
	return dropped > mostDropped
}

// fillerHan are Chinese characters that carry no meaning of their own here.
var fillerHan = wordSet("的 了 在 是 和 也 与 及 就 都 而 着 把 被 其 之 现 已 经 改 为 成 到 用 换 有")

// hasForm reports whether a form of a Latin word was said or known.
func (c *comparison) hasForm(word string) bool {
	if len(word) < stemLength {
		return false
	}
	for _, w := range []words{c.said, c.before} {
		for k := range w.keys {
			if strings.HasPrefix(k, word[:stemLength]) {
				return true
			}
		}
	}
	return false
}

// keys counts the keys of tokens.
func keys(tokens []token) map[string]int {
	out := map[string]int{}
	for _, t := range tokens {
		out[t.key]++
	}
	return out
}

// hasKind reports whether v has a token of a kind.
func hasKind(v value, k tokenKind) bool {
	return slices.ContainsFunc(v, func(t token) bool { return t.kind == k })
}

// swapped reports whether the numbers that both texts have stand in another order, so that each may belong to another
// thing now.
func swapped(old, now []token) bool {
	numbers := func(tokens []token, known map[string]int) (out []string) {
		for _, t := range tokens {
			if t.kind == numberToken && known[t.key] > 0 && !slices.Contains(out, t.key) {
				out = append(out, t.key)
			}
		}
		return out
	}
	return !slices.Equal(numbers(old, keys(now)), numbers(now, keys(old)))
}

// polarityReason returns why a change of the number of negations is left to a person. A sentence of said justifies it
// that has the new polarity, most of its words in the new text, and one of those that a negation stands before.
func polarityReason(before, after, said string) string {
	was, is := protectedTokensOf(before).Negations, protectedTokensOf(after).Negations
	if was == is {
		return ""
	}
	const near = 3
	negated := negatedWords(before, near)
	if is > was {
		negated = negatedWords(after, near)
	}
	for _, s := range sentence.Split(said, -1) {
		shared, all := keptWords(s, after)
		if all < 2 || 3*shared < 2*all || !speaksOf(s, negated) {
			continue
		}
		if negates := protectedTokensOf(s).Negations; is > was && negates > 0 || is < was && negates == 0 {
			return ""
		}
	}
	if is > was {
		return ReasonNewValue
	}
	return ReasonLostNegation
}

// speaksOf reports whether a sentence has one of the negated words. A Chinese character alone is in many words, so two
// of them are wanted where there are two.
func speaksOf(said string, negated map[string]bool) bool {
	all, found := 0, 0
	spoken := wordSet(strings.Join(contentWords(strings.ToLower(said)), " "))
	for w := range negated {
		han := isHan(w)
		if spoken[w] && !han {
			return true
		}
		if han {
			all++
			if spoken[w] {
				found++
			}
		}
	}
	return found > 0 && found >= min(2, all)
}

// movedNegation returns why a text that negates something else is left to a person: what stands right behind a negation
// in before must still stand behind one in after, unless said has the sentence.
func movedNegation(before, after, said string) string {
	negated := negatedWords(after, 1)
	s := notNegative.Replace(strings.ToLower(norm.NFKC.String(before)))
	for _, at := range anyNegation.FindAllStringIndex(s, -1) {
		next := contentWords(restOfClause(s[at[1]:]))
		if len(next) == 0 || negated[next[0]] {
			continue
		}
		if protectedTokensOf(before).Negations <= protectedTokensOf(after).Negations {
			return ReasonLostNegation
		}
		return polarityReason(before, after, said)
	}
	return ""
}

// negatedWords are the content words of s behind a negation, in its clause, the next few of each.
func negatedWords(s string, few int) map[string]bool {
	s = notNegative.Replace(strings.ToLower(norm.NFKC.String(s)))
	out := map[string]bool{}
	for _, at := range anyNegation.FindAllStringIndex(s, -1) {
		words := contentWords(restOfClause(s[at[1]:]))
		for _, w := range words[:min(few, len(words))] {
			out[w] = true
		}
	}
	return out
}

// restOfClause cuts s at its first punctuation.
func restOfClause(s string) string {
	if at := clauseEnd.FindStringIndex(s); at != nil {
		return s[:at[0]]
	}
	return s
}

// clauseEnd ends a clause; a comma or colon in a number does not.
var clauseEnd = lazyregexp.New(`[,:](?:\s|$)|[.!?](?:\s|$)|[;，。；！？：]`)

// anyNegation matches a negation in English or Chinese.
var anyNegation = lazyregexp.New(`\b(?:not|never|no|cannot|without|none|nor|neither|avoids?)\b|n['’]t\b|[不没别勿无未]`)

// sentence ends a sentence or clause.
var sentence = lazyregexp.New(`[.!?;]\s|[。！？；\n]`)
