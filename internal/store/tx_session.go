package store

import (
	"github.com/memsidecar/memsidecar/internal/memory"
	"github.com/memsidecar/memsidecar/internal/store/journal"
)

// Session returns the newest header of a session, nil when there is none.
func (tx *Tx) Session(id string) *memory.Session {
	if s, ok := tx.sessions[id]; ok {
		return s
	}
	if s := tx.space.sessions[id]; s != nil {
		return s.header
	}
	return nil
}

// PutSession creates or replaces a session's header.
func (tx *Tx) PutSession(s *memory.Session) {
	tx.changes = append(tx.changes, journal.Change{Session: &journal.SessionChange{ID: s.ID, Before: tx.Session(s.ID),
		After: s}})
	if tx.sessions == nil {
		tx.sessions = map[string]*memory.Session{}
	}
	tx.sessions[s.ID] = s
}

// removeSession removes a session with its messages.
func (tx *Tx) removeSession(id string) {
	tx.changes = append(tx.changes, journal.Change{Session: &journal.SessionChange{ID: id, Before: tx.Session(id)}})
	if tx.sessions == nil {
		tx.sessions = map[string]*memory.Session{}
	}
	tx.sessions[id] = nil
}

// AppendMessage appends a message to a session that PutSession created, in this transaction or before. The caller
// updates the header's counters by PutSession. The first append to a session since a start or a snapshot reads it.
// Errors: memory.ErrNotFound; memory.ErrCorrupt when what the snapshot holds of the session is damaged.
func (tx *Tx) AppendMessage(session string, m *memory.Message) error {
	if tx.Session(session) == nil {
		return &memory.NotFoundError{Kind: "session", Name: session}
	}
	if err := tx.checkAppend("", session); err != nil {
		return err
	}
	tx.changes = append(tx.changes, journal.Change{Message: &journal.MessageChange{Session: session, Message: m}})
	return nil
}
