// Package edit takes over what people and other programs write into the published files: memory.json and the daily logs. It notices
// a changed file, finds out from what state it was made, and merges what was changed into the store, by memory and field, as one operation that
// can be undone. What cannot be read, or could be a mistake, or contradicts what happened since, waits for a person, with all its bytes in quarantine/.
//
// It does not write published files. Looking again at something that was dealt with, also after a crash, changes nothing.
package edit

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"path"
	"slices"
	"sync"
	"time"

	"github.com/memsidecar/memsidecar/internal/dailylog"
	"github.com/memsidecar/memsidecar/internal/durable"
	"github.com/memsidecar/memsidecar/internal/jsonstore"
	"github.com/memsidecar/memsidecar/internal/memory"
	"github.com/memsidecar/memsidecar/internal/publish"
	"github.com/memsidecar/memsidecar/internal/store"
)

// Config of a Service. All fields but Dir are required.
type Config struct {
	Store    *store.Store
	FS       durable.FS
	Memories *jsonstore.Publisher
	Logs     *dailylog.Publisher
	Now      func() time.Time
	Location *time.Location // of times without a zone
	Logger   *slog.Logger

	// Dir is where FS is on the disk, so that changes are noticed at once. When it is empty or cannot be watched, they are noticed by looking every 30 seconds.
	Dir string
}

const (
	settleTime = 2 * time.Second // how long a file must be missing, or not be understood, before that is believed
	patience   = time.Minute     // how long a file that is not understood may be open for writing
)

// Service is safe for concurrent use.
type Service struct {
	cfg  Config
	wake chan struct{} // holds one signal

	working sync.Mutex           // held while edits are dealt with
	missing map[string]time.Time // published files that are not there, since when; guarded by working
	odd     map[string]oddFile   // files that are not understood yet; guarded by working
	failing map[string]string    // files that could not be dealt with, and why; guarded by working

	mu    sync.Mutex
	names map[string]bool // published files to look at; guarded by mu
	full  bool            // everything is to be looked at; guarded by mu
}

// oddFile is a file that may be half written.
type oddFile struct {
	hash  string
	since time.Time
}

// New does no I/O.
func New(cfg Config) *Service {
	return &Service{
		cfg: cfg, wake: make(chan struct{}, 1), missing: map[string]time.Time{}, odd: map[string]oddFile{}, failing: map[string]string{},
		names: map[string]bool{},
	}
}

// Foreign says that a published file is not what was published. It is looked at soon. It does no I/O.
func (s *Service) Foreign(name string) {
	s.mu.Lock()
	s.names[name] = true
	s.mu.Unlock()
	s.signal()
}

// Displaced says that an edit was put aside that nobody looked at yet. It does no I/O.
func (s *Service) Displaced(publish.Edit) { s.lookAtAll() }

func (s *Service) lookAtAll() {
	s.mu.Lock()
	s.full = true
	s.mu.Unlock()
	s.signal()
}

func (s *Service) signal() {
	select {
	case s.wake <- struct{}{}:
	default:
	}
}

// files returns the Files that publish a target.
func (s *Service) files(t target) *publish.Files {
	if t.date == "" && !t.list && !t.index {
		return s.cfg.Memories.Files()
	}
	return s.cfg.Logs.Files()
}

// mark has a file published again. The unknown fields of a memory.json as a whole are not in the journal: they are taken from the file in place,
// or kept when that does not say all.
func (s *Service) mark(p *plan, displaced bool) {
	if f := p.memories; f != nil && (f.partial || displaced) {
		s.cfg.Memories.MarkPartial(s.cfg.FS, p.name, f.theirs.Extra)
		return
	}
	s.cfg.Memories.Mark(p.name)
	s.cfg.Logs.Mark(p.name)
}

// Look looks at everything: at published files that somebody changed, removed or made, and at what was put aside. A file that is missing, or
// that is not understood and young, is left for a later look, whose time is returned, zero for none; unless final, which is for the start and
// for when everything is to be published. What could not be dealt with is tried again at the next look.
func (s *Service) Look(ctx context.Context, final bool) (again time.Time, err error) {
	s.working.Lock()
	defer s.working.Unlock()
	names, err := s.allNames()
	if err != nil {
		return again, err
	}
	r := s.newRound(final)
	err = errors.Join(r.run(ctx, names), r.waiting(ctx))
	if err == nil {
		err = r.gone(ctx)
	}
	return r.again, err
}

// lookAt looks at some files. A missing one needs a full look.
func (s *Service) lookAt(ctx context.Context, names []string) (again time.Time, err error) {
	s.working.Lock()
	defer s.working.Unlock()
	r := s.newRound(false)
	err = r.run(ctx, names)
	return r.again, err
}

// allNames lists every published file: those that are there and those that should be.
func (s *Service) allNames() ([]string, error) {
	var names []string
	for _, files := range []*publish.Files{s.cfg.Memories.Files(), s.cfg.Logs.Files()} {
		known, err := files.Names()
		if err != nil {
			return nil, err
		}
		names = append(names, known...)
	}
	names = append(names, jsonstore.Path(memory.DefaultSpace))
	dirs := []string{dailylog.Dir(memory.DefaultSpace)}
	spaces, err := s.list("spaces")
	if err != nil {
		return nil, err
	}
	for _, e := range spaces {
		if e.IsDir() {
			names = append(names, jsonstore.Path(e.Name()))
			dirs = append(dirs, dailylog.Dir(e.Name()))
		}
	}
	for _, dir := range dirs {
		logs, err := s.list(dir)
		if err != nil {
			return nil, err
		}
		for _, e := range logs {
			names = append(names, path.Join(dir, e.Name()))
		}
	}
	names = slices.DeleteFunc(names, func(name string) bool {
		t, ok := parse(name)
		return !ok || t.list
	})
	slices.Sort(names)
	return slices.Compact(names), nil
}

func (s *Service) list(dir string) ([]fs.DirEntry, error) {
	entries, err := s.cfg.FS.ReadDir(dir)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("look for edits: %w", err)
	}
	return entries, nil
}
