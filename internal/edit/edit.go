// Package edit takes over what people and other programs write into the published files: memory.json and the daily logs. It notices
// a changed file, finds out from what state it was made, and merges what was changed into the store, by memory and field, as one operation that
// can be undone. What cannot be read, or could be a mistake, or contradicts what happened since, waits for a person, with all its bytes in quarantine/.
//
// It does not write published files. Looking again at something that was dealt with, also after a crash, changes nothing.
package edit

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"path"
	"slices"
	"strings"
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
	if t.date == "" && !t.list {
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
	return r.again, r.run(ctx, names)
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

// round is one look.
type round struct {
	*Service
	final bool
	again time.Time // when something must be looked at again
}

func (s *Service) newRound(final bool) *round { return &round{Service: s, final: final} }

// later asks for another look.
func (r *round) later(d time.Duration) {
	if at := r.cfg.Now().Add(d); r.again.IsZero() || at.Before(r.again) {
		r.again = at
	}
}

// run looks at files by name. The failure of one does not keep the others from being looked at.
func (r *round) run(ctx context.Context, names []string) error {
	records, err := publish.Edits(r.cfg.FS)
	if err != nil {
		return err
	}
	for _, name := range names {
		if err := ctx.Err(); err != nil {
			return err
		}
		t, ok := parse(name)
		if !ok || t.list {
			continue
		}
		r.failed(name, r.file(ctx, t, records))
	}
	return nil
}

// failed remembers and logs, once for each cause, that something could not be dealt with.
func (r *round) failed(name string, err error) {
	if err == nil || errors.Is(err, publish.ErrNotRegular) || errors.Is(err, context.Canceled) {
		delete(r.failing, name)
		return
	}
	if why := err.Error(); r.failing[name] != why {
		r.failing[name] = why
		r.cfg.Logger.Warn("an edit could not be taken over; it will be tried again", "file", name, "error", err)
	}
}

// file looks at one file.
func (r *round) file(ctx context.Context, t target, records []publish.Edit) error {
	found, err := r.files(t).Look(t.name)
	if err != nil {
		return err
	}
	if !found.Exists {
		if _, known, err := r.files(t).Known(t.name); err != nil || !known {
			return err
		}
		if _, waiting := r.missing[t.name]; !waiting {
			r.missing[t.name] = r.cfg.Now()
		}
		r.later(settleTime)
		return nil
	}
	delete(r.missing, t.name)
	if !found.Ours && !slices.ContainsFunc(records, func(e publish.Edit) bool {
		return e.File == t.name && e.Hash == found.Hash && e.InPlace && e.Resolved == ""
	}) {
		if done, err := r.foreign(ctx, t, found, records); err != nil || !done {
			return err
		}
	}
	delete(r.odd, t.name)
	for _, e := range records {
		if e.File == t.name && e.InPlace && e.Resolved == "" && e.Hash != found.Hash {
			e.Resolved, e.InPlace = publish.Superseded, false
			if err := e.Save(r.cfg.FS); err != nil {
				return err
			}
		}
	}
	return nil
}

// foreign deals with a file that somebody changed. It is not done when it must be looked at again.
func (r *round) foreign(ctx context.Context, t target, found publish.Found, records []publish.Edit) (done bool, err error) {
	data, err := durable.ReadFile(r.cfg.FS, t.name)
	if errors.Is(err, fs.ErrNotExist) || err == nil && hashOf(data) != found.Hash {
		r.later(settleTime) // it is changing at this moment
		return false, nil
	}
	if err != nil {
		return false, err
	}
	p, err := r.decide(ctx, t, data, false)
	if err != nil {
		return false, err
	}
	if p.kind == publish.Refused && r.unsettled(t.name, found) {
		r.later(settleTime)
		return false, nil
	}
	e := publish.Edit{File: t.name, Hash: found.Hash, Base: p.base, At: r.cfg.Now()}
	if i := slices.IndexFunc(records, func(o publish.Edit) bool { return o.ID == publish.EditID(t.name, found.Hash) }); i >= 0 {
		e.Op = records[i].Op // an earlier look may have ended in a crash
	}
	if err := r.deal(ctx, p, &e); err != nil {
		return false, err
	}
	if p.kind != "" {
		e.InPlace = true
		_, err := publish.KeepEdit(r.cfg.FS, t.name, e)
		return err == nil, err
	}
	if e.Kind == publish.Conflict {
		if _, err := publish.KeepEdit(r.cfg.FS, t.name, e); err != nil {
			return false, err
		}
	}
	if err := r.files(t).Claim(t.name, found.Hash); err != nil {
		return false, err
	}
	r.mark(p, false)
	return true, nil
}

// unsettled reports whether a file that is not understood may be half written.
func (r *round) unsettled(name string, found publish.Found) bool {
	now := r.cfg.Now()
	odd := r.odd[name]
	if odd.hash == "" {
		odd.since = now
	}
	if odd.hash != found.Hash {
		odd.hash = found.Hash
	}
	r.odd[name] = odd
	age := now.Sub(found.ModTime)
	young := age >= 0 && age < settleTime || found.BeingWritten
	return !r.final && young && now.Sub(odd.since) < patience
}

// deal takes a plan over, or says in e why it waits. e.Kind is "" when it was taken over wholly.
func (r *round) deal(ctx context.Context, p *plan, e *publish.Edit) error {
	if p.kind != "" {
		e.Kind, e.Details = p.kind, p.details
		r.cfg.Logger.Warn("an edit of a published file waits for a decision; see `memsidecar edits`", "file", p.name, "kind", string(p.kind))
		return nil
	}
	op, t, err := r.take(ctx, p, "edited")
	if invalid, ok := errors.AsType[*memory.InvalidError](err); ok {
		if _, err := p.refuse(invalid); err != nil {
			return err
		}
		return r.deal(ctx, p, e)
	}
	if err != nil {
		return err
	}
	if op != 0 {
		e.Op = op
	}
	e.Kind, e.Details = "", nil
	if len(t.conflicts) > 0 {
		e.Kind, e.Details = publish.Conflict, t.details()
	}
	if op != 0 || len(t.conflicts) > 0 {
		r.cfg.Logger.Info("took over an edit of a published file", "file", p.name, "operation", op, "added", t.added, "changed", t.changed,
			"removed", t.removed, "conflicts", len(t.conflicts), "redacted", t.redacted, "notes", len(p.notes()))
	}
	return nil
}

func (p *plan) notes() []string {
	switch {
	case p.memories != nil:
		return p.memories.notes
	case p.log != nil:
		return p.log.notes
	}
	return nil
}

// take runs a plan as one operation, whose reason says what it does, and returns its number, 0 when there was nothing to do.
func (s *Service) take(ctx context.Context, p *plan, verb string) (op int64, t *tally, err error) {
	_, t, changes, err := s.run(ctx, p, "", true)
	if err != nil || len(changes) == 0 {
		return 0, t, err
	}
	res, t, _, err := s.run(ctx, p, p.name+" "+verb+": "+t.String(), false)
	return res.Op, t, err
}

// waiting deals with what was put aside and that nobody looked at yet.
func (r *round) waiting(ctx context.Context) error {
	records, err := publish.Edits(r.cfg.FS)
	if err != nil {
		return err
	}
	for _, e := range records {
		if e.Kind == publish.Pending && e.Resolved == "" && ctx.Err() == nil {
			r.failed(e.Copy, r.aside(ctx, e))
		}
	}
	return nil
}

func (r *round) aside(ctx context.Context, e publish.Edit) error {
	data, err := durable.ReadFile(r.cfg.FS, e.Copy)
	if err != nil {
		return err
	}
	if hashOf(data) != e.Hash {
		return nil // somebody goes on writing into it; that becomes an edit of its own
	}
	t, ok := parse(e.File)
	if !ok || t.list {
		e.Kind, e.Details = publish.Refused, []string{"is not the name of a published file"}
		return e.Save(r.cfg.FS)
	}
	p, err := r.decide(ctx, t, data, true)
	if err != nil {
		return err
	}
	e.Base = p.base
	if err := r.deal(ctx, p, &e); err != nil {
		return err
	}
	if e.Kind == "" {
		e.Kind, e.Resolved = publish.Pending, publish.Taken
	}
	if err := e.Save(r.cfg.FS); err != nil {
		return err
	}
	if p.kind == "" {
		r.mark(p, true)
	}
	return nil
}

func hashOf(data []byte) string {
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:])
}

