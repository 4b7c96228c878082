package reflector

import (
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/memsidecar/memsidecar/internal/lazyregexp"
	"github.com/memsidecar/memsidecar/internal/memory"
)

// finding is what a rule read out of a sentence.
type finding struct {
	rule     string
	category string
	source   string
	salience float64
	// masked, as it is to be stored
	content string
	// it speaks of "that": what that was has to be added
	vague bool
	// it refuses what was just done, which has to be added if a tool did it
	refuses bool
}

// said is a finding with the sentence that it was read from.
type said struct {
	sentence *sentence
	finding
}

// readMessage reads a user's message. Some sentences only say something of the one before: that it is to be remembered,
// why, or that it was a joke.
func readMessage(content string) (out []said) {
	all := sentences(content)
	from := 0 // of the findings of the sentence before
	for i := range all {
		s := &all[i]
		text := trimLeadingFiller(s.text)
		switch {
		case retraction.MatchString(text):
			return nil // which of the sentences was the joke is not said
		case i > 0 && !s.question && rememberWord.MatchString(text) && bareRequest.MatchString(text):
			before := &all[i-1]
			if f, ok := requested(trimLeadingFiller(before.text)); ok && !before.question {
				out = append(out[:from], said{before, f})
			}
			continue
		case from == len(out)-1 && out[from].sentence == &all[max(i-1, 0)]:
			if why := reasonAlone.FindStringSubmatch(text); why != nil && addReason(&out[from].finding, s.unmask(why[1])) {
				continue
			}
		}
		from = len(out)
		for _, f := range findStatements(s) {
			out = append(out, said{s, f})
		}
	}
	return out
}

// rule reads one kind of statement. It is matched against a statement without greeting and closing punctuation.
type rule struct {
	name     string
	category string
	salience float64
	re       *lazyregexp.Pattern
	// "" when it is no such statement after all
	phrase func(m []string) string
}

// newRule makes a rule. The expression is compiled at its first use.
func newRule(name, category string, salience float64, re string, say func(m []string) string) rule {
	return rule{name, category, salience, lazyregexp.New(`(?i)` + re), say}
}

// findStatements reads a sentence. An explicit request or a correction takes the sentence whole, statements are
// looked for in its clauses.
func findStatements(s *sentence) (out []finding) {
	text := trimLeadingFiller(s.text)
	if m := saidNo.FindString(text); m != "" && len(m) < len(text) {
		s.afterRefusal = true
	}
	if f, ok := rememberRequest(s, text); ok {
		return []finding{f}
	}
	if s.question || oneOff.MatchString(text) {
		return nil
	}
	if joke.MatchString(text) {
		return nil
	}
	if f, ok := reasoned(s, text); ok {
		return []finding{f}
	}
	if f, ok := correction(s, text); ok {
		return []finding{f}
	}
	if fromTheProject.MatchString(text) {
		return nil
	}
	if s.hypothetical && !wishes.MatchString(text) {
		return nil
	}
	text = saidNo.ReplaceAllString(text, "") // "No, the port is 9443" states something, too
	for _, c := range clauses(text) {
		c = trimLeadingFiller(strings.TrimSpace(c))
		if f, ok := statement(c); ok && !(f.category == memory.Facts && derivable.MatchString(s.unmask(c))) {
			out = append(out, f)
		}
	}
	if f, ok := background(text); ok && len(out) == 0 {
		out = append(out, f)
	}
	return out
}

// bareNote introduces an explanation as often as a request, so a statement rule must match the rest.
var bareNote = lazyregexp.New(`(?i)^(?:please )?(?:note|be aware|keep in mind|mind you|heads up|notice)(?: that\b` +
	`|[:,])\s*`)

// allStatements are the rules for statements, in order of precedence.
var allStatements = slices.Concat(statementRules, projectRules)

// The patterns of rules, in the same order.
var (
	statementPatterns  = patternsOf(allStatements)
	backgroundPatterns = patternsOf(backgroundRules)
)

// patternsOf returns the set of the rules' patterns.
func patternsOf(rules []rule) *lazyregexp.Set {
	patterns := make([]*lazyregexp.Pattern, len(rules))
	for i, r := range rules {
		patterns[i] = r.re
	}
	return lazyregexp.NewSet(patterns...)
}

// statement applies the statement rules to one clause.
func statement(c string) (finding, bool) {
	c = bareNote.ReplaceAllString(c, "")
	for _, i := range statementPatterns.Candidates(c) {
		r := allStatements[i]
		m := r.re.FindStringSubmatch(c)
		if m == nil {
			continue
		}
		content := r.phrase(m)
		if content == "" || letterWeight(content) < 6 {
			continue
		}
		if strings.HasPrefix(content, "The user") && firstEn.MatchString(content) || strings.HasPrefix(content, "用户") &&
			strings.Contains(content, "我") {
			content = capitalize(c) // more than one first person: keep the sentence unchanged
		}
		return finding{rule: r.name, category: r.category, source: memory.SourceReflection, salience: r.salience,
			content: content}, true
	}
	return finding{}, false
}

// containsHan reports whether s contains a Chinese character.
func containsHan(s string) bool {
	return strings.ContainsFunc(s, func(r rune) bool { return unicode.Is(unicode.Han, r) })
}

// capitalize makes the first letter a capital one.
func capitalize(s string) string {
	r, size := utf8.DecodeRuneInString(s)
	if unicode.IsLower(r) && !strings.ContainsAny(firstWord(s), "._/0123456789") {
		return string(unicode.ToUpper(r)) + s[size:]
	}
	return s
}

// firstWord returns s up to the first space.
func firstWord(s string) string {
	w, _, _ := strings.Cut(s, " ")
	return w
}
