package session_test

import (
	"context"
	"errors"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/memsidecar/memsidecar/internal/memory"
	"github.com/memsidecar/memsidecar/internal/service/session"
	"github.com/memsidecar/memsidecar/internal/store/durable/crashfs"
)

var errDown = errors.New("model is down")

// runFor runs the worker for d, and closes the store so that the bubble has no goroutines left.
func (b *bench) runFor(d time.Duration) {
	b.Helper()
	ctx, cancel := context.WithTimeout(b.Context(), d)
	defer cancel()
	if err := b.svc.Run(ctx); err != nil {
		b.Fatalf("Run: %v", err)
	}
}

func (b *bench) close() {
	b.Helper()
	if err := b.store.Close(context.WithoutCancel(b.Context())); err != nil {
		b.Fatal(err)
	}
}

func TestReflectInline(t *testing.T) {
	b := newBench(t)
	req := session.ReflectRequest{ID: "s", Messages: say("a", "b"), Wait: true}
	first, err := b.svc.Reflect(t.Context(), req)
	if err != nil || first.Session.State != memory.SessionReflected || first.Append.Appended != 2 ||
		first.Session.EndReason != session.ReasonReflect {
		t.Fatalf("first: %+v, %v", first, err)
	}
	lsn := b.store.LSN()
	again, err := b.svc.Reflect(t.Context(), req)
	if err != nil || !again.Reflection.AlreadyReflected || again.Append.Duplicates != 2 || b.store.LSN() != lsn {
		t.Errorf("repeat: %+v, %v, LSN %d → %d", again, err, lsn, b.store.LSN())
	}
	req.Messages = say("a", "b", "c")
	more, err := b.svc.Reflect(t.Context(), req)
	if err != nil || more.Append.Appended != 1 || more.Session.ReflectedSeq != 4 {
		t.Errorf("longer transcript: %+v, %v", more, err)
	}
	req.Messages = say("another", "session")
	if _, err := b.svc.Reflect(t.Context(), req); err == nil {
		t.Error("another session under the same id was taken for a repeat")
	}
	if diff := cmp.Diff([]string{"1 a", "2 b", "3 c"}, kept(t, b.store, "s")); diff != "" {
		t.Errorf("messages (-want +got):\n%s", diff)
	}
}

func TestReflectInlineWithoutID(t *testing.T) {
	b := newBench(t)
	req := session.ReflectRequest{Messages: say("a"), Wait: true, Key: "k"}
	first, err := b.svc.Reflect(t.Context(), req)
	if err != nil {
		t.Fatal(err)
	}
	again, err := b.svc.Reflect(t.Context(), req)
	if err != nil || again.Session.ID != first.Session.ID || !again.Reflection.AlreadyReflected {
		t.Errorf("the same key: %+v, %v", again, err)
	}
	req.Messages = say("b")
	if _, err := b.svc.Reflect(t.Context(), req); err == nil {
		t.Error("the key was taken for another request")
	}
	req.Key = ""
	other, err := b.svc.Reflect(t.Context(), req)
	if err != nil || other.Session.ID == first.Session.ID {
		t.Errorf("without a key: %+v, %v", other, err)
	}
}

func TestDryRun(t *testing.T) {
	b := newBench(t)
	b.append("s", 1, "a")
	lsn := b.store.LSN()
	res, err := b.svc.Reflect(t.Context(), session.ReflectRequest{ID: "s", DryRun: true})
	if err != nil || b.store.LSN() != lsn || res.Session.State != memory.SessionOpen || len(b.fake.calls) != 1 {
		t.Errorf("dry run: %+v, %v, LSN %d → %d, calls %q", res, err, lsn, b.store.LSN(), b.fake.calls)
	}
}

func TestReflectLater(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t)
		b.append("s", 1, "a")
		res, err := b.svc.Reflect(t.Context(), session.ReflectRequest{ID: "s"})
		if err != nil || !res.Queued || res.Session.State != memory.SessionEnded || len(b.fake.calls) != 0 {
			t.Fatalf("reflect: %+v, %v, calls %q", res, err, b.fake.calls)
		}
		b.runFor(time.Hour)
		if diff := cmp.Diff([]string{"s 0s"}, b.fake.calls); diff != "" || b.state("s") != memory.SessionReflected {
			t.Errorf("reflections (-want +got):\n%s", diff)
		}
		b.close()
	})
}

