// Package reconcile adopts what people and other programs write into the published files, memory.json and the daily
// logs. It notices a changed file, finds the state that the edit started from, and merges the edit into the store
// by memory and field, as one operation that can be undone. An edit that cannot be read, that looks like a mistake,
// or that contradicts a later change waits for a person. All its bytes are kept in quarantine/.
//
// The merge has three inputs: base (the state that the edit started from, found by the revision in the file),
// theirs (the edit) and ours (the present state). A field that theirs changed against base replaces that of ours,
// as in a three-way merge of a version control system (diff3: Khanna, Kunal and Pierce, "A Formal Investigation of
// Diff3", 2007). A removal meets a change as a conflict.
//
// The package never writes published files. Every step is idempotent: a scan of an edit that was adopted before,
// also after a crash, changes nothing.
package reconcile

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
	"github.com/memsidecar/memsidecar/internal/jsonstore"
	"github.com/memsidecar/memsidecar/internal/memory"
	"github.com/memsidecar/memsidecar/internal/publish"
	"github.com/memsidecar/memsidecar/internal/store"
	"github.com/memsidecar/memsidecar/internal/store/durable"
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

	// Dir is where FS is on the disk, so that changes are noticed at once. When it is empty or cannot be watched,
	// they are noticed by looking every 30 seconds.
	Dir string
}

const (
	stableAfter   = 2 * time.Second // how long a file must be missing, or not be understood, before that is believed
	writerTimeout = time.Minute     // how long a file that is not understood may be open for writing
)

// Service adopts edits. It is safe for concurrent use.
type Service struct {
	cfg  Config
	wake chan struct{} // holds one signal

	passMu     sync.Mutex                // held while edits are dealt with
	missing    map[string]time.Time      // published files that are not there, since when; guarded by working
	unparsable map[string]unparsableFile // files that are not understood yet; guarded by working
	failures   map[string]string         // files that could not be dealt with, and why; guarded by working

	mu      sync.Mutex
	changed map[string]bool // published files to look at; guarded by mu
	created map[string]bool // directories of spaces that are new; guarded by mu
	scanAll bool            // everything is to be looked at; guarded by mu
}

// unparsableFile is a file that cannot be parsed yet. It may be half written, so it is refused only when it stays
// that way.
type unparsableFile struct {
	hash  string    // of the last version seen
	since time.Time // when it was first seen
}

// New does no I/O.
func New(cfg Config) *Service {
	return &Service{
		cfg: cfg, wake: make(chan struct{}, 1), missing: map[string]time.Time{},
		unparsable: map[string]unparsableFile{}, failures: map[string]string{},
		changed: map[string]bool{}, created: map[string]bool{},
	}
}

// FileChanged reports that a published file is not what was published. Run scans it soon. It does no I/O. It is the
// OnEdit of both publishers.
func (s *Service) FileChanged(name string) {
	s.mu.Lock()
	s.changed[name] = true
	s.mu.Unlock()
	s.signal()
}

// EditQuarantined reports that an edit was quarantined and not read yet. It does no I/O. It is the OnDisplaced of
// both publishers.
func (s *Service) EditQuarantined(publish.Edit) { s.requestFullScan() }

// requestFullScan makes Run scan every file.
func (s *Service) requestFullScan() {
	s.mu.Lock()
	s.scanAll = true
	s.mu.Unlock()
	s.signal()
}

// signal wakes Run. A signal that is pending already is enough.
func (s *Service) signal() {
	select {
	case s.wake <- struct{}{}:
	default:
	}
}

// files returns the Files that publish a target.
func (s *Service) files(t target) *publish.Files {
	if t.date == "" && !t.isDeletion && !t.isIndex {
		return s.cfg.Memories.Files()
	}
	return s.cfg.Logs.Files()
}

// republish makes the publisher write the file of a plan again. The journal lacks the unknown top-level fields of a
// memory.json: they are read from the file in place, or kept from before when that file does not hold them all.
func (s *Service) republish(p *plan, displaced bool) {
	if f := p.memories; f != nil && (f.partial || displaced) {
		s.cfg.Memories.RepublishPartial(p.name, f.theirs.Extra)
		return
	}
	s.cfg.Memories.RepublishEdited(p.name)
	s.cfg.Logs.Republish(p.name)
}

// Scan scans everything: published files that somebody changed, removed or created, and quarantined edits. A
// missing file, or a young one that cannot be parsed, is left for a later scan, whose time is returned, zero for
// none. final skips that wait; it is for the start and for a full publication. A file that fails is tried again at
// the next scan and does not keep others from being scanned.
func (s *Service) Scan(ctx context.Context, final bool) (again time.Time, err error) {
	s.passMu.Lock()
	defer s.passMu.Unlock()
	names, err := s.allNames(ctx)
	if err != nil {
		return again, err
	}
	r := s.newPass(final)
	err = errors.Join(r.scanNames(ctx, names), r.pendingEdits(ctx))
	if err == nil {
		err = r.missingFiles(ctx)
	}
	return r.nextScan, err
}

// scanFiles scans some files. Only a full scan decides about a missing one.
func (s *Service) scanFiles(ctx context.Context, names []string) (again time.Time, err error) {
	s.passMu.Lock()
	defer s.passMu.Unlock()
	r := s.newPass(false)
	err = r.scanNames(ctx, names)
	return r.nextScan, err
}

// allNames lists every published file: those on disk and those that the manifests name.
func (s *Service) allNames(ctx context.Context) ([]string, error) {
	var names []string
	for _, files := range []*publish.Files{s.cfg.Memories.Files(), s.cfg.Logs.Files()} {
		known, err := files.Names()
		if err != nil {
			return nil, err
		}
		names = append(names, known...)
	}
	// Always looked at, even when it was never published: an older layout may have left it.
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
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		logs, err := s.list(dir)
		if err != nil {
			return nil, err
		}
		for _, e := range logs {
			names = append(names, path.Join(dir, e.Name()))
		}
	}
	names = slices.DeleteFunc(names, func(name string) bool {
		t, ok := parsePath(name)
		return !ok || t.isDeletion
	})
	slices.Sort(names)
	return slices.Compact(names), nil
}

// list reads a directory. A missing one is empty.
func (s *Service) list(dir string) ([]fs.DirEntry, error) {
	entries, err := s.cfg.FS.ReadDir(dir)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("look for edits: %w", err)
	}
	return entries, nil
}
