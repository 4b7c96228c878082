package transfer_test

import (
	"bytes"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/memsidecar/memsidecar/internal/client/importers"
	"github.com/memsidecar/memsidecar/internal/memory"
	"github.com/memsidecar/memsidecar/internal/memtest"
	"github.com/memsidecar/memsidecar/internal/search"
	"github.com/memsidecar/memsidecar/internal/service/transfer"
	"github.com/memsidecar/memsidecar/internal/store"
	"github.com/memsidecar/memsidecar/internal/store/durable/crashfs"
)

// near finds a memory by the part of a text before its first comma, as if the rest were other words for the same.
type near struct{}

func (near) Among(memories []*memory.Memory) func(string, int) []search.Hit {
	if len(memories) == 0 {
		return nil
	}
	return func(text string, _ int) (hits []search.Hit) {
		head, _, _ := strings.Cut(text, ",")
		for _, m := range memories {
			if other, _, _ := strings.Cut(m.Content, ","); other == head {
				hits = append(hits, search.Hit{Memory: m, Score: 0.97})
			}
		}
		return hits
	}
}

func newPlaceWithNear(t *testing.T) place {
	t.Helper()
	fs := crashfs.New()
	st := memtest.OpenStore(t, fs)
	return place{st, transfer.New(st, fs, near{}, new(memtest.Clock).Now)}
}

func put(memories ...*memory.Memory) func(*store.Tx) error {
	return func(tx *store.Tx) error {
		for _, m := range memories {
			if err := tx.Put(m); err != nil {
				return err
			}
		}
		return nil
	}
}

func said(id, content string) *memory.Memory {
	return &memory.Memory{
		ID: id, Category: memory.Facts, Content: content, Salience: 0.5, Confidence: 1, Source: "import_mem0", Status: memory.Active,
		CreatedAt: time.Date(2026, 1, 2, 0, 0, 0, 0, time.UTC),
	}
}

