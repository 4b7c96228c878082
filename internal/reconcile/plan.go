package reconcile

import (
	"context"
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/memsidecar/memsidecar/internal/dailylog"
	"github.com/memsidecar/memsidecar/internal/jsonstore"
	"github.com/memsidecar/memsidecar/internal/memory"
	"github.com/memsidecar/memsidecar/internal/publish"
	"github.com/memsidecar/memsidecar/internal/service/memorysvc"
	"github.com/memsidecar/memsidecar/internal/store"
	"github.com/memsidecar/memsidecar/internal/store/journal"
)

// target is what a published file holds.
type target struct {
	name       string // path below the data directory
	space      string
	date       string // "" for memory.json
	isDeletion bool   // name is a directory of logs, and the edit is the deletion of many of them
	isIndex    bool   // name is the index of archived logs, whose edits are never adopted
}

// parsePath finds out what the published file at a path holds, false when the path is not one of a published file.
func parsePath(name string) (target, bool) {
	t := target{name: name, space: memory.DefaultSpace}
	if rest, below := strings.CutPrefix(name, "spaces/"); below {
		t.space, _, _ = strings.Cut(rest, "/")
		if !memory.IsSlug(t.space) || len(t.space) > memory.MaxSlug || t.space == memory.DefaultSpace {
			return target{}, false
		}
	}
	switch {
	case name == jsonstore.Path(t.space):
		return t, true
	case name == dailylog.Dir(t.space):
		t.isDeletion = true
		return t, true
	case name == dailylog.ArchivePath(t.space):
		t.isIndex = true
		return t, true
	}
	var ok bool
	t.date, ok = dailylog.DateOf(path.Base(name))
	return t, ok && name == dailylog.Path(t.space, t.date)
}

// plan is what an edit amounts to, before anything is done.
type plan struct {
	target
	kind    publish.Kind // Refused or Ambiguous, "" when it is to be adopted
	details []string     // why it waits
	base    int64        // revision that it was made from, 0 when that is not known

	memories   *memoryFile
	log        *logFile
	dates      []string           // the days that are to be removed, for a list
	violations []memory.Violation // what of it is not within the limits
	// asWhole says that the edit equals its base, or that its base is unknown: accepting it makes the state as it says.
	asWhole bool

	force map[string]bool
	only  []string // takes over only things whose conflicts begin so
}

// covers reports whether the plan is about a thing at all. Accepting a conflict covers only the things in conflict.
func (p *plan) covers(kind, id string) bool {
	return p.only == nil || slices.ContainsFunc(p.only, func(detail string) bool {
		return strings.HasPrefix(detail, conflict{kind: kind, id: id}.prefix())
	})
}

// postpone makes the plan wait for a person, with a reason that they can act on.
func (p *plan) postpone(kind publish.Kind, format string, args ...any) *plan {
	p.kind, p.details = kind, append(p.details, fmt.Sprintf(format, args...))
	return p
}

// refuse makes a plan refused because of what the file says. Errors of any other kind are returned.
func (p *plan) refuse(err error) (*plan, error) {
	if invalid, ok := errors.AsType[*memory.InvalidError](err); ok {
		p.violations = invalid.Violations
		for _, v := range invalid.Violations {
			p.postpone(publish.Refused, "%s: %s", v.Field, v.Detail)
		}
		return p, nil
	}
	return p, err
}

// makePlan finds out what the bytes of a published file amount to. displaced says that the bytes are no longer
// under the file's name.
func (s *Service) makePlan(ctx context.Context, t target, data []byte, displaced bool) (*plan, error) {
	switch {
	case t.isIndex:
		return (&plan{target: t}).postpone(publish.Refused,
			"the index of archived logs only reports what happened; edits of it are not adopted"), nil
	case t.date == "":
		return s.planMemories(ctx, t, data, displaced)
	}
	return s.planLog(ctx, t, data, displaced)
}

