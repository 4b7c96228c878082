package publish_test

import (
	"log/slog"
	"testing"
	"time"

	"github.com/memsidecar/memsidecar/internal/publish"
)

// TestStatusSince says how long a file has been behind: since its oldest change that is not in it. Accesses, which may
// wait, do not count.
func TestStatusSince(t *testing.T) {
	start := time.Date(2026, 2, 21, 10, 0, 0, 0, time.UTC)
	clock := start
	p := publish.NewScheduler(publish.SchedulerConfig{
		Publish:  func(string, bool) (publish.Written, error) { return publish.Written{Revision: 1}, nil },
		Outdated: func() ([]string, error) { return nil, nil },
		Now:      func() time.Time { return clock }, Logger: slog.New(slog.DiscardHandler),
	})
	p.InvalidateDeferred("a")
	if s := p.Status(); len(s) != 1 || s[0].Pending || !s[0].Since.IsZero() {
		t.Errorf("accessed: %+v", s)
	}
	start = clock.Add(time.Second)
	clock = start
	p.Invalidate("a")
	clock = clock.Add(time.Second)
	p.Invalidate("a")
	if s := p.Status(); len(s) != 1 || !s[0].Pending || !s[0].Since.Equal(start) {
		t.Fatalf("status %+v, want behind since %s", s, start)
	}
	if err := p.PublishAll(t.Context()); err != nil {
		t.Fatal(err)
	}
	if s := p.Status(); s[0].Pending || !s[0].Since.IsZero() {
		t.Errorf("published: %+v", s[0])
	}
	p.Invalidate("a")
	if s := p.Status(); !s[0].Since.Equal(clock) {
		t.Errorf("marked again: %+v, want since %s", s[0], clock)
	}
}
