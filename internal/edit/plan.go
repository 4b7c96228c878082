package edit

import (
	"context"
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/memsidecar/memsidecar/internal/dailylog"
	"github.com/memsidecar/memsidecar/internal/journal"
	"github.com/memsidecar/memsidecar/internal/jsonstore"
	"github.com/memsidecar/memsidecar/internal/memory"
	"github.com/memsidecar/memsidecar/internal/publish"
	"github.com/memsidecar/memsidecar/internal/store"
)

// target is what a published file holds.
type target struct {
	name  string
	space string
	date  string // "" for memory.json
	list  bool   // name is a directory of logs, and the edit is the deletion of many of them
	index bool   // name is the index of archived logs, of which no edit is taken over
}

// parse finds out what the published file of a name holds, false when it is not the name of one.
func parse(name string) (target, bool) {
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
		t.list = true
		return t, true
	case name == dailylog.ArchivePath(t.space):
		t.index = true
		return t, true
	}
	var ok bool
	t.date, ok = dailylog.DateOf(path.Base(name))
	return t, ok && name == dailylog.Path(t.space, t.date)
}

// plan is what an edit comes to, before anything is done.
type plan struct {
	target
	kind    publish.Kind // Refused or Ambiguous, "" when it is to be taken over
	details []string
	base    int64 // revision that it was made from, 0 when that is not known

	memories   *memoryFile
	log        *logFile
	dates      []string           // the days that are to be removed, for a list
	violations []memory.Violation // what of it is not within the limits
	same       bool               // it is like its base, or its base is not known: accepting it makes the state as it says

	insist map[string]bool
	only   []string // takes over only things whose conflicts begin so
}

// wants reports whether the plan is about a thing at all.
func (p *plan) wants(kind, id string) bool {
	return p.only == nil || slices.ContainsFunc(p.only, func(detail string) bool {
		return strings.HasPrefix(detail, conflict{kind: kind, id: id}.prefix())
	})
}

func (p *plan) wait(kind publish.Kind, format string, args ...any) *plan {
	p.kind, p.details = kind, append(p.details, fmt.Sprintf(format, args...))
	return p
}

// refuse sorts an error: those about the file make the plan refused, others are returned.
func (p *plan) refuse(err error) (*plan, error) {
	if invalid, ok := errors.AsType[*memory.InvalidError](err); ok {
		p.violations = invalid.Violations
		for _, v := range invalid.Violations {
			p.wait(publish.Refused, "%s: %s", v.Field, v.Detail)
		}
		return p, nil
	}
	return p, err
}

// decide finds out what the bytes of a published file come to. displaced says that they do not stand under the name any more.
func (s *Service) decide(ctx context.Context, t target, data []byte, displaced bool) (*plan, error) {
	switch {
	case t.index:
		return (&plan{target: t}).wait(publish.Refused, "the index of archived logs only tells what happened: it is published, and no edit of it is taken over"), nil
	case t.date == "":
		return s.decideMemories(ctx, t, data, displaced)
	}
	return s.decideLog(ctx, t, data, displaced)
}

func (s *Service) decideMemories(ctx context.Context, t target, data []byte, displaced bool) (*plan, error) {
	p := &plan{target: t}
	f, err := s.readMemories(data, t.space)
	if err != nil {
		return p.wait(publish.Refused, "%v", err), nil
	}
	p.memories, p.base = f, f.theirs.Revision
	known, _, err := s.files(t).Known(t.name)
	if err != nil {
		return p, err
	}
	err = s.findBase(ctx, f, known.Revision, displaced)
	unknown, isUnknown := errors.AsType[*errUnknownBase](err)
	if isUnknown {
		f.base = s.present(t.space) // accepting makes the state as the file says
	} else if err != nil {
		return p, err
	}
	if err := f.prepare(); err != nil {
		return p.refuse(err)
	}
	changes := s.changesOf(f)
	now := *f
	now.base, now.counted = s.present(t.space), false
	switch {
	case isUnknown && f.like(changes):
		return p, nil
	case isUnknown:
		p.base, p.same = 0, true
		return p.wait(publish.Ambiguous, "%s", unknown.why), nil
	case f.like(changes) && f.base.Op < known.Revision && !now.like(s.changesOf(&now)):
		p.same = true
		return p.wait(publish.Ambiguous, "it is the state of revision %d again; %d was published last", f.base.Op, known.Revision), nil
	}
	if why := f.empties(changes); why != "" && !now.like(s.changesOf(&now)) {
		return p.wait(publish.Ambiguous, "%s", why), nil
	}
	return p, nil
}

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

