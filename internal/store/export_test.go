package store

// CompressJournal compresses one old segment, as maintenance does.
func (s *Store) CompressJournal() (bool, error) { return s.compressJournal() }

// SetStopBytes changes how many bytes a stop writes into a snapshot.
func (s *Store) SetStopBytes(n int64) { s.stopBytes = n }
