package reflector_test

import (
	"context"
	"errors"
	"log/slog"
	"os"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/memsidecar/memsidecar/internal/memory"
	"github.com/memsidecar/memsidecar/internal/reflector"
	"github.com/memsidecar/memsidecar/internal/reflector/guard"
	"github.com/memsidecar/memsidecar/internal/search"
	"github.com/memsidecar/memsidecar/internal/store"
	"github.com/memsidecar/memsidecar/internal/store/durable"
	"github.com/memsidecar/memsidecar/internal/store/journal"
)

// bed is a store with a search index and a reflector on it.
type bed struct {
	t      testing.TB
	store  *store.Store
	engine *search.Engine
	*reflector.Reflector
	// received says that the spaces are shared read-only.
	received bool
}

func open(t testing.TB, dir string) *bed {
	t.Helper()
	root, err := os.OpenRoot(dir)
	if err != nil {
		t.Fatal(err)
	}
	now := func() time.Time { return saturday }
	b := &bed{t: t, engine: search.New(search.Config{Now: now})}
	b.store, err = store.Open(store.Config{FS: durable.Dir(root), Now: now, Logger: slog.New(slog.DiscardHandler),
		Projections: []store.Projection{b.engine}, ReadOnly: func(string) bool { return b.received }})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { b.store.Close(context.WithoutCancel(t.Context())) })
	b.Reflector = b.with(b.engine)
	return b
}

func (b *bed) with(s reflector.Similar) *reflector.Reflector {
	return reflector.New(reflector.Config{Store: b.store, Search: s, Now: func() time.Time { return saturday },
		Location: time.FixedZone("CST", 8*3600)})
}

func (b *bed) update(fn func(*store.Tx) error) {
	b.t.Helper()
	if _, err := b.store.Update(b.t.Context(), store.Meta{Space: "p", Actor: journal.ActorSession}, fn); err != nil {
		b.t.Fatal(err)
	}
}

// say appends messages to a session and ends it.
func (b *bed) say(id string, messages ...*memory.Message) {
	b.t.Helper()
	b.update(func(tx *store.Tx) error {
		s := memory.Session{ID: id, StartedAt: saturday, NextSeq: 1, ReflectedSeq: 1}
		if old := tx.Session(id); old != nil {
			s = *old
		}
		s.State, s.LastAt, s.EndedAt = memory.SessionEnded, saturday, saturday
		first := s.NextSeq
		s.NextSeq += int64(len(messages))
		s.Messages += int64(len(messages))
		tx.PutSession(&s) // the header comes before the messages
		for i, m := range messages {
			c := *m
			c.Seq = first + int64(i)
			if err := tx.AppendMessage(id, &c); err != nil {
				return err
			}
		}
		return nil
	})
}

func (b *bed) reflect(id string) reflector.Result {
	b.t.Helper()
	res, err := b.Reflect(b.t.Context(), "p", id, reflector.Options{})
	if err != nil {
		b.t.Fatal(err)
	}
	return res
}

func (b *bed) contents() (out []string) {
	for _, m := range b.store.Space("p").Memories() {
		if m.IsActive() {
			out = append(out, m.Content)
		}
	}
	return out
}

