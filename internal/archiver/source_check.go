package archiver

import (
	"errors"
	"fmt"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/memsidecar/memsidecar/internal/memory"
	"github.com/memsidecar/memsidecar/internal/redact"
	proposal "github.com/memsidecar/memsidecar/internal/reflector/guard"
)

const (
	// minSupport is the share of a sentence's stems that the entries must contain.
	minSupport = 0.4
	// minRestated is the share of an entry's stems from which a sentence restates that entry.
	minRestated = 0.6
	// stemLength is the length of a stem in characters: a prefix that distinguishes words but ignores inflection.
	stemLength = 5
)

// sourceCheck checks a model's summary against the entries of its log, with lexical tests for unsupported claims and
// reversed negations. A second model call would cost as much as the summary, and could be wrong in the same way.
type sourceCheck struct {
	source  proposal.Source
	stems   map[string]bool
	entries []sentenceStems
}

// sentenceStems is one sentence prepared for comparison.
type sentenceStems struct {
	stems   map[string]bool
	negates bool
}

// sentenceStemsOf prepares a sentence.
func sentenceStemsOf(s string) sentenceStems {
	return sentenceStems{stems: stemsOf(s), negates: proposal.Negates(s)}
}

// newSourceCheck prepares the entries of a log.
func newSourceCheck(l Log) *sourceCheck {
	var all strings.Builder
	w := &sourceCheck{stems: map[string]bool{}}
	all.WriteString(datesOf(l.Date))
	for _, e := range l.Entries {
		// redacted, as the model sees it
		text, _ := redact.Text(strings.Join([]string{e.Content, e.Tool, e.Error}, "\n"))
		fmt.Fprintf(&all, "\n%s %s\n%s", e.Time, clip(e.Time, 5), text)
		for s := range strings.Lines(text) {
			for _, s := range sentences(s) {
				w.entries = append(w.entries, sentenceStemsOf(s))
			}
		}
	}
	w.source, w.stems = proposal.NewSource(all.String()), stemsOf(all.String())
	return w
}

// datesOf returns a date in the formats that a summary may use.
func datesOf(date string) string {
	t, err := time.Parse(memory.DateLayout, date)
	if err != nil {
		return date
	}
	return t.Format("2006-01-02 Monday 2 January 2006, Jan 2, 2006/1/2, 2006年1月2日 01/02")
}

// check returns what is wrong with a summary, as a message for the model.
func (w *sourceCheck) check(summary string) error {
	switch n := utf8.RuneCountInString(summary); {
	case n == 0:
		return errors.New("the summary is empty")
	case n > maxSummary:
		return fmt.Errorf("the summary has %d characters; the limit is %d", n, maxSummary)
	}
	if len(w.stems) > 0 && containment(stemsOf(summary), w.stems) < minSupport {
		return errors.New("the summary is not about the entries")
	}
	if what := w.source.FindUnsupported(summary); what != "" {
		return fmt.Errorf("no entry says %q", what)
	}
	for line := range strings.Lines(summary) {
		for _, s := range sentences(line) {
			if err := w.checkSentence(s); err != nil {
				return err
			}
		}
	}
	return nil
}

// checkSentence returns why a sentence is not supported by the entries.
func (w *sourceCheck) checkSentence(s string) error {
	said := sentenceStemsOf(s)
	if len(said.stems) < 2 {
		return nil
	}
	if containment(said.stems, w.stems) < minSupport {
		return fmt.Errorf("no entry says this: %q", clip(s, 200))
	}
	denied, affirmed, nearest := false, false, false
	for _, e := range w.entries {
		if e.negates && containment(said.stems, e.stems) >= minSupport/2 {
			nearest = true
		}
		if len(e.stems) >= 2 && containment(e.stems, said.stems) >= minRestated {
			denied, affirmed = denied || e.negates, affirmed || !e.negates
		}
	}
	if said.negates && !nearest || !said.negates && denied && !affirmed {
		return fmt.Errorf("this contradicts an entry: %q", clip(s, 200))
	}
	return nil
}

// containment is the share of a's elements that b contains, 0 to 1.
func containment(a, b map[string]bool) float64 {
	n := 0
	for w := range a {
		if b[w] {
			n++
		}
	}
	return float64(n) / float64(max(len(a), 1))
}

// stemsOf returns the prefixes of a text's longer words, and its bigrams of Han characters.
func stemsOf(s string) map[string]bool {
	out := map[string]bool{}
	var word []rune
	flush := func() {
		// Shorter words are mostly function words, which prove nothing.
		if len(word) >= 4 {
			out[string(word[:min(len(word), stemLength)])] = true
		}
		word = word[:0]
	}
	var previous rune
	for _, r := range strings.ToLower(s) {
		switch {
		case unicode.Is(unicode.Han, r):
			flush()
			if previous != 0 {
				out[string([]rune{previous, r})] = true
			}
			previous = r
			continue
		case unicode.IsLetter(r) || unicode.IsDigit(r):
			word = append(word, r)
		default:
			flush()
		}
		previous = 0
	}
	flush()
	return out
}
