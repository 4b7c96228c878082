package store

import "github.com/memsidecar/memsidecar/internal/memory"

// Scrub removes what a purge erases from values that are not in the store: in the log of a shared space, and in what
// waits to be sent there. It gives the same results as the purge. It is safe for concurrent use.
type Scrub struct{ sc *scrubber }

// NewScrub returns the Scrub of a purge of some memories of a space, and of texts.
func NewScrub(space string, ids, texts []string) Scrub {
	return Scrub{newScrubber(&purgeIntent{Space: space, IDs: ids, Texts: texts})}
}

// Memory scrubs a memory of the space, nil for none, and reports whether it changed. The argument is not modified.
func (s Scrub) Memory(m *memory.Memory) (*memory.Memory, bool) { return s.sc.memory(s.sc.space, m) }

// Text scrubs a text, and reports whether it changed.
func (s Scrub) Text(text string) (string, bool) { return s.sc.texts.Replace(text) }
