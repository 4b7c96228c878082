package session

import (
	"context"
	"time"

	"github.com/memsidecar/memsidecar/internal/memory"
)

const (
	// firstRetry is the delay after a session's first failed reflection; it doubles with each further one.
	firstRetry = 30 * time.Second
	// lastRetry bounds that delay.
	lastRetry = time.Hour
	// maxTick bounds how long idle sessions go unnoticed.
	maxTick = time.Minute
)

// retry is the state of a session whose reflection failed.
type retry struct {
	failures int
	at       time.Time // not to be tried before
}

// Run ends idle sessions and reflects those that have ended, also the ones an earlier run of the daemon left, one at a
// time. What waits is read from the store, so nothing is lost when Run stops. Failures are logged and tried again later.
// Run returns nil when ctx has ended and all it started has stopped.
func (s *Service) Run(ctx context.Context) error {
	timer := time.NewTimer(0)
	defer timer.Stop()
	defer s.hosts.close()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-s.wake:
		case <-timer.C:
		}
		timer.Reset(s.work(ctx))
	}
}

// nudge has Run look for work now.
func (s *Service) nudge() {
	select {
	case s.wake <- struct{}{}:
	default: // it will look anyway
	}
}

// work does all that is due and returns how long to wait until there may be more.
func (s *Service) work(ctx context.Context) time.Duration {
	tick := min(maxTick, max(s.idleAfter/4, time.Second))
	for ctx.Err() == nil && !s.paused() {
		if err := s.endIdle(ctx); err != nil && ctx.Err() == nil {
			s.logger.WarnContext(ctx, "idle sessions not ended", "error", err)
			return tick
		}
		hosts, err := s.endAbandoned(ctx)
		if err != nil && ctx.Err() == nil {
			s.logger.WarnContext(ctx, "abandoned sessions not ended", "error", err)
			return tick
		}
		if hosts {
			tick = min(tick, hostTick)
		}
		k, wait, found := s.next()
		if !found {
			return tick
		}
		if wait > 0 {
			return min(wait, tick)
		}
		s.reflectQueued(ctx, k)
	}
	return tick
}

// endIdle ends the sessions that were silent for too long.
func (s *Service) endIdle(ctx context.Context) error {
	now := s.now()
	for _, space := range s.store.Spaces() {
		for _, h := range s.store.Space(space).Sessions() {
			// Silent since long ago; or since a time far ahead, of a clock that was set back meanwhile.
			if h.State != memory.SessionOpen || now.Sub(h.LastAt).Abs() < s.idleAfter {
				continue
			}
			if _, err := s.capture(ctx, &capture{space: space, id: h.ID, end: ReasonIdle, known: true, idle: h}); err != nil {
				return err
			}
		}
	}
	return nil
}

// next finds the session that is to be reflected next and how long it has to wait yet: of those due, the one that ended
// first.
func (s *Service) next() (k key, wait time.Duration, found bool) {
	now := s.now()
	s.mu.Lock()
	defer s.mu.Unlock()
	waiting := map[key]bool{}
	var ended time.Time
	for _, space := range s.store.Spaces() {
		for _, h := range s.store.Space(space).Sessions() {
			if !waits(h) {
				continue
			}
			this := key{space, h.ID}
			waiting[this] = true
			w := s.waitLocked(this, now)
			if !found || w < wait || w == wait && h.EndedAt.Before(ended) {
				k, wait, ended, found = this, w, h.EndedAt, true
			}
		}
	}
	for old := range s.retries {
		if !waiting[old] {
			delete(s.retries, old)
		}
	}
	return k, wait, found
}

// waitLocked is how long a session has to wait for its next try.
func (s *Service) waitLocked(k key, now time.Time) time.Duration {
	r, ok := s.retries[k]
	if !ok {
		return 0
	}
	if limit := now.Add(lastRetry); r.at.After(limit) { // the clock was set back
		r.at = limit
		s.retries[k] = r
	}
	return max(r.at.Sub(now), 0)
}

// reflectQueued reflects one session that waits for Run.
func (s *Service) reflectQueued(ctx context.Context, k key) {
	h, err := s.Get(k.space, k.id)
	if err != nil || !waits(h) { // somebody was faster
		return
	}
	res, err := s.reflectWaiting(ctx, k, h)
	switch {
	case err == nil:
		s.logger.InfoContext(ctx, "session reflected", "space", k.space, "session", k.id, "op", res.Op)
	case ctx.Err() == nil:
		s.logger.WarnContext(ctx, "reflection failed, the session waits", "space", k.space, "session", k.id, "error", err)
	}
}

func (s *Service) succeeded(k key) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.retries, k)
}

func (s *Service) failed(k key) {
	s.mu.Lock()
	defer s.mu.Unlock()
	r := s.retries[k]
	r.failures++
	r.at = s.now().Add(backoff(r.failures))
	s.retries[k] = r
}

// backoff is the delay after the nth failure in a row.
func backoff(failures int) time.Duration {
	if failures > 10 { // the limit is reached long before; doubling further would overflow
		return lastRetry
	}
	return min(firstRetry<<(failures-1), lastRetry)
}
