// Package publish keeps files for people up to date with a state that changes all the time. It has three layers:
//
//   - Files replaces a file without ever losing what somebody else wrote into it, and remembers what it wrote.
//   - Scheduler decides when to write which file.
//   - Publisher combines both for one Format, which says which files there are and what is in them.
//
// A write to the state never waits for anything here.
package publish

import (
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"log/slog"
	"path"
	"strings"
	"time"

	"github.com/memsidecar/memsidecar/internal/memory"
	"github.com/memsidecar/memsidecar/internal/store/durable"
)

// Source is the state that is published: spaces, each read through a V.
type Source[V any] interface {
	Spaces() []string
	Space(name string) V
}

// Format is what one kind of published file supplies to its Publisher. A key names one file; its form is up to the
// format, but it must not be empty.
type Format[V any] struct {
	Name     string // for log lines: "memories"
	Manifest string // where Files remembers what was published; see NewFiles

	// KeyOf returns the key of the file at a path, and false for a path that is not of this format.
	KeyOf func(name string) (key string, ok bool)
	// Files yields the path of each file that a space has, with the revision of the state that it should hold.
	Files func(space string, view V) iter.Seq2[string, int64]
	// Publish writes the file of key from the present state, by Replace or Remove of the Publisher. Without deferred it
	// may leave out what InvalidateDeferred reported. It is called from one goroutine at a time.
	Publish func(key string, deferred bool) (Written, error)
	// Removes says that Publish removes a file that Files does not yield. Without it such a file is left alone.
	Removes bool
}

// Config of a Publisher. FS, Now and Logger are required, and Source unless Attach gives it.
type Config[V any] struct {
	Source Source[V]
	FS     durable.FS
	Now    func() time.Time
	Logger *slog.Logger

	Quiet    time.Duration // how long a file's state must go unchanged before it is written; 500 ms when 0
	MaxDelay time.Duration // the longest wait after the first change; 4 s when 0
	Share    float64       // of the time that writing one file may take; 0.03 when 0
	Busy     func() bool   // whether requests are answered at the moment; see Files

	// OnDisplaced, when not nil, gets each edit that turned up where a published file was expected; see Files.
	OnDisplaced func(Edit)
	// OnEdit gets the name of a file that is not written because somebody else changed it. The file is written again
	// after Republish. When nil, such a file is quarantined and replaced.
	OnEdit func(name string)
}

// Publisher keeps the files of one format up to date in the background. It is safe for concurrent use.
type Publisher[V any] struct {
	format    Format[V]
	source    Source[V]
	files     *Files
	onEdit    func(name string)
	scheduler *Scheduler
}

// NewPublisher does no I/O.
func NewPublisher[V any](cfg Config[V], format Format[V]) *Publisher[V] {
	p := &Publisher[V]{
		format: format, source: cfg.Source, onEdit: cfg.OnEdit,
		files: NewFiles(cfg.FS, format.Manifest, cfg.Now, cfg.Logger),
	}
	p.files.OnDisplaced, p.files.Busy = cfg.OnDisplaced, cfg.Busy
	p.scheduler = NewScheduler(SchedulerConfig{
		Publish: format.Publish, Outdated: p.outdated, Now: cfg.Now, Logger: cfg.Logger.With("publisher", format.Name),
		Quiet: cfg.Quiet, MaxDelay: cfg.MaxDelay, Share: cfg.Share,
	})
	return p
}

// Attach sets the source of a publisher that had to be made before the store that it follows. Call it before Run and
// PublishAll.
func (p *Publisher[V]) Attach(source Source[V]) { p.source = source }

// Source is the state that is published.
func (p *Publisher[V]) Source() Source[V] { return p.source }

// Run publishes changes until ctx ends, which is no error. It begins with the files that are older than the state.
// Failures are logged, once for each kind, and retried.
func (p *Publisher[V]) Run(ctx context.Context) error { return p.scheduler.Run(ctx) }

// PublishAll publishes everything that is out of date now, whether or not Run is running. Durable on return.
func (p *Publisher[V]) PublishAll(ctx context.Context) error {
	defer p.files.waiting.Wait()()
	return p.scheduler.PublishAll(ctx)
}

// PublishPending publishes what is known to be out of date, what changed last first, until ctx ends; the next start
// publishes the rest. Durable on return.
func (p *Publisher[V]) PublishPending(ctx context.Context) error {
	return p.scheduler.PublishPending(ctx)
}