func TestReflectOnce(t *testing.T) {
	dir := t.TempDir()
	b := open(t, dir)
	b.say("s1", append(user("I prefer tabs. We use Postgres 14."),
		calls("x", call("fetch_url", `{"url":"https://a.com"}`, "", ""))[1])...)
	res := b.reflect("s1")
	want := []string{"The user prefers tabs", "We use Postgres 14", "The tool fetch_url failed (empty_content) for: " +
		"https://a.com. It returns nothing; use another way to get the content"}
	if diff := cmp.Diff(want, b.contents()); diff != "" {
		t.Error(diff)
	}
	rec, err := b.store.Operation(t.Context(), res.Op)
	// three memories, two entries, the mark
	if err != nil || rec.Actor != journal.ActorReflect || rec.Session != "s1" || len(rec.Changes) != 6 {
		t.Errorf("operation %+v %v", rec, err)
	}
	s, err := b.store.Space("p").Session("s1")
	if err != nil || s.State != memory.SessionReflected || s.ReflectedSeq != 3 || s.ReflectedOp != res.Op ||
		s.Summary != res.Summary || s.Summary == "" {
		t.Errorf("session %+v %v", s, err)
	}
	if _, entries, err := b.store.Space("p").Log("2026-02-21"); err != nil || len(entries) != 2 ||
		entries[0].Error != "empty_content" || entries[1].Time != "18:00:00" {
		t.Errorf("log %+v %v", entries, err)
	}

	again := b.reflect("s1")
	if !again.AlreadyReflected || again.Op != res.Op || b.store.LSN() != res.Op {
		t.Errorf("again %+v at %d", again, b.store.LSN())
	}
	if err := b.store.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	b = open(t, dir)
	if again := b.reflect("s1"); !again.AlreadyReflected || len(b.contents()) != 3 {
		t.Errorf("after a restart: %+v %q", again, b.contents())
	}
}

func TestReflectWhatIsNew(t *testing.T) {
	b := open(t, t.TempDir())
	b.say("s1", user("I prefer tabs")...)
	first := b.reflect("s1")
	b.say("s1", user("I prefer spaces", "I like tea")...)
	second := b.reflect("s1")
	if second.AlreadyReflected || second.Messages != 2 {
		t.Errorf("second %+v", second)
	}
	if diff := cmp.Diff([]string{"The user prefers spaces", "The user likes tea"}, b.contents()); diff != "" {
		t.Error(diff)
	}
	id := b.store.Space("p").Memories()[0].ID
	history, err := b.store.History(t.Context(), "p", id, 10)
	if err != nil || len(history) != 2 || history[1].Op != first.Op {
		t.Errorf("history %+v %v", history, err)
	}
	if _, err := b.store.Undo(t.Context(), store.Meta{Space: "p", Actor: journal.ActorUndo}, second.Op); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"The user prefers tabs"}, b.contents()); diff != "" {
		t.Errorf("after undo:\n%s", diff)
	}
}

func TestSameSessionsTeachOnce(t *testing.T) {
	b := open(t, t.TempDir())
	b.say("s1", user("I prefer tabs", "下次不要直接推送到 main")...)
	b.say("s2", user("I prefer tabs", "下次不要直接推送到 main")...)
	b.reflect("s1")
	res := b.reflect("s2")
	for _, o := range res.Outcomes {
		if o.Status != journal.Duplicate {
			t.Errorf("outcome %+v", o)
		}
	}
	if len(b.contents()) != 2 || len(res.Outcomes) != 2 {
		t.Errorf("%q %+v", b.contents(), res.Outcomes)
	}
}

func TestFailureOfTwoSessionsBecomesOneRule(t *testing.T) {
	b := open(t, t.TempDir())
	spa := call("fetch_url", `{"url":"https://a.com/x"}`, `<div id="root"></div>`, "")
	const said = "(dynamic_content) for: https://a.com/x. The page is rendered by scripts; use a browser or another source"
	for i, id := range []string{"s1", "s2", "s3"} {
		b.say(id, calls("go", spa)...)
		b.reflect(id)
		all := b.store.Space("p").Memories()
		want, salience := "The tool fetch_url fails repeatedly "+said, 0.8
		if i == 0 {
			want, salience = "The tool fetch_url failed "+said, 0.6
		}
		if len(all) != 1 || all[0].Content != want || all[0].Salience != salience {
			t.Fatalf("after %s: %+v", id, all)
		}
	}
	all := b.store.Space("p").Memories()
	if len(all) != 1 || all[0].Category != memory.Procedural {
		t.Fatalf("memories %q", b.contents())
	}
	want := &memory.Context{Tool: "fetch_url", ErrorType: "dynamic_content", LearnedFrom: "session_s1",
		Signature: reflector.Signature(spa), Occurrences: 3}
	if diff := cmp.Diff(want, all[0].Context()); diff != "" {
		t.Error(diff)
	}
}

