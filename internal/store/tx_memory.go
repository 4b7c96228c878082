package store

import (
	"encoding/json"
	"iter"
	"slices"
	"time"

	"github.com/memsidecar/memsidecar/internal/memory"
	"github.com/memsidecar/memsidecar/internal/store/journal"
)

// Memory returns the newest state of a memory, nil when there is none. Clone it before changing it.
func (tx *Tx) Memory(id string) *memory.Memory {
	if m, ok := tx.memories[id]; ok {
		return m
	}
	return tx.space.memory(id)
}

// Equal returns an active memory of the same category whose content is the same after memory.Normalize, nil when there
// is none.
func (tx *Tx) Equal(category, content string) *memory.Memory {
	want := memory.Normalize(content)
	if tx.equal == nil {
		tx.equal = map[string]string{}
		for i := range tx.changes {
			if c := tx.changes[i].Memory; c != nil && c.After != nil {
				tx.noteEqual(c.After)
			}
		}
	}
	same := func(m *memory.Memory) bool {
		return m != nil && m.IsActive() && m.Category == category && memory.Normalize(m.Content) == want
	}
	if m := tx.memories[tx.equal[category+"\x00"+want]]; same(m) {
		return m
	}
	saysSo := func(slot uint32) bool { return same(tx.space.slots[slot]) }
	if slot, ok := tx.space.equal.Find(tx.space.hash(category, content), saysSo); ok {
		m := tx.space.slots[slot]
		if _, changed := tx.memories[m.ID]; !changed {
			return m
		}
	}
	return nil
}

// Put creates or replaces a memory. It sets Revision, UpdatedAt unless it creates a memory that has one, and ContentAt
// when it changes the text. From then on m belongs to the store. Error: *memory.InvalidError when m exceeds the limits.
func (tx *Tx) Put(m *memory.Memory) error { return tx.PutKnown(m, tx.now) }

// PutKnown is Put for a text that was known at another time than now: that of an old log, or one that an undo restores.
func (tx *Tx) PutKnown(m *memory.Memory, at time.Time) error {
	var check memory.Check
	check.Memory("", m)
	if err := check.Err(); err != nil {
		return err
	}
	before := tx.Memory(m.ID)
	if before != nil || m.UpdatedAt.IsZero() {
		m.UpdatedAt = tx.now
	}
	if before != nil && (m.Content != before.Content || m.Title != before.Title) {
		m.SetContentAt(at)
	}
	tx.put(before, m)
	return nil
}

// PutReceived is Put for a memory of another store, whose times it keeps.
func (tx *Tx) PutReceived(m *memory.Memory) error {
	var check memory.Check
	check.Memory("", m)
	if err := check.Err(); err != nil {
		return err
	}
	tx.put(tx.Memory(m.ID), m)
	return nil
}

// PutText is PutReceived for a valid memory that text encodes: in the journal form, without a revision. before is what
// Memory returns for its id. text must have a status and the time of creation, and must not change any more.
func (tx *Tx) PutText(before, m *memory.Memory, text json.RawMessage) {
	tx.put(before, m)
	tx.changes[len(tx.changes)-1].Memory.Text = text
}

// Expect makes room for changes of so many memories.
func (tx *Tx) Expect(memories int) {
	tx.changes = slices.Grow(tx.changes, memories)
	tx.unused = make([]journal.MemoryChange, memories)
	if tx.memories == nil {
		tx.memories = make(map[string]*memory.Memory, memories)
	}
}

// newChange returns an empty change of a memory.
func (tx *Tx) newChange() (c *journal.MemoryChange) {
	if len(tx.unused) == 0 {
		return new(journal.MemoryChange)
	}
	c, tx.unused = &tx.unused[0], tx.unused[1:]
	return c
}

// put records that a memory, nil for none, becomes m.
func (tx *Tx) put(before, m *memory.Memory) {
	if m.CreatedAt.IsZero() {
		m.CreatedAt = tx.now
	}
	if m.Status == "" {
		m.Status = memory.Active
	}
	m.Revision = tx.lsn
	tx.interned.memory(m)
	change := tx.newChange()
	change.ID, change.Before, change.After = m.ID, before, m
	if before == nil {
		// History follows this link to the memory of the same id that was removed earlier.
		change.Prior = tx.space.removed[m.ID]
	}
	tx.changes = append(tx.changes, journal.Change{Memory: change})
	put(&tx.memories, m.ID, m)
	if tx.equal != nil {
		tx.noteEqual(m)
	}
}

// noteEqual adds what a memory says to what Equal looks for.
func (tx *Tx) noteEqual(m *memory.Memory) {
	tx.equal[m.Category+"\x00"+memory.Normalize(m.Content)] = m.ID
}

// Remove removes a memory from the state. Deletions by users retire a memory instead, by Put.
func (tx *Tx) Remove(id string) {
	before := tx.Memory(id)
	if before == nil {
		return
	}
	tx.changes = append(tx.changes, journal.Change{Memory: &journal.MemoryChange{ID: id, Before: before}})
	put(&tx.memories, id, nil)
}

// RemovedAt is the operation that removed the memory from the state, 0 when none did.
func (tx *Tx) RemovedAt(id string) int64 { return tx.space.removed[id] }

// Memories yields the newest state of every memory, in any status, in order of creation. Clone them before changing
// them. The transaction must not write during the iteration. It visits the whole space while other writers wait, so
// transactions that can name ids should use Memory.
func (tx *Tx) Memories() iter.Seq[*memory.Memory] {
	return func(yield func(*memory.Memory) bool) {
		for _, m := range tx.space.memories() {
			if changed, ok := tx.memories[m.ID]; ok {
				m = changed
			}
			if m != nil && !yield(m) {
				return
			}
		}
		for _, c := range tx.changes { // what the transaction itself created
			if c.Memory == nil || c.Memory.Before != nil || c.Memory.After == nil ||
				tx.space.memory(c.Memory.ID) != nil {
				continue
			}
			if m := tx.memories[c.Memory.ID]; m != nil && !yield(m) {
				return
			}
		}
	}
}
