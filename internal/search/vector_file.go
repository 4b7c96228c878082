package search

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"slices"

	"github.com/memsidecar/memsidecar/internal/search/embedding"
	"github.com/memsidecar/memsidecar/internal/search/vector"
	"github.com/memsidecar/memsidecar/internal/store/durable"
)

// firstModels wrote vector files without their name.
var firstModels = []string{"minilm", "server"}

// vectorFile is the file of the vectors of a space by a model.
func vectorFile(space, model string) string {
	if slices.Contains(firstModels, model) {
		return "index/" + space + ".vectors"
	}
	return "index/" + space + "." + model + ".vectors"
}

// SaveVectors writes the vectors of every changed space below fsys, those of present texts only, a file for each model.
// Without models it removes vector files of earlier ones. Durable on return.
func (e *Engine) SaveVectors(fsys durable.FS) error { return e.saveVectorFiles(fsys, false) }

// saveVectorFiles is SaveVectors, for all that changed or only for what outgrew its file. Token sets are files that
// grow at their end, and are saved in any case.
func (e *Engine) saveVectorFiles(fsys durable.FS, grown bool) error {
	e.savingVectors.Lock()
	defer e.savingVectors.Unlock()
	if len(e.models) == 0 {
		spaces, err := e.spacesWithFiles(fsys)
		return errors.Join(err, removeTokenFiles(fsys, spaces), removeVectorFiles(fsys, spaces))
	}
	if err := fsys.MkdirAll("index"); err != nil {
		return fmt.Errorf("make index directory: %w", err)
	}
	for _, name := range e.openNames() {
		s := e.pinOpen(name)
		if s == nil {
			continue // it was closed, and saved
		}
		err := e.saveVectorsOf(fsys, s, grown)
		e.releaseUnused(s)
		if err != nil {
			return err
		}
	}
	return nil
}

// saveVectorsOf saves the vectors and the token sets of an open space.
func (e *Engine) saveVectorsOf(fsys durable.FS, s *space, grown bool) error {
	x := e.indexOf(s)
	for _, v := range x.vectors {
		if err := errors.Join(x.saveVectors(v, fsys, s.name, grown), x.retainTokens(v)); err != nil {
			return fmt.Errorf("save vectors of space %q: %w", s.name, err)
		}
	}
	return nil
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

// saveVectors writes the vectors of one model when they changed or, if grown is set, outgrew their file.
func (x *invertedIndex) saveVectors(v *docVectors, fsys durable.FS, space string, grown bool) error {
	data, changes := x.encodeVectors(v, grown)
	if data == nil {
		return nil
	}
	err := durable.WriteFile(fsys, vectorFile(space, v.model.Name()), func(w io.Writer) error {
		_, err := w.Write(data)
		return err
	})
	if err != nil {
		return err
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	v.saved = changes
	return nil
}

// encodeVectors returns the vector file and the number of changes in it; nil when nothing changed since it was saved
// or, if grown is set, too little.
func (x *invertedIndex) encodeVectors(v *docVectors, grown bool) (data []byte, changes uint64) {
	x.mu.RLock()
	defer x.mu.RUnlock()
	if v.changes == v.saved || grown && !outgrown(v.saved, v.changes, len(x.docIDs)) {
		return nil, v.changes
	}
	return vector.Encode(v.model.Identity(), v.rows.Dim(), v.savedRows()), v.changes
}

// removeVectorFiles removes vectors that are no longer maintained: they would outlive their texts.
func removeVectorFiles(fsys durable.FS, spaces []string) error {
	removed := false
	for _, name := range spaces {
		for _, model := range insideModels {
			err := fsys.Remove(vectorFile(name, model))
			if err != nil && !errors.Is(err, fs.ErrNotExist) {
				return fmt.Errorf("remove vectors of space %q: %w", name, err)
			}
			removed = removed || err == nil
		}
	}
	if !removed {
		return nil
	}
	return fsys.SyncDir("index")
}

// readVectorFile reads the vectors of a space; nil when there is no usable file, which costs time and is no error.
func (e *Engine) readVectorFile(name string, model embedding.Model, fsys durable.FS) *vector.File {
	data, err := durable.ReadFile(fsys, vectorFile(spaceName(name), model.Name()))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	var saved *vector.File
	if err == nil {
		saved, err = vector.Decode(data, model.Identity())
	}
	if err != nil {
		e.log.Warn("vector file is not usable; vectors are rebuilt", slog.String("space", spaceName(name)),
			slog.Any("error", err))
		return nil
	}
	return saved
}
