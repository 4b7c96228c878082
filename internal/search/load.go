package search

import (
	"context"
	"errors"
	"io/fs"
	"log/slog"
	"slices"

	"github.com/memsidecar/memsidecar/internal/memory"
	"github.com/memsidecar/memsidecar/internal/memory/idmap"
	"github.com/memsidecar/memsidecar/internal/process/background"
	"github.com/memsidecar/memsidecar/internal/store/durable"
	"github.com/memsidecar/memsidecar/internal/store/journal"
)

// attachMemories gives a decoded index its memories, and drops documents without one. It returns the memories that the
// index does not have in their present form.
func (x *invertedIndex) attachMemories(saved []savedDoc, memories []*memory.Memory) (missing []*memory.Memory) {
	x.docIDs = idmap.New(len(memories))
	x.growDocs(len(saved))
	at := make(map[string]uint32, len(saved))
	for doc, s := range saved {
		at[s.id] = uint32(doc)
	}
	var checksum textChecksum
	for _, m := range memories {
		doc, ok := at[m.ID]
		if !ok || x.docs[doc] != nil || saved[doc].revision != m.Revision || saved[doc].checksum != checksum.sum(m) {
			missing = append(missing, m)
			continue
		}
		x.setDoc(doc, m, saved[doc].length)
		x.docIDs.Add(m.ID, doc)
	}
	if x.docIDs.Len() < len(saved) {
		x.dropUnused()
	}
	x.recountInactive()
	return missing
}

// dropUnused drops the postings of documents without a memory.
func (x *invertedIndex) dropUnused() {
	for doc, m := range x.docs {
		if m == nil {
			x.freeDocs = append(x.freeDocs, uint32(doc))
		}
	}
	for id := range x.terms.all() {
		list := slices.DeleteFunc(x.postings.of(id), func(p posting) bool { return x.docs[p.doc()] == nil })
		x.postings.set(id, list)
		if len(list) == 0 {
			x.freeTerm(id)
		}
	}
	x.changes++
}

// recountInactive counts the inactive documents of every term.
func (x *invertedIndex) recountInactive() {
	if x.liveDocs == x.docIDs.Len() {
		return // the common case of a store without history
	}
	for id := range x.terms.all() {
		for _, p := range x.postings.of(id) {
			if !x.features[p.doc()].active {
				x.inactiveDF[id]++
			}
		}
	}
}

// Load makes memories the content of a space, without a source (see Attach). It takes unchanged ones from the saved
// index and indexes the rest. It is called once at start with the state of the space at that moment. A missing, stale
// or corrupt file is logged and costs only time. Changes applied while Load runs are kept, and searches see the old
// state until it is done.
func (e *Engine) Load(name string, memories []*memory.Memory, fsys durable.FS) error {
	e.load(e.space(name), func() []*memory.Memory { return memories }, fsys, background.Pace{})
	return nil
}

// indexedAStep is how many memories are indexed in less than half a millisecond.
const indexedAStep = 16

// load is Load at a pace, with memories that are read once records that come meanwhile are kept.
func (e *Engine) load(s *space, read func() []*memory.Memory, fsys durable.FS, pace background.Pace) {
	s.mu.Lock()
	s.loads++
	s.mu.Unlock()
	began := e.now()
	memories := read()
	x, missing := e.loadIndex(s.name, memories, fsys)
	a := e.analyzers.get()
	defer e.analyzers.put(a)
	for i, m := range missing {
		if i%indexedAStep == 0 {
			_ = pace.Step(context.Background()) // it ends on its own
		}
		x.put(a, m)
	}
	e.log.Debug("search index loaded", slog.String("space", s.name), slog.Int("memories", len(memories)),
		slog.Int("indexed", len(missing)), slog.Duration("took", e.now().Sub(began)))
	x.vectors = newDocVectors(e.models)
	for i, v := range x.vectors {
		v.store = e.openStore(fsys, s.name, e.models[i])
		x.loadVectors(v)
	}
	e.drain() // into the pending records
	e.replaceIndex(s, x, a, pace)
	if x.waits() {
		e.embedQueue.add(s.name)
		e.wakeEmbedding()
	}
}

// loadIndex returns the index of a file, or an empty one, and the memories missing in it.
func (e *Engine) loadIndex(name string, memories []*memory.Memory, fsys durable.FS) (*invertedIndex, []*memory.Memory) {
	log := e.log.With(slog.String("space", spaceName(name)))
	data, err := durable.ReadFile(fsys, indexFile(spaceName(name)))
	switch {
	case errors.Is(err, fs.ErrNotExist) && len(memories) < minSavedDocs:
		return newUnsavedIndex(len(memories)), memories // small ones need not have a file
	case err != nil:
		log.Info("search index file is missing; index is rebuilt", slog.Any("error", err))
		return newUnsavedIndex(len(memories)), memories
	}
	x, saved, err := decodeIndex(data, e.fingerprint)
	if err != nil {
		log.Warn("search index file is not usable; index is rebuilt", slog.Any("error", err))
		return newUnsavedIndex(len(memories)), memories
	}
	x.changes, x.saved = 1, 1 // the file has it
	missing := x.attachMemories(saved, memories)
	return x, missing
}

// newUnsavedIndex is an empty index that Save writes even when it stays empty, over any existing file.
func newUnsavedIndex(size int) *invertedIndex {
	x := newInvertedIndex(size)
	x.changes++
	return x
}

// slowReplays is how often the records that came meanwhile are applied at a pace. In the end they are applied while
// changes of the space wait.
const slowReplays = 3

// replaceIndex replaces the index of a space by a loaded one, after applying the records that came meanwhile.
func (e *Engine) replaceIndex(s *space, x *invertedIndex, a *analyzer, pace background.Pace) {
	applied, changes := 0, 0
	replay := func(records []*journal.Record, step func()) {
		for _, rec := range records {
			for i := range rec.Changes {
				if changes++; changes%indexedAStep == 0 {
					step()
				}
				x.replay(a, rec.LSN, rec.Changes[i:i+1])
			}
		}
		applied += len(records)
	}
	for range slowReplays {
		s.mu.Lock()
		waiting := s.pending[applied:]
		s.mu.Unlock()
		replay(waiting, func() { _ = pace.Step(context.Background()) })
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	replay(s.pending[applied:], func() {})
	if s.loads--; s.loads == 0 {
		s.pending = nil
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	s.index = x
	e.opened[s.name] = s
}

// replay applies one change that the loaded memories may already contain.
func (x *invertedIndex) replay(a *analyzer, lsn int64, change []journal.Change) {
	switch c := &change[0]; {
	case c.Memory != nil:
		if m := x.get(c.Memory.ID); m != nil && (m.Revision > lsn || m == c.Memory.After) {
			return
		}
	case c.Access != nil:
		if m := x.get(c.Access.ID); m != nil && !m.LastAccessed().Before(c.Access.At) {
			return
		}
	}
	x.applyChange(a, change)
}
