package archiver

import (
	"errors"
	"fmt"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/memsidecar/memsidecar/internal/memory"
	proposal "github.com/memsidecar/memsidecar/internal/plan"
	"github.com/memsidecar/memsidecar/internal/redact"
)

const (
	// backed is the share of a sentence's words that entries must have.
	backed = 0.4
	// restated is the share of an entry's words from which a sentence says that entry again.
	restated = 0.6
	// stemLength is how much of a word counts: enough to tell words apart, and not their endings.
	stemLength = 5
)

// witness is a log as what a summary of it is checked against.
type witness struct {
	source  proposal.Source
	stems   map[string]bool
	entries []statement
}

// statement is one sentence.
type statement struct {
	stems   map[string]bool
	negates bool
}

func statementOf(s string) statement {
	return statement{stems: stemsOf(s), negates: proposal.Negates(s)}
}

func newWitness(l Log) *witness {
	var all strings.Builder
	w := &witness{stems: map[string]bool{}}
	all.WriteString(datesOf(l.Date))
	for _, e := range l.Entries {
		text, _ := redact.Text(strings.Join([]string{e.Content, e.Tool, e.Error}, "\n")) // as the model saw it
		fmt.Fprintf(&all, "\n%s %s\n%s", e.Time, clip(e.Time, 5), text)
		for s := range strings.Lines(text) {
			for _, s := range sentences(s) {
				w.entries = append(w.entries, statementOf(s))
			}
		}
	}
	w.source, w.stems = proposal.NewSource(all.String()), stemsOf(all.String())
	return w
}

// datesOf writes a date in the ways in which a summary may.
func datesOf(date string) string {
	t, err := time.Parse(memory.DateLayout, date)
	if err != nil {
		return date
	}
	return t.Format("2006-01-02 Monday 2 January 2006, Jan 2, 2006/1/2, 2006年1月2日 01/02")
}

// check says what is wrong with a summary, in words for the model that wrote it: above all, what no entry says.
func (w *witness) check(summary string) error {
	switch n := utf8.RuneCountInString(summary); {
	case n == 0:
		return errors.New("the summary is empty")
	case n > maxSummary:
		return fmt.Errorf("the summary has %d characters, at most %d are allowed", n, maxSummary)
	}
	if len(w.stems) > 0 && share(stemsOf(summary), w.stems) < backed {
		return errors.New("the summary says nothing of what the entries say")
	}
	if what := w.source.Invented(summary); what != "" {
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

func (w *witness) checkSentence(s string) error {
	said := statementOf(s)
	if len(said.stems) < 2 {
		return nil
	}
	if share(said.stems, w.stems) < backed {
		return fmt.Errorf("no entry says this: %q", clip(s, 200))
	}
	denied, affirmed, nearest := false, false, false
	for _, e := range w.entries {
		if e.negates && share(said.stems, e.stems) >= backed/2 {
			nearest = true
		}
		if len(e.stems) >= 2 && share(e.stems, said.stems) >= restated {
			denied, affirmed = denied || e.negates, affirmed || !e.negates
		}
	}
	if said.negates && !nearest || !said.negates && denied && !affirmed {
		return fmt.Errorf("this says the opposite of an entry: %q", clip(s, 200))
	}
	return nil
}

// share is how much of a is in b, 0 to 1.
func share(a, b map[string]bool) float64 {
	n := 0
	for w := range a {
		if b[w] {
			n++
		}
	}
	return float64(n) / float64(max(len(a), 1))
}

// stemsOf finds what a text is about: the beginnings of its longer words, and pairs of Han characters.
func stemsOf(s string) map[string]bool {
	out := map[string]bool{}
	var word []rune
	flush := func() {
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
