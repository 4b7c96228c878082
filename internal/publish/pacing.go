package publish

import "time"

const (
	// smallFile is the size in bytes below which a file is never more than about MaxDelay behind.
	smallFile = 5 << 20
	// largePause bounds the pause after a publication of a larger file, unless it took a third of that.
	largePause = 30 * time.Second
	// hugeFile is the size in bytes from which nothing bounds the pause: writing such a file takes seconds of a processor.
	// Who needs it sooner asks for it.
	hugeFile = 64 << 20
	// thriftRate is the bytes per second below which the pause after a publication goes, as long as it does not exceed
	// MaxDelay: single additions cost a few pages of the file each, and are published together.
	thriftRate = 4 << 10
)

// lead is how long after its first change a job is due, when its last publication took so long: it is to be published
// by MaxDelay, not begun.
func (p *Scheduler) lead(took time.Duration) time.Duration {
	return p.cfg.MaxDelay - min(took, p.cfg.MaxDelay/2)
}

// pause is the least time from the start of a publication to that of the next one. It keeps within Share and Rate as
// far as the bounds on the delay permit.
func (p *Scheduler) pause(w Written, took time.Duration) time.Duration {
	seconds := func(rate float64) time.Duration {
		return time.Duration(float64(w.Changed) / rate * float64(time.Second))
	}
	pause := max(time.Duration(float64(took)/p.cfg.Share), seconds(p.cfg.Rate), min(seconds(thriftRate), p.cfg.MaxDelay))
	switch {
	case w.Bytes < smallFile:
		return min(pause, p.lead(took))
	case w.Bytes < hugeFile:
		return min(pause, max(largePause, 3*took))
	}
	return pause
}

// due is when a job may be published.
func (p *Scheduler) due(it *job) time.Time {
	var due time.Time
	if !it.firstChange.IsZero() {
		due = earlier(it.lastChange.Add(p.cfg.Quiet), it.firstChange.Add(p.lead(it.status.Duration)))
	}
	if !it.deferredSince.IsZero() {
		if lazy := p.deferredDue(it); due.IsZero() {
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

// deferredDue is when the deferred changes of a job, which has some, are to be published.
func (p *Scheduler) deferredDue(it *job) time.Time { return it.deferredSince.Add(p.cfg.Deferred) }
