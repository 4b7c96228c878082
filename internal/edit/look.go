package edit

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io/fs"
	"slices"
	"time"

	"github.com/memsidecar/memsidecar/internal/durable"
	"github.com/memsidecar/memsidecar/internal/memory"
	"github.com/memsidecar/memsidecar/internal/publish"
)

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
	if t.index {
		r.index(t, found)
		return nil
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

// index has the index of archived logs published again when somebody changed or removed it. Publishing sets an edit aside.
func (r *round) index(t target, found publish.Found) {
	switch {
	case found.Ours || len(r.cfg.Store.Space(t.space).Archived()) == 0: // a file of that name that is not ours
	case found.Exists && r.unsettled(t.name, found):
		r.later(settleTime)
		return
	default:
		r.cfg.Logger.Info("the index of archived logs was changed or deleted; it is published again", "file", t.name)
		r.cfg.Logs.Mark(t.name)
	}
	delete(r.odd, t.name)
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
