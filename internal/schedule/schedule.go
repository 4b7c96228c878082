// Package schedule decides when periodic jobs run: each every so often, at once when a run was missed while
// the daemon was away, and later and later while it fails. It knows nothing of what the jobs do and keeps
// nothing on disk; a job that must not repeat its work after a restart is idempotent or says when it last ran.
package schedule

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
	// lastRetry bounds the delay after many failures.
	lastRetry = 6 * time.Hour
	// maxSleep bounds a single wait. Timers stand still while the machine sleeps and know nothing of a clock that
	// is set, so the wall clock is looked at again this often.
	maxSleep = 10 * time.Minute
)

// Job is a piece of periodic work.
type Job struct {
	Name  string                                           // unique within a Runner
	Every time.Duration                                    // from the start of one successful run to the next
	Run   func(context.Context) (result string, err error) // result is for people; returns soon after its context ends
	Last  time.Time                                        // start of the last successful run of an earlier process; zero runs the job at once
}

// Status is what is known of a job.
type Status struct {
	Name     string
	Every    time.Duration
	Running  bool
	LastRun  time.Time     // start of the newest run, of this process or as Job.Last had it
	Took     time.Duration // length of the newest finished run of this process
	Result   string        // what it came to
	Err      error         // of the newest finished run, nil when it succeeded
	Failures int           // failed runs since the last success
	NextRun  time.Time     // when the job is due next
}

// Runner runs jobs, each in a goroutine of its own, never two runs of one job at a time.
type Runner struct {
	now    func() time.Time
	logger *slog.Logger

	mu      sync.Mutex
	tasks   []*task // guarded by mu
	started bool    // guarded by mu
}

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
		return fmt.Errorf("add job %q: the runner runs already", job.Name)
	case job.Name == "" || job.Run == nil || job.Every <= 0:
		return fmt.Errorf("add job %q: a job needs a name, work and a positive interval", job.Name)
	}
	for _, t := range r.tasks {
		if t.job.Name == job.Name {
			return fmt.Errorf("add job %q: there is one of this name", job.Name)
		}
	}
	t := &task{job: job, status: Status{Name: job.Name, Every: job.Every, LastRun: job.Last}}
	t.status.NextRun = r.due(t)
	r.tasks = append(r.tasks, t)
	return nil
}

// due is when a job that did not fail runs next: at once when a run was missed, and never later than one interval
// from now, so that a clock that was wrong for a while does not hold a job back for years.
func (r *Runner) due(t *task) time.Time {
	now := r.wall()
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

// wall is the wall clock without the monotonic reading, which stands still while the machine sleeps.
func (r *Runner) wall() time.Time { return r.now().Round(0) }

// Run runs the jobs until ctx ends and returns when all of them have stopped. Failures of jobs are logged and retried,
// not returned.
func (r *Runner) Run(ctx context.Context) error {
	r.mu.Lock()
	if r.started {
		r.mu.Unlock()
		return errors.New("run jobs: the runner runs already")
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

// remaining is how long t has to wait yet, and moves its next run nearer when the clock was set back.
func (r *Runner) remaining(t *task) time.Duration {
	r.mu.Lock()
	defer r.mu.Unlock()
	now := r.wall()
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
		err = nil // told to stop, which is no failure; there is no next run to plan either
	}
	took := r.now().Sub(began)

	r.mu.Lock()
	s := &t.status
	s.Running, s.Took, s.Result, s.Err = false, took, result, err
	if err == nil {
		s.Failures = 0
		// Not earlier than the end of this run plus a little: work that takes longer than its interval must not
		// turn into a loop without a pause.
		s.NextRun = later(r.due(t), r.wall().Add(t.job.Every/10))
	} else {
		s.Failures++
		s.NextRun = r.wall().Add(backoff(s.Failures, t.job.Every))
	}
	failures, next := s.Failures, s.NextRun
	r.mu.Unlock()

	if err != nil {
		r.logger.WarnContext(ctx, "job failed", "job", t.job.Name, "error", err, "failures", failures, "next", next)
		return
	}
	r.logger.DebugContext(ctx, "job done", "job", t.job.Name, "result", result, "took", took, "next", next)
}

// backoff is the delay after the nth failure in a row: a minute, doubled each time, never longer than the job's own
// interval or six hours.
func backoff(failures int, every time.Duration) time.Duration {
	longest := min(every, lastRetry)
	if failures > 20 { // 2^20 minutes is beyond every limit, and further doubling would overflow
		return longest
	}
	return min(firstRetry<<(failures-1), longest)
}

func later(a, b time.Time) time.Time {
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
