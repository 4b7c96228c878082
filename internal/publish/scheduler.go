package publish

import (
	"cmp"
	"container/heap"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"slices"
	"sync"
	"time"

	"github.com/memsidecar/memsidecar/internal/store/durable"
)

// SchedulerConfig of a Publisher. Publish, Behind, Now and Logger are required.
type SchedulerConfig struct {
	// Publish writes the file that key stands for from the present state. It is called from one goroutine at a time.
	Publish func(key string) (Written, error)
	// Outdated lists the keys whose files do not hold the newest state, as far as can be told without the marks: at the
	// start and before everything is published.
	Outdated func() ([]string, error)
	Now      func() time.Time
	Logger   *slog.Logger

	Quiet    time.Duration // how long a key must go unchanged; 500 ms when 0
	MaxDelay time.Duration // but no longer than this after its first change; 4 s when 0
	Deferred time.Duration // the same for changes that are in no hurry; 5 minutes when 0
	Share    float64       // of the time that publishing one key may take; 0.03 when 0. It goes before MaxDelay.
	Rate     float64       // bytes per second that publishing one key may write; 1 MiB when 0. It goes before MaxDelay.
}

// ErrBlocked is returned by SchedulerConfig.Publish when a file must not be published for now. Its key then waits,
// without being tried again, until Invalidate.
var ErrBlocked = errors.New("is not published until an edit of it is dealt with")

// Written is the result of a publication.
type Written struct {
	Revision int64 // of the state that the file holds now
	Bytes    int64
	Changed  int64 // bytes that were written for it: at most Bytes
}

// Status is the state of publication of one key.
type Status struct {
	Key      string
	Revision int64         // of what was published last, 0 when nothing was since the start
	At       time.Time     // when that was
	Bytes    int64         // size of it
	Duration time.Duration // what it took
	Pending  bool          // there is something newer to publish
	Since    time.Time     // when the oldest of it changed; zero when there is none
	Blocked  bool          // it is not published before an edit of it is dealt with
	Err      error         // why the last attempt failed, nil when it did not
}

// Back-off after a failure: it doubles from the first to the last.
const (
	firstRetry = time.Second
	lastRetry  = 5 * time.Minute
)

// Scheduler publishes files whose state changed, in the background. It is safe for concurrent use.
//
// A key is published once it has been quiet for a while, but no later than MaxDelay after its first change: a
// debounce with an upper bound. Share bounds the fraction of time that one key may take, and Rate the bytes that are
// written for it, so that a large file is written less often. A file below 4 MiB is at most MaxDelay behind.
type Scheduler struct {
	cfg  SchedulerConfig
	wake chan struct{} // holds one signal

	publishing sync.Mutex // held during a publication; taken before mu

	mu       sync.Mutex
	jobs     map[string]*job // guarded by mu, as are all below
	queue    jobQueue        // of every dirty job that is not in overdue
	overdue  []*job          // in the order in which they became due
	turn     int             // counts what was taken from overdue
	failures map[string]int  // jobs that fail, by kind
}

// job is the state of one key. Scheduler.mu guards it.
type job struct {
	firstChange, lastChange time.Time // oldest and newest urgent mark since the last publication; zero for none
	deferredSince           time.Time // oldest mark that is in no hurry
	notBefore               time.Time // because of the share, or of a failure
	failures                int
	failureKind             string // of the failure
	status                  Status

	queued bool      // in Scheduler.queue or Scheduler.overdue
	index  int       // in Scheduler.queue, -1 in Scheduler.overdue
	due    time.Time // when it was queued; the true time may have moved back since
}

// dirty reports whether there is something to publish.
func (it *job) dirty() bool { return !it.firstChange.IsZero() || !it.deferredSince.IsZero() }

// since is the time of the oldest unpublished change, zero when there is none.
func (it *job) since() time.Time {
	if it.firstChange.IsZero() || !it.deferredSince.IsZero() && it.deferredSince.Before(it.firstChange) {
		return it.deferredSince
	}
	return it.firstChange
}

