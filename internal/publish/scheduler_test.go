package publish_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/memsidecar/memsidecar/internal/publish"
)

// recorder is what is published to: it notes when, takes its time and fails on demand.
type recorder struct {
	mu    sync.Mutex
	start time.Time
	log   []string
	takes time.Duration
	err   error
}

func (r *recorder) publish(key string, deferred bool) (publish.Written, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	what := key
	if deferred {
		what += "+accesses"
	}
	r.log = append(r.log, fmt.Sprintf("%s@%v", what, time.Since(r.start)))
	time.Sleep(r.takes)
	switch key {
	case "large":
		return publish.Written{Revision: 7, Bytes: 9 << 20, Changed: 6 << 20}, r.err
	case "resting":
		return publish.Written{Revision: 7, Bytes: 9 << 20, Changed: 6 << 20, Rested: r.takes}, r.err
	case "huge":
		return publish.Written{Revision: 7, Bytes: 64 << 20, Changed: 12 << 10}, r.err
	case "pages":
		return publish.Written{Revision: 7, Bytes: 1 << 20, Changed: 12 << 10}, r.err
	case "moved":
		return publish.Written{Revision: 7, Bytes: 4 << 20, Changed: 4 << 20}, r.err
	}
	return publish.Written{Revision: 7, Bytes: 3, Changed: 3}, r.err
}

func (r *recorder) fail(err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.err = err
}

// inBubble runs a Publisher while script marks and waits, and returns what was published when, and what was logged.
func inBubble(t *testing.T, r *recorder, behind []string, script func(p *publish.Scheduler)) (published, logged string) {
	t.Helper()
	var logs bytes.Buffer
	synctest.Test(t, func(t *testing.T) {
		r.start = time.Now()
		p := publish.NewScheduler(publish.SchedulerConfig{
			Publish:  r.publish,
			Outdated: func() ([]string, error) { return behind, nil },
			Now:      time.Now,
			Logger:   slog.New(slog.NewTextHandler(&logs, nil)),
		})
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan error)
		go func() { done <- p.Run(ctx) }()
		synctest.Wait()
		script(p)
		cancel()
		if err := <-done; err != nil {
			t.Errorf("Run: %v", err)
		}
	})
	return strings.Join(r.log, " "), logs.String()
}

func TestWhen(t *testing.T) {
	for _, tt := range []struct {
		name   string
		takes  time.Duration
		behind []string
		script func(p *publish.Scheduler)
		want   string
	}{
		{"what is behind at the start", 0, []string{"a", "b"}, func(*publish.Scheduler) { time.Sleep(time.Second) }, "a@500ms b@500ms"},
		{"after a quiet while", 0, nil, func(p *publish.Scheduler) {
			for range 4 {
				p.Invalidate("a")
				time.Sleep(300 * time.Millisecond)
			}
			time.Sleep(time.Second)
		}, "a@1.4s"},
		{"at last when it is never quiet", 0, nil, func(p *publish.Scheduler) {
			for range 61 {
				p.Invalidate("a")
				time.Sleep(130 * time.Millisecond)
			}
		}, "a@4s"},
		{"no more bytes than its rate", 0, nil, func(p *publish.Scheduler) {
			p.Invalidate("large") // 6 MiB
			time.Sleep(time.Second)
			p.Invalidate("large")
			time.Sleep(20 * time.Second)
		}, "large@500ms large@6.5s"},
		{"no more than its share", 300 * time.Millisecond, nil, func(p *publish.Scheduler) {
			p.Invalidate("large")
			time.Sleep(time.Second)
			p.Invalidate("large")
			time.Sleep(20 * time.Second)
		}, "large@500ms large@10.5s"},
		{"rests are no part of its share", 300 * time.Millisecond, nil, func(p *publish.Scheduler) {
			p.Invalidate("resting")
			time.Sleep(time.Second)
			p.Invalidate("resting")
			time.Sleep(20 * time.Second)
		}, "resting@500ms resting@6.5s"},
		{"but no more than half a minute behind", 2 * time.Second, nil, func(p *publish.Scheduler) {
			p.Invalidate("large")
			time.Sleep(3 * time.Second)
			p.Invalidate("large")
			time.Sleep(time.Minute)
		}, "large@500ms large@30.5s"},
		{"but not from 64 MiB on", 9 * time.Second, nil, func(p *publish.Scheduler) {
			p.Invalidate("huge")
			time.Sleep(10 * time.Second)
			p.Invalidate("huge")
			time.Sleep(10 * time.Minute)
		}, "huge@500ms huge@5m0.5s"},
		{"below 5 MiB it is published in time, however slow the disk is", time.Second, nil, func(p *publish.Scheduler) {
			for range 20 {
				p.Invalidate("moved") // written whole
				time.Sleep(450 * time.Millisecond)
			}
		}, "moved@4s moved@7.05s"},
		{"single pages together", 0, nil, func(p *publish.Scheduler) {
			for range 15 {
				p.Invalidate("pages") // three of them
				time.Sleep(600 * time.Millisecond)
			}
		}, "pages@500ms pages@3.5s pages@6.5s"},
		{"accesses later", 0, nil, func(p *publish.Scheduler) {
			p.InvalidateDeferred("a")
			time.Sleep(time.Minute)
			p.InvalidateDeferred("a")
			time.Sleep(2 * time.Hour)
		}, "a+accesses@1h0m0s"},
		{"accesses later also when something changes", 0, nil, func(p *publish.Scheduler) {
			p.InvalidateDeferred("a")
			time.Sleep(time.Minute)
			p.Invalidate("a")
			time.Sleep(2 * time.Hour)
		}, "a@1m0.5s a+accesses@1h0m0s"},
		{"all at once", 0, nil, func(p *publish.Scheduler) {
			p.Invalidate("b")
			p.InvalidateDeferred("a")
			if err := p.PublishAll(context.Background()); err != nil {
				panic(err)
			}
			time.Sleep(10 * time.Minute)
		}, "a+accesses@0s b@0s"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got, logged := inBubble(t, &recorder{takes: tt.takes}, tt.behind, tt.script)
			if got != tt.want || logged != "" {
				t.Errorf("published %s, want %s; logged %q", got, tt.want, logged)
			}
		})
	}
}

