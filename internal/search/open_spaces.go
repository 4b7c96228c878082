package search

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"slices"
	"time"

	"github.com/memsidecar/memsidecar/internal/memory"
	"github.com/memsidecar/memsidecar/internal/process/background"
	"github.com/memsidecar/memsidecar/internal/store/durable"
)

const (
	// MaxOpen is how many small spaces have an index in RAM, and files open, at a time; more only while requests use
	// them.
	MaxOpen = 256
	// MaxSmall is how many memories a space that is closed has at most: it is open again within 20 ms. The index of a
	// larger one stays, as its memories do.
	MaxSmall = 2000
)

// Source holds the memories of spaces. All functions are safe for concurrent use, and see a change before Apply does.
type Source struct {
	Spaces   func() []string
	Count    func(space string) int // of memories
	Memories func(space string) []*memory.Memory
}

// Attach makes the engine open spaces when they are used, from the source and the files below fsys, and close small
// ones that were not used for long. It must be called before any other method but Apply; without it an engine knows
// what Load and Apply give it, and keeps it.
func (e *Engine) Attach(source Source, fsys durable.FS) {
	e.source, e.fsys = &source, fsys
	if len(e.models) > 0 {
		e.removeOldFiles(fsys)
		e.embedQueue.addUnseen(source.Spaces())
	}
}

// Open opens a space before it is used, so that its first search need not. Error: that of ctx.
func (e *Engine) Open(ctx context.Context, name string) error {
	s, err := e.acquire(ctx, name)
	e.release(s)
	return err
}

// acquire opens a space, unless it is open, and keeps it open until it is released. nil is a space without memories.
// Error: that of ctx.
func (e *Engine) acquire(ctx context.Context, name string) (*space, error) {
	s := e.pin(name)
	if s == nil || e.source == nil || e.indexOf(s) != nil {
		return s, nil
	}
	defer s.waiters.Wait()()
	return e.open(ctx, s, background.Pace{})
}

// acquireSlowly is acquire for work in the background: while requests are answered it takes longer, unless one waits
// for the space.
func (e *Engine) acquireSlowly(ctx context.Context, name string) (*space, error) {
	s := e.pin(name)
	if s == nil || e.source == nil || e.indexOf(s) != nil {
		return s, nil
	}
	return e.open(ctx, s, background.Pace{Busy: e.busy, Urgent: s.waiters.Urgent})
}

// open opens a pinned space at a pace, unless somebody else does. Error: that of ctx, and the space is released.
func (e *Engine) open(ctx context.Context, s *space, pace background.Pace) (*space, error) {
	select {
	case s.opening <- struct{}{}:
	case <-ctx.Done():
		e.release(s)
		return nil, ctx.Err()
	}
	defer func() { <-s.opening }()
	if e.indexOf(s) == nil {
		e.load(s, func() []*memory.Memory { return e.source.Memories(s.name) }, e.fsys, pace)
	}
	return s, nil
}

// pin keeps a space from being closed until it is released. It makes an entry for a space that only the source knows;
// nil is one that has no memories.
func (e *Engine) pin(name string) *space {
	name = spaceName(name)
	e.mu.Lock()
	defer e.mu.Unlock()
	s := e.spaces[name]
	if s == nil {
		if e.source == nil || e.source.Count(name) == 0 {
			return nil
		}
		s = e.addSpaceLocked(name)
	}
	s.users++
	return s
}

