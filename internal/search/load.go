package search

import (
	"log/slog"
	"slices"

	"github.com/memsidecar/memsidecar/internal/durable"
	"github.com/memsidecar/memsidecar/internal/journal"
	"github.com/memsidecar/memsidecar/internal/memory"
)

// adopt gives a decoded index its memories, and takes out what they no longer say. It returns the memories that are
// not in it as they are now.
func (x *index) adopt(saved []savedDoc, memories []*memory.Memory) (missing []*memory.Memory) {
	x.ids = make(map[string]uint32, len(memories))
	x.grow(len(saved))
	at := make(map[string]uint32, len(saved))
	for doc, s := range saved {
		at[s.id] = uint32(doc)
	}
	var prints fingerprinter
	for _, m := range memories {
		doc, ok := at[m.ID]
		if !ok || x.docs[doc] != nil || saved[doc].revision != m.Revision || saved[doc].fingerprint != prints.of(m) {
			missing = append(missing, m)
			continue
		}
		x.set(doc, m, saved[doc].length)
		x.ids[m.ID] = doc
	}
	if len(x.ids) < len(saved) {
		x.sweep()
	}
	x.tighten()
	return missing
}

// sweep drops the postings of documents that have no memory.
func (x *index) sweep() {
	for doc, m := range x.docs {
		if m == nil {
			x.holes = append(x.holes, uint32(doc))
		}
	}
	for term, n := range x.terms {
		x.lists[n] = slices.DeleteFunc(x.lists[n], func(p posting) bool { return x.docs[p.doc()] == nil })
		if len(x.lists[n]) == 0 {
			x.lists[n] = nil
			x.spare = append(x.spare, n)
			delete(x.terms, term)
		}
	}
	x.changes++
}

// Load makes memories the content of a space, adopting what the saved index knows of them and indexing the rest. It is
// called once at start; memories are the state of the space at that moment. A missing, stale or damaged file is
// logged and costs only time. Changes applied while Load runs are kept, and searches see the old state until it is done.
func (e *Engine) Load(name string, memories []*memory.Memory, fsys durable.FS) error {
	s := e.space(name)
	s.mu.Lock()
	s.loads++
	s.mu.Unlock()
	began := e.now()
	x, missing := e.restore(name, memories, fsys)
	a := e.analyzers.get()
	defer e.analyzers.put(a)
	for _, m := range missing {
		x.put(a, m)
	}
	e.log.Debug("search index loaded", slog.String("space", spaceName(name)), slog.Int("memories", len(memories)),
		slog.Int("indexed", len(missing)), slog.Duration("took", e.now().Sub(began)))
	if e.embedder != nil {
		x.enlist(e.restoreMeanings(name, fsys))
		defer e.needsEmbedding()
	}
	e.drain() // into what is replayed
	e.publish(s, x, a)
	return nil
}

// restore returns the index a file holds, or an empty one, and the memories missing in it.
func (e *Engine) restore(name string, memories []*memory.Memory, fsys durable.FS) (*index, []*memory.Memory) {
	log := e.log.With(slog.String("space", spaceName(name)))
	data, err := durable.ReadFile(fsys, fileName(spaceName(name)))
	if err != nil {
		log.Info("search index is built anew", slog.Any("error", err))
		return unsaved(len(memories)), memories
	}
	x, saved, err := decodeIndex(data, e.stamp)
	if err != nil {
		log.Warn("search index is built anew", slog.Any("error", err))
		return unsaved(len(memories)), memories
	}
	missing := x.adopt(saved, memories)
	return x, missing
}

// unsaved is an empty index that Save will write, over whatever file there is.
func unsaved(size int) *index {
	x := newIndex(size)
	x.changes++
	return x
}

// publish replaces the index of a space by a loaded one, after applying what came meanwhile.
func (e *Engine) publish(s *space, x *index, a *analyzer) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, rec := range s.pending {
		for i := range rec.Changes {
			x.replay(a, rec.LSN, rec.Changes[i:i+1])
		}
	}
	if s.loads--; s.loads == 0 {
		s.pending = nil
	}
	e.age(x)
	e.mu.Lock()
	defer e.mu.Unlock()
	s.index = x
}

// replay applies one change that the loaded memories may already contain.
func (x *index) replay(a *analyzer, lsn int64, change []journal.Change) {
	switch c := &change[0]; {
	case c.Memory != nil:
		if m := x.get(c.Memory.ID); m != nil && m.Revision > lsn {
			return
		}
	case c.Touch != nil:
		if m := x.get(c.Touch.ID); m != nil && !m.LastAccessed.Before(c.Touch.At) {
			return
		}
	}
	x.apply(a, change)
}
