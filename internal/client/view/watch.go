package view

import (
	"context"
	"errors"
	"path/filepath"
	"strings"
	"time"

	"github.com/fsnotify/fsnotify"
)

const (
	gather     = 150 * time.Millisecond // programs write in several steps
	lookEvery  = 30 * time.Second       // whatever is noticed
	firstRetry = time.Second            // of a store that cannot be reached; it doubles
	share      = 5                      // a pass is followed by so many times its own time without one
)

// Run keeps the directory in step until ctx ends, which is no error. Each pass that did something, or failed, is
// reported; a failed one is repeated. Errors: ErrOtherView, ErrGone.
func (s *Syncer) Run(ctx context.Context, opts Options, report func(Report, error)) error {
	opts.WaitForWriters = true
	wake := make(chan struct{}, 1)
	signal := func() {
		select {
		case wake <- struct{}{}:
		default:
		}
	}
	ctx, cancel := context.WithCancel(ctx)
	done := make(chan struct{})
	go func() {
		defer close(done)
		s.follow(ctx, signal)
	}()
	defer func() {
		cancel()
		<-done
	}()
	w := s.watcher()
	if w != nil {
		defer func() { _ = w.Close() }() // nothing is left to be done about it
	}
	return s.loop(ctx, opts, w, wake, report)
}

// loop runs passes: soon after an event, at intervals without one, and later after errors.
func (s *Syncer) loop(ctx context.Context, opts Options, w *fsnotify.Watcher, wake <-chan struct{},
	report func(Report, error)) error {
	soon, full := time.NewTimer(0), time.NewTimer(lookEvery)
	defer soon.Stop()
	defer full.Stop()
	retry, gathering, pause := firstRetry, true, gather // soon is set
	gatherUp := func() {
		if !gathering {
			gathering = true
			soon.Reset(pause)
		}
	}
	var events <-chan fsnotify.Event
	var problems <-chan error
	if w != nil {
		events, problems = w.Events, w.Errors
	}
	for {
		select {
		case <-ctx.Done():
			return nil
		case e := <-events:
			if isViewFile(e.Name) {
				gatherUp()
			}
		case err := <-problems:
			if !errors.Is(err, fsnotify.ErrEventOverflow) {
				s.cfg.Logger.Warn("changes of the view may be noticed late", "error", err)
			}
			gatherUp()
		case <-wake:
			gatherUp()
		case <-full.C:
			gatherUp()
		case <-soon.C:
			gathering = false
			full.Reset(lookEvery)
			began := s.cfg.Now()
			r, err := s.Sync(ctx, opts)
			pause = max(gather, share*s.cfg.Now().Sub(began))
			switch {
			case ctx.Err() != nil:
				return nil
			case errors.Is(err, ErrOtherView), errors.Is(err, ErrGone):
				return err
			case err != nil:
				report(r, err)
				full.Reset(retry)
				retry = min(2*retry, lookEvery)
				continue
			}
			retry = firstRetry
			report(r, nil)
			if w != nil {
				s.watchDirs(w)
			}
			if !r.Again.IsZero() {
				full.Reset(max(r.Again.Sub(s.cfg.Now()), gather))
			}
		}
	}
}

// isViewFile reports whether an event may be about a file of the view.
func isViewFile(name string) bool {
	base := filepath.Base(name)
	return strings.HasSuffix(base, ".md") || !strings.Contains(base, ".")
}

// follow calls changed whenever something changed in the store.
func (s *Syncer) follow(ctx context.Context, changed func()) {
	retry := firstRetry
	for ctx.Err() == nil {
		began := s.cfg.Now()
		_ = s.cfg.Store.Watch(ctx, changed) // a pass finds out what is wrong, and says so
		if s.cfg.Now().Sub(began) > lookEvery {
			retry = firstRetry
		}
		select {
		case <-ctx.Done():
			return
		case <-time.After(retry):
		}
		retry = min(2*retry, lookEvery)
		changed()
	}
}

// watcher returns a watcher of the directory, or nil if it cannot be watched.
func (s *Syncer) watcher() *fsnotify.Watcher {
	if s.cfg.Path == "" {
		return nil
	}
	w, err := fsnotify.NewWatcher()
	if err != nil {
		s.cfg.Logger.Warn("changes of the view are noticed late: the directory cannot be watched", "error", err)
		return nil
	}
	s.watchDirs(w)
	return w
}

// watchDirs watches the directories of the view, not its files, which programs replace. Watching one again does
// nothing.
func (s *Syncer) watchDirs(w *fsnotify.Watcher) {
	for _, dir := range s.dirs() {
		// One that is not there yet is watched after the pass that makes it; in between the regular look finds what
		// changed.
		_ = w.Add(filepath.Join(s.cfg.Path, dir))
	}
}