// release ends the use of a space; nil is none.
func (e *Engine) release(s *space) {
	if s == nil {
		return
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	e.uses++
	s.users, s.lastUse = s.users-1, e.uses
	e.wakeCloserLocked()
}

// releaseUnused is release for a space that nobody asked for: it is the first to be closed.
func (e *Engine) releaseUnused(s *space) {
	e.mu.Lock()
	defer e.mu.Unlock()
	s.users--
	e.wakeCloserLocked()
}

// wakeCloserLocked wakes RunClosing when too many spaces are open.
func (e *Engine) wakeCloserLocked() {
	if e.source == nil || len(e.opened) <= e.maxOpen {
		return
	}
	select {
	case e.wakeCloser <- struct{}{}:
	default: // a wake-up is pending
	}
}

// indexOf is the index of a space, nil while it is closed.
func (e *Engine) indexOf(s *space) *invertedIndex {
	e.mu.RLock()
	defer e.mu.RUnlock()
	return s.index
}

// spacesInUse are the spaces of a request. They stay open until release.
type spacesInUse struct {
	engine *Engine
	byName map[string]*space
}

// use opens the spaces of a request. Error: that of ctx.
func (e *Engine) use(ctx context.Context, names []string) (*spacesInUse, error) {
	in := &spacesInUse{e, make(map[string]*space, len(names))}
	for _, name := range names {
		name = spaceName(name)
		if in.byName[name] != nil {
			continue
		}
		s, err := e.acquire(ctx, name)
		if err != nil {
			in.release()
			return nil, err
		}
		if s != nil {
			in.byName[name] = s
		}
	}
	return in, nil
}

// index of a space in use, nil for one without memories.
func (in *spacesInUse) index(name string) *invertedIndex {
	if s := in.byName[spaceName(name)]; s != nil {
		return in.engine.indexOf(s)
	}
	return nil
}

func (in *spacesInUse) release() {
	for _, s := range in.byName {
		in.engine.release(s)
	}
}

// RunClosing closes the spaces that were not used for longest, while more than MaxOpen small ones are open, until ctx
// ends, which is no error.
func (e *Engine) RunClosing(ctx context.Context) error {
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-e.wakeCloser:
			e.closeSurplus()
		}
	}
}

// closeSurplus closes spaces until no more than MaxOpen small ones are open, or the others are in use.
func (e *Engine) closeSurplus() {
	passed := map[*space]bool{} // in use again
	for {
		s := e.longestUnused(passed)
		if s == nil {
			return
		}
		passed[s] = true
		if err := e.closeSpace(s); err != nil {
			e.log.Warn("search files of a closed space are not saved; vectors are made again when it is opened",
				slog.String("space", s.name), slog.Any("error", err))
		}
	}
}

// longestUnused is the small space that nobody used for longest, nil when none need be closed.
func (e *Engine) longestUnused(passed map[*space]bool) *space {
	type candidate struct {
		space   *space
		index   *invertedIndex
		lastUse uint64
	}
	var all []candidate
	used := 0
	e.mu.RLock()
	for _, s := range e.opened {
		if s.users > 0 {
			used++
		} else {
			all = append(all, candidate{s, s.index, s.lastUse})
		}
	}
	e.mu.RUnlock()
	all = slices.DeleteFunc(all, func(c candidate) bool { return c.index.size() > MaxSmall })
	surplus := len(all)+used > e.maxOpen
	all = slices.DeleteFunc(all, func(c candidate) bool { return passed[c.space] })
	if len(all) == 0 || !surplus {
		return nil
	}
	return slices.MinFunc(all, func(a, b candidate) int { return cmp.Compare(a.lastUse, b.lastUse) }).space
}