// gone deals with published files that are not there any more.
func (r *round) gone(ctx context.Context) error {
	logs := map[string][]target{}
	for name, since := range r.missing {
		if !r.final && r.cfg.Now().Sub(since) < settleTime {
			continue
		}
		t, _ := parse(name)
		if found, err := r.files(t).Look(name); err != nil || found.Exists {
			delete(r.missing, name)
			continue
		}
		if t.date != "" {
			logs[t.space] = append(logs[t.space], t)
			continue
		}
		r.cfg.Logger.Info("a published file was deleted; it is published again", "file", name)
		r.cfg.Memories.Mark(name)
		delete(r.missing, name)
	}
	for space, targets := range logs {
		r.failed(dailylog.Dir(space), r.goneLogs(ctx, space, targets))
	}
	return nil
}

// goneLogs removes the days whose files were deleted, unless these are so many that it must be a mistake.
func (r *round) goneLogs(ctx context.Context, space string, targets []target) error {
	all := r.cfg.Store.Space(space).Days()
	days := map[string]bool{}
	for _, d := range all {
		days[d.Date] = true
	}
	targets = slices.DeleteFunc(targets, func(t target) bool {
		if !days[t.date] { // the store does not have it any more either
			delete(r.missing, t.name)
		}
		return !days[t.date]
	})
	if len(targets) > 3 && 5*len(targets) > len(all) {
		return r.manyGone(space, targets, len(all))
	}
	for _, t := range targets {
		if err := r.goneLog(ctx, t); err != nil {
			return err
		}
		delete(r.missing, t.name)
	}
	return nil
}