func TestFailuresAreTriedAgainAndLoggedOnce(t *testing.T) {
	r := &recorder{err: fmt.Errorf("write: %w", syscall.ENOSPC)}
	published, logged := inBubble(t, r, nil, func(p *publish.Scheduler) {
		p.Invalidate("a")
		p.Invalidate("b")
		time.Sleep(9 * time.Second)
		s := p.Status()
		if len(s) != 2 || !errors.Is(s[0].Err, syscall.ENOSPC) || !s[0].Pending {
			t.Errorf("status %+v", s)
		}
		if err := p.PublishAll(t.Context()); !errors.Is(err, syscall.ENOSPC) {
			t.Errorf("PublishAll: %v", err)
		}
		r.fail(nil)
		time.Sleep(time.Hour)
		if s := p.Status(); s[0].Err != nil || s[0].Pending || s[0].Revision != 7 {
			t.Errorf("status %+v", s)
		}
	})
	want := "a@500ms b@500ms a@1.5s b@1.5s a@3.5s b@3.5s a@7.5s b@7.5s a@9s b@9s a@25s b@25s"
	if published != want {
		t.Errorf("published %s\n     want %s", published, want)
	}
	if n := strings.Count(logged, "level=WARN"); n != 1 {
		t.Errorf("%d warnings:\n%s", n, logged)
	}
	if !strings.Contains(logged, "publishing works again") {
		t.Errorf("the end of it was not logged:\n%s", logged)
	}
}

func TestPublishAllStopsWithItsContext(t *testing.T) {
	r := &recorder{}
	p := publish.NewScheduler(publish.SchedulerConfig{Publish: r.publish, Outdated: func() ([]string, error) { return []string{"a"}, nil }, Now: time.Now, Logger: slog.New(slog.DiscardHandler)})
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := p.PublishAll(ctx); !errors.Is(err, context.Canceled) || len(r.log) > 0 {
		t.Errorf("got %v after %v", err, r.log)
	}
}

