package publish

import (
	"cmp"
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
	// Publish writes the file that key stands for from the present state. With deferred, that includes the changes that
	// InvalidateDeferred reported; without, it may leave them out. It is called from one goroutine at a time.
	Publish func(key string, deferred bool) (Written, error)
	// Outdated lists the keys whose files do not hold the newest state, as far as can be told without the marks: at the
	// start and before everything is published.
	Outdated func() ([]string, error)
	Now      func() time.Time
	Logger   *slog.Logger

	Quiet    time.Duration // how long a key must go unchanged; 500 ms when 0
	MaxDelay time.Duration // but no longer than this after its first change; 4 s when 0
	Deferred time.Duration // the same for changes that are in no hurry; an hour when 0
	Share    float64       // of the time that publishing one key may take; 0.03 when 0
	Rate     float64       // bytes per second that publishing one key may write; 1 MiB when 0
}

// ErrBlocked is returned by SchedulerConfig.Publish when a file must not be published for now. Its key then waits,
// without being tried again, until Invalidate.
var ErrBlocked = errors.New("is not published until an edit of it is dealt with")

// Written is the result of a publication.
type Written struct {
	Revision int64 // of the state that the file holds now
	Bytes    int64
	Changed  int64 // bytes that were written for it: at most Bytes

	Rested time.Duration // how long others had the processor meanwhile
}

