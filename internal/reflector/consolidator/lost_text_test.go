package consolidator_test

import (
	"context"
	"errors"
	"log/slog"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/memsidecar/memsidecar/internal/llm"
	"github.com/memsidecar/memsidecar/internal/memory"
	"github.com/memsidecar/memsidecar/internal/reflector/consolidator"
	"github.com/memsidecar/memsidecar/internal/reflector/guard"
	"github.com/memsidecar/memsidecar/internal/reflector/review"
	"github.com/memsidecar/memsidecar/internal/search"
	"github.com/memsidecar/memsidecar/internal/store"
	"github.com/memsidecar/memsidecar/internal/store/durable/crashfs"
	"github.com/memsidecar/memsidecar/internal/store/journal"
)

const (
	oldFlat = "The flat is in Bergen; the landlord is Mr Olsen"
	newFlat = "The flat is in Oslo now, not in Bergen; landlord is Ms Hansen"
)

// put stores a memory of a source under the id m1.
func put(t *testing.T, st *store.Store, source, content string) {
	t.Helper()
	_, err := st.Update(t.Context(), store.Meta{Actor: journal.ActorClient}, func(tx *store.Tx) error {
		return tx.Put(&memory.Memory{ID: "m1", Category: memory.General, Content: content, Status: memory.Active,
			Source: source, CreatedAt: noon, Confidence: 1})
	})
	if err != nil {
		t.Fatal(err)
	}
}

// TestDeleteKeepsTheText: a model that answers DELETE must not lose the text that was to be saved. It supersedes the
// target, in one operation.
func TestDeleteKeepsTheText(t *testing.T) {
	st, s, _, _ := withModel(t, decision("DELETE", 1, ""))
	put(t, st, memory.SourceReflection, oldFlat)
	d := must(t, s, consolidator.Request{Content: newFlat})
	if d.Action != guard.Delete || d.DecidedBy != consolidator.ByModel {
		t.Fatalf("%+v", d)
	}
	old, now := get(t, st, "m1"), get(t, st, d.ID)
	if now.Content != newFlat || !now.IsActive() || !slices.Equal(now.Supersedes(), []string{"m1"}) {
		t.Errorf("new memory: %+v", now)
	}
	if old.Status != memory.Superseded || old.SupersededBy() != d.ID || old.Revision != now.Revision {
		t.Errorf("old memory: %+v", old)
	}
	if _, err := st.Undo(t.Context(), store.Meta{Actor: journal.ActorClient}, d.Op); err != nil {
		t.Fatal(err)
	}
	if old := get(t, st, "m1"); !old.IsActive() || old.SupersededBy() != "" {
		t.Errorf("undo left %+v", old)
	}
}

// TestDeleteOfOwnWaits: what a user or an agent saved is not retired by a model. The new text is saved beside it, and a
// person who accepts the proposal links the two.
func TestDeleteOfOwnWaits(t *testing.T) {
	for _, source := range []string{memory.SourceUser, memory.SourceUserCorrection, memory.SourceSkill,
		memory.SourceEdit, memory.SourceConsolidation} {
		t.Run(source, func(t *testing.T) {
			st, s, _, _ := withModel(t, decision("DELETE", 1, ""))
			put(t, st, source, oldFlat)
			d := must(t, s, consolidator.Request{Content: newFlat})
			if d.Action != guard.Add || d.DecidedBy != consolidator.ByRules || get(t, st, d.ID).Content != newFlat ||
				!get(t, st, "m1").IsActive() {
				t.Fatalf("%+v, %+v", d, get(t, st, "m1"))
			}
			reviews := review.New(st)
			items, err := reviews.List("", false)
			if err != nil || len(items) != 1 || items[0].Reason != guard.ReasonUsersOwn || items[0].ReplacedBy != d.ID {
				t.Fatalf("%+v, %v", items, err)
			}
			if _, err := reviews.Resolve(t.Context(), store.Meta{}, items[0].Entry.ID, review.Accept); err != nil {
				t.Fatal(err)
			}
			old, now := get(t, st, "m1"), get(t, st, d.ID)
			if old.Status != memory.Superseded || old.SupersededBy() != d.ID ||
				!slices.Equal(now.Supersedes(), []string{"m1"}) {
				t.Errorf("accepted: %+v, %+v", old, now)
			}
		})
	}
}

