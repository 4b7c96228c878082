package session

import "sync/atomic"

// contextCache counts the contexts asked for since the start: those that were kept with their session, and those that had to be made.
type contextCache struct{ hits, misses atomic.Int64 }

// ContextCache says how often a context that was asked for was kept with its session, and how often it was not.
func (s *Service) ContextCache() (hits, misses int64) {
	return s.contexts.hits.Load(), s.contexts.misses.Load()
}
