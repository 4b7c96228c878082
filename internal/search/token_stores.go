package search

import (
	"errors"
	"log/slog"
	"sync"

	"github.com/memsidecar/memsidecar/internal/search/embedding"
	"github.com/memsidecar/memsidecar/internal/search/vector"
	"github.com/memsidecar/memsidecar/internal/search/vector/tokenstore"
	"github.com/memsidecar/memsidecar/internal/store/durable"
)

// tokenStores are the open token stores, by file: one for each space and each model inside the program. An index that
// is being loaded and the one that it replaces share a store.
type tokenStores struct {
	mu     sync.Mutex
	byFile map[string]*tokenstore.Store // nil for a file that cannot be opened; guarded by mu
}

func tokenFile(space, model string) string { return "index/" + space + "." + model + ".tokens" }

// openTokens opens the token store of a space by a model; nil when the model has no tokens or the file cannot be
// opened, which costs late interaction and is no error.
func (e *Engine) openTokens(fsys durable.FS, space string, model embedding.Model) *tokenstore.Store {
	if !model.Calibrated() {
		return nil
	}
	e.tokens.mu.Lock()
	defer e.tokens.mu.Unlock()
	name := tokenFile(space, model.Name())
	store, known := e.tokens.byFile[name]
	if known {
		return store
	}
	store, err := tokenstore.Open(fsys, name, model.Identity())
	if err != nil {
		e.log.Warn("token vectors are not available", slog.String("space", space), slog.Any("error", err))
		store = nil
	}
	if e.tokens.byFile == nil {
		e.tokens.byFile = map[string]*tokenstore.Store{}
	}
	e.tokens.byFile[name] = store
	return store
}

// close closes the token store of a space that is being closed.
func (t *tokenStores) close(space, model string) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	name := tokenFile(space, model)
	store := t.byFile[name]
	delete(t.byFile, name)
	if store == nil {
		return nil
	}
	return store.Close()
}

// attachTokens opens the token stores of an index that has none yet. Memories without tokens wait for them.
func (e *Engine) attachTokens(x *invertedIndex, fsys durable.FS, space string) {
	for _, v := range x.vectors {
		store := e.openTokens(fsys, space, v.model)
		if store == nil {
			continue
		}
		x.mu.Lock()
		if v.tokens == nil {
			v.tokens = store
			x.requestMissing(v)
		}
		x.mu.Unlock()
	}
}

// retainTokens erases the tokens of texts that no memory has any more and makes the others durable.
func (x *invertedIndex) retainTokens(v *docVectors) error {
	x.mu.RLock()
	store := v.tokens
	live := make(map[vector.Key]bool, len(v.keys))
	for _, key := range v.keys {
		live[key] = true
	}
	x.mu.RUnlock()
	if store == nil {
		return nil
	}
	return store.Retain(func(key vector.Key) bool { return live[key] })
}

// removeTokenFiles removes the token files of the models inside the program.
func removeTokenFiles(fsys durable.FS, spaces []string) (err error) {
	for _, name := range spaces {
		for _, model := range insideModels {
			err = errors.Join(err, tokenstore.Remove(fsys, tokenFile(name, model)))
		}
	}
	return err
}

// insideModels are the names of the models inside the program.
var insideModels = []string{"minilm", "e5"}
