package archiver_test

import (
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/memsidecar/memsidecar/internal/archiver"
	"github.com/memsidecar/memsidecar/internal/memory"
)

// utterance is a log entry and what is to be promoted of it.
type utterance struct {
	entry memory.Entry
	words []string // the memory holds all of them; nil: nothing is to be promoted
}

// quality counts what was promoted of a corpus.
type quality struct{ wanted, found, promoted, right int }

func (q quality) String() string {
	return fmt.Sprintf("precision %d/%d = %.2f, recall %d/%d = %.2f", q.right, q.promoted, q.precision(), q.found,
		q.wanted, q.recall())
}
func (q quality) precision() float64 { return float64(q.right) / float64(q.promoted) }
func (q quality) recall() float64    { return float64(q.found) / float64(q.wanted) }

// promote puts a corpus into old logs, thirty entries in each, archives them and returns what was promoted, by entry.
func promote(t *testing.T, corpus []utterance) map[string][]string {
	b := newHarness(t)
	for i, u := range corpus {
		e := u.entry
		e.ID, e.At = fmt.Sprint("u", i), noon.AddDate(0, 0, -40-i/30)
		e.Time = e.At.Format("15:04:05")
		b.log(e.At.Format(memory.DateLayout), e)
	}
	out := map[string][]string{}
	for _, d := range b.run(archiver.Options{}).Days {
		for _, p := range d.Promoted {
			if p.Entry != "" {
				out[p.Entry] = append(out[p.Entry], p.Content)
			}
		}
	}
	return out
}

func holds(content string, words []string) bool {
	for _, w := range words {
		if !strings.Contains(content, w) {
			return false
		}
	}
	return len(words) > 0
}

func (q quality) check(t *testing.T, name string) {
	t.Helper()
	t.Logf("%s: %s", name, q)
	if q.precision() < 0.9 || q.recall() < 0.6 {
		t.Errorf("%s: want a precision of at least 0.9 and a recall of at least 0.6", name)
	}
}

// TestQualityOnSentences: the sentences that the reflection is tested with, as entries of old logs. They are labelled
// by hand; tasks are left out, for of those a month old log has none worth keeping.
func TestQualityOnSentences(t *testing.T) {
	for _, name := range []string{"sentences", "heldout"} {
		raw, err := os.ReadFile("../reflector/testdata/" + name + ".txt")
		if err != nil {
			t.Fatal(err)
		}
		var corpus []utterance
		for line := range strings.Lines(string(raw)) {
			line = strings.ReplaceAll(strings.TrimSpace(line), `\n`, "\n")
			if text, ok := strings.CutPrefix(line, "- "); ok {
				corpus = append(corpus, utterance{entry: event(text)})
			}
			if parts := strings.Split(strings.TrimPrefix(line, "+ "), " | "); len(parts) == 3 &&
				parts[0] != memory.Tasks {
				corpus = append(corpus, utterance{entry: event(parts[1]), words: strings.Split(parts[2], "; ")})
			}
		}
		var q quality
		promoted := promote(t, corpus)
		for i, u := range corpus {
			hit := false
			for _, content := range promoted[fmt.Sprint("u", i)] {
				q.promoted++
				if holds(content, u.words) {
					q.right++
					hit = true
				} else {
					t.Logf("%s: %q was promoted as %q", name, u.entry.Content, content)
				}
			}
			if u.words != nil {
				if q.wanted++; hit {
					q.found++
				}
			}
		}
		q.check(t, name)
	}
}

// TestQualityOnSession: what the recorded session's user said and which tools failed, as entries of an old log.
func TestQualityOnSession(t *testing.T) {
	var corpus []utterance
	raw, err := os.ReadFile("../../cmd/memsidecar/testdata/session.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(raw)) {
		var m memory.Message
		if err := json.Unmarshal([]byte(line), &m); err != nil {
			t.Fatal(err)
		}
		switch {
		case m.Role == "user":
			corpus = append(corpus, utterance{entry: event(m.Content)})
		case m.Tool != nil && m.Tool.Failed:
			corpus = append(corpus, utterance{entry: memory.Entry{Type: memory.EntryToolFailure, Content: m.Tool.Name +
				" " + m.Tool.Arguments + ": " + m.Tool.Error, Tool: m.Tool.Name, Error: m.Tool.Error}})
		}
	}
	var want struct {
		Learnt []struct {
			Words []string `json:"must_contain"`
		} `json:"learnt"`
		Not []string `json:"must_not_be_memory"`
	}
	if raw, err = os.ReadFile("../../cmd/memsidecar/testdata/session.expect.json"); err == nil {
		err = json.Unmarshal(raw, &want)
	}
	if err != nil {
		t.Fatal(err)
	}
	q := quality{wanted: len(want.Learnt)}
	found := map[int]bool{}
	for _, contents := range promote(t, corpus) {
		for _, content := range contents {
			q.promoted++
			// True and lasting, though nobody listed them: the second says in the tool's words what a listed memory
			// says in the user's.
			right := holds(content, []string{"Staging", "perch"}) || holds(content, []string{"fetch_url failed 2 times"})
			for i, l := range want.Learnt {
				// A memory that says again what another one says is wrong; one may say two things.
				if holds(content, l.Words) && !found[i] {
					found[i], right = true, true
				}
			}
			for _, not := range want.Not {
				if strings.Contains(content, not) {
					t.Errorf("%q was promoted", content)
				}
			}
			if right {
				q.right++
			} else {
				t.Logf("%q was promoted for nothing", content)
			}
		}
	}
	q.found = len(found)
	q.check(t, "session")
}
