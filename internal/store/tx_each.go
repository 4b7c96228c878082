package store

import (
	"iter"

	"github.com/memsidecar/memsidecar/internal/memory"
)

// Memories yields the newest state of every memory, in any state, in order of creation in the store. None of them may be changed: Clone it. The
// transaction must not write while it goes on. It looks at the whole space and holds up other writers meanwhile: a transaction that can name what it needs by id
// should do that.
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
			if c.Memory == nil || c.Memory.Before != nil || c.Memory.After == nil || tx.space.memory(c.Memory.ID) != nil {
				continue
			}
			if m := tx.memories[c.Memory.ID]; m != nil && !yield(m) {
				return
			}
		}
	}
}
