package store

// LastPurge is the number of the newest purge since Open, 0 when there was none. Whoever writes a text that was made of what had been read before
// compares it inside the transaction with what it was before reading: a purge in between has erased that from everywhere but the writer's own hands.
func (s *Store) LastPurge() int64 { return s.lastPurge.Load() }