// lines are memories and entries of another system.
func lines(t *testing.T, write func(*transfer.Writer) error) string {
	t.Helper()
	var b bytes.Buffer
	w, err := transfer.NewWriter(t.Context(), &b, "mem0")
	if err != nil {
		t.Fatal(err)
	}
	if err := write(w); err != nil {
		t.Fatal(err)
	}
	if err := w.Flush(); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func memoriesOf(t *testing.T, memories ...*memory.Memory) string {
	t.Helper()
	return lines(t, func(w *transfer.Writer) error {
		for i, m := range memories {
			if line, err := w.Memory(m); err != nil || line != int64(i)+2 {
				return fmt.Errorf("line %d: %w", line, err)
			}
		}
		return nil
	})
}

// outcome is a report in short.
func outcome(r transfer.Report) string {
	var b strings.Builder
	for _, c := range r.Counts {
		fmt.Fprintf(&b, "%s: %d added, %d same, %d merged, %d skipped\n", c.Kind, c.Added, c.Same, c.Merged, c.Skipped)
	}
	for _, m := range r.Merged {
		fmt.Fprintf(&b, "line %d: %s into %s, %s\n", m.Line, m.ID, m.Into, m.Reason)
	}
	for _, s := range r.Skipped {
		fmt.Fprintf(&b, "line %d: %s skipped, %s: %s\n", s.Line, s.ID, s.Reason, s.Detail)
	}
	return b.String()
}

// TestMerging imports what is there already in one way or another.
func TestMerging(t *testing.T) {
	p := newPlaceWithNear(t)
	gone := said("gone", "Rowed here, once")
	gone.Status = memory.Retired
	p.update(t, "default", put(said("have", "Likes the window seat"), said("alike", "Gets seasick, always"), gone))
	p.update(t, "default", func(tx *store.Tx) error { tx.Forget("Owes the harbour money"); return nil })
	text := memoriesOf(t,
		said("m1", "likes the  window seat."), said("m2", "Gets seasick, every time"), said("m3", "住在珠海"), said("m4", "住在珠海。"), said("m5", "Owes the harbour money"),
		said("m6", "Rowed here, once"), said("m7", "Sails alone, mostly"), said("m8", "Sails alone, often"), said("m3", "住在珠海"),
	)
	want := `memory: 4 added, 0 same, 4 merged, 1 skipped
line 2: m1 into have, EXACT_DUPLICATE
line 3: m2 into alike, NEAR_DUPLICATE
line 5: m4 into m3, EXACT_DUPLICATE
line 10: m3 into m3, EXACT_DUPLICATE
line 6: m5 skipped, FORGOTTEN: its text was forgotten here
`
	before := p.export(t)
	if diff := cmp.Diff(want, outcome(p.imported(t, text, transfer.Options{DryRun: true}))); diff != "" {
		t.Errorf("dry run (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(before, p.export(t)); diff != "" {
		t.Errorf("the dry run changed (-before +after):\n%s", diff)
	}
	report := p.imported(t, text, transfer.Options{})
	if diff := cmp.Diff(want, outcome(report)); diff != "" {
		t.Errorf("run (-want +got):\n%s", diff)
	}
	for id, content := range map[string]string{"have": "Likes the window seat", "alike": "Gets seasick, always", "m7": "Sails alone, mostly", "m8": "Sails alone, often"} {
		if m, err := p.st.Space("default").Get(id); err != nil || m.Content != content {
			t.Errorf("%s is %v, %v", id, m, err)
		}
	}

	// Again: nothing changes, whatever has happened to what was imported.
	p.update(t, "default", func(tx *store.Tx) error {
		changed, retired := tx.Memory("m7").Clone(), tx.Memory("m8").Clone()
		changed.Content, retired.Status = "Sails with Mei, mostly", memory.Retired
		return put(changed, retired)(tx)
	})
	before = p.export(t)
	again := p.imported(t, text, transfer.Options{})
	want = `memory: 0 added, 3 same, 4 merged, 2 skipped
line 2: m1 into have, EXACT_DUPLICATE
line 3: m2 into alike, NEAR_DUPLICATE
line 5: m4 into m3, EXACT_DUPLICATE
line 10: m3 into m3, EXACT_DUPLICATE
line 6: m5 skipped, FORGOTTEN: its text was forgotten here
line 8: m7 skipped, ID_EXISTS: was imported before and has been changed here since
`
	if diff := cmp.Diff(want, outcome(again)); diff != "" || len(again.Operations) != 0 {
		t.Errorf("again, operations %v (-want +got):\n%s", again.Operations, diff)
	}
	if diff := cmp.Diff(withoutHeader(before), withoutHeader(p.export(t))); diff != "" {
		t.Errorf("the repetition changed (-before +after):\n%s", diff)
	}
}

// withoutHeader cuts off the first line, which has the time.
func withoutHeader(export string) string {
	_, rest, _ := strings.Cut(export, "\n")
	return rest
}

// TestForeignEntries imports entries of daily logs twice, into another space, and takes them back.
func TestForeignEntries(t *testing.T) {
	p := newPlaceWithNear(t)
	at := time.Date(2026, 1, 2, 14, 30, 0, 0, time.UTC)
	text := lines(t, func(w *transfer.Writer) error {
		_, err := w.Entry("2026-01-02", &memory.Entry{ID: "e1", At: at, Time: "14:30:00", Type: "conversation", Content: "问了潮汐；the key is AKIAIOSFODNN7EXAMPLE", Tool: "ChatGPT", Session: "c-1"})
		return err
	})
	report := p.imported(t, text, transfer.Options{Space: "work"})
	if got := outcome(report); got != "entry: 1 added, 0 same, 0 merged, 0 skipped\n" {
		t.Errorf("first: %s", got)
	}
	_, entries, err := p.st.Space("work").Log("2026-01-02")
	if err != nil || len(entries) != 1 || strings.Contains(entries[0].Content, "AKIA") || entries[0].Session != "c-1" || !entries[0].At.Equal(at) {
		t.Errorf("entries %v, %v", entries, err)
	}
	if got := outcome(p.imported(t, text, transfer.Options{Space: "work"})); got != "entry: 0 added, 1 same, 0 merged, 0 skipped\n" {
		t.Errorf("again: %s", got)
	}
	if _, err := p.st.Undo(t.Context(), store.Meta{Space: "work", Actor: "client"}, report.Operations[0]); err != nil {
		t.Fatal(err)
	}
	if _, entries, _ := p.st.Space("work").Log("2026-01-02"); len(entries) != 0 {
		t.Errorf("taken back, and there are %d entries", len(entries))
	}
}

// TestOwnExportsAreNotMerged imports an export of ours, whose ids mean something.
func TestOwnExportsAreNotMerged(t *testing.T) {
	from, to := newPlace(t), newPlaceWithNear(t)
	from.update(t, "default", put(said("b", "Gets seasick, every time")))
	to.update(t, "default", put(said("a", "Gets seasick, always")))
	if got := outcome(to.imported(t, from.export(t), transfer.Options{})); got != "memory: 1 added, 0 same, 0 merged, 0 skipped\n" {
		t.Errorf("imported: %s", got)
	}
	for _, bad := range []string{"Mem 0", strings.Repeat("x", 65)} {
		if _, err := to.tr.Import(t.Context(), strings.NewReader(`{"memsidecar":"export","version":1,"from":"`+bad+`"}`), transfer.Options{}); err == nil {
			t.Errorf("took lines that were made of %q", bad)
		}
	}
}

// TestSamplesTwice imports the committed sample of every format: nothing of it is refused, a repetition changes
// nothing, and undoing takes it back.
func TestSamplesTwice(t *testing.T) {
	for _, format := range importers.Formats() {
		t.Run(format, func(t *testing.T) {
			p := newPlaceWithNear(t)
			text := lines(t, func(w *transfer.Writer) error {
				source, err := importers.Open(filepath.Join("..", "..", "client", "importers", "testdata", format), format)
				if err != nil {
					return err
				}
				defer source.Close()
				return source.Read(t.Context(), time.UTC, func(it importers.Item) (err error) {
					switch {
					case it.Memory != nil:
						_, err = w.Memory(it.Memory)
					case it.Entry != nil:
						_, err = w.Entry(it.Date, it.Entry)
					}
					return err
				})
			})
			empty := withoutHeader(p.export(t))
			report := p.imported(t, text, transfer.Options{})
			if len(report.Counts) == 0 || report.Counts[0].Added == 0 || len(report.Skipped) > 0 {
				t.Errorf("first: %s", outcome(report))
			}
			full := withoutHeader(p.export(t))
			again := p.imported(t, text, transfer.Options{})
			for _, c := range again.Counts {
				if c.Added > 0 || c.Skipped > 0 {
					t.Errorf("again: %s", outcome(again))
				}
			}
			if diff := cmp.Diff(full, withoutHeader(p.export(t))); diff != "" || len(again.Operations) > 0 {
				t.Errorf("the repetition changed, by operations %v (-before +after):\n%s", again.Operations, diff)
			}
			for _, op := range slices.Backward(report.Operations) {
				if _, err := p.st.Undo(t.Context(), store.Meta{Space: "default", Actor: "client"}, op); err != nil {
					t.Fatal(err)
				}
			}
			if diff := cmp.Diff(empty, withoutHeader(p.export(t))); diff != "" {
				t.Errorf("taken back (-before +after):\n%s", diff)
			}
		})
	}
}