// TestNudge makes sure that a session that ends while Run waits is reflected at once.
func TestNudge(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t)
		b.append("s", 1, "a")
		var wg sync.WaitGroup
		wg.Go(func() {
			time.Sleep(7 * time.Second)
			if _, err := b.svc.End(t.Context(), "", "s", ""); err != nil {
				t.Error(err)
			}
		})
		b.runFor(10 * time.Second)
		wg.Wait()
		if diff := cmp.Diff([]string{"s 7s"}, b.fake.calls); diff != "" {
			t.Errorf("reflections (-want +got):\n%s", diff)
		}
		b.close()
	})
}

func TestIdle(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t)
		b.append("old", 1, "a")
		b.append("busy", 1, "a")
		var wg sync.WaitGroup
		wg.Go(func() {
			for range 4 {
				time.Sleep(20 * time.Minute)
				b.append("busy", 0, "more")
			}
		})
		b.runFor(90 * time.Minute)
		wg.Wait()
		if diff := cmp.Diff([]string{"old 30m0s"}, b.fake.calls); diff != "" {
			t.Errorf("reflections (-want +got):\n%s", diff)
		}
		h, err := b.svc.Get("", "old")
		if err != nil || h.State != memory.SessionReflected || h.EndReason != session.ReasonIdle {
			t.Errorf("idle session: %+v, %v", h, err)
		}
		if got := b.state("busy"); got != memory.SessionOpen {
			t.Errorf("busy session is %s", got)
		}
		b.close()
	})
}

// TestRestart leaves sessions in every state behind, crashes, and starts again later.
func TestRestart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		fsys := crashfs.New()
		st := openStore(t, fsys)
		first := &bench{T: t, store: st, fake: newFake(st)}
		first.svc = newService(st, first.fake)
		first.append("open-long-ago", 1, "a")
		first.append("ended", 1, "a")
		first.append("done", 1, "a")
		if _, err := first.svc.End(t.Context(), "", "ended", ""); err != nil {
			t.Fatal(err)
		}
		if _, err := first.svc.Reflect(t.Context(), session.ReflectRequest{ID: "done", Wait: true}); err != nil {
			t.Fatal(err)
		}
		time.Sleep(25 * time.Minute)
		first.append("open", 1, "a")
		fsys.CrashAt(fsys.Ops() + 1)
		after := fsys.Crash(crashfs.Lost, nil)
		_ = st.Close(t.Context())

		time.Sleep(10 * time.Minute)
		b := &bench{T: t, store: openStore(t, after)}
		b.fake = newFake(b.store)
		b.svc = newService(b.store, b.fake)
		b.runFor(time.Minute)
		if diff := cmp.Diff([]string{"ended 0s", "open-long-ago 0s"}, b.fake.calls); diff != "" {
			t.Errorf("reflections (-want +got):\n%s", diff)
		}
		if got := b.state("open"); got != memory.SessionOpen {
			t.Errorf("session of ten minutes ago is %s", got)
		}
		b.close()
	})
}

func TestFailuresAreRetriedLater(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t)
		b.append("bad", 1, "a")
		b.append("good", 1, "a")
		downUntil := time.Now().Add(4 * time.Minute)
		b.fake.fail = func(id string) error {
			if id == "bad" && time.Now().Before(downUntil) {
				return errDown
			}
			return nil
		}
		for _, id := range []string{"bad", "good"} {
			if _, err := b.svc.End(t.Context(), "", id, ""); err != nil {
				t.Fatal(err)
			}
		}
		b.runFor(3 * time.Minute)
		if got := b.state("bad"); got != memory.SessionEnded {
			t.Errorf("failed session is %s", got)
		}
		b.runFor(time.Hour)
		want := []string{"bad 0s", "good 0s", "bad 30s", "bad 1m30s", "bad 3m30s", "bad 7m30s"}
		if diff := cmp.Diff(want, b.fake.calls); diff != "" || b.state("bad") != memory.SessionReflected {
			t.Errorf("reflections (-want +got):\n%s", diff)
		}
		b.close()
	})
}