// like reports whether the file says what its base says; changes are those of its memories.
func (f *memoryFile) like(changes []change[memory.Memory]) bool {
	_, summary := f.summary()
	return len(changes) == 0 && !summary && len(f.forgotten()) == 0
}

func (s *Service) decideLog(ctx context.Context, t target, data []byte, displaced bool) (*plan, error) {
	p := &plan{target: t}
	f, err := s.readLog(data, t.space, t.date)
	if err != nil {
		return p.wait(publish.Refused, "%v", err), nil
	}
	p.log, p.base = f, f.theirs.Day.Revision
	known, published, err := s.files(t).Known(t.name)
	if err != nil {
		return p, err
	}
	ours, err := s.presentDay(t.space, t.date)
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
	case isUnknown && f.like():
		return p, nil
	case isUnknown:
		p.base, p.same = 0, true
		return p.wait(publish.Ambiguous, "%s", unknown.why), nil
	case f.like() && (f.base != ours && published && p.base < known.Revision || !ours.exists && f.base.exists) && !now.like():
		p.same = true
		return p.wait(publish.Ambiguous, "it is the log of revision %d again, which was changed or removed since", p.base), nil
	}
	return p, nil
}

// like reports whether the file says what its base says.
func (f *logFile) like() bool {
	return len(f.changes()) == 0 && !f.headerChanged()
}

// errDry ends a transaction that is only tried out.
var errDry = errors.New("not to be done")

// run takes the plan over as one operation. Without dry it is durable on return; a dry run only says what would change.
func (s *Service) run(ctx context.Context, p *plan, reason string, dry bool) (store.Result, *tally, []journal.Change, error) {
	meta := store.Meta{Space: p.space, Actor: journal.ActorEdit, Reason: reason}
	for attempt := 0; ; attempt++ {
		apply, err := s.prepareRun(p)
		if err != nil {
			return store.Result{}, nil, nil, err
		}
		t, changes := &tally{}, []journal.Change(nil)
		res, err := s.cfg.Store.Update(ctx, meta, func(tx *store.Tx) error {
			if err := apply(tx, t); err != nil {
				return err
			}
			if changes = tx.Changes(); dry {
				return errDry
			}
			return nil
		})
		if errors.Is(err, memory.ErrStale) && attempt < 5 {
			continue // the day changed between the look and the transaction
		}
		if errors.Is(err, errDry) {
			err = nil
		}
		return res, t, changes, err
	}
}

// prepareRun reads what a transaction must not read, and returns its body.
func (s *Service) prepareRun(p *plan) (func(*store.Tx, *tally) error, error) {
	switch {
	case p.list:
		return s.removal(p)
	case p.memories != nil:
		f := *p.memories
		if p.same || p.only != nil {
			f.base, f.counted = s.present(p.space), false
		}
		changes := slices.DeleteFunc(s.changesOf(&f), func(c change[memory.Memory]) bool {
			if c.theirs != nil {
				return !p.wants("memory", c.theirs.ID)
			}
			return !p.wants("memory", c.base.ID)
		})
		changes = redacted(changes, cleanMemory)
		return func(tx *store.Tx, t *tally) error {
			if err := f.apply(tx, t, changes, p.insist); err != nil || p.only != nil {
				return err
			}
			f.applyRest(tx, t)
			return nil
		}, nil
	}
	ours, err := s.presentDay(p.space, p.date)
	if err != nil {
		return nil, err
	}
	f := *p.log
	if p.same || p.only != nil {
		f.base = ours
	}
	changes := slices.DeleteFunc(f.changes(), func(c change[memory.Entry]) bool {
		if c.theirs != nil {
			return !p.wants("entry", c.theirs.ID)
		}
		return !p.wants("entry", c.base.ID)
	})
	changes = redacted(changes, cleanEntry)
	return func(tx *store.Tx, t *tally) error {
		if err := f.apply(tx, t, changes, ours, p.insist); err != nil || !p.wants("log", p.date) {
			return err
		}
		return f.applyHeader(tx, t, ours, p.insist)
	}, nil
}

// removal removes the days of the plan.
func (s *Service) removal(p *plan) (func(*store.Tx, *tally) error, error) {
	var days []*day
	for _, date := range p.dates {
		d, err := s.presentDay(p.space, date)
		if err != nil {
			return nil, err
		}
		if d.exists {
			days = append(days, d)
		}
	}
	return func(tx *store.Tx, t *tally) error {
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