// closeSpace saves what a space would have to make again and gives back its index and its files, unless it is used.
// What cannot be saved is lost, and costs time: a full disk must not make spaces gather in memory.
func (e *Engine) closeSpace(s *space) error {
	select {
	case s.opening <- struct{}{}:
	default: // it is being opened
		return nil
	}
	defer func() { <-s.opening }()
	x := e.indexOf(s)
	if x == nil {
		return nil
	}
	errs := []error{e.saveFiles(e.fsys, s)}
	if !e.dropIndex(s, x.coverage()) {
		return nil
	}
	for _, v := range x.vectors {
		errs = append(errs, e.stores.close(s.name, v.model.Name()))
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	if s.users == 0 && len(e.models) == 0 { // nothing need be known of it
		delete(e.spaces, s.name)
	}
	return errors.Join(errs...)
}

// dropIndex gives back the index of a space unless it is used.
func (e *Engine) dropIndex(s *space, coverage EmbeddingCoverage) bool {
	s.mu.Lock() // no change is being indexed
	defer s.mu.Unlock()
	e.mu.Lock()
	defer e.mu.Unlock()
	if s.users > 0 {
		return false
	}
	s.index, s.closed = nil, coverage
	delete(e.opened, s.name)
	return true
}

// SaveErased is Save after a purge: it also writes the files of closed spaces, which may hold what was erased.
func (e *Engine) SaveErased(fsys durable.FS) error {
	names, err := e.spacesWithFiles(fsys)
	if err != nil {
		return err
	}
	for _, name := range names {
		s, err := e.acquire(context.Background(), name)
		if err == nil && s != nil {
			err = e.saveFiles(fsys, s)
			e.releaseUnused(s)
		}
		if err != nil {
			return err
		}
		e.closeSurplus()
	}
	return e.Save(fsys)
}

// saveFiles writes what changed of one open space: the index unless it is made anew faster, and vectors.
func (e *Engine) saveFiles(fsys durable.FS, s *space) error {
	e.saving.Lock()
	defer e.saving.Unlock()
	e.savingVectors.Lock()
	defer e.savingVectors.Unlock()
	if err := fsys.MkdirAll("index"); err != nil {
		return err
	}
	if err := e.saveSpace(fsys, s, minSavedDocs, false); err != nil {
		return err
	}
	return e.saveVectorsOf(s)
}

// dropWait bounds how long Drop waits for those who use a space, such as a batch that is being embedded.
const dropWait = 10 * time.Second

// Drop forgets a space that the source does not have any more, and removes its files. It waits until nobody uses it.
// Durable on return. Error: that somebody still uses it.
func (e *Engine) Drop(name string) error {
	name = spaceName(name)
	e.drain()
	e.mu.RLock()
	s := e.spaces[name]
	e.mu.RUnlock()
	if s != nil {
		if err := e.closeDropped(s); err != nil {
			return err
		}
	}
	files := []string{indexFile(name)}
	for _, model := range modelNames {
		files = append(files, vectorFile(name, model))
	}
	removed := false
	for _, file := range files {
		switch err := e.fsys.Remove(file); {
		case err == nil:
			removed = true
		case !errors.Is(err, fs.ErrNotExist):
			return fmt.Errorf("remove %s: %w", file, err)
		}
	}
	if !removed {
		return nil
	}
	return e.fsys.SyncDir("index")
}

// closeDropped gives back the index of a space whose files are about to be removed.
func (e *Engine) closeDropped(s *space) error {
	s.opening <- struct{}{}
	defer func() { <-s.opening }()
	var errs []error
	if x := e.indexOf(s); x != nil {
		const pause = 5 * time.Millisecond
		for waited := time.Duration(0); !e.dropIndex(s, EmbeddingCoverage{}); waited += pause {
			if waited >= dropWait {
				return fmt.Errorf("the index of space %q is in use", s.name)
			}
			time.Sleep(pause)
		}
		for _, v := range x.vectors {
			errs = append(errs, e.stores.close(s.name, v.model.Name()))
		}
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	if s.users == 0 {
		delete(e.spaces, s.name)
	}
	return errors.Join(errs...)
}

// openNames lists the open spaces, sorted.
func (e *Engine) openNames() []string {
	e.mu.RLock()
	defer e.mu.RUnlock()
	return sortedKeys(e.opened)
}

// pinOpen is pin for a space that is open; nil otherwise.
func (e *Engine) pinOpen(name string) *space {
	e.mu.Lock()
	defer e.mu.Unlock()
	s := e.opened[spaceName(name)]
	if s != nil {
		s.users++
	}
	return s
}

// allNames lists the spaces of the source, or those that are known.
func (e *Engine) allNames() []string {
	if e.source != nil {
		return e.source.Spaces()
	}
	return e.openNames()
}
