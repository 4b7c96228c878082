package share

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"time"

	"github.com/memsidecar/memsidecar/internal/memory"
	"github.com/memsidecar/memsidecar/internal/store"
	"github.com/memsidecar/memsidecar/internal/store/journal"
)

// Ack is what the reply to a write on a shared space waits for.
type Ack string

const (
	// AckLocal waits for the journal of this machine.
	AckLocal Ack = "local"
	// AckShared waits for the journal, and then for PostgreSQL to commit the operation.
	AckShared Ack = "shared"
)

// SetAck says what the replies to writes on a space wait for from now on. Durable on return. Error:
// *memory.NotFoundError when the space is not shared.
func (s *Service) SetAck(name string, ack Ack) error {
	if s.already(name, func(sp *space) bool { return sp.status().Ack == ack }) {
		return nil
	}
	sp, unlock, err := s.lockSpace(name)
	if err != nil {
		return err
	}
	defer unlock()
	before := sp.state.Ack
	sp.state.Ack = ack
	if err := sp.save(s.cfg.FS); err != nil {
		sp.state.Ack = before
		return err
	}
	sp.show()
	return nil
}

// Active reports whether any space is shared.
func (s *Service) Active() bool {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return len(s.spaces) > 0
}

// WaitsForLog reports whether the reply to a write on a space, of any space when name is "", waits for PostgreSQL.
func (s *Service) WaitsForLog(name string) bool {
	s.mu.RLock()
	defer s.mu.RUnlock()
	if sp := s.spaces[name]; name != "" {
		return sp != nil && sp.status().Ack == AckShared
	}
	for _, sp := range s.spaces {
		if sp.status().Ack == AckShared {
			return true
		}
	}
	return false
}

// Allow refuses changes that could not be acknowledged: those of what is shared, in a space with AckShared whose
// exchange has stopped. It is asked before anything is written, so nothing is left behind. Error:
// memory.ErrShareStopped.
func (s *Service) Allow(name string, changes []journal.Change) error {
	s.mu.RLock()
	sp := s.spaces[name]
	s.mu.RUnlock()
	if sp == nil {
		return nil
	}
	sp.mu.Lock()
	concerned := sp.sharesAnything(math.MaxInt64, changes) // as what is written now
	sp.mu.Unlock()
	if !concerned {
		return nil
	}
	if st := sp.status(); st.Stopped && st.Ack == AckShared {
		return fmt.Errorf("nothing was written to space %q, because replies wait for the shared log and %w: %s; "+
			"`memsidecar share ack %s local` lets work go on on this machine alone", name, memory.ErrShareStopped, st.Error,
			name)
	}
	return nil
}

// Await waits until PostgreSQL has committed what was written, in the spaces with AckShared. It does not outlive the
// connection: when an exchange fails it returns at once. key is the idempotency key with which the request can be
// repeated. Error: *memory.OutcomeUnknownError; what was written is durable here all the same, and is sent later.
func (s *Service) Await(ctx context.Context, writes []store.Write, key string) error {
	for _, sp := range s.spacesOf(writes) {
		if sp.status().Ack != AckShared {
			continue
		}
		committed := func() bool {
			pending := s.purgesOf(sp.name)
			return !slices.ContainsFunc(writes, func(w store.Write) bool { return sp.lacks(w, pending) })
		}
		if err := sp.await(ctx, committed, true); err != nil {
			return &memory.OutcomeUnknownError{Space: sp.name, Key: key, Err: err}
		}
	}
	return nil
}

// spacesOf lists the shared spaces in whose logs some writes may be: those that they name, or all.
func (s *Service) spacesOf(writes []store.Write) []*space {
	s.mu.RLock()
	defer s.mu.RUnlock()
	named := map[string]*space{}
	for _, w := range writes {
		if w.Space == "" {
			return slices.Collect(maps.Values(s.spaces))
		}
		if sp := s.spaces[w.Space]; sp != nil {
			named[w.Space] = sp
		}
	}
	return slices.Collect(maps.Values(named))
}

// lacks reports whether the log may lack what a write depends on. pending are the purges that it lacks.
func (sp *space) lacks(w store.Write, pending []pendingPurge) bool {
	switch {
	case w.Purge != "":
		return slices.ContainsFunc(pending, func(p pendingPurge) bool { return p.ID == w.Purge })
	case w.Space == "" && len(pending) > 0:
		return true
	case w.Space != "" && w.Space != sp.name:
		return false
	}
	sp.mu.Lock()
	defer sp.mu.Unlock()
	if w.Op != 0 {
		_, found := slices.BinarySearch(sp.unsent, w.Op)
		return found
	}
	return len(sp.unsent) > 0 && sp.unsent[0] <= w.UpTo
}

// errLeft ends those who wait for a space that is left.
var errLeft = errors.New("the space is not shared any more")

// await waits until reached, which is asked whenever something was exchanged, and has the link exchange at once. With
// strict it returns when an exchange fails; else it waits for the next one. Errors: the last one of the exchange,
// memory.ErrShareStopped, memory.ErrShuttingDown, errLeft, those of ctx.
func (sp *space) await(ctx context.Context, reached func() bool, strict bool) error {
	sp.mu.Lock()
	failures := sp.failures
	sp.mu.Unlock()
	for asked := false; ; {
		sp.mu.Lock()
		changed, wake, st := sp.changed, sp.wake, sp.shown
		left, ended, failed := sp.left, sp.ended, sp.failures != failures
		failures = sp.failures
		sp.mu.Unlock()
		switch {
		case reached():
			return nil
		case left:
			return errLeft
		case st.Stopped:
			return fmt.Errorf("%w: %s", memory.ErrShareStopped, st.Error)
		case ended:
			return memory.ErrShuttingDown
		case strict && failed:
			return errors.New(st.Error)
		}
		if wake != nil && (!asked || failed) {
			wake(true)
			asked = true
		}
		select {
		case <-changed:
		case <-ctx.Done():
			if st.Error != "" {
				return fmt.Errorf("%w; %s", context.Cause(ctx), st.Error)
			}
			return context.Cause(ctx)
		}
	}
}

// signal wakes those who await. The caller holds mu.
func (sp *space) signal() {
	close(sp.changed)
	sp.changed = make(chan struct{})
}

// end says whether the exchange pauses because the daemon stops.
func (sp *space) end(ended bool) {
	sp.mu.Lock()
	defer sp.mu.Unlock()
	sp.ended = ended
	sp.signal()
}

// leave wakes those who wait for a space that is left.
func (sp *space) leave() {
	sp.mu.Lock()
	defer sp.mu.Unlock()
	sp.left = true
	sp.signal()
}

// pause waits for d, or less when somebody awaits an exchange, but not less than firstPause.
func (l *link) pause(ctx context.Context, d time.Duration) {
	sleep(ctx, min(d, firstPause))
	timer := time.NewTimer(max(0, d-firstPause))
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	case <-l.urgent:
	}
}
