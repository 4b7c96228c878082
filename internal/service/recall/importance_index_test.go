package recall_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/memsidecar/memsidecar/internal/memory"
	"github.com/memsidecar/memsidecar/internal/service/recall"
	"github.com/memsidecar/memsidecar/internal/store"
)

// TestImportanceFollowsTheStore compares the context of an index that followed random changes with that of an index
// read from the same store.
func TestImportanceFollowsTheStore(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		w := newWorld(t, recall.Config{Nonce: func() string { return "0123456789abcdef" }})
		for i := range rapid.IntRange(1, 60).Draw(rt, "changes") {
			id := fmt.Sprint("m", rapid.IntRange(0, 20).Draw(rt, "id"))
			w.update(t, func(tx *store.Tx) error {
				m := tx.Memory(id)
				if m == nil {
					m = old(id, "", 0)
				} else if rapid.Bool().Draw(rt, "retire") {
					m = m.Clone()
					m.Status = memory.Retired
					return tx.Put(m)
				}
				m = m.Clone()
				m.Status, m.Content = memory.Active, fmt.Sprint("Text ", i, ".")
				m.Salience = float64(rapid.IntRange(0, 4).Draw(rt, "salience")) / 4
				m.Pinned = rapid.Bool().Draw(rt, "pinned")
				return tx.Put(m)
			})
		}
		fresh := recall.NewIndex()
		fresh.Load(w.store)
		reread := recall.New(recall.Config{Store: w.store, Search: w.engine, Now: w.clock.Now, Index: fresh})
		other := &world{Service: reread, store: w.store, engine: w.engine, clock: w.clock}
		for _, req := range []recall.ContextRequest{{}, {Index: true}, {Tokens: recall.MinTokens * 2}} {
			if got, want := w.context(t, req), other.context(t, req); got != want {
				rt.Fatalf("context after the changes:\n%s\nread anew:\n%s", got, want)
			}
		}
	})
}

// TestImportanceOfManyMemories retires more memories than the index keeps in order: the rest must come up, and the
// number of omitted memories must stay right.
func TestImportanceOfManyMemories(t *testing.T) {
	const n = 1500
	var all []*memory.Memory
	for i := range n {
		m := old(fmt.Sprintf("m%04d", i), fmt.Sprintf("Text number %d.", i), 0)
		m.Salience = 1 - float64(i)/n
		all = append(all, m)
	}
	w := newWorld(t, recall.Config{}, all...)
	w.update(t, func(tx *store.Tx) error {
		for _, m := range all[:n-5] {
			m = m.Clone()
			m.Status = memory.Retired
			if err := tx.Put(m); err != nil {
				return err
			}
		}
		return nil
	})
	text := w.context(t, recall.ContextRequest{})
	for i := n - 5; i < n; i++ {
		if !strings.Contains(text, fmt.Sprintf("Text number %d.", i)) {
			t.Errorf("memory %d is not in the context:\n%s", i, text)
		}
	}
	if strings.Contains(text, "left out") {
		t.Errorf("five memories do not fit:\n%s", text)
	}
}

// BenchmarkContext measures the context of a session start in stores of growing size.
func BenchmarkContext(b *testing.B) {
	for _, n := range []int{1_000, 10_000, 100_000, 1_000_000} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			var all []*memory.Memory
			for i := range n {
				m := old(fmt.Sprint("m", i), fmt.Sprintf("The service %d listens on port %d in rack %d.", i, i%6000, i%40), i%400)
				m.Salience = float64(i%17) / 17
				all = append(all, m)
			}
			w := newWorld(b, recall.Config{}, all...)
			b.ResetTimer()
			for b.Loop() {
				w.context(b, recall.ContextRequest{})
			}
		})
	}
}

// BenchmarkContextShown measures what follows a start: recording what a session was shown.
func BenchmarkContextShown(b *testing.B) {
	var all []*memory.Memory
	for i := range 10_000 {
		m := old(fmt.Sprint("m", i), fmt.Sprintf("The service %d listens on port %d in rack %d.", i, i%6000, i%40), i%400)
		m.Salience = float64(i%17) / 17
		all = append(all, m)
	}
	w := newWorld(b, recall.Config{}, all...)
	text := w.context(b, recall.ContextRequest{})
	for b.Loop() {
		w.ContextShown("s", nil, text)
	}
}

// cancelledAfter is a context that ends after Err was called so many times.
type cancelledAfter struct {
	context.Context
	calls int
}

func (c *cancelledAfter) Err() error {
	if c.calls--; c.calls < 0 {
		return context.Canceled
	}
	return nil
}

// A client that gave up must not make the daemon go on: memories and log entries are left where they are.
func TestContextStops(t *testing.T) {
	var all []*memory.Memory
	for i := range 20 {
		all = append(all, old(fmt.Sprint("m", i), fmt.Sprintf("Text number %d.", i), 0))
	}
	w := newWorld(t, recall.Config{}, all...)
	w.update(t, func(tx *store.Tx) error {
		for i := range 20 {
			if err := tx.AppendEntry("2026-02-21", &memory.Entry{Time: "14:30:00", Type: memory.EntryEvent,
				Content: fmt.Sprintf("Entry number %d.", i)}); err != nil {
				return err
			}
		}
		return nil
	})
	for _, calls := range []int{0, 5, 30} {
		text, err := w.Context(&cancelledAfter{Context: t.Context(), calls: calls}, recall.ContextRequest{})
		if !errors.Is(err, context.Canceled) || text != "" {
			t.Errorf("cancelled after %d looks: %q, %v", calls, text, err)
		}
	}
	if text := w.context(t, recall.ContextRequest{}); !strings.Contains(text, "Entry number 19.") {
		t.Errorf("the log is not in the context:\n%s", text)
	}
}
