package session_test

import (
	"context"
	"errors"
	"log/slog"
	"testing"
	"time"

	"github.com/memsidecar/memsidecar/internal/memory"
	"github.com/memsidecar/memsidecar/internal/service/session"
	"github.com/memsidecar/memsidecar/internal/store"
	"github.com/memsidecar/memsidecar/internal/store/durable/crashfs"
)

func serviceOn(st *store.Store) *session.Service {
	return session.New(session.Config{Store: st, Reflector: newFake(st), Now: time.Now,
		Logger:      slog.New(slog.DiscardHandler),
		HostStarted: func(int) (time.Time, bool) { return time.Unix(0, 0), true }})
}

// The context of a session is what it was at first: asked for again, after messages, a snapshot and a restart.
func TestContextIsKept(t *testing.T) {
	fsys := crashfs.New()
	st := openStore(t, fsys)
	made := 0
	request := func(text string) session.StartRequest {
		return session.StartRequest{ID: "s", HostPID: 7, Context: func(context.Context) (string, error) {
			made++
			return text, nil
		}}
	}
	check := func(what string, s *session.Service, want string, repeated bool) {
		t.Helper()
		got, err := s.Start(t.Context(), request("made "+what))
		if err != nil || got.Context != want || got.Repeated != repeated {
			t.Errorf("%s: %q, repeated %v, %v; want %q", what, got.Context, got.Repeated, err, want)
		}
	}
	svc := serviceOn(st)
	if _, err := svc.Append(t.Context(), session.AppendRequest{ID: "s",
		Messages: []memory.Message{{Role: "user", Content: "one"}}}); err != nil {
		t.Fatal(err)
	}
	if got, err := svc.Start(t.Context(), session.StartRequest{ID: "s"}); err != nil || got.Context != "" ||
		got.Repeated {
		t.Errorf("without a context: %+v, %v", got, err)
	}
	check("first", svc, "made first", false)
	check("again", svc, "made first", true)
	if _, err := svc.Append(t.Context(), session.AppendRequest{ID: "s", FirstSeq: 2,
		Messages: []memory.Message{{Role: "user", Content: "two"}}}); err != nil {
		t.Fatal(err)
	}
	if _, err := st.Checkpoint(t.Context()); err != nil {
		t.Fatal(err)
	}
	check("after a snapshot", svc, "made first", true)
	if err := st.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	st = openStore(t, fsys)
	defer st.Close(t.Context())
	svc = serviceOn(st)
	check("after a restart", svc, "made first", true)
	if made != 1 {
		t.Errorf("made %d times", made)
	}
	messages, err := svc.Messages("", "s", 0)
	if err != nil || len(messages) != 2 || messages[0].Content != "one" || messages[1].Seq != 2 {
		t.Errorf("messages: %v, %v", messages, err)
	}
	if h, err := svc.Get("", "s"); err != nil || h.Messages != 2 || h.HostPID != 7 {
		t.Errorf("header: %+v, %v", h, err)
	}
	broken := errors.New("broken")
	_, err = svc.Start(t.Context(), session.StartRequest{ID: "t", Context: func(context.Context) (string, error) {
		return "", broken
	}})
	if !errors.Is(err, broken) {
		t.Errorf("error of the context: %v", err)
	}
	if _, err := svc.Get("", "t"); !errors.Is(err, memory.ErrNotFound) {
		t.Errorf("a session without its context: %v", err)
	}
}

// A context that was given survives a crash.
func TestContextCrash(t *testing.T) {
	start := func(fsys *crashfs.FS, text string) (session.Started, *store.Store, error) {
		st, err := store.Open(store.Config{FS: fsys, Now: time.Now, Logger: slog.New(slog.DiscardHandler)})
		if err != nil {
			return session.Started{}, nil, err
		}
		got, err := serviceOn(st).Start(t.Context(),
			session.StartRequest{ID: "s", Context: func(context.Context) (string, error) { return text, nil }})
		return got, st, err
	}
	whole := crashfs.New()
	given, _, err := start(whole, "first") // not closed: the crash comes now, behind the acknowledgement
	if err != nil {
		t.Fatal(err)
	}
	for _, image := range []*crashfs.FS{whole.Crash(crashfs.Lost, nil), whole.Crash(crashfs.Kept, nil)} {
		again, st, err := start(image, "second")
		if err != nil {
			t.Fatal(err)
		}
		if again.Context != given.Context || !again.Repeated {
			t.Errorf("after a crash: %q", again.Context)
		}
		if err := st.Close(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
}