func TestForgottenIsNotLearntAgain(t *testing.T) {
	b := open(t, t.TempDir())
	b.update(func(tx *store.Tx) error { tx.Forget("I prefer tabs"); return nil })
	b.say("s1", user("I prefer tabs")...)
	res := b.reflect("s1")
	if len(b.contents()) != 0 || res.Outcomes[0].Reason != guard.ReasonForgotten {
		t.Errorf("%q %+v", b.contents(), res.Outcomes)
	}
}

func TestDryRunChangesNothing(t *testing.T) {
	b := open(t, t.TempDir())
	b.say("s1", user("I prefer tabs")...)
	before := b.store.LSN()
	res, err := b.Reflect(t.Context(), "p", "s1", reflector.Options{DryRun: true})
	if err != nil || len(res.Outcomes) != 1 || res.Outcomes[0].Status != journal.Applied || res.Op != 0 ||
		b.store.LSN() != before {
		t.Errorf("%+v %v", res, err)
	}
}

func TestEmptySessionIsMarked(t *testing.T) {
	b := open(t, t.TempDir())
	b.say("s1")
	if res := b.reflect("s1"); res.AlreadyReflected || res.Op == 0 {
		t.Errorf("%+v", res)
	}
	if res := b.reflect("s1"); !res.AlreadyReflected {
		t.Errorf("%+v", res)
	}
	if n := len(b.store.Space("p").Days()); n != 0 {
		t.Errorf("%d logs of a session without messages", n)
	}
	if _, err := b.Reflect(t.Context(), "p", "nobody", reflector.Options{}); !errors.Is(err, memory.ErrNotFound) {
		t.Errorf("unknown session: %v", err)
	}
}

// busy runs do at each of the first n lookups, and fails with err.
type busy struct {
	*search.Engine
	n   int
	do  func()
	err error
}

func (s *busy) Similar(ctx context.Context, space, text string, k int) ([]search.Hit, error) {
	if s.n--; s.n >= 0 {
		s.do()
	}
	if s.err != nil {
		return nil, s.err
	}
	return s.Engine.Similar(ctx, space, text, k)
}

func TestSessionMovesOn(t *testing.T) {
	b := open(t, t.TempDir())
	b.say("s1", user("I prefer tabs")...)
	more := func() { b.say("s1", user("ok")...) }
	res, err := b.with(&busy{b.engine, 2, more, nil}).Reflect(t.Context(), "p", "s1", reflector.Options{})
	if err != nil || res.Messages != 3 || len(b.contents()) != 1 {
		t.Errorf("%+v %v", res, err)
	}
	b.say("s2", user("I like tea")...)
	more = func() { b.say("s2", user("ok")...) }
	if _, err = b.with(&busy{b.engine, 9, more, nil}).Reflect(t.Context(), "p", "s2",
		reflector.Options{}); !errors.Is(err, memory.ErrBusy) {
		t.Errorf("a session that never stands still: %v", err)
	}
	if s, _ := b.store.Space("p").Session("s2"); s.State != memory.SessionEnded {
		t.Error("it was marked")
	}
}

func TestReflectedByAnotherMeanwhile(t *testing.T) {
	b := open(t, t.TempDir())
	b.say("s1", user("I prefer tabs")...)
	other := func() { b.reflect("s1") }
	res, err := b.with(&busy{b.engine, 1, other, nil}).Reflect(t.Context(), "p", "s1", reflector.Options{})
	if err != nil || !res.AlreadyReflected || len(b.contents()) != 1 {
		t.Errorf("%+v %v %q", res, err, b.contents())
	}
}

func TestSearchFails(t *testing.T) {
	b := open(t, t.TempDir())
	b.say("s1", user("I prefer tabs")...)
	broken := errors.New("broken")
	if _, err := b.with(&busy{b.engine, 0, nil, broken}).Reflect(t.Context(), "p", "s1",
		reflector.Options{}); !errors.Is(err, broken) {
		t.Errorf("got %v", err)
	}
	if s, _ := b.store.Space("p").Session("s1"); s.State != memory.SessionEnded || len(b.contents()) != 0 {
		t.Error("something was changed")
	}
}
