package reflector_test

import (
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/memsidecar/memsidecar/internal/reflector"
)

// utterance is a line of a corpus in testdata: a whole message and what is to be learnt from it.
type utterance struct {
	text       string
	categories []string // any of them will do; none: nothing may be learnt
	words      []string // the memory holds all of them
}

func corpus(t *testing.T, file string) (out []utterance) {
	t.Helper()
	raw, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(raw)) {
		line = strings.ReplaceAll(strings.TrimSpace(line), `\n`, "\n")
		if text, ok := strings.CutPrefix(line, "- "); ok {
			out = append(out, utterance{text: text})
		}
		if rest, ok := strings.CutPrefix(line, "+ "); ok {
			parts := strings.Split(rest, " | ")
			if len(parts) != 3 {
				t.Fatalf("%s: %q", file, line)
			}
			out = append(out, utterance{parts[1], strings.Fields(parts[0]), strings.Split(parts[2], "; ")})
		}
	}
	return out
}

// holds reports whether one of the memories is what u teaches.
func (u utterance) holds(category, content string) bool {
	if !slices.Contains(u.categories, category) {
		return false
	}
	for _, w := range u.words {
		if !strings.Contains(content, w) {
			return false
		}
	}
	return true
}

// figures of one corpus.
type figures struct{ positives, found, negatives, silent, learnt, right int }

func measure(file string, utterances []utterance, report func(format string, args ...any)) (f figures) {
	for _, u := range utterances {
		items := reflector.Reflect(reflector.Input{Session: "s1", Messages: user(u.text), Now: saturday}).Items
		var all []string
		hit := false
		for _, it := range items {
			all = append(all, it.Memory.Category+": "+it.Memory.Content)
			hit = hit || u.holds(it.Memory.Category, it.Memory.Content)
		}
		f.learnt += len(items)
		if len(u.categories) == 0 {
			f.negatives++
			if len(items) == 0 {
				f.silent++
			} else {
				report("%s: %q taught %q", file, u.text, all)
			}
			continue
		}
		f.positives++
		if !hit {
			report("%s: %q taught %q, not %s %q", file, u.text, all, u.categories, u.words)
			continue
		}
		f.found++
		f.right += len(items) // a message may teach more than what it is in the corpus for
	}
	return f
}

// TestSentences: all of the sentences that the rules were written against.
func TestSentences(t *testing.T) {
	f := measure("sentences", corpus(t, "testdata/sentences.txt"), t.Errorf)
	t.Logf("recall %d/%d, silent %d/%d, precision %d/%d", f.found, f.positives, f.silent, f.negatives, f.right,
		f.learnt)
}

// TestHeldOut: most of the sentences that the rules were not written against, and nothing from those that teach
// nothing.
func TestHeldOut(t *testing.T) {
	f := measure("heldout", corpus(t, "testdata/heldout.txt"), t.Logf)
	t.Logf("recall %d/%d, silent %d/%d, precision %d/%d", f.found, f.positives, f.silent, f.negatives, f.right,
		f.learnt)
	if 10*f.found < 9*f.positives || f.silent < f.negatives || f.right < f.learnt {
		t.Error("the rules got worse")
	}
}
