package session

import "sync/atomic"

// contextCache counts requests for contexts since the start of the process: hits were stored with their session,
// misses had to be built.
type contextCache struct{ hits, misses atomic.Int64 }

// ContextCache returns the number of requested contexts that were stored with their session, and that were not.
func (s *Service) ContextCache() (hits, misses int64) {
	return s.contexts.hits.Load(), s.contexts.misses.Load()
}
