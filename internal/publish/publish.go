// Package publish keeps files for people up to date with a state that changes all the time: when to write (Publisher) and
// how to replace a file without ever losing what somebody else wrote into it (Files). What is in the files is the
// business of the caller. A write to the state never waits for anything here.
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

	"github.com/memsidecar/memsidecar/internal/durable"
)

// Config of a Publisher. Publish, Behind, Now and Logger are required.
type Config struct {
	// Publish writes the file that key stands for from the present state. It is called from one goroutine at a time.
	Publish func(key string) (Written, error)
	// Behind lists the keys whose files do not hold the newest state, as far as can be told without the marks: at the
	// start and before everything is published.
	Behind func() ([]string, error)
	Now    func() time.Time
	Logger *slog.Logger

	Quiet    time.Duration // how long a key must go unchanged; 500 ms when 0
	MaxDelay time.Duration // but no longer than this after its first change; 30 s when 0
	Lazy     time.Duration // the same for changes that are in no hurry; 5 minutes when 0
	Share    float64       // of the time that publishing one key may take; 0.03 when 0. It goes before MaxDelay.
}

// ErrHeld is what Config.Publish returns when a file must not be published for now: the key then waits, without being tried
// again, until it is marked.
var ErrHeld = errors.New("is not published until an edit of it is dealt with")

// Written says what a publication did.
type Written struct {
	Revision int64 // of the state that the file holds now
	Bytes    int64
}

// Status is how the publication of a key stands.
type Status struct {
	Key      string
	Revision int64         // of what was published last, 0 when nothing was since the start
	At       time.Time     // when that was
	Bytes    int64         // size of it
	Duration time.Duration // what it took
	Pending  bool          // there is something newer to publish
	Since    time.Time     // when the oldest of it changed; zero when there is none
	Held     bool          // it is not published before an edit of it is dealt with
	Err      error         // why the last attempt failed, nil when it did not
}

// Back-off after a failure: it doubles from the first to the last.
const (
	firstRetry = time.Second
	lastRetry  = 5 * time.Minute
)

// Publisher publishes what is marked, in the background. It is safe for concurrent use.
type Publisher struct {
	cfg  Config
	wake chan struct{} // holds one signal

	publishing sync.Mutex // held during a publication; taken before mu

	mu    sync.Mutex
	items map[string]*item // guarded by mu
}

// item is guarded by Publisher.mu.
type item struct {
	first, last time.Time // oldest and newest urgent mark since the last publication; zero for none
	lazy        time.Time // oldest mark that is in no hurry
	notBefore   time.Time // because of the share, or of a failure
	failures    int
	kind        string // of the failure
	status      Status
}

func (it *item) dirty() bool { return !it.first.IsZero() || !it.lazy.IsZero() }

// since is the oldest mark, the zero time when there is none.
func (it *item) since() time.Time {
	if it.first.IsZero() || !it.lazy.IsZero() && it.lazy.Before(it.first) {
		return it.lazy
	}
	return it.first
}

// New returns a Publisher that does nothing until Run or PublishAll.
func New(cfg Config) *Publisher {
	cfg.Quiet = cmp.Or(cfg.Quiet, 500*time.Millisecond)
	cfg.MaxDelay = cmp.Or(cfg.MaxDelay, 30*time.Second)
	cfg.Lazy = cmp.Or(cfg.Lazy, 5*time.Minute)
	cfg.Share = cmp.Or(cfg.Share, 0.03)
	return &Publisher{cfg: cfg, wake: make(chan struct{}, 1), items: map[string]*item{}}
}

// Mark says that the state behind key changed; it can be read already. It does no I/O.
func (p *Publisher) Mark(key string) { p.mark(key, false) }

// MarkLazy says that something changed that may wait.
func (p *Publisher) MarkLazy(key string) { p.mark(key, true) }

func (p *Publisher) mark(key string, lazy bool) {
	now := p.cfg.Now()
	p.mu.Lock()
	it := p.item(key)
	before := it.dirty()
	switch {
	case lazy && it.lazy.IsZero():
		it.lazy = now
	case !lazy:
		before = before && !it.first.IsZero()
		if it.first.IsZero() {
			it.first = now
		}
		it.last = now
	}
	p.mu.Unlock()
	if !before { // a later mark only moves the time back: Run finds out when it looks
		p.signal()
	}
}

// signal makes Run look again.
func (p *Publisher) signal() {
	select {
	case p.wake <- struct{}{}:
	default:
	}
}

func (p *Publisher) item(key string) *item {
	it := p.items[key]
	if it == nil {
		it = &item{status: Status{Key: key}}
		p.items[key] = it
	}
	return it
}

