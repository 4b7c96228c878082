package reconcile

import (
	"context"
	"errors"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/fsnotify/fsnotify"

	"github.com/memsidecar/memsidecar/internal/memory"
)

const (
	debounce    = 150 * time.Millisecond // programs write in several steps
	rescanEvery = 30 * time.Second       // whatever is noticed
	maxWatches  = 4096                   // directories; the system allows a user so many in all programs together
	rescanShare = 50                     // of the time that passes, how much goes to rescans at most: 1/50
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
			if next := s.scanChanged(ctx, w); next > 0 {
				full.Reset(next)
			}
		}
	}
}

// scanChanged scans what changed since the last call, and returns when to scan everything again, 0 for as planned.
// After a scan of very many files that is later, so that scans do not keep a processor busy.
func (s *Service) scanChanged(ctx context.Context, w *watcher) (next time.Duration) {
	var again time.Time
	began := s.cfg.Now()
	s.mu.Lock()
	names, everything, created := s.changed, s.scanAll, s.created
	s.changed, s.scanAll, s.created = map[string]bool{}, false, map[string]bool{}
	s.mu.Unlock()
	var err error
	if everything {
		s.watchAll(ctx, w) // first: what changes from here on is noticed
		again, err = s.Scan(ctx, false)
	} else {
		list := s.watchCreated(ctx, w, created)
		for name := range names {
			list = append(list, name)
		}
		slices.Sort(list)
		list = slices.Compact(list)
		again, err = s.scanFiles(ctx, list)
	}
	if err != nil && ctx.Err() == nil {
		s.cfg.Logger.Warn("cannot look for edits; it will be tried again", "error", err)
	}
	switch took := s.cfg.Now().Sub(began); {
	case !again.IsZero():
		return max(again.Sub(s.cfg.Now()), debounce)
	case everything && took > rescanEvery/rescanShare:
		return rescanShare * took
	}
	return 0
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
	case e.Has(fsnotify.Create) && filepath.Dir(name) == "spaces":
		s.directoryCreated(name) // which may hold files already
	case e.Has(fsnotify.Create) && ok && strings.HasPrefix(name, "spaces/"): // its daily logs
		s.directoryCreated(path.Dir(name))
	case e.Has(fsnotify.Create) && (ok || name == "spaces"):
		s.requestFullScan()
	}
}

// watcher is an fsnotify.Watcher that may be missing.
type watcher struct {
	*fsnotify.Watcher
	events chan fsnotify.Event
	errors chan error
	failed bool // was logged

	watched map[string]bool // directories
}

// directoryCreated makes Run watch a new directory of a space, and scan what is in it. A scan of everything for each
// would keep a daemon busy that publishes thousands of spaces for the first time.
func (s *Service) directoryCreated(name string) {
	s.mu.Lock()
	s.created[name] = true
	s.mu.Unlock()
	s.signal()
}

// watchCreated watches the new directories of spaces and returns the names of the files in them.
func (s *Service) watchCreated(ctx context.Context, w *watcher, created map[string]bool) (names []string) {
	for space := range created {
		s.watch(ctx, w, space, path.Join(space, "logs")) // first: what changes from here on is noticed
		for _, dir := range []string{space, path.Join(space, "logs")} {
			entries, err := s.list(dir)
			if err != nil {
				continue // the next full scan meets the error again
			}
			for _, e := range entries {
				names = append(names, path.Join(dir, e.Name()))
			}
		}
	}
	return names
}

// newWatcher starts watching. Without Dir, or where the system refuses, edits are found by the rescan only.
func (s *Service) newWatcher() *watcher {
	w := &watcher{watched: map[string]bool{}}
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
func (s *Service) watchAll(ctx context.Context, w *watcher) {
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
	s.watch(ctx, w, dirs...)
}

// watch watches directories, as far as they exist.
func (s *Service) watch(ctx context.Context, w *watcher, dirs ...string) {
	if w.Watcher == nil {
		return
	}
	for _, dir := range dirs {
		if ctx.Err() != nil {
			return
		}
		if !w.watched[dir] && len(w.watched) == maxWatches {
			if !w.failed {
				w.failed = true
				s.cfg.Logger.Info("there are many spaces; changes of files of some are noticed by rescans only", "watched",
					maxWatches)
			}
			continue // one that is watched may have been created anew
		}
		if info, err := s.cfg.FS.Lstat(dir); err != nil || !info.IsDir() {
			continue
		}
		w.watched[dir] = true
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
