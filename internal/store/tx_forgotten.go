package store

import (
	"slices"
	"strings"
	"time"

	"github.com/memsidecar/memsidecar/internal/memory"
	"github.com/memsidecar/memsidecar/internal/store/journal"
)

// Forget records the salted hash of a value that must not be learnt again. A value that is forgotten already stays as
// it is, with its time.
func (tx *Tx) Forget(content string) {
	if !tx.IsForgotten(content) {
		tx.setForgotten(journal.ForgottenChange{Hash: memory.ForgottenHash(tx.salt, content), After: tx.now})
	}
}

// Unforget removes every hash under which a value is forgotten, so that it may be learnt again.
func (tx *Tx) Unforget(content string) {
	for _, hash := range tx.forgottenAs(content) {
		before, _ := tx.ForgottenAt(hash)
		tx.setForgotten(journal.ForgottenChange{Hash: hash, Before: before})
	}
}

// PutForgotten adds a hash from a file. A hash that exists already keeps its time.
func (tx *Tx) PutForgotten(hash string, at time.Time) {
	if _, known := tx.ForgottenAt(hash); !known && !at.IsZero() {
		tx.setForgotten(journal.ForgottenChange{Hash: hash, After: at})
	}
}

// SetForgotten sets the time of a hash from a file; a zero time removes the hash.
func (tx *Tx) SetForgotten(hash string, at time.Time) {
	if before, _ := tx.ForgottenAt(hash); !before.Equal(at) {
		tx.setForgotten(journal.ForgottenChange{Hash: hash, Before: before, After: at})
	}
}

// setForgotten records the change of a hash.
func (tx *Tx) setForgotten(c journal.ForgottenChange) {
	tx.changes = append(tx.changes, journal.Change{Forgotten: &c})
	if tx.forgot == nil {
		tx.forgot = map[string]time.Time{}
	}
	tx.forgot[c.Hash] = c.After
}

// IsForgotten reports whether the value was forgotten by the user.
func (tx *Tx) IsForgotten(content string) bool { return len(tx.forgottenAs(content)) > 0 }

// forgottenAs returns the hashes under which content is forgotten. There may be several, because hashes that were
// adopted from another store have its salt.
func (tx *Tx) forgottenAs(content string) []string {
	if tx.salts == nil {
		tx.salts = []string{tx.salt}
		for hash := range tx.space.forgotten {
			if salt, _, ok := strings.Cut(hash, ":"); ok && !slices.Contains(tx.salts, salt) {
				tx.salts = append(tx.salts, salt)
			}
		}
	}
	var out []string
	for _, salt := range tx.salts {
		hash := memory.ForgottenHash(salt, content)
		if _, ok := tx.ForgottenAt(hash); ok {
			out = append(out, hash)
		}
	}
	return out
}

// ForgottenAt returns when a hash was forgotten, and false when it is not.
func (tx *Tx) ForgottenAt(hash string) (time.Time, bool) {
	if at, ok := tx.forgot[hash]; ok {
		return at, !at.IsZero()
	}
	at, ok := tx.space.forgotten[hash]
	return at, ok
}
