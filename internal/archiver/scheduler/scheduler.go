// Package scheduler runs periodic jobs: each at its interval, at once if a run was missed while the daemon was down,
// and with exponential backoff while it fails. It does not depend on the jobs' content and stores nothing. A job that
// must not repeat its work after a restart is idempotent or sets Job.Last.
package scheduler

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"
)

const (
	// firstRetry is the delay after a first failure; it doubles with each further one.
	firstRetry = time.Minute
	// maxRetry limits the delay after many failures.
	maxRetry = 6 * time.Hour
	// maxSleep limits a single wait. Timers stop while the machine is suspended and ignore changes of the clock, so
	// the wall clock is read at this interval.
	maxSleep = 10 * time.Minute
)

// Job is a piece of periodic work.
type Job struct {
	// unique within a Runner
	Name string
	// interval between the starts of successful runs
	Every time.Duration
	// result is for people; it must return soon after its context ends
	Run func(context.Context) (result string, err error)
	// start of the last successful run of an earlier process; zero means never, and runs the job at once
	Last time.Time
}

// Status is the state of a job.
type Status struct {
	Name    string
	Every   time.Duration
	Running bool
	// start of the newest run, initially Job.Last
	LastRun time.Time
	// duration of the newest finished run
	Took   time.Duration
	Result string // result of the newest finished run
	// error of the newest finished run; nil if it succeeded
	Err error
	// failed runs since the last success
	Failures int
	// time of the next run
	NextRun time.Time
}

// Runner runs jobs, each in its own goroutine. Runs of one job never overlap.
type Runner struct {
	now    func() time.Time
	logger *slog.Logger

	mu      sync.Mutex
	tasks   []*task // guarded by mu
	started bool    // guarded by mu
}

// task is a job with its state.
type task struct {
	job    Job
	status Status // guarded by Runner.mu
}

// New returns a Runner without jobs.
func New(now func() time.Time, logger *slog.Logger) *Runner {
	return &Runner{now: now, logger: logger}
}

// Add adds a job. All jobs are added before Run.
func (r *Runner) Add(job Job) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	switch {
	case r.started:
		return fmt.Errorf("add job %q: the runner is already running", job.Name)
	case job.Name == "" || job.Run == nil || job.Every <= 0:
		return fmt.Errorf("add job %q: a job needs a name, a function and a positive interval", job.Name)
	}
	for _, t := range r.tasks {
		if t.job.Name == job.Name {
			return fmt.Errorf("add job %q: the name is already used", job.Name)
		}
	}
	t := &task{job: job, status: Status{Name: job.Name, Every: job.Every, LastRun: job.Last}}
	t.status.NextRun = r.nextRun(t)
	r.tasks = append(r.tasks, t)
	return nil
}

// nextRun returns when a job that did not fail runs next: now if a run was missed, and at most one interval from now,
// so that a temporarily wrong clock cannot delay a job for years.
func (r *Runner) nextRun(t *task) time.Time {
	now := r.wallClock()
	if t.status.LastRun.IsZero() {
		return now
	}
	next := t.status.LastRun.Round(0).Add(t.job.Every)
	if limit := now.Add(t.job.Every); next.After(limit) {
		return limit
	}
	if next.Before(now) {
		return now
	}
	return next
}

// wallClock returns the time without the monotonic reading, which stops while the machine is suspended.
func (r *Runner) wallClock() time.Time { return r.now().Round(0) }

// Run runs the jobs until ctx ends and returns when all of them have stopped. Failures of jobs are logged and retried,
// not returned.
func (r *Runner) Run(ctx context.Context) error {
	r.mu.Lock()
	if r.started {
		r.mu.Unlock()
		return errors.New("run jobs: the runner is already running")
	}
	r.started = true
	tasks := r.tasks
	r.mu.Unlock()

	var wg sync.WaitGroup
	for _, t := range tasks {
		wg.Go(func() {
			for r.wait(ctx, t) {
				r.runOnce(ctx, t)
			}
		})
	}
	wg.Wait()
	return nil
}

// wait sleeps until t is due; false when ctx ended first.
func (r *Runner) wait(ctx context.Context, t *task) bool {
	timer := time.NewTimer(0)
	defer timer.Stop()
	for ctx.Err() == nil {
		left := r.remaining(t)
		if left <= 0 {
			return true
		}
		timer.Reset(min(left, maxSleep))
		select {
		case <-ctx.Done():
		case <-timer.C:
		}
	}
	return false
}

// remaining returns how long t must still wait. It moves the next run closer if the clock was set back.
func (r *Runner) remaining(t *task) time.Duration {
	r.mu.Lock()
	defer r.mu.Unlock()
	now := r.wallClock()
	if limit := now.Add(t.job.Every); t.status.NextRun.After(limit) {
		t.status.NextRun = limit
	}
	return t.status.NextRun.Sub(now)
}

// runOnce runs t and decides when it runs next.
func (r *Runner) runOnce(ctx context.Context, t *task) {
	began := r.now()
	r.mu.Lock()
	t.status.Running = true
	t.status.LastRun = began.Round(0)
	r.mu.Unlock()

	result, err := t.job.Run(ctx)
	if err != nil && ctx.Err() != nil {
		err = nil // cancelled, which is no failure and needs no next run
	}
	took := r.now().Sub(began)

	r.mu.Lock()
	s := &t.status
	s.Running, s.Took, s.Result, s.Err = false, took, result, err
	if err == nil {
		s.Failures = 0
		// At least a tenth of the interval after the end of this run, so that a job that takes longer than its
		// interval does not run without pause.
		s.NextRun = laterOf(r.nextRun(t), r.wallClock().Add(t.job.Every/10))
	} else {
		s.Failures++
		s.NextRun = r.wallClock().Add(backoff(s.Failures, t.job.Every))
	}
	failures, next := s.Failures, s.NextRun
	r.mu.Unlock()

	if err != nil {
		r.logger.WarnContext(ctx, "job failed", "job", t.job.Name, "error", err, "failures", failures, "next", next)
		return
	}
	r.logger.DebugContext(ctx, "job done", "job", t.job.Name, "result", result, "took", took, "next", next)
}

// backoff returns the delay after consecutive failures: firstRetry, doubled for each further failure, at most the
// job's interval or maxRetry.
func backoff(failures int, every time.Duration) time.Duration {
	longest := min(every, maxRetry)
	if failures > 20 { // 2^20 minutes is beyond every limit, and further doubling would overflow
		return longest
	}
	return min(firstRetry<<(failures-1), longest)
}

// laterOf returns the later time.
func laterOf(a, b time.Time) time.Time {
	if a.Before(b) {
		return b
	}
	return a
}

// Status reports on all jobs in the order they were added.
func (r *Runner) Status() []Status {
	r.mu.Lock()
	defer r.mu.Unlock()
	out := make([]Status, len(r.tasks))
	for i, t := range r.tasks {
		out[i] = t.status
	}
	return out
}
