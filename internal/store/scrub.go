package store

import "github.com/memsidecar/memsidecar/internal/memory"

// Scrub removes what a purge erases from values that are not in the store: in the log of a shared space, and in what
// waits to be sent there. It gives the same results as the purge. It is safe for concurrent use.
type Scrub struct{ sc *scrubber }

// NewScrub returns the Scrub of a purge of some memories of a space, of the entries that were their evidence, and of
// texts.
func NewScrub(space string, ids, texts []string, evidence ...memory.Evidence) Scrub {
	intent := &purgeIntent{Space: space, IDs: ids, Texts: texts}
	for _, e := range evidence {
		if e.Log != "" && e.Entry != "" {
			intent.Entries = append(intent.Entries, entryRef{e.Log, e.Entry})
		}
	}
	return Scrub{newScrubber(intent)}
}

// Memory scrubs a memory of the space, nil for none, and reports whether it changed. The argument is not modified.
func (s Scrub) Memory(m *memory.Memory) (*memory.Memory, bool) { return s.sc.memory(s.sc.space, m) }

// Entry scrubs an entry of a daily log of the space, nil for none, and reports whether it changed. One that was evidence
// is nil then. The argument is not modified.
func (s Scrub) Entry(date string, e *memory.Entry) (*memory.Entry, bool) {
	if e != nil && s.sc.namesEntry(s.sc.space, date, e.ID) {
		return nil, true
	}
	return s.sc.entry(s.sc.space, date, e)
}

// Text scrubs a text, and reports whether it changed.
func (s Scrub) Text(text string) (string, bool) { return s.sc.texts.Replace(text) }
