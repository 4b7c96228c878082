package store

import "time"

// Forgotten returns when the value with this hash was forgotten, false when it was not.
func (tx *Tx) Forgotten(hash string) (at time.Time, ok bool) { return tx.forgottenAt(hash) }
