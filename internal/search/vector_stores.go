package search

import (
	"errors"
	"fmt"
	"io/fs"
	"iter"
	"log/slog"
	"slices"
	"strings"
	"sync"

	"github.com/memsidecar/memsidecar/internal/memory"
	"github.com/memsidecar/memsidecar/internal/search/embedding"
	"github.com/memsidecar/memsidecar/internal/search/vector"
	"github.com/memsidecar/memsidecar/internal/search/vector/vectorstore"
	"github.com/memsidecar/memsidecar/internal/store/durable"
)

// vectorStores are the open stores of vectors, by file: one for each space and each model. An index that is being
// loaded and the one that it replaces share a store.
type vectorStores struct {
	mu     sync.Mutex
	byFile map[string]*vectorstore.Store // nil for a file that cannot be opened; guarded by mu
}

// vectorFile is the file of the vectors of a space by a model.
func vectorFile(space, model string) string { return "index/" + space + "." + model + ".vectors" }

// modelNames are the names that a model may have.
var modelNames = []string{"minilm", "e5", "server"}

// openStore opens the store of a space by a model; nil when the file cannot be opened, which costs late interaction
// and, after a restart, time, and is no error.
func (e *Engine) openStore(fsys durable.FS, space string, model embedding.Model) *vectorstore.Store {
	e.stores.mu.Lock()
	defer e.stores.mu.Unlock()
	name := vectorFile(space, model.Name())
	store, known := e.stores.byFile[name]
	if known {
		return store
	}
	store, err := vectorstore.Open(fsys, name, model.Identity())
	switch {
	case err != nil:
		e.log.Warn("vectors cannot be saved; a restart makes them again", slog.String("space", space),
			slog.Any("error", err))
		store = nil
	case store.Unusable() > 0:
		e.log.Warn("vectors in a file are torn, or of another model or version; they are made again",
			slog.String("file", name), slog.Int64("bytes", store.Unusable()))
	}
	if e.stores.byFile == nil {
		e.stores.byFile = map[string]*vectorstore.Store{}
	}
	e.stores.byFile[name] = store
	return store
}

// close closes the store of a space that is being closed.
func (s *vectorStores) close(space, model string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	name := vectorFile(space, model)
	store := s.byFile[name]
	delete(s.byFile, name)
	if store == nil {
		return nil
	}
	return store.Close()
}

// attachStores opens the stores of an index that has none yet.
func (e *Engine) attachStores(x *invertedIndex, fsys durable.FS, space string) {
	for _, v := range x.vectors {
		store := e.openStore(fsys, space, v.model)
		x.mu.Lock()
		v.store = store
		x.mu.Unlock()
	}
}

// SaveVectors makes the vectors of every open space durable, and erases those of texts that no memory has any more.
// Without models it removes the files of earlier ones. Durable on return.
func (e *Engine) SaveVectors(fsys durable.FS) error {
	e.savingVectors.Lock()
	defer e.savingVectors.Unlock()
	if len(e.models) == 0 {
		return e.removeVectorFiles(fsys)
	}
	for _, name := range e.openNames() {
		s := e.pinOpen(name)
		if s == nil {
			continue // it was closed, and saved
		}
		err := e.saveVectorsOf(s)
		e.releaseUnused(s)
		if err != nil {
			return err
		}
	}
	return nil
}

// saveVectorsOf makes the vectors of an open space durable.
func (e *Engine) saveVectorsOf(s *space) error {
	x := e.indexOf(s)
	for _, v := range x.vectors {
		if err := x.saveVectors(v); err != nil {
			return fmt.Errorf("save vectors of space %q: %w", s.name, err)
		}
	}
	return nil
}

// saveVectors makes the vectors of one model durable.
func (x *invertedIndex) saveVectors(v *docVectors) error {
	x.mu.Lock()
	store, stale := v.store, v.stale
	v.stale = false
	var docs []*memory.Memory
	if stale {
		docs = slices.Clone(x.docs)
	}
	x.mu.Unlock()
	switch {
	case store == nil:
		return nil
	case !stale:
		return store.Sync()
	}
	err := store.Retain(keysOf(docs))
	if err != nil {
		x.mu.Lock()
		v.stale = true
		x.mu.Unlock()
	}
	return err
}

// keysOf returns the keys of the texts of memories, of which some may be nil.
func keysOf(memories []*memory.Memory) iter.Seq[vector.Key] {
	return func(yield func(vector.Key) bool) {
		for _, m := range memories {
			if m != nil && !yield(keyOf(m)) {
				return
			}
		}
	}
}

// spacesWithFiles lists the spaces that have any file of an index: looking for each possible name of many thousand
// spaces would take a stop seconds.
func (e *Engine) spacesWithFiles(fsys durable.FS) (spaces []string, err error) {
	entries, err := fsys.ReadDir("index")
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("look for vector files: %w", err)
	}
	present := map[string]bool{}
	for _, entry := range entries {
		for i, r := range entry.Name() {
			if r == '.' { // the name of a space may have dots, too
				present[entry.Name()[:i]] = true
			}
		}
	}
	return slices.DeleteFunc(e.allNames(), func(name string) bool { return !present[name] }), nil
}

// removeVectorFiles removes vectors that are no longer maintained: they would outlive their texts.
func (e *Engine) removeVectorFiles(fsys durable.FS) error {
	removed, err := removeIndexFiles(fsys, isVectorFile)
	if removed > 0 {
		e.log.Info("vectors are removed, for no model makes them any more", slog.Int("files", removed))
	}
	return err
}

// removeOldFiles removes the files of programs that kept vectors and token sets apart. What they held is made again.
func (e *Engine) removeOldFiles(fsys durable.FS) {
	entries, err := fsys.ReadDir("index")
	isOld := func(entry fs.DirEntry) bool { return isVectorFile(entry.Name()) && !namesModel(entry.Name()) }
	if err != nil || !slices.ContainsFunc(entries, isOld) {
		return
	}
	removed, err := removeIndexFiles(fsys, isVectorFile)
	e.log.Warn("vectors in files of an older version are made again", slog.Int("files", removed), slog.Any("error", err))
}

// isVectorFile reports whether a file of the index has vectors of memories.
func isVectorFile(name string) bool {
	return strings.HasSuffix(name, ".tokens") || strings.HasSuffix(name, ".vectors")
}

// namesModel reports whether the name of a vector file ends in that of a model, as vectorFile makes it.
func namesModel(name string) bool {
	return slices.ContainsFunc(modelNames, func(model string) bool {
		return strings.HasSuffix(name, "."+model+".vectors")
	})
}

// removeIndexFiles removes the files of the index whose name matches. Durable on return.
func removeIndexFiles(fsys durable.FS, match func(name string) bool) (removed int, err error) {
	entries, err := fsys.ReadDir("index")
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return 0, fmt.Errorf("look for vector files: %w", err)
	}
	for _, entry := range entries {
		if !match(entry.Name()) {
			continue
		}
		if err := vectorstore.Remove(fsys, "index/"+entry.Name()); err != nil {
			return removed, err
		}
		removed++
	}
	if removed == 0 {
		return 0, nil
	}
	return removed, fsys.SyncDir("index")
}