// NewScheduler returns a Scheduler that does nothing until Run or PublishAll.
func NewScheduler(cfg SchedulerConfig) *Scheduler {
	cfg.Quiet = cmp.Or(cfg.Quiet, 500*time.Millisecond)
	cfg.MaxDelay = cmp.Or(cfg.MaxDelay, 4*time.Second)
	cfg.Deferred = cmp.Or(cfg.Deferred, 5*time.Minute)
	cfg.Share = cmp.Or(cfg.Share, 0.03)
	cfg.Rate = cmp.Or(cfg.Rate, 1<<20)
	return &Scheduler{cfg: cfg, wake: make(chan struct{}, 1), jobs: map[string]*job{}, failures: map[string]int{}}
}

// Invalidate says that the state behind key changed, and can be read. It does no I/O.
func (p *Scheduler) Invalidate(key string) { p.invalidate(key, false) }

// InvalidateDeferred says that something changed that may wait for SchedulerConfig.Deferred.
func (p *Scheduler) InvalidateDeferred(key string) { p.invalidate(key, true) }

// invalidate records a change. Run is woken only by the first one: a later change moves the time back, which Run
// notices by itself.
func (p *Scheduler) invalidate(key string, lazy bool) {
	now := p.cfg.Now()
	p.mu.Lock()
	it := p.jobOf(key)
	before := it.dirty()
	switch {
	case lazy && it.deferredSince.IsZero():
		it.deferredSince = now
	case !lazy:
		before = before && !it.firstChange.IsZero()
		if it.firstChange.IsZero() {
			it.firstChange = now
		}
		it.lastChange = now
	}
	p.enqueueLocked(it)
	p.mu.Unlock()
	if !before { // a later mark only moves the time back: Run finds out when it looks
		p.signal()
	}
}

// signal wakes Run. A pending signal is enough.
func (p *Scheduler) signal() {
	select {
	case p.wake <- struct{}{}:
	default:
	}
}

// jobOf returns the job of a key. p.mu must be held.
func (p *Scheduler) jobOf(key string) *job {
	it := p.jobs[key]
	if it == nil {
		it = &job{status: Status{Key: key}}
		p.jobs[key] = it
	}
	return it
}

// Run publishes until ctx ends, which is no error. Failures are logged, once for each kind, and tried again later.
func (p *Scheduler) Run(ctx context.Context) error {
	if err := p.invalidateOutdated(); err != nil {
		p.cfg.Logger.Warn("cannot tell which published files are out of date", "error", err)
	}
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		if ctx.Err() != nil {
			return nil
		}
		key, wait := p.next()
		if key != "" {
			_ = p.publish(key) // logged there, and kept in the status
			continue
		}
		timer.Reset(wait)
		select {
		case <-ctx.Done():
			return nil
		case <-p.wake:
		case <-timer.C:
		}
	}
}

// PublishAll publishes everything that is out of date now, without waiting, whether or not Run is running. It
// returns the errors of all keys, and ctx's when that ends first. A blocked key is no error. Durable on return.
func (p *Scheduler) PublishAll(ctx context.Context) error {
	errs := []error{p.invalidateOutdated()}
	errs = append(errs, p.publishDirty(ctx, func(a, b *job) int { return cmp.Compare(a.status.Key, b.status.Key) }))
	return errors.Join(errs...)
}

// PublishPending is PublishAll for what is known to be out of date. It begins with what changed last, and leaves the rest
// to the next start when ctx ends.
func (p *Scheduler) PublishPending(ctx context.Context) error {
	return p.publishDirty(ctx, func(a, b *job) int {
		return cmp.Or(b.lastChange.Compare(a.lastChange), cmp.Compare(a.status.Key, b.status.Key))
	})
}