// Files are the files that the publisher writes.
func (p *Publisher[V]) Files() *Files { return p.files }

// Status reports each file that was published or changed since the start, sorted by key.
func (p *Publisher[V]) Status() []Status { return p.scheduler.Status() }

// Owns reports whether name is the path of a file of this format, in any space.
func (p *Publisher[V]) Owns(name string) bool {
	_, ok := p.format.KeyOf(name)
	return ok
}

// Republish makes the publisher write the file name again, even if the state did not change. It does no I/O. Names of
// other formats are ignored.
func (p *Publisher[V]) Republish(name string) {
	if key, ok := p.format.KeyOf(name); ok {
		p.scheduler.Invalidate(key)
	}
}

// Invalidate reports a change of the state behind key. It does no I/O.
func (p *Publisher[V]) Invalidate(key string) { p.scheduler.Invalidate(key) }

// InvalidateDeferred reports a change that may wait for an hour. It does no I/O.
func (p *Publisher[V]) InvalidateDeferred(key string) { p.scheduler.InvalidateDeferred(key) }

// Replace writes the file name for Format.Publish; see Files.Replace. Errors: ErrBlocked when somebody else changed the
// file and OnEdit handles that; those of Files.Replace.
func (p *Publisher[V]) Replace(
	name string,
	revision int64,
	backup bool,
	encode func(io.Writer) error,
) (Written, error) {
	var done Written
	err := p.files.UnlessEdited(name, p.onEdit, func() (err error) {
		done, err = p.files.Replace(name, revision, backup, encode)
		return err
	})
	return done, err
}

// Remove removes the file name for Format.Publish. Errors as of Replace.
func (p *Publisher[V]) Remove(name string) error {
	return p.files.UnlessEdited(name, p.onEdit, func() error { return p.files.Remove(name) })
}

// Looking at many spaces, at a start for example, takes half of a processor: who asks meanwhile should not wait.
const (
	scanBeforeRest = 512 // spaces, which take about a millisecond
	scanRest       = time.Millisecond
)

// outdated lists the keys of the files that do not hold the newest state.
func (p *Publisher[V]) outdated() ([]string, error) {
	var keys []string
	var errs []error
	present := map[string]bool{} // only filled for a format that removes files
	add := func(name string) {
		key, ok := p.format.KeyOf(name)
		if !ok {
			return
		}
		keys = append(keys, key)
		if k, _, err := p.files.Published(name); err == nil {
			p.scheduler.noteSize(key, k.Size)
		}
	}
	for i, space := range p.source.Spaces() {
		if i%scanBeforeRest == scanBeforeRest-1 {
			time.Sleep(scanRest)
		}
		for name, revision := range p.format.Files(space, p.source.Space(space)) {
			if p.format.Removes {
				present[name] = true
			}
			published, err := p.files.Revision(name)
			errs = append(errs, err)
			if published != revision {
				add(name)
			}
		}
	}
	if p.format.Removes {
		names, err := p.files.Names()
		errs = append(errs, err)
		for _, name := range names {
			if !present[name] {
				add(name)
			}
		}
	}
	return keys, errors.Join(errs...)
}

// spacesDir holds the directories of all spaces but the default one.
const spacesDir = "spaces"

// SpaceDir is the directory of a space's published files: the root for the default space, spaces/NAME for others.
func SpaceDir(space string) string {
	if space == memory.DefaultSpace || space == "" {
		return "."
	}
	return path.Join(spacesDir, space)
}

// SpaceOf returns the space that the file at a path belongs to: the inverse of SpaceDir.
func SpaceOf(name string) string {
	if rest, below := strings.CutPrefix(name, spacesDir+"/"); below {
		space, _, _ := strings.Cut(rest, "/")
		return space
	}
	return memory.DefaultSpace
}

// UnlessEdited calls op, a Replace or Remove of name. When op finds that somebody else changed the file, onEdit
// gets the name and the error is ErrBlocked; with a nil onEdit the file is quarantined and op is called again.
func (f *Files) UnlessEdited(name string, onEdit func(name string), op func() error) error {
	const attempts = 3 // somebody may write again and again
	for range attempts {
		err := op()
		if !errors.Is(err, ErrEdited) {
			return err
		}
		if onEdit != nil {
			onEdit(name)
			return fmt.Errorf("%s %w", name, ErrBlocked)
		}
		if err := f.Quarantine(name); err != nil {
			return err
		}
	}
	return fmt.Errorf("%s %w", name, ErrBusyFile)
}
