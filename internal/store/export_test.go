package store

import "context"

// Trim is the periodic trim of old history.
func (s *Store) Trim() error { return s.trim(context.Background()) }