// publishDirty publishes every dirty key in the given order until ctx ends.
func (p *Scheduler) publishDirty(ctx context.Context, order func(a, b *job) int) error {
	var errs []error
	p.mu.Lock()
	var pending []*job
	for _, it := range p.jobs {
		if it.dirty() {
			copied := *it // the original changes while the others are published
			pending = append(pending, &copied)
		}
	}
	p.mu.Unlock()
	slices.SortFunc(pending, order)
	for i := range pending {
		if err := ctx.Err(); err != nil {
			errs = append(errs, fmt.Errorf("%d files are not published: %w", len(pending)-i, err))
			break
		}
		errs = append(errs, p.publish(pending[i].status.Key))
	}
	p.publishing.Lock() // what Run had begun is finished too
	defer p.publishing.Unlock()
	return errors.Join(errs...)
}

// Status lists every key that was changed or published since the start, sorted.
func (p *Scheduler) Status() []Status {
	p.mu.Lock()
	defer p.mu.Unlock()
	list := make([]Status, 0, len(p.jobs))
	for _, it := range p.jobs {
		s := it.status
		s.Pending, s.Since = it.dirty(), it.since()
		list = append(list, s)
	}
	slices.SortFunc(list, func(a, b Status) int { return cmp.Compare(a.Key, b.Key) })
	return list
}

// invalidateOutdated finds files that are older than the state, which no change reports: after a start, for
// example.
func (p *Scheduler) invalidateOutdated() error {
	keys, err := p.cfg.Outdated()
	for _, key := range keys {
		p.Invalidate(key)
	}
	return err
}

const (
	// backlog is how many overdue files make it matter which of them goes first.
	backlog = 16
	// newestTurns is how many of newestTurns+1 publications of a backlog go to what became due last.
	newestTurns = 3
)

// next returns the key to publish now, or how long there is nothing to do. Of what is overdue, after a start with many
// spaces for example, what is used goes before what waited, but for every fourth turn, so that nothing waits for ever.
func (p *Scheduler) next() (string, time.Duration) {
	now := p.cfg.Now()
	p.mu.Lock()
	defer p.mu.Unlock()
	for {
		for len(p.queue) > 0 && !p.queue[0].due.After(now) {
			p.overdue = append(p.overdue, heap.Pop(&p.queue).(*job))
		}
		if len(p.overdue) == 0 {
			break
		}
		it := p.takeOverdue()
		it.queued = false
		switch {
		case !it.dirty():
		case p.due(it).After(now):
			p.enqueueLocked(it)
		default:
			return it.status.Key, 0
		}
	}
	if len(p.queue) == 0 {
		return "", p.cfg.Deferred
	}
	return "", p.queue[0].due.Sub(now)
}

// takeOverdue removes and returns an overdue job. p.mu must be held.
func (p *Scheduler) takeOverdue() (it *job) {
	if p.turn++; len(p.overdue) <= backlog || p.turn%(newestTurns+1) == 0 {
		it, p.overdue[0] = p.overdue[0], nil
		p.overdue = p.overdue[1:]
		return it
	}
	last := len(p.overdue) - 1
	it, p.overdue[last] = p.overdue[last], nil
	p.overdue = p.overdue[:last]
	return it
}

// enqueueLocked queues a dirty job, unless it is. A time that moves back later is noticed by next.
func (p *Scheduler) enqueueLocked(it *job) {
	switch due := p.due(it); {
	case !it.queued:
		it.queued, it.due = true, due
		heap.Push(&p.queue, it)
	case it.index >= 0 && due.Before(it.due):
		it.due = due
		heap.Fix(&p.queue, it.index)
	}
}

// jobQueue is a heap of jobs by the time when they are due, for package heap.
type jobQueue []*job

func (q jobQueue) Len() int { return len(q) }

func (q jobQueue) Less(i, j int) bool {
	return cmp.Or(q[i].due.Compare(q[j].due), cmp.Compare(q[i].status.Key, q[j].status.Key)) < 0
}

func (q jobQueue) Swap(i, j int) {
	q[i], q[j] = q[j], q[i]
	q[i].index, q[j].index = i, j
}

func (q *jobQueue) Push(x any) {
	it := x.(*job)
	it.index = len(*q)
	*q = append(*q, it)
}

