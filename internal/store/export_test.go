package store

// CompressJournal compresses one old segment, as maintenance does.
func (s *Store) CompressJournal() (bool, error) { return s.compressJournal() }