func TestAFailureWhileWaitedForIsQueued(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t)
		fail := true
		b.fake.fail = func(string) error {
			if fail {
				return errDown
			}
			return nil
		}
		res, err := b.svc.Reflect(t.Context(), session.ReflectRequest{ID: "s", Messages: say("a"), Wait: true})
		if !errors.Is(err, errDown) || !res.Queued || b.state("s") != memory.SessionEnded {
			t.Errorf("reflect: %+v, %v", res, err)
		}
		fail = false
		b.runFor(5 * time.Minute)
		if diff := cmp.Diff([]string{"s 0s", "s 30s"}, b.fake.calls); diff != "" {
			t.Errorf("reflections (-want +got):\n%s", diff)
		}
		b.close()
	})
}

// TestNoMarkNoLoop has a reflector that reports success and marks nothing.
func TestNoMarkNoLoop(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t)
		b.fake.mark = false
		b.append("s", 1, "a")
		if _, err := b.svc.End(t.Context(), "", "s", ""); err != nil {
			t.Fatal(err)
		}
		b.runFor(24 * time.Hour)
		// Eight tries in the first hour or so, then one an hour.
		if n := len(b.fake.calls); n < 20 || n > 40 {
			t.Errorf("%d tries in a day", n)
		}
		b.close()
	})
}

func TestNothingToReflect(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t)
		if _, err := b.svc.Start(t.Context(), session.StartRequest{ID: "silent"}); err != nil {
			t.Fatal(err)
		}
		b.append("resumed", 1, "a")
		if _, err := b.svc.End(t.Context(), "", "resumed", ""); err != nil {
			t.Fatal(err)
		}
		b.runFor(time.Minute)
		if _, err := b.svc.Start(t.Context(), session.StartRequest{ID: "resumed"}); err != nil {
			t.Fatal(err)
		}
		b.runFor(time.Hour)
		if diff := cmp.Diff([]string{"resumed 0s"}, b.fake.calls); diff != "" {
			t.Errorf("reflections (-want +got):\n%s", diff)
		}
		for _, id := range []string{"silent", "resumed"} {
			if got := b.state(id); got != memory.SessionReflected {
				t.Errorf("session %q is %s", id, got)
			}
		}
		b.close()
	})
}

func TestOldRequestAfterTheSessionWentOn(t *testing.T) {
	b := newBench(t)
	b.append("s", 1, "a")
	req := session.ReflectRequest{ID: "s", Wait: true, Key: "k"}
	if _, err := b.svc.Reflect(t.Context(), req); err != nil {
		t.Fatal(err)
	}
	b.append("s", 2, "b")
	if res, err := b.svc.Reflect(t.Context(), req); err != nil || res.Session.State != memory.SessionOpen ||
		len(b.fake.calls) != 1 {
		t.Errorf("repeat: %+v, %v, calls %q", res, err, b.fake.calls)
	}
}

func TestNeverTwiceAtATime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t)
		b.fake.took = time.Minute
		b.append("s", 1, "a")
		b.append("t", 1, "a")
		var wg sync.WaitGroup
		for range 3 {
			wg.Go(func() {
				if _, err := b.svc.Reflect(t.Context(), session.ReflectRequest{ID: "s", Wait: true}); err != nil {
					t.Error(err)
				}
			})
		}
		wg.Go(func() { // another session need not wait
			if _, err := b.svc.Reflect(t.Context(), session.ReflectRequest{ID: "t", Wait: true}); err != nil {
				t.Error(err)
			}
			if got := time.Since(b.fake.start); got != time.Minute {
				t.Errorf("another session waited for %v", got)
			}
		})
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		synctest.Wait()
		if _, err := b.svc.Reflect(ctx, session.ReflectRequest{ID: "s", Wait: true}); !errors.Is(err,
			context.DeadlineExceeded) {
			t.Errorf("a caller that does not wait: %v", err)
		}
		wg.Wait()
		if b.fake.twice {
			t.Error("one session was reflected twice at a time")
		}
		b.close()
	})
}

