package reconcile

import (
	"context"
	"errors"
	"path/filepath"
	"slices"
	"time"

	"github.com/fsnotify/fsnotify"

	"github.com/memsidecar/memsidecar/internal/memory"
)

const (
	debounce    = 150 * time.Millisecond // programs write in several steps
	rescanEvery = 30 * time.Second       // whatever is noticed
)

// Run adopts edits as they come until ctx ends, which is no error. Failures are logged and tried again.
func (s *Service) Run(ctx context.Context) error {
	w := s.newWatcher()
	defer w.close()
	soon, full := time.NewTimer(0), time.NewTimer(rescanEvery)
	defer soon.Stop()
	defer full.Stop()
	s.requestFullScan()
	gathering := true // soon is set
	for {
		select {
		case <-ctx.Done():
			return nil
		case e, ok := <-w.events:
			if !ok {
				w.events = nil
				continue
			}
			s.handleEvent(e)
		case err, ok := <-w.errors:
			if !ok {
				w.errors = nil
				continue
			}
			if !errors.Is(err, fsnotify.ErrEventOverflow) {
				s.cfg.Logger.Warn("changes of published files may be noticed late", "error", err)
			}
			s.requestFullScan()
		case <-s.wake:
			if !gathering {
				soon.Reset(debounce)
				gathering = true
			}
		case <-full.C:
			full.Reset(rescanEvery)
			s.requestFullScan()
		case <-soon.C:
			gathering = false
			if again := s.scanChanged(ctx, w); !again.IsZero() {
				full.Reset(max(again.Sub(s.cfg.Now()), debounce))
			}
		}
	}
}

// scanChanged scans what changed since the last call, and returns when to scan again.
func (s *Service) scanChanged(ctx context.Context, w *watcher) (again time.Time) {
	s.mu.Lock()
	names, everything := s.changed, s.scanAll
	s.changed, s.scanAll = map[string]bool{}, false
	s.mu.Unlock()
	var err error
	if everything {
		s.watchAll(w) // first: what changes from here on is noticed
		again, err = s.Scan(ctx, false)
	} else {
		list := make([]string, 0, len(names))
		for name := range names {
			list = append(list, name)
		}
		slices.Sort(list)
		again, err = s.scanFiles(ctx, list)
	}
	if err != nil && ctx.Err() == nil {
		s.cfg.Logger.Warn("cannot look for edits; it will be tried again", "error", err)
	}
	return again
}

// handleEvent records what may have changed.
func (s *Service) handleEvent(e fsnotify.Event) {
	name, err := filepath.Rel(s.cfg.Dir, e.Name)
	if err != nil {
		return
	}
	name = filepath.ToSlash(name)
	t, ok := parsePath(name)
	switch {
	case ok && !t.isDeletion:
		s.FileChanged(name)
	case e.Has(fsnotify.Create) && (ok || name == "spaces" || filepath.Dir(name) == "spaces"):
		s.requestFullScan() // a directory, which may hold files already
	}
}

// watcher is an fsnotify.Watcher that may be missing.
type watcher struct {
	*fsnotify.Watcher
	events chan fsnotify.Event
	errors chan error
	failed bool // was logged
}

// newWatcher starts watching. Without Dir, or where the system refuses, edits are found by the rescan only.
func (s *Service) newWatcher() *watcher {
	w := &watcher{}
	if s.cfg.Dir == "" {
		return w
	}
	fsw, err := fsnotify.NewWatcher()
	if err != nil {
		s.cfg.Logger.Warn(
			"changes of published files are noticed late: the directory cannot be watched",
			"error",
			err,
		)
		return w
	}
	w.Watcher, w.events, w.errors = fsw, fsw.Events, fsw.Errors
	return w
}

// close ends the watching.
func (w *watcher) close() {
	if w.Watcher != nil {
		_ = w.Watcher.Close() // nothing is left to be done about it
	}
}

// watchAll watches every directory of published files. It watches directories and not files, because a file that is
// replaced by a rename loses its watch. Watching a directory again does nothing.
func (s *Service) watchAll(w *watcher) {
	// Without inotify the periodic scan notices edits, a little later.
	if w.Watcher == nil {
		return
	}
	dirs := []string{".", "logs", "spaces"}
	if spaces, err := s.list("spaces"); err == nil {
		for _, e := range spaces {
			if e.IsDir() && memory.IsSlug(e.Name()) {
				dirs = append(dirs, "spaces/"+e.Name(), "spaces/"+e.Name()+"/logs")
			}
		}
	}
	for _, dir := range dirs {
		if info, err := s.cfg.FS.Lstat(dir); err != nil || !info.IsDir() {
			continue
		}
		if err := w.Add(filepath.Join(s.cfg.Dir, filepath.FromSlash(dir))); err != nil && !w.failed {
			w.failed = true
			s.cfg.Logger.Warn(
				"changes of some published files are noticed late: a directory cannot be watched",
				"dir",
				dir,
				"error",
				err,
			)
		}
	}
}