// watchedModel calls asked instead of answering.
type watchedModel struct{ asked func(context.Context) error }

func (m watchedModel) Do(ctx context.Context, _ llm.Request) (llm.Reply, error) {
	return llm.Reply{}, m.asked(ctx)
}

// TestDurableBeforeAsked loses everything that is not synced in the moment when the model is asked. The text that was
// handed in must be in the store that starts then, and nothing may be lost if the caller goes away meanwhile.
func TestDurableBeforeAsked(t *testing.T) {
	now := func() time.Time { return noon }
	fsys, engine := crashfs.New(), search.New(search.Config{Now: now})
	openOn := func(fsys *crashfs.FS, p ...store.Projection) *store.Store {
		st, err := store.Open(store.Config{FS: fsys, Now: now, Logger: slog.New(slog.DiscardHandler), Projections: p})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = st.Close(context.WithoutCancel(t.Context())) })
		return st
	}
	logged := func(st *store.Store) (texts []string) {
		_, entries, err := st.Space("").Log(noon.Format(memory.DateLayout))
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range entries {
			texts = append(texts, e.Content)
		}
		return texts
	}
	st := openOn(fsys, engine)
	put(t, st, memory.SourceReflection, oldFlat)
	ctx, cancel := context.WithCancel(t.Context())
	asked := 0
	s := consolidator.New(consolidator.Config{Store: st, Search: engine, Now: now, Model: watchedModel{
		func(context.Context) error {
			asked++
			crashed := openOn(fsys.Crash(crashfs.Lost, rand.New(rand.NewPCG(1, 2))))
			if got := logged(crashed); !slices.Equal(got, []string{newFlat}) {
				t.Errorf("after a crash the log has %q", got)
			}
			cancel()
			return errors.New("gone")
		}}})
	if _, err := s.Consolidate(ctx, consolidator.Request{Content: newFlat}); !errors.Is(err, context.Canceled) {
		t.Errorf("error %v", err)
	}
	if got := logged(st); asked != 1 || !slices.Equal(got, []string{newFlat}) {
		t.Errorf("asked %d times, the log has %q", asked, got)
	}
	// Another try decides about that entry.
	if d := must(t, s, consolidator.Request{Content: newFlat}); d.Action != guard.Add ||
		!slices.Contains(active(st), newFlat) || len(logged(st)) != 1 {
		t.Errorf("%+v, log %q", d, logged(st))
	}
}

// TestStatedReplacement: by rules alone, what says of itself that it replaces something supersedes it, and what may do
// so is saved beside it and waits for a person.
func TestStatedReplacement(t *testing.T) {
	for _, tt := range []struct {
		name, known, said string
		sure              bool
	}{
		{"over", "The user likes tea", "The user no longer likes tea", true},
		{"upgraded", "We use React 18", "We upgraded the project to React 19", true},
		{"over, in Chinese", "用户喜欢喝茶", "用户不再喜欢喝茶", true},
		{"a part of it", "The user reads the newspaper", "The user no longer reads the newspaper on the train", false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			st, s := open(t)
			put(t, st, memory.SourceUser, tt.known)
			d := must(t, s, consolidator.Request{Content: tt.said})
			old, now := get(t, st, "m1"), get(t, st, d.ID)
			if now.Content != tt.said || !now.IsActive() || old.Content != tt.known || old.IsActive() == tt.sure {
				t.Fatalf("%+v: %+v, %+v", d, old, now)
			}
			if tt.sure {
				if d.Action != guard.Delete || old.SupersededBy() != now.ID || !slices.Equal(now.Supersedes(), []string{"m1"}) {
					t.Errorf("not linked: %+v, %+v", old, now)
				}
				return
			}
			items, err := review.New(st).List("", false)
			if err != nil || len(items) != 1 || items[0].Reason != guard.ReasonUnsure || items[0].ReplacedBy != d.ID ||
				d.Action != guard.Add {
				t.Errorf("%+v, %+v, %v", d, items, err)
			}
		})
	}
}