// planMemories plans an edit of a memory.json. A file that equals an older publication is ambiguous: a checkout
// from version control, or a person who wants the old state back.
func (s *Service) planMemories(ctx context.Context, t target, data []byte, displaced bool) (*plan, error) {
	p := &plan{target: t}
	f, err := s.readMemories(data, t.space)
	if err != nil {
		return p.postpone(publish.Refused, "%v", err), nil
	}
	p.memories, p.base = f, f.theirs.Revision
	known, _, err := s.files(t).Published(t.name)
	if err != nil {
		return p, err
	}
	err = s.findBase(ctx, f, known.Revision, displaced)
	unknown, isUnknown := errors.AsType[*errUnknownBase](err)
	if isUnknown {
		f.base = s.currentState(t.space) // accepting makes the state as the file says
	} else if err != nil {
		return p, err
	}
	if err := f.prepare(); err != nil {
		return p.refuse(err)
	}
	changes := s.changesOf(f)
	now := *f
	now.base, now.hasAccesses = s.currentState(t.space), false
	switch {
	case isUnknown && f.unchanged(changes):
		return p, nil
	case isUnknown:
		p.base, p.asWhole = 0, true
		return p.postpone(publish.Ambiguous, "%s", unknown.why), nil
	case f.unchanged(changes) && f.base.Op < known.Revision && !now.unchanged(s.changesOf(&now)):
		p.asWhole = true
		return p.postpone(
			publish.Ambiguous,
			"it is the state of revision %d again; revision %d was published last",
			f.base.Op,
			known.Revision,
		), nil
	}
	if err := s.cfg.Store.Writable(t.space); err != nil && !f.unchanged(changes) {
		return p.postpone(publish.Refused, "%v", err), nil
	}
	if why := f.removesTooMuch(changes); why != "" && !now.unchanged(s.changesOf(&now)) {
		return p.postpone(publish.Ambiguous, "%s", why), nil
	}
	return p, nil
}

// changesOf lists how a memory.json differs from its base, with the present accesses taken into account.
func (s *Service) changesOf(f *memoryFile) []change[memory.Memory] {
	v := s.cfg.Store.Space(f.space)
	return f.changes(func(id string) *memory.Memory {
		m, err := v.Get(id)
		if err != nil {
			return nil
		}
		return m
	})
}

// unchanged reports whether the file says what its base says; changes are those of its memories.
func (f *memoryFile) unchanged(changes []change[memory.Memory]) bool {
	_, summary := f.summary()
	return len(changes) == 0 && !summary && len(f.forgotten()) == 0
}

// planLog plans an edit of a daily log, as planMemories does for memories.
func (s *Service) planLog(ctx context.Context, t target, data []byte, displaced bool) (*plan, error) {
	p := &plan{target: t}
	f, err := s.readLog(data, t.space, t.date)
	if err != nil {
		return p.postpone(publish.Refused, "%v", err), nil
	}
	p.log, p.base = f, f.theirs.Day.Revision
	known, published, err := s.files(t).Published(t.name)
	if err != nil {
		return p, err
	}
	ours, err := s.currentDay(t.space, t.date)
	if err != nil {
		return p, err
	}
	err = s.findDay(ctx, f, ours, known.Revision, displaced)
	unknown, isUnknown := errors.AsType[*errUnknownBase](err)
	if isUnknown {
		f.base = ours
	} else if err != nil {
		return p, err
	}
	if err := f.prepare(s.cfg.Location); err != nil {
		return p.refuse(err)
	}
	now := *f
	now.base = ours
	switch {
	case isUnknown && f.unchanged():
		return p, nil
	case isUnknown:
		p.base, p.asWhole = 0, true
		return p.postpone(publish.Ambiguous, "%s", unknown.why), nil
	// An old version was put back, for example from a backup. It may be meant as an undo or be a mistake.
	case f.unchanged() && (f.base != ours && published && p.base < known.Revision || !ours.exists && f.base.exists) && !now.unchanged():
		p.asWhole = true
		return p.postpone(
			publish.Ambiguous,
			"it is the log of revision %d again, which was changed or removed since",
			p.base,
		), nil
	}
	return p, nil
}

