package scheduler_test

import (
	"context"
	"errors"
	"log/slog"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/memsidecar/memsidecar/internal/archiver/scheduler"
)

// record is a job that notes, relative to start, when it ran, and fails while failures remain.
type record struct {
	start    time.Time
	ran      []time.Duration
	failures int
	took     time.Duration
}

func (r *record) run(context.Context) (string, error) {
	r.ran = append(r.ran, time.Since(r.start))
	if r.took > 0 {
		time.Sleep(r.took)
	}
	if r.failures > 0 {
		r.failures--
		return "nothing", errors.New("no luck")
	}
	return "something", nil
}

func runFor(t *testing.T, r *scheduler.Runner, d time.Duration) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), d)
	defer cancel()
	if err := r.Run(ctx); err != nil {
		t.Fatalf("Run: %v", err)
	}
}

func TestWhenJobsRun(t *testing.T) {
	const day = 24 * time.Hour
	for _, tt := range []struct {
		name     string
		every    time.Duration
		lastAgo  time.Duration // 0: never
		failures int
		took     time.Duration
		runFor   time.Duration
		want     []time.Duration
	}{
		{name: "never ran", every: day, runFor: 2*day + time.Hour, want: []time.Duration{0, day, 2 * day}},
		{name: "missed while away", every: day, lastAgo: 9 * day, runFor: time.Hour, want: []time.Duration{0}},
		{name: "not due yet", every: day, lastAgo: 10 * time.Hour, runFor: day, want: []time.Duration{14 * time.Hour}},
		{name: "last run in the future", every: day, lastAgo: -1000 * day, runFor: day + time.Hour,
			want: []time.Duration{day}},
		{
			name: "failures back off, success returns to the interval", every: day, failures: 4, runFor: day +
				time.Hour,
			want: []time.Duration{0, time.Minute, 3 * time.Minute, 7 * time.Minute, 15 * time.Minute, day +
				15*time.Minute},
		},
		{
			name: "back-off never exceeds the interval", every: 3 * time.Minute, failures: 3, runFor: 8 * time.Minute,
			want: []time.Duration{0, time.Minute, 3 * time.Minute, 6 * time.Minute},
		},
		{
			name: "work longer than its interval leaves a pause", every: 10 * time.Minute, took: 15 * time.Minute,
			runFor: 40 * time.Minute,
			want:   []time.Duration{0, 16 * time.Minute, 32 * time.Minute},
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				rec := &record{start: time.Now(), failures: tt.failures, took: tt.took}
				r := scheduler.New(time.Now, slog.New(slog.DiscardHandler))
				job := scheduler.Job{Name: "job", Every: tt.every, Run: rec.run}
				if tt.lastAgo != 0 {
					job.Last = time.Now().Add(-tt.lastAgo)
				}
				if err := r.Add(job); err != nil {
					t.Fatal(err)
				}
				runFor(t, r, tt.runFor)
				if diff := cmp.Diff(tt.want, rec.ran); diff != "" {
					t.Errorf("runs (-want +got):\n%s", diff)
				}
			})
		})
	}
}

func TestFailingForeverIsNoLoop(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		rec := &record{start: time.Now(), failures: 1 << 30}
		r := scheduler.New(time.Now, slog.New(slog.DiscardHandler))
		if err := r.Add(scheduler.Job{Name: "job", Every: 24 * time.Hour, Run: rec.run}); err != nil {
			t.Fatal(err)
		}
		runFor(t, r, 30*24*time.Hour)
		// Nine runs until the delay reaches six hours, then four a day.
		if n := len(rec.ran); n < 100 || n > 130 {
			t.Errorf("%d runs in 30 days, want about 125", n)
		}
		s := r.Status()[0]
		if s.Failures != len(rec.ran) || s.Err == nil || s.Running {
			t.Errorf("status = %+v after %d failures", s, len(rec.ran))
		}
	})
}

func TestClockSetBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		start := time.Now()
		back := time.Duration(0)
		now := func() time.Time { return time.Now().Add(-back) }
		rec := &record{start: start}
		r := scheduler.New(now, slog.New(slog.DiscardHandler))
		err := r.Add(scheduler.Job{Name: "job", Every: time.Hour, Run: func(ctx context.Context) (string, error) {
			result, err := rec.run(ctx)
			if len(rec.ran) == 1 {
				back = 365 * 24 * time.Hour // after the first run the clock loses a year
			}
			return result, err
		}})
		if err != nil {
			t.Fatal(err)
		}
		runFor(t, r, 90*time.Minute)
		if diff := cmp.Diff([]time.Duration{0, time.Hour}, rec.ran); diff != "" {
			t.Errorf("runs (-want +got):\n%s", diff)
		}
	})
}

func TestRunWaitsForJobs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		stopped := false
		r := scheduler.New(time.Now, slog.New(slog.DiscardHandler))
		err := r.Add(scheduler.Job{Name: "slow", Every: time.Hour, Run: func(ctx context.Context) (string, error) {
			<-ctx.Done()
			time.Sleep(5 * time.Second) // tidying up
			stopped = true
			return "", ctx.Err()
		}})
		if err != nil {
			t.Fatal(err)
		}
		runFor(t, r, time.Minute)
		if !stopped {
			t.Error("Run returned before its job had stopped")
		}
		if s := r.Status()[0]; s.Err != nil || s.Failures != 0 {
			t.Errorf("being told to stop counts as failure: %+v", s)
		}
	})
}

func TestStatus(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		start := time.Now().Round(0)
		rec := &record{start: start, took: time.Minute}
		r := scheduler.New(time.Now, slog.New(slog.DiscardHandler))
		for _, j := range []scheduler.Job{
			{Name: "a", Every: time.Hour, Run: rec.run},
			{Name: "b", Every: 2 * time.Hour, Run: rec.run, Last: start.Add(-time.Hour)},
		} {
			if err := r.Add(j); err != nil {
				t.Fatal(err)
			}
		}
		runFor(t, r, 30*time.Minute)
		want := []scheduler.Status{
			{Name: "a", Every: time.Hour, LastRun: start, Took: time.Minute, Result: "something",
				NextRun: start.Add(time.Hour)},
			{Name: "b", Every: 2 * time.Hour, LastRun: start.Add(-time.Hour), NextRun: start.Add(time.Hour)},
		}
		if diff := cmp.Diff(want, r.Status()); diff != "" {
			t.Errorf("status (-want +got):\n%s", diff)
		}
	})
}

func TestAddRefuses(t *testing.T) {
	ok := func(context.Context) (string, error) { return "", nil }
	for _, tt := range []struct {
		name string
		job  scheduler.Job
	}{
		{"no name", scheduler.Job{Every: time.Hour, Run: ok}},
		{"no work", scheduler.Job{Name: "x", Every: time.Hour}},
		{"no interval", scheduler.Job{Name: "x", Run: ok}},
		{"same name", scheduler.Job{Name: "taken", Every: time.Hour, Run: ok}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r := scheduler.New(time.Now, slog.New(slog.DiscardHandler))
			if err := r.Add(scheduler.Job{Name: "taken", Every: time.Hour, Run: ok}); err != nil {
				t.Fatal(err)
			}
			if err := r.Add(tt.job); err == nil {
				t.Error("accepted")
			}
		})
	}
}
