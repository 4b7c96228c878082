package session

import (
	"context"
	"time"

	"github.com/memsidecar/memsidecar/internal/memory"
)

const (
	// firstRetry is the delay after a session's first failed reflection; it doubles with each further one.
	firstRetry = 30 * time.Second
	// maxRetry limits that delay.
	maxRetry = time.Hour
	// maxIdleTick limits the interval between checks for idle sessions.
	maxIdleTick = time.Minute
)

// retry is the retry state of a session whose reflection failed.
type retry struct {
	failures int
	at       time.Time // earliest time of the next attempt
}

// Run ends idle and abandoned sessions, and reflects ended ones one at a time, including those of an earlier process.
// The queue is derived from the store, so nothing is lost when Run stops. Failures are logged and retried. Run
// returns nil when ctx has ended and all its goroutines have stopped.
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
		timer.Reset(s.runDue(ctx))
	}
}

// wakeRun wakes Run. It never blocks.
func (s *Service) wakeRun() {
	select {
	case s.wake <- struct{}{}:
	default: // Run is about to wake anyway
	}
}

// runDue does all work that is due and returns the time until the next check.
func (s *Service) runDue(ctx context.Context) time.Duration {
	tick := min(maxIdleTick, max(s.idleAfter/4, time.Second))
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
			tick = min(tick, hostPollInterval)
		}
		k, wait, found := s.nextDue()
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

// endIdle ends the sessions without messages for idleAfter.
func (s *Service) endIdle(ctx context.Context) error {
	now := s.now()
	for space := range s.store.SpacesAtLeisure() {
		for _, h := range s.store.Space(space).Sessions() {
			// A difference in the future means that the clock was set back.
			if h.State != memory.SessionOpen || now.Sub(h.LastAt).Abs() < s.idleAfter {
				continue
			}
			if _, err := s.capture(ctx, &capture{space: space, id: h.ID, end: ReasonIdle, mustExist: true,
				unchangedSince: h}); err != nil {
				return err
			}
		}
	}
	return nil
}

// nextDue returns the session to reflect next and how long it must still wait. Of several due sessions it is the one
// that ended first.
func (s *Service) nextDue() (k key, wait time.Duration, found bool) {
	now := s.now()
	s.mu.Lock()
	defer s.mu.Unlock()
	waiting := map[key]bool{}
	var ended time.Time
	for _, space := range s.store.Spaces() {
		for _, h := range s.store.Space(space).Sessions() {
			if !needsReflection(h) {
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

// waitLocked returns how long a session must wait for its next attempt.
func (s *Service) waitLocked(k key, now time.Time) time.Duration {
	r, ok := s.retries[k]
	if !ok {
		return 0
	}
	if limit := now.Add(maxRetry); r.at.After(limit) { // the clock was set back
		r.at = limit
		s.retries[k] = r
	}
	return max(r.at.Sub(now), 0)
}

// reflectQueued reflects one queued session and logs the result.
func (s *Service) reflectQueued(ctx context.Context, k key) {
	h, err := s.Get(k.space, k.id)
	if err != nil || !needsReflection(h) { // reflected concurrently
		return
	}
	res, err := s.reflectWaiting(ctx, k, h)
	switch {
	case err == nil:
		s.logger.InfoContext(ctx, "session reflected", "space", k.space, "session", k.id, "op", res.Op)
	case ctx.Err() == nil:
		s.logger.WarnContext(ctx, "reflection failed, will retry", "space", k.space, "session", k.id, "error",
			err)
	}
}

// clearRetry resets the retry state after a success.
func (s *Service) clearRetry(k key) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.retries, k)
}

// recordFailure schedules the next attempt after a failure.
func (s *Service) recordFailure(k key) {
	s.mu.Lock()
	defer s.mu.Unlock()
	r := s.retries[k]
	r.failures++
	r.at = s.now().Add(backoff(r.failures))
	s.retries[k] = r
}

// backoff returns the delay after consecutive failures.
func backoff(failures int) time.Duration {
	if failures > 10 { // the limit is reached long before; doubling further would overflow
		return maxRetry
	}
	return min(firstRetry<<(failures-1), maxRetry)
}