// unchanged reports whether the file says what its base says.
func (f *logFile) unchanged() bool {
	return len(f.changes()) == 0 && !f.headerChanged()
}

// errDryRun ends a transaction that is only tried out.
var errDryRun = errors.New("not to be done")

// runPlan applies a plan as one operation. Without dry it is durable on return; with dry it only returns what would
// change. The days of logs are read outside the transaction, so it tries again when one of them changed meanwhile.
func (s *Service) runPlan(
	ctx context.Context,
	p *plan,
	reason string,
	dry bool,
) (store.Result, *counts, []journal.Change, error) {
	meta := store.Meta{Space: p.space, Actor: journal.ActorEdit, Reason: reason}
	for attempt := 0; ; attempt++ {
		apply, err := s.prepareRun(p)
		if err != nil {
			return store.Result{}, nil, nil, err
		}
		t, changes := &counts{}, []journal.Change(nil)
		res, err := s.cfg.Store.Update(ctx, meta, func(tx *store.Tx) error {
			if err := apply(tx, t); err != nil {
				return err
			}
			if changes = tx.Changes(); dry {
				return errDryRun
			}
			return nil
		})
		if errors.Is(err, memory.ErrStale) && attempt < 5 {
			continue // the day changed between the look and the transaction
		}
		if errors.Is(err, errDryRun) {
			err = nil
		}
		return res, t, changes, err
	}
}

// prepareRun reads what a transaction must not read, and returns the transaction's body.
func (s *Service) prepareRun(p *plan) (func(*store.Tx, *counts) error, error) {
	switch {
	case p.isDeletion:
		return s.removal(p)
	case p.memories != nil:
		f := *p.memories
		if p.asWhole || p.only != nil {
			// As a whole: the file is what the person wants, so it is compared with the present state.
			f.base, f.hasAccesses = s.currentState(p.space), false
		}
		changes := slices.DeleteFunc(s.changesOf(&f), func(c change[memory.Memory]) bool {
			if c.theirs != nil {
				return !p.covers("memory", c.theirs.ID)
			}
			return !p.covers("memory", c.base.ID)
		})
		changes = examined(changes, memorysvc.SecretsIn)
		return func(tx *store.Tx, t *counts) error {
			if err := f.apply(tx, t, changes, p.force); err != nil || p.only != nil {
				return err
			}
			f.applyRest(tx, t)
			return nil
		}, nil
	}
	ours, err := s.currentDay(p.space, p.date)
	if err != nil {
		return nil, err
	}
	f := *p.log
	if p.asWhole || p.only != nil {
		f.base = ours
	}
	changes := slices.DeleteFunc(f.changes(), func(c change[memory.Entry]) bool {
		if c.theirs != nil {
			return !p.covers("entry", c.theirs.ID)
		}
		return !p.covers("entry", c.base.ID)
	})
	changes = examined(changes, memorysvc.SecretsInEntry)
	return func(tx *store.Tx, t *counts) error {
		if err := f.apply(tx, t, changes, ours, p.force); err != nil || !p.covers("log", p.date) {
			return err
		}
		return f.applyHeader(tx, t, ours, p.force)
	}, nil
}

// removal returns a transaction that removes the days of a plan.
func (s *Service) removal(p *plan) (func(*store.Tx, *counts) error, error) {
	var days []*day
	for _, date := range p.dates {
		d, err := s.currentDay(p.space, date)
		if err != nil {
			return nil, err
		}
		if d.exists {
			days = append(days, d)
		}
	}
	return func(tx *store.Tx, t *counts) error {
		for _, d := range days {
			if err := tx.RemoveDay(&d.header, d.entries); err != nil {
				return err
			}
			tx.LogGone(d.header.Date)
			t.removed++
		}
		return nil
	}, nil
}