// Status is the state of publication of one key.
type Status struct {
	Key      string
	Revision int64         // of what was published last, 0 when nothing was since the start
	At       time.Time     // when that was
	Bytes    int64         // size of it
	Duration time.Duration // what it took, without what it rested
	Pending  bool          // there is something newer to publish, deferred changes aside
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
// debounce with an upper bound. Between two publications there is a pause that keeps within budgets of time and of
// bytes; see pause. A file below smallFile is no more than MaxDelay behind when a publication takes as long as the last
// one did, whatever that is.
type Scheduler struct {
	cfg  SchedulerConfig
	wake chan struct{} // holds one signal

	publishing sync.Mutex // held during a publication; taken before mu

	mu      sync.Mutex
	jobs    map[string]*job // guarded by mu, as are all below
	waiting waitingFiles    // which have no job yet
	queue   jobQueue        // of every dirty job that is not in overdue
	overdue []*job          // in the order in which they became due
	turn    int             // counts what was taken from overdue

	restUntil time.Time      // when the next of a backlog may be published
	failures  map[string]int // jobs that fail, by kind
}

// job is the state of one key. Scheduler.mu guards it.
type job struct {
	firstChange, lastChange time.Time // oldest and newest urgent mark since the last publication; zero for none
	deferredSince           time.Time // oldest mark that is in no hurry
	notBefore               time.Time // because of the share, or of a failure
	failures                int
	failureKind             string // of the failure
	size                    int64  // in bytes of the file, when it was published before the start
	status                  Status

	queued bool      // in Scheduler.queue or Scheduler.overdue
	index  int       // in Scheduler.queue, -1 in Scheduler.overdue
	due    time.Time // when it was queued; the true time may have moved back since
}

// takesLonger reports whether a publication will take longer than there is time. The first one since the start is
// judged by the size of the file.
func (it *job) takesLonger(left time.Duration) bool {
	return it.status.Duration > left || it.status.At.IsZero() && it.size >= hugeFile
}

// dirty reports whether there is something to publish.
func (it *job) dirty() bool { return !it.firstChange.IsZero() || !it.deferredSince.IsZero() }

// NewScheduler returns a Scheduler that does nothing until Run or PublishAll.
func NewScheduler(cfg SchedulerConfig) *Scheduler {
	cfg.Quiet = cmp.Or(cfg.Quiet, 500*time.Millisecond)
	cfg.MaxDelay = cmp.Or(cfg.MaxDelay, 4*time.Second)
	cfg.Deferred = cmp.Or(cfg.Deferred, time.Hour)
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

// jobOf returns the job of a key, with the mark that it waited with, if it did. p.mu must be held.
func (p *Scheduler) jobOf(key string) *job {
	it := p.jobs[key]
	if it == nil {
		it = &job{status: Status{Key: key}}
		p.jobs[key] = it
		if since := p.waiting.since; p.waiting.take(key) {
			it.firstChange, it.lastChange = since, since
		}
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
			_ = p.publish(key, false) // logged there, and kept in the status
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

// PublishPending is PublishAll for what is known to be out of date. It begins with what changed last, and leaves to the
// next start what took longer than ctx has time for, and the rest when ctx ends. Neither the first is an error.
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
	for key := range p.waiting.keys() {
		pending = append(pending, &job{lastChange: p.waiting.since, status: Status{Key: key}})
	}
	p.mu.Unlock()
	slices.SortFunc(pending, order)
	for i := range pending {
		if err := ctx.Err(); err != nil {
			errs = append(errs, fmt.Errorf("%d files are not published: %w", len(pending)-i, err))
			break
		}
		if end, limited := ctx.Deadline(); limited && pending[i].takesLonger(end.Sub(p.cfg.Now())) {
			continue
		}
		errs = append(errs, p.publish(pending[i].status.Key, true))
	}
	p.publishing.Lock() // what Run had begun is finished too
	defer p.publishing.Unlock()
	return errors.Join(errs...)
}

// noteSize says how many bytes a file has that was published before the start. Only that of a huge one matters.
func (p *Scheduler) noteSize(key string, bytes int64) {
	if bytes < hugeFile {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.jobOf(key).size = bytes
}

// Status lists every key that was changed or published since the start, sorted.
func (p *Scheduler) Status() []Status {
	p.mu.Lock()
	defer p.mu.Unlock()
	list := make([]Status, 0, len(p.jobs)+len(p.waiting.files))
	for _, it := range p.jobs {
		s := it.status
		s.Pending, s.Since = !it.firstChange.IsZero(), it.firstChange
		list = append(list, s)
	}
	for key := range p.waiting.keys() {
		list = append(list, Status{Key: key, Pending: true, Since: p.waiting.since})
	}
	slices.SortFunc(list, func(a, b Status) int { return cmp.Compare(a.Key, b.Key) })
	return list
}

// invalidateOutdated finds files that are older than the state, which no change reports: after a start, for
// example. Those without a job wait without one.
func (p *Scheduler) invalidateOutdated() error {
	keys, err := p.cfg.Outdated()
	var known, other []string
	p.mu.Lock()
	for _, key := range keys {
		if p.jobs[key] != nil {
			known = append(known, key)
		} else {
			other = append(other, key)
		}
	}
	p.waiting.add(other, p.cfg.Now())
	p.mu.Unlock()
	p.signal()
	for i, key := range known {
		if i%scanBeforeRest == scanBeforeRest-1 {
			time.Sleep(scanRest)
		}
		p.Invalidate(key)
	}
	return err
}

// publish publishes one key, unless it was just published. With all, deferred changes are not left for later.
func (p *Scheduler) publish(key string, all bool) error {
	p.publishing.Lock()
	defer p.publishing.Unlock()

	start := p.cfg.Now()
	p.mu.Lock()
	it := p.jobOf(key)
	taken := *it
	if !it.dirty() {
		p.mu.Unlock()
		return nil
	}
	it.firstChange, it.lastChange = time.Time{}, time.Time{}
	deferred := !it.deferredSince.IsZero() && (all || !p.deferredDue(it).After(start))
	if deferred {
		it.deferredSince = time.Time{}
	}
	p.mu.Unlock()

	written, err := p.cfg.Publish(key, deferred)
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
	took := end.Sub(start) - written.Rested
	p.restUntil = end.Add(backlogRest * took)
	it.failures = 0
	it.notBefore = start.Add(p.pause(written, took))
	it.status = Status{Key: key, Revision: written.Revision, At: end, Bytes: written.Bytes, Duration: took}
	if it.dirty() { // deferred changes, which nobody reports again
		p.enqueueLocked(it)
	}
	p.cfg.Logger.Debug("published", "key", key, "revision", written.Revision, "bytes", written.Bytes,
		"changed", written.Changed, "took", took, "rested", written.Rested, "behind", end.Sub(cmp.Or(taken.firstChange, start)))
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
