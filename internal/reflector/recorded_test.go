package reflector_test

import (
	"bytes"
	"context"
	"encoding/json"
	"log/slog"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/memsidecar/memsidecar/internal/memory"
	"github.com/memsidecar/memsidecar/internal/redact"
	"github.com/memsidecar/memsidecar/internal/reflector"
	"github.com/memsidecar/memsidecar/internal/search"
	"github.com/memsidecar/memsidecar/internal/store"
	"github.com/memsidecar/memsidecar/internal/store/durable/crashfs"
	"github.com/memsidecar/memsidecar/internal/store/journal"
)

// expectation is what testdata/session.expect.json of the command holds.
type expectation struct {
	Learnt []struct {
		Category    string   `json:"category"` // "": any
		MustContain []string `json:"must_contain"`
	} `json:"learnt"`
	AtMostOnce      [][]string `json:"at_most_once"`
	MustNotBeMemory []string   `json:"must_not_be_memory"`
	MustNotAppear   []string   `json:"must_not_appear"` // neither in a memory nor in a log nor in a summary
}

const recorded = "../../cmd/memsidecar/testdata/session"

func expected(t *testing.T) (e expectation) {
	t.Helper()
	raw, err := os.ReadFile(recorded + ".expect.json")
	if err != nil {
		t.Fatal(err)
	}
	d := json.NewDecoder(bytes.NewReader(raw))
	d.DisallowUnknownFields()
	if err := d.Decode(&e); err != nil {
		t.Fatal(err)
	}
	return e
}

func recording(t *testing.T) (out []*memory.Message) {
	t.Helper()
	raw, err := os.ReadFile(recorded + ".jsonl")
	if err != nil {
		t.Fatal(err)
	}
	for line := range bytes.Lines(raw) {
		m := &memory.Message{}
		if err := json.Unmarshal(line, m); err != nil {
			t.Fatal(err)
		}
		clean, _ := redact.Message(m)
		out = append(out, clean)
	}
	return out
}

func parseCount(texts []string, words []string) (n int) {
	for _, text := range texts {
		if holdsAll(text, words) {
			n++
		}
	}
	return n
}

func holdsAll(text string, words []string) bool {
	for _, w := range words {
		if !strings.Contains(text, w) {
			return false
		}
	}
	return true
}

// TestRecordedSession reflects the session of the demonstration with the real store and search.
func TestRecordedSession(t *testing.T) {
	now := func() time.Time { return time.Date(2026, 3, 9, 18, 0, 0, 0, time.UTC) }
	engine := search.New(search.Config{Now: now})
	st, err := store.Open(store.Config{FS: crashfs.New(), Now: now, Logger: slog.New(slog.DiscardHandler),
		Projections: []store.Projection{engine}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { st.Close(context.WithoutCancel(t.Context())) })
	b := &bed{t: t, store: st, engine: engine}
	b.Reflector = reflector.New(reflector.Config{Store: st, Search: engine, Now: now,
		Location: time.FixedZone("CST", 8*3600)})
	b.say("s1", recording(t)...)
	res := b.reflect("s1")
	for _, o := range res.Outcomes {
		if o.Status != journal.Applied {
			t.Errorf("outcome %+v", o)
		}
	}

	var texts []string
	memories := st.Space("p").Memories()
	for _, m := range memories {
		texts = append(texts, m.Content)
		t.Logf("%s: %s", m.Category, m.Content)
	}
	want := expected(t)
	for _, e := range want.Learnt {
		found := false
		for _, m := range memories {
			found = found || (e.Category == "" || m.Category == e.Category) && holdsAll(m.Content, e.MustContain)
		}
		if !found {
			t.Errorf("not learnt: %s %q", e.Category, e.MustContain)
		}
	}
	for _, words := range want.AtMostOnce {
		if n := parseCount(texts, words); n > 1 {
			t.Errorf("%q stands in %d memories", words, n)
		}
	}
	for _, word := range want.MustNotBeMemory {
		if parseCount(texts, []string{word}) > 0 {
			t.Errorf("%q became a memory", word)
		}
	}
	all := append(texts, res.Summary)
	for _, d := range st.Space("p").Days() {
		_, entries, err := st.Space("p").Log(d.Date)
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range entries {
			all = append(all, e.Content, e.Error, e.Tool)
		}
	}
	for _, word := range want.MustNotAppear {
		if parseCount(all, []string{word}) > 0 {
			t.Errorf("%q appears", word)
		}
	}
}
