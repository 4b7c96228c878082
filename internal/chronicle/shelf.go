package chronicle

import (
	"context"
	"sync"
	"time"

	"github.com/memsidecar/memsidecar/internal/store"
)

// shelf keeps the content of one space while it is in use.
type shelf struct {
	turn chan struct{} // holds a token while the content is brought forward

	mu     sync.Mutex
	kept   *content  // nil when nothing is; guarded by mu
	stale  bool      // something was changed since; guarded by mu
	forgot int       // how often all was forgotten; guarded by mu
	used   time.Time // guarded by mu
}

// current returns the content as it is now. When ctx ends, what has been read so far is kept for the next search.
func (s *shelf) current(ctx context.Context, empty func() *content, view *store.Space) (*content, error) {
	select {
	case s.turn <- struct{}{}:
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	defer func() { <-s.turn }()
	for {
		s.mu.Lock()
		c, stale, forgot := s.kept, s.stale, s.forgot
		s.stale = false // what changes from here on counts for the next one
		s.mu.Unlock()
		if c != nil && !stale {
			return c, nil
		}
		if c == nil {
			c = empty()
		}
		err := c.sync(ctx, view, span{}, true)
		s.mu.Lock()
		again := s.forgot != forgot
		if !again {
			s.kept, s.stale = c, s.stale || err != nil
		}
		s.mu.Unlock()
		if err != nil {
			return nil, err
		}
		if !again {
			return c, nil
		}
		c.drop()
	}
}

// release gives the content back. Searches that have it go on with it.
func (s *shelf) release() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.kept = nil
}

// change notes that the content is no longer as the logs are; gone makes nothing of it findable any more, by no search.
func (s *shelf) change(gone bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.stale = true
	if gone {
		if s.kept != nil {
			s.kept.drop()
		}
		s.kept = nil
		s.forgot++
	}
}

func (s *shelf) use(now time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.used = now
}

func (s *shelf) lastUse() time.Time {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.used
}

// size is the number of texts kept.
func (s *shelf) size() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.kept == nil {
		return 0
	}
	return s.kept.items.Len()
}