func (q *jobQueue) Pop() any {
	last := len(*q) - 1
	it := (*q)[last]
	it.index = -1
	(*q)[last], *q = nil, (*q)[:last]
	return it
}

// due is when a job may be published.
func (p *Scheduler) due(it *job) time.Time {
	var due time.Time
	if !it.firstChange.IsZero() {
		due = earlier(it.lastChange.Add(p.cfg.Quiet), it.firstChange.Add(p.cfg.MaxDelay))
	}
	if !it.deferredSince.IsZero() {
		if lazy := it.deferredSince.Add(p.cfg.Deferred); due.IsZero() {
			due = lazy
		} else {
			due = earlier(due, lazy)
		}
	}
	if due.Before(it.notBefore) {
		return it.notBefore
	}
	return due
}

// earlier is the first of two times.
func earlier(a, b time.Time) time.Time {
	if b.Before(a) {
		return b
	}
	return a
}

// publish publishes one key, unless it was just published.
func (p *Scheduler) publish(key string) error {
	p.publishing.Lock()
	defer p.publishing.Unlock()

	p.mu.Lock()
	it := p.jobOf(key)
	taken := *it
	if !it.dirty() {
		p.mu.Unlock()
		return nil
	}
	it.firstChange, it.lastChange, it.deferredSince = time.Time{}, time.Time{}, time.Time{}
	p.mu.Unlock()

	start := p.cfg.Now()
	written, err := p.cfg.Publish(key)
	end := p.cfg.Now()

	defer p.signal() // Run may be waiting for something later
	p.mu.Lock()
	defer p.mu.Unlock()
	it.status.Blocked = errors.Is(err, ErrBlocked)
	if it.status.Blocked {
		p.setFailureLocked(it, "")
		it.failures, it.status.Err = 0, nil
		return nil
	}
	if err != nil {
		p.failedLocked(it, taken, end, err)
		return fmt.Errorf("publish %s: %w", key, err)
	}
	if it.failureKind != "" {
		p.cfg.Logger.Info("publishing works again", "key", key)
	}
	p.setFailureLocked(it, "")
	took := end.Sub(start)
	it.failures = 0
	pause := max(float64(took)/p.cfg.Share, float64(written.Changed)/p.cfg.Rate*float64(time.Second))
	it.notBefore = start.Add(time.Duration(pause))
	it.status = Status{Key: key, Revision: written.Revision, At: end, Bytes: written.Bytes, Duration: took}
	return nil
}

// failedLocked restores the changes of a failed publication and schedules the next attempt.
func (p *Scheduler) failedLocked(it *job, taken job, now time.Time, err error) {
	if it.firstChange.IsZero() {
		it.lastChange = taken.lastChange
	}
	if !taken.firstChange.IsZero() {
		it.firstChange = taken.firstChange
	}
	if !taken.deferredSince.IsZero() {
		it.deferredSince = taken.deferredSince
	}
	it.notBefore = now.Add(min(firstRetry<<min(it.failures, 20), lastRetry))
	it.failures++
	it.status.Err = err
	kind := failureKindOf(err)
	known := p.failures[kind] > 0
	p.setFailureLocked(it, kind)
	p.enqueueLocked(it)
	if !known {
		p.cfg.Logger.Warn("cannot publish; will try again", "key", it.status.Key, "kind", kind, "error", err)
	}
}

// setFailureLocked notes of which kind the last failure of a job was, "" for none.
func (p *Scheduler) setFailureLocked(it *job, kind string) {
	if it.failureKind != "" {
		p.failures[it.failureKind]--
	}
	if it.failureKind = kind; kind != "" {
		p.failures[kind]++
	}
}

// failureKindOf sorts failures, so that each kind is logged once while it lasts.
func failureKindOf(err error) string {
	switch {
	case durable.IsDiskFull(err):
		return "disk full"
	case errors.Is(err, fs.ErrPermission):
		return "permission"
	case errors.Is(err, ErrNotRegular):
		return "not a regular file"
	case errors.Is(err, ErrBusyFile):
		return "being edited"
	default:
		return "other"
	}
}