// A key that is held is neither a failure nor tried again, until it is marked.
func TestHeldWaitsForAMark(t *testing.T) {
	r := &recorder{err: fmt.Errorf("memory.json %w", publish.ErrBlocked)}
	published, logged := inBubble(t, r, nil, func(p *publish.Scheduler) {
		p.Invalidate("a")
		time.Sleep(time.Hour)
		if s := p.Status(); len(s) != 1 || !s[0].Blocked || s[0].Err != nil || s[0].Pending {
			t.Errorf("status %+v", s)
		}
		p.Invalidate("a")
		if err := p.PublishAll(t.Context()); err != nil {
			t.Errorf("PublishAll: %v", err)
		}
		r.fail(nil)
		p.Invalidate("a")
		time.Sleep(time.Second)
		if s := p.Status(); s[0].Blocked || s[0].Revision != 7 {
			t.Errorf("status %+v", s)
		}
	})
	if want := "a@500ms a@1h0m0s a@1h0m0.5s"; published != want || logged != "" {
		t.Errorf("published %s, want %s; logged %q", published, want, logged)
	}
}

// With thousands of files waiting, one that just changed is published within a second, and those that have waited
// longest go on, too.
func TestUsedBeforeTheBacklog(t *testing.T) {
	r := &recorder{takes: 10 * time.Millisecond}
	var waiting []string
	for i := range 1000 {
		waiting = append(waiting, fmt.Sprintf("w%04d", i))
	}
	published, _ := inBubble(t, r, waiting, func(p *publish.Scheduler) {
		time.Sleep(2 * time.Second)
		p.Invalidate("used")
		time.Sleep(time.Second)
	})
	before, _, ok := strings.Cut(published, "used@")
	if !ok {
		t.Fatal("what changed during the backlog was not published within a second")
	}
	if before := strings.Count(before, " "); before > 250 {
		t.Errorf("%d files were published before the one that changed", before)
	}
	if !strings.Contains(published, "w0000@") {
		t.Error("what waited longest was not published")
	}
}

// A backlog is published at a bounded rate, and a few files as soon as they are due.
func TestBacklogRests(t *testing.T) {
	for _, tt := range []struct{ waiting, least, most int }{{1000, 45, 55}, {16, 16, 16}} {
		r := &recorder{takes: 10 * time.Millisecond}
		var waiting []string
		for i := range tt.waiting {
			waiting = append(waiting, fmt.Sprintf("w%04d", i))
		}
		published, _ := inBubble(t, r, waiting, func(*publish.Scheduler) { time.Sleep(1500 * time.Millisecond) })
		if n := strings.Count(published, "@"); n < tt.least || n > tt.most {
			t.Errorf("%d of %d files were published in the second after they were due", n, tt.waiting)
		}
	}
}

// A stop publishes what changed last, as far as it comes, and leaves the rest.
// TestPublishPendingLeavesWhatTakesTooLong: a file that took longer than there is time for is left to the next start.
func TestPublishPendingLeavesWhatTakesTooLong(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := &recorder{start: time.Now(), takes: 3 * time.Second}
		p := publish.NewScheduler(publish.SchedulerConfig{Publish: r.publish, Now: time.Now,
			Outdated: func() ([]string, error) { return nil, nil }, Logger: slog.New(slog.DiscardHandler)})
		p.Invalidate("slow")
		if err := p.PublishAll(t.Context()); err != nil {
			t.Fatal(err)
		}
		r.takes = time.Second
		p.Invalidate("slow")
		p.NoteSize("large since before", 64<<20)
		p.Invalidate("large since before")
		p.Invalidate("other")
		ctx, cancel := context.WithTimeout(t.Context(), 2*time.Second)
		defer cancel()
		err := p.PublishPending(ctx)
		if got := strings.Join(r.log, " "); err != nil || got != "slow@0s other@3s" {
			t.Errorf("published %s, %v", got, err)
		}
		if err := p.PublishAll(t.Context()); err != nil || strings.Join(r.log[2:], " ") != "large since before@4s slow@5s" {
			t.Errorf("then published %s, %v", r.log, err)
		}
	})
}

func TestPublishPendingBeginsWithTheNewest(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := &recorder{start: time.Now(), takes: 100 * time.Millisecond}
		p := publish.NewScheduler(publish.SchedulerConfig{Publish: r.publish, Now: time.Now,
			Logger: slog.New(slog.DiscardHandler)})
		for i := range 20 {
			p.Invalidate(fmt.Sprintf("k%02d", i))
			time.Sleep(time.Millisecond)
		}
		ctx, cancel := context.WithTimeout(t.Context(), 250*time.Millisecond)
		defer cancel()
		r.start = time.Now()
		if err := p.PublishPending(ctx); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("got %v", err)
		}
		if got := strings.Join(r.log, " "); got != "k19@0s k18@100ms k17@200ms" {
			t.Errorf("published %s", got)
		}
	})
}