func (r *round) goneLog(ctx context.Context, t target) error {
	known, _, err := r.cfg.Logs.Files().Known(t.name)
	if err != nil {
		return err
	}
	ours, err := r.presentDay(t.space, t.date)
	if err != nil {
		return err
	}
	if ours.header.Revision != known.Revision {
		r.cfg.Logger.Info("a daily log was deleted, but had changed since; it is published again", "file", t.name)
		r.cfg.Logs.Mark(t.name)
		return nil
	}
	p := &plan{target: target{name: t.name, space: t.space, list: true}, dates: []string{t.date}}
	if _, _, err := r.take(ctx, p, "deleted"); err != nil {
		return err
	}
	r.cfg.Logger.Info("took over the deletion of a daily log", "file", t.name)
	return r.cfg.Logs.Files().Drop(t.name)
}

// deletionFile holds the list of deleted logs until it is in quarantine/.
const deletionFile = "index/deleted-logs"

// manyGone notes that many logs of a space were deleted.
func (r *round) manyGone(space string, targets []target, all int) error {
	var dates []string
	for _, t := range targets {
		dates = append(dates, t.date)
	}
	slices.Sort(dates)
	data, err := json.Marshal(dates)
	if err != nil {
		return fmt.Errorf("note deleted logs: %w", err)
	}
	name := dailylog.Dir(space)
	records, err := publish.Edits(r.cfg.FS)
	if err != nil {
		return err
	}
	for _, e := range records {
		switch {
		case e.File != name || e.Resolved != "":
		case e.Hash == hashOf(data):
			return nil
		default:
			e.Resolved = publish.Superseded
			if err := e.Save(r.cfg.FS); err != nil {
				return err
			}
		}
	}
	if err := writeFile(r.cfg.FS, deletionFile, data); err != nil {
		return err
	}
	r.cfg.Logger.Warn("many daily logs were deleted; that waits for a decision; see `memsidecar edits`", "dir", name, "files", len(dates))
	_, err = publish.KeepEdit(r.cfg.FS, deletionFile, publish.Edit{
		File: name, Kind: publish.Ambiguous, At: r.cfg.Now(),
		Details: []string{fmt.Sprintf("%d of %d logs were deleted: %s", len(dates), all, strings.Join(dates, ", "))},
	})
	return err
}
