package store

import "context"

// CompressJournal compresses one old segment, as maintenance does.
func (s *Store) CompressJournal() (bool, error) { return s.compressJournal() }

// Trim is the periodic trim of old history.
func (s *Store) Trim() error { return s.trim(context.Background()) }
