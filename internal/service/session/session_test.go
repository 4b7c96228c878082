package session_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"github.com/memsidecar/memsidecar/internal/memory"
	"github.com/memsidecar/memsidecar/internal/memtest"
	"github.com/memsidecar/memsidecar/internal/reflector"
	"github.com/memsidecar/memsidecar/internal/service/session"
	"github.com/memsidecar/memsidecar/internal/store"
	"github.com/memsidecar/memsidecar/internal/store/durable"
	"github.com/memsidecar/memsidecar/internal/store/durable/crashfs"
	"github.com/memsidecar/memsidecar/internal/store/journal"
)

func openStore(t *testing.T, fsys durable.FS) *store.Store {
	t.Helper()
	st, err := store.Open(store.Config{FS: fsys, Now: time.Now, Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	return st
}

// fake is a reflector that learns nothing and marks sessions as the real one does.
type fake struct {
	store *store.Store
	start time.Time
	took  time.Duration
	fail  func(id string) error // nil: never
	mark  bool

	mu     sync.Mutex // two sessions may be reflected at a time
	calls  []string   // id and time since start
	active map[string]bool
	twice  bool // one session was reflected twice at a time
}

func newFake(st *store.Store) *fake {
	return &fake{store: st, start: time.Now(), mark: true, active: map[string]bool{}}
}

func (f *fake) Reflect(ctx context.Context, space, id string, opts reflector.Options) (reflector.Result, error) {
	f.enter(id)
	defer f.leave(id)
	h, err := f.store.Space(space).Session(id)
	if err != nil {
		return reflector.Result{}, err
	}
	if f.took > 0 {
		select {
		case <-time.After(f.took):
		case <-ctx.Done():
			return reflector.Result{}, ctx.Err()
		}
	}
	if f.fail != nil {
		if err := f.fail(id); err != nil {
			return reflector.Result{}, err
		}
	}
	if h.State == memory.SessionReflected {
		return reflector.Result{AlreadyReflected: true, Op: h.ReflectedOp}, nil
	}
	if opts.DryRun || !f.mark {
		return reflector.Result{}, nil
	}
	res, err := f.store.Update(ctx, store.Meta{Space: space, Actor: journal.ActorReflect, Session: id},
		func(tx *store.Tx) error {
			next := *tx.Session(id)
			if next.NextSeq == h.NextSeq {
				next.State = memory.SessionReflected
			}
			next.ReflectedSeq, next.ReflectedOp = h.NextSeq, tx.LSN()
			tx.PutSession(&next)
			return nil
		})
	return reflector.Result{Op: res.Op}, err
}

func (f *fake) enter(id string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.calls = append(f.calls, fmt.Sprintf("%s %v", id, time.Since(f.start)))
	f.twice = f.twice || f.active[id]
	f.active[id] = true
}

func (f *fake) leave(id string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	delete(f.active, id)
}

type bench struct {
	*testing.T
	store *store.Store
	fake  *fake
	svc   *session.Service
}

func newBench(t *testing.T, change ...func(*session.Config)) *bench {
	t.Helper()
	b := &bench{T: t, store: openStore(t, crashfs.New())}
	b.fake = newFake(b.store)
	b.svc = newService(b.store, b.fake, change...)
	return b
}

func newService(st *store.Store, f *fake, change ...func(*session.Config)) *session.Service {
	cfg := session.Config{Store: st, Reflector: f, Now: time.Now, Logger: slog.New(slog.DiscardHandler)}
	for _, c := range change {
		c(&cfg)
	}
	return session.New(cfg)
}

func (b *bench) append(id string, first int64, texts ...string) session.AppendResult {
	b.Helper()
	res, err := b.svc.Append(b.Context(), session.AppendRequest{ID: id, FirstSeq: first, Messages: say(texts...)})
	if err != nil {
		b.Fatalf("append %q: %v", texts, err)
	}
	return res
}

func say(texts ...string) []memory.Message {
	out := make([]memory.Message, len(texts))
	for i, s := range texts {
		out[i] = memory.Message{Role: "user", Content: s}
	}
	return out
}

// kept lists the messages of a session as "number text".
func kept(t *testing.T, st *store.Store, id string) []string {
	t.Helper()
	messages, err := st.Space("").Messages(id, 1)
	if err != nil {
		t.Fatal(err)
	}
	var out []string
	for _, m := range messages {
		out = append(out, fmt.Sprintf("%d %s", m.Seq, m.Content))
	}
	return out
}

func (b *bench) state(id string) memory.SessionState {
	b.Helper()
	h, err := b.svc.Get("", id)
	if err != nil {
		b.Fatal(err)
	}
	return h.State
}

func TestStart(t *testing.T) {
	b := newBench(t)
	first, err := b.svc.Start(t.Context(), session.StartRequest{Host: "agent", Cwd: "/src", Key: "k"})
	if err != nil {
		t.Fatal(err)
	}
	want := &memory.Session{ID: first.ID, State: memory.SessionOpen, Host: "agent", Cwd: "/src",
		StartedAt: first.StartedAt, LastAt: first.StartedAt, NextSeq: 1}
	if diff := cmp.Diff(want, first.Session); diff != "" || first.ID == "" || first.StartedAt.IsZero() {
		t.Errorf("session (-want +got):\n%s", diff)
	}
	again, err := b.svc.Start(t.Context(), session.StartRequest{Host: "agent", Cwd: "/src", Key: "k"})
	if err != nil || again.ID != first.ID {
		t.Errorf("the same key: %+v, %v; want session %s", again, err, first.ID)
	}
	if _, err := b.svc.Start(t.Context(), session.StartRequest{Host: "other", Key: "k"}); !errors.Is(err,
		memory.ErrKeyReused) {
		t.Errorf("the key for another request: %v", err)
	}
	lsn := b.store.LSN()
	same, err := b.svc.Start(t.Context(), session.StartRequest{ID: first.ID})
	if err != nil || b.store.LSN() != lsn {
		t.Errorf("starting an open session: %v, LSN %d → %d", err, lsn, b.store.LSN())
	}
	duplicate := []journal.Outcome{{ID: first.ID, Status: journal.Duplicate}}
	if diff := cmp.Diff(store.Result{Outcomes: duplicate}, same.Result); diff != "" {
		t.Errorf("result of an open session (-want +got):\n%s", diff)
	}
	first.Result, same.Result = store.Result{}, store.Result{}
	if diff := cmp.Diff(first, same); diff != "" {
		t.Errorf("open session (-want +got):\n%s", diff)
	}
	if _, err := b.svc.End(t.Context(), "", first.ID, ""); err != nil {
		t.Fatal(err)
	}
	open, err := b.svc.Start(t.Context(), session.StartRequest{ID: first.ID})
	if err != nil || open.State != memory.SessionOpen || !open.EndedAt.IsZero() || open.EndReason != "" {
		t.Errorf("starting an ended session: %+v, %v", open, err)
	}
}

func TestAppendWithAKey(t *testing.T) {
	b := newBench(t)
	req := session.AppendRequest{ID: "s", Messages: say("a", "b"), Key: "k"}
	first, err := b.svc.Append(t.Context(), req)
	if err != nil || first.Replayed {
		t.Fatalf("%+v, %v", first, err)
	}
	b.append("s", 0, "c")
	again, err := b.svc.Append(t.Context(), req)
	if err != nil || !again.Replayed || again.Op != first.Op || !cmp.Equal(again.Outcomes, first.Outcomes) {
		t.Errorf("again: %+v, %v; want %+v", again, err, first)
	}
	if diff := cmp.Diff([]string{"1 a", "2 b", "3 c"}, kept(t, b.store, "s")); diff != "" {
		t.Errorf("messages (-want +got):\n%s", diff)
	}
	req.Messages = say("other")
	if _, err := b.svc.Append(t.Context(), req); !errors.Is(err, memory.ErrKeyReused) {
		t.Errorf("the key for another request: %v", err)
	}
}

func TestAppendNumbers(t *testing.T) {
	b := newBench(t)
	got := []session.AppendResult{
		b.append("s", 1, "a", "b"),              // creates the session
		b.append("s", 1, "a", "b"),              // a retry
		b.append("s", 2, "b", "c", "d"),         // overlaps
		b.append("s", 0, "e"),                   // at the end
		b.append("s", 0, "e"),                   // at the end sees no repeats
		b.append("s", 7, "f"), b.append("s", 3), // nothing
	}
	want := []session.AppendResult{
		{NextSeq: 3, Appended: 2, Op: 1},
		{NextSeq: 3, Duplicates: 2},
		{NextSeq: 5, Appended: 2, Duplicates: 1, Op: 4},
		{NextSeq: 6, Appended: 1, Op: 7},
		{NextSeq: 7, Appended: 1, Op: 9},
		{NextSeq: 8, Appended: 1, Op: 11},
		{NextSeq: 8},
	}
	for i := range got {
		got[i].Op, want[i].Op = min(got[i].Op, 1), min(want[i].Op, 1) // whether there is one
	}
	applied := func(id string) journal.Outcome { return journal.Outcome{ID: id, Status: journal.Applied} }
	known := journal.Outcome{Status: journal.Duplicate}
	want[0].Outcomes = []journal.Outcome{applied("1"), applied("2")}
	want[1].Outcomes = []journal.Outcome{known, known}
	want[2].Outcomes = []journal.Outcome{known, applied("3"), applied("4")}
	want[3].Outcomes, want[4].Outcomes = []journal.Outcome{applied("5")}, []journal.Outcome{applied("6")}
	want[5].Outcomes = []journal.Outcome{applied("7")}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("results (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{"1 a", "2 b", "3 c", "4 d", "5 e", "6 e", "7 f"}, kept(t, b.store, "s")); diff != "" {
		t.Errorf("messages (-want +got):\n%s", diff)
	}
	_, err := b.svc.Append(t.Context(), session.AppendRequest{ID: "s", FirstSeq: 10, Messages: say("x")})
	invalid, ok := errors.AsType[*memory.InvalidError](err)
	if !ok || invalid.Violations[0].Reason != "GAP" || !strings.Contains(err.Error(), "expected is 8") {
		t.Errorf("gap: %v", err)
	}
	if h, _ := b.svc.Get("", "s"); h.Messages != 7 || h.NextSeq != 8 {
		t.Errorf("header %+v", h)
	}
}

func TestAppendReopens(t *testing.T) {
	b := newBench(t)
	b.append("s", 1, "a")
	res, err := b.svc.Reflect(t.Context(), session.ReflectRequest{ID: "s", Wait: true})
	if err != nil || res.Session.State != memory.SessionReflected || res.Reflection.Op == 0 {
		t.Fatalf("reflect: %+v, %v", res, err)
	}
	b.append("s", 1, "a")
	if got := b.state("s"); got != memory.SessionReflected {
		t.Errorf("a retry opened the session again: %s", got)
	}
	b.append("s", 2, "b")
	h, err := b.svc.Get("", "s")
	if err != nil || h.State != memory.SessionOpen || h.ReflectedSeq != 2 || !h.EndedAt.IsZero() {
		t.Errorf("after a new message: %+v, %v", h, err)
	}
}

func TestAppendRedactsAndCuts(t *testing.T) {
	b := newBench(t)
	secret := "ghp_" + "16C7e42F292c6912E7710c838347Ae178B4a"
	long := secret + strings.Repeat("汉字", 40<<10) + "the end"
	res, err := b.svc.Append(t.Context(), session.AppendRequest{ID: "s", FirstSeq: 1, Messages: []memory.Message{
		{Role: "user", Content: "my token is " + secret},
		{Role: "user", Content: long},
		{Role: "tool", Tool: &memory.ToolCall{Name: "curl", Arguments: "-H " + secret, Result: long,
			Error: "bad \xff byte"}},
	}})
	if err != nil {
		t.Fatal(err)
	}
	if res.Redacted != 4 {
		t.Errorf("redacted %d, want 4", res.Redacted)
	}
	messages, err := b.svc.Messages("", "s", 2)
	if err != nil || len(messages) != 2 {
		t.Fatalf("%d messages, %v", len(messages), err)
	}
	for _, text := range []string{messages[0].Content, messages[1].Tool.Result} {
		if len(text) > session.MaxText || len(text) < session.MaxText-100 || !utf8.ValidString(text) {
			t.Errorf("cut to %d bytes, valid %v", len(text), utf8.ValidString(text))
		}
		if !strings.Contains(text, " bytes left out") || !strings.HasSuffix(text, "the end") {
			t.Errorf("cut at the wrong place: …%q", text[len(text)-40:])
		}
	}
	if got := messages[1].Tool.Error; got != "bad \uFFFD byte" {
		t.Errorf("invalid text kept as %q", got)
	}
	for rec, err := range b.store.Operations(t.Context(), 1, b.store.LSN()) {
		if err != nil || strings.Contains(fmt.Sprintf("%+v", rec.Changes), secret) {
			t.Errorf("the journal holds the secret, or %v", err)
		}
	}
}

// TestExitCodeIsAFailure: a shell command that says itself that it failed did, also when its agent does not say so.
func TestExitCodeIsAFailure(t *testing.T) {
	b := newBench(t)
	tool := func(name, result string) memory.Message {
		return memory.Message{Role: "tool", Tool: &memory.ToolCall{Name: name, Arguments: "make x", Result: result}}
	}
	_, err := b.svc.Append(t.Context(), session.AppendRequest{ID: "s", Messages: []memory.Message{
		tool("bash", "no rule to make target\nexit code: 1"), tool("bash", "done\nexit code: 0"), tool("read_file", "exit code: 1")}})
	if err != nil {
		t.Fatal(err)
	}
	messages, err := b.svc.Messages("", "s", 1)
	if err != nil {
		t.Fatal(err)
	}
	var failed []bool
	for _, m := range messages {
		failed = append(failed, m.Tool.Failed)
	}
	if diff := cmp.Diff([]bool{true, false, false}, failed); diff != "" {
		t.Error(diff)
	}
}

func TestAppendDoesNotTouchTheCallersMessages(t *testing.T) {
	b := newBench(t)
	mine := []memory.Message{{Role: "tool", Content: strings.Repeat("x", session.MaxText+1),
		Tool: &memory.ToolCall{Name: "n", Result: strings.Repeat("y", session.MaxText+1)}}}
	if _, err := b.svc.Append(t.Context(), session.AppendRequest{ID: "s", Messages: mine}); err != nil {
		t.Fatal(err)
	}
	if len(mine[0].Content) != session.MaxText+1 || len(mine[0].Tool.Result) != session.MaxText+1 || mine[0].Seq != 0 {
		t.Error("the request was changed")
	}
}

func TestRefusals(t *testing.T) {
	b := newBench(t)
	ctx := t.Context()
	call := map[string]func() error{
		"role": func() error {
			_, err := b.svc.Append(ctx, session.AppendRequest{ID: "s", Messages: []memory.Message{{Role: "robot"}}})
			return err
		},
		"batch": func() error {
			_, err := b.svc.Append(ctx, session.AppendRequest{ID: "s",
				Messages: make([]memory.Message, memory.MaxBatch+1)})
			return err
		},
		"id":    func() error { _, err := b.svc.Append(ctx, session.AppendRequest{}); return err },
		"space": func() error { _, err := b.svc.Start(ctx, session.StartRequest{Space: "A B"}); return err },
		"first": func() error {
			_, err := b.svc.Append(ctx, session.AppendRequest{ID: "s", FirstSeq: -1})
			return err
		},
		"reason":     func() error { _, err := b.svc.End(ctx, "", "s", "Because!"); return err },
		"reflect id": func() error { _, err := b.svc.Reflect(ctx, session.ReflectRequest{}); return err },
		"dry inline": func() error {
			_, err := b.svc.Reflect(ctx, session.ReflectRequest{DryRun: true, Messages: say("x")})
			return err
		},
	}
	for name, f := range call {
		t.Run(name, func(t *testing.T) {
			if _, ok := errors.AsType[*memory.InvalidError](f()); !ok {
				t.Errorf("err = %v, want an InvalidError", f())
			}
		})
	}
	if _, err := b.svc.End(ctx, "", "unknown", ""); !errors.Is(err, memory.ErrNotFound) {
		t.Errorf("end of an unknown session: %v", err)
	}
	if _, err := b.svc.Reflect(ctx, session.ReflectRequest{ID: "unknown"}); !errors.Is(err, memory.ErrNotFound) {
		t.Errorf("reflection of an unknown session: %v", err)
	}
	if lsn := b.store.LSN(); lsn != 0 {
		t.Errorf("refused requests wrote up to %d", lsn)
	}
}

func TestPaused(t *testing.T) {
	paused := false
	b := newBench(t, func(c *session.Config) { c.Paused = func() bool { return paused } })
	b.append("s", 1, "a")
	paused = true
	if _, err := b.svc.Append(t.Context(), session.AppendRequest{ID: "s", Messages: say("b")}); !errors.Is(err,
		memory.ErrPaused) {
		t.Errorf("append: %v", err)
	}
	if _, err := b.svc.Reflect(t.Context(),
		session.ReflectRequest{ID: "t", Messages: say("b"), Wait: true}); !errors.Is(err, memory.ErrPaused) {
		t.Errorf("reflect: %v", err)
	}
	if _, err := b.svc.End(t.Context(), "", "s", ""); err != nil {
		t.Errorf("end: %v", err)
	}
	if diff := cmp.Diff([]string{"1 a"}, kept(t, b.store, "s")); diff != "" || len(b.svc.List("", "")) != 1 {
		t.Errorf("captured while paused (-want +got):\n%s", diff)
	}
}

func TestList(t *testing.T) {
	b := newBench(t)
	for _, id := range []string{"a", "b", "c"} {
		b.append(id, 1, "x")
	}
	if _, err := b.svc.End(t.Context(), "", "b", ""); err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, state := range []memory.SessionState{"", memory.SessionOpen, memory.SessionEnded} {
		for _, h := range b.svc.List("", state) {
			got = append(got, string(state)+" "+h.ID)
		}
	}
	if diff := cmp.Diff([]string{" c", " b", " a", "open c", "open a", "ended b"}, got); diff != "" {
		t.Errorf("list (-want +got):\n%s", diff)
	}
}

// TestCrash crashes at every operation of the file system while messages are appended, and lets the client go on
// where it was answered last, as hooks do. No acknowledged message may be missing, and none may be there twice.
func TestCrash(t *testing.T) {
	texts := []string{"1 a", "2 b", "3 c", "4 d", "5 e", "6 f"}
	client := func(ctx context.Context, t *testing.T, fsys durable.FS, acked int) int {
		st, err := store.Open(store.Config{FS: fsys, Now: time.Now, Logger: slog.New(slog.DiscardHandler)})
		if err != nil {
			return acked
		}
		svc := newService(st, newFake(st))
		for acked < len(texts) {
			batch := texts[acked : acked+2]
			res, err := svc.Append(ctx, session.AppendRequest{ID: "s", FirstSeq: int64(acked + 1),
				Messages: say(batch[0][2:], batch[1][2:])})
			if err != nil {
				break
			}
			acked = int(res.NextSeq - 1)
		}
		_ = st.Close(ctx)
		return acked
	}
	calm := crashfs.New()
	if n := client(t.Context(), t, calm, 0); n != len(texts) {
		t.Fatalf("undisturbed run got to %d", n)
	}
	for n := 1; n <= calm.Ops(); n++ {
		if memtest.SkipSample(n, 5) {
			continue
		}
		for _, variant := range []crashfs.CrashMode{crashfs.Lost, crashfs.Kept, crashfs.Torn} {
			fsys := crashfs.New()
			fsys.CrashAt(n)
			acked := client(t.Context(), t, fsys, 0)
			after := fsys.Crash(variant, rand.New(rand.NewPCG(uint64(n), 2)))
			st := openStore(t, after)
			if acked > 0 {
				if got := kept(t, st, "s"); len(got) < acked {
					t.Fatalf("crash at %d, %v: %d messages acknowledged, %q kept", n, variant, acked, got)
				}
			}
			if err := st.Close(t.Context()); err != nil {
				t.Fatal(err)
			}
			client(t.Context(), t, after, acked)
			st = openStore(t, after)
			if diff := cmp.Diff(texts, kept(t, st, "s")); diff != "" {
				t.Fatalf("crash at %d, %v (-want +got):\n%s", n, variant, diff)
			}
		}
	}
}