func TestAppendWhileReflecting(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t)
		b.fake.took = time.Minute
		b.append("s", 1, "a")
		var wg sync.WaitGroup
		wg.Go(func() {
			time.Sleep(30 * time.Second)
			b.append("s", 2, "b")
		})
		res, err := b.svc.Reflect(t.Context(), session.ReflectRequest{ID: "s", Wait: true})
		wg.Wait()
		if err != nil || res.Session.State != memory.SessionOpen || res.Session.ReflectedSeq != 2 ||
			res.Session.NextSeq != 3 {
			t.Errorf("reflect: %+v, %v", res.Session, err)
		}
		b.runFor(time.Hour) // and the rest by idle time
		if h, _ := b.svc.Get("", "s"); h.State != memory.SessionReflected || h.ReflectedSeq != 3 {
			t.Errorf("in the end: %+v", h)
		}
		b.close()
	})
}

func TestRunStopsWithAReflectionUnderWay(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t)
		b.fake.took = time.Hour
		b.append("s", 1, "a")
		if _, err := b.svc.End(t.Context(), "", "s", ""); err != nil {
			t.Fatal(err)
		}
		b.runFor(time.Minute)
		if len(b.fake.active) != 0 || b.state("s") != memory.SessionEnded {
			t.Errorf("active %v, session %s", b.fake.active, b.state("s"))
		}
		b.fake.took = 0
		b.runFor(time.Second) // being stopped was no failure, so there is no delay
		if got := b.state("s"); got != memory.SessionReflected {
			t.Errorf("after a restart the session is %s", got)
		}
		b.close()
	})
}

func TestPausedWorkerWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		start := time.Now()
		b := newBench(t, func(c *session.Config) { c.Paused = func() bool { return time.Since(start) < 2*time.Hour } })
		paused := newService(b.store, b.fake) // captured before the pause
		if _, err := paused.Append(t.Context(), session.AppendRequest{ID: "s", Messages: say("a")}); err != nil {
			t.Fatal(err)
		}
		b.runFor(3 * time.Hour)
		if diff := cmp.Diff([]string{"s 2h0m0s"}, b.fake.calls); diff != "" {
			t.Errorf("reflections (-want +got):\n%s", diff)
		}
		b.close()
	})
}

// TestReflectSwitchedOff: the messages are kept and the session ends; nothing is asked and nothing learnt.
func TestReflectSwitchedOff(t *testing.T) {
	b := newBench(t, func(c *session.Config) { c.ReflectDisabled = true })
	for _, wait := range []bool{true, false} {
		res, err := b.svc.Reflect(t.Context(), session.ReflectRequest{ID: "s", Messages: say("a", "b"), Wait: wait})
		if err != nil || res.Session.State != memory.SessionEnded || res.Waits == "" || res.Queued {
			t.Errorf("wait %v: %+v, %v", wait, res, err)
		}
	}
	if diff := cmp.Diff([]string{"1 a", "2 b"}, kept(t, b.store, "s")); diff != "" || len(b.fake.calls) != 0 {
		t.Errorf("asked %v, messages (-want +got):\n%s", b.fake.calls, diff)
	}
}

// TestSameTranscriptIsOneSession: without an id and a key, the transcript itself tells that it came before.
func TestSameTranscriptIsOneSession(t *testing.T) {
	b := newBench(t)
	first, err := b.svc.Reflect(t.Context(), session.ReflectRequest{Messages: say("a", "b"), Wait: true})
	if err != nil {
		t.Fatal(err)
	}
	again, err := b.svc.Reflect(t.Context(), session.ReflectRequest{Messages: say("a", "b"), Wait: true})
	if err != nil || again.Session.ID != first.Session.ID || !again.Reflection.AlreadyReflected {
		t.Errorf("again: %+v, %v", again, err)
	}
	other, err := b.svc.Reflect(t.Context(), session.ReflectRequest{Messages: say("a", "c"), Wait: true})
	if err != nil || other.Session.ID == first.Session.ID || other.Reflection.AlreadyReflected {
		t.Errorf("another one: %+v, %v", other, err)
	}
}