// Run publishes what is marked until ctx ends, which is no error. Failures are logged, once for each kind, and tried again later.
func (p *Publisher) Run(ctx context.Context) error {
	if err := p.markBehind(); err != nil {
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

// PublishAll publishes everything that is out of date now, whatever the waiting times say. Whether or not Run is at work.
// It returns the errors of all keys, and ctx's when that ends first. A key that is held is no error.
func (p *Publisher) PublishAll(ctx context.Context) error {
	errs := []error{p.markBehind()}
	p.mu.Lock()
	var keys []string
	for key, it := range p.items {
		if it.dirty() {
			keys = append(keys, key)
		}
	}
	p.mu.Unlock()
	slices.Sort(keys)
	for _, key := range keys {
		if err := ctx.Err(); err != nil {
			errs = append(errs, err)
			break
		}
		errs = append(errs, p.publish(key))
	}
	p.publishing.Lock() // what Run had begun is finished too
	defer p.publishing.Unlock()
	return errors.Join(errs...)
}

// Status lists every key that was marked or published since the start, sorted.
func (p *Publisher) Status() []Status {
	p.mu.Lock()
	defer p.mu.Unlock()
	list := make([]Status, 0, len(p.items))
	for _, it := range p.items {
		s := it.status
		s.Pending, s.Since = it.dirty(), it.since()
		list = append(list, s)
	}
	slices.SortFunc(list, func(a, b Status) int { return cmp.Compare(a.Key, b.Key) })
	return list
}

func (p *Publisher) markBehind() error {
	keys, err := p.cfg.Behind()
	for _, key := range keys {
		p.Mark(key)
	}
	return err
}

// next returns the key whose time has come first, or how long there is nothing to do.
func (p *Publisher) next() (string, time.Duration) {
	now := p.cfg.Now()
	p.mu.Lock()
	defer p.mu.Unlock()
	var key string
	var soonest time.Time
	for k, it := range p.items {
		if !it.dirty() {
			continue
		}
		due := p.due(it)
		if key == "" || due.Before(soonest) || due.Equal(soonest) && k < key {
			key, soonest = k, due
		}
	}
	switch {
	case key == "":
		return "", p.cfg.Lazy
	case soonest.After(now):
		return "", soonest.Sub(now)
	}
	return key, 0
}

func (p *Publisher) due(it *item) time.Time {
	var due time.Time
	if !it.first.IsZero() {
		due = earlier(it.last.Add(p.cfg.Quiet), it.first.Add(p.cfg.MaxDelay))
	}
	if !it.lazy.IsZero() {
		if lazy := it.lazy.Add(p.cfg.Lazy); due.IsZero() {
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

func earlier(a, b time.Time) time.Time {
	if b.Before(a) {
		return b
	}
	return a
}

// publish publishes one key, unless somebody else just did.
func (p *Publisher) publish(key string) error {
	p.publishing.Lock()
	defer p.publishing.Unlock()

	p.mu.Lock()
	it := p.item(key)
	taken := *it
	if !it.dirty() {
		p.mu.Unlock()
		return nil
	}
	it.first, it.last, it.lazy = time.Time{}, time.Time{}, time.Time{}
	p.mu.Unlock()

	start := p.cfg.Now()
	written, err := p.cfg.Publish(key)
	end := p.cfg.Now()

	defer p.signal() // Run may be waiting for something later
	p.mu.Lock()
	defer p.mu.Unlock()
	it.status.Held = errors.Is(err, ErrHeld)
	if it.status.Held {
		it.failures, it.kind, it.status.Err = 0, "", nil
		return nil
	}
	if err != nil {
		p.failedLocked(it, taken, end, err)
		return fmt.Errorf("publish %s: %w", key, err)
	}
	if it.kind != "" {
		p.cfg.Logger.Info("publishing works again", "key", key)
	}
	took := end.Sub(start)
	it.failures, it.kind = 0, ""
	it.notBefore = start.Add(time.Duration(float64(took) / p.cfg.Share))
	it.status = Status{Key: key, Revision: written.Revision, At: end, Bytes: written.Bytes, Duration: took}
	return nil
}

// failedLocked puts the marks back and arranges the next attempt.
func (p *Publisher) failedLocked(it *item, taken item, now time.Time, err error) {
	if it.first.IsZero() {
		it.last = taken.last
	}
	if !taken.first.IsZero() {
		it.first = taken.first
	}
	if !taken.lazy.IsZero() {
		it.lazy = taken.lazy
	}
	it.notBefore = now.Add(min(firstRetry<<min(it.failures, 20), lastRetry))
	it.failures++
	it.status.Err = err
	kind := kindOf(err)
	known := false
	for _, other := range p.items {
		known = known || other.kind == kind
	}
	it.kind = kind
	if !known {
		p.cfg.Logger.Warn("cannot publish; will try again", "key", it.status.Key, "kind", kind, "error", err)
	}
}

// kindOf sorts failures, so that each kind is logged once while it lasts.
func kindOf(err error) string {
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
