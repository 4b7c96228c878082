package reconcile

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io/fs"
	"slices"
	"time"

	"github.com/memsidecar/memsidecar/internal/memory"
	"github.com/memsidecar/memsidecar/internal/publish"
	"github.com/memsidecar/memsidecar/internal/store/durable"
)

// pass is one scan.
type pass struct {
	*Service
	final    bool
	nextScan time.Time // when something must be looked at again
}

// newPass starts a scan. final believes what it sees at once: see Scan.
func (s *Service) newPass(final bool) *pass { return &pass{Service: s, final: final} }

// scanAgainIn asks for another scan after d, unless an earlier one is due.
func (r *pass) scanAgainIn(d time.Duration) {
	if at := r.cfg.Now().Add(d); r.nextScan.IsZero() || at.Before(r.nextScan) {
		r.nextScan = at
	}
}

// scanNames scans files by name. A file that fails does not keep the others from being scanned.
func (r *pass) scanNames(ctx context.Context, names []string) error {
	records, err := publish.Edits(r.cfg.FS)
	if err != nil {
		return err
	}
	for _, name := range names {
		if err := ctx.Err(); err != nil {
			return err
		}
		t, ok := parsePath(name)
		if !ok || t.isDeletion {
			continue
		}
		r.recordFailure(name, r.file(ctx, t, records))
	}
	return nil
}

// recordFailure remembers that something could not be handled, and logs it once for each cause.
func (r *pass) recordFailure(name string, err error) {
	if err == nil || errors.Is(err, publish.ErrNotRegular) || errors.Is(err, context.Canceled) {
		delete(r.failures, name)
		return
	}
	if why := err.Error(); r.failures[name] != why {
		r.failures[name] = why
		r.cfg.Logger.Warn("cannot adopt an edit; will try again", "file", name, "error", err)
	}
}

// file scans one file: it is as published, missing, waiting for a decision, or changed.
func (r *pass) file(ctx context.Context, t target, records []publish.Edit) error {
	found, err := r.files(t).Inspect(t.name)
	if err != nil {
		return err
	}
	if t.isIndex {
		r.index(t, found)
		return nil
	}
	if !found.Exists {
		if _, known, err := r.files(t).Published(t.name); err != nil || !known {
			return err
		}
		// Many editors remove a file before they rename the new one into place, so a missing file waits.
		if _, waiting := r.missing[t.name]; !waiting {
			r.missing[t.name] = r.cfg.Now()
		}
		r.scanAgainIn(stableAfter)
		return nil
	}
	delete(r.missing, t.name)
	if !found.Ours && !slices.ContainsFunc(records, func(e publish.Edit) bool {
		return e.File == t.name && e.Hash == found.Hash && e.InPlace && e.Resolved == ""
	}) {
		if done, err := r.changedFile(ctx, t, found, records); err != nil || !done {
			return err
		}
	}
	delete(r.unparsable, t.name)
	for _, e := range records {
		if e.File == t.name && e.InPlace && e.Resolved == "" && e.Hash != found.Hash {
			// The file was changed again: the edit that waited for a decision is no longer the one in place.
			e.Resolved, e.InPlace = publish.Superseded, false
			if err := e.Save(r.cfg.FS); err != nil {
				return err
			}
		}
	}
	return nil
}

// index republishes the index of archived logs when somebody changed or removed it. The publisher quarantines the
// edit.
func (r *pass) index(t target, found publish.Inspection) {
	switch {
	case found.Ours || len(r.cfg.Store.Space(t.space).Archived()) == 0: // a file of that name that is not ours
	case found.Exists && r.maybeHalfWritten(t.name, found):
		r.scanAgainIn(stableAfter)
		return
	default:
		r.cfg.Logger.Info("the index of archived logs was changed or deleted; publishing it again", "file", t.name)
		r.cfg.Logs.Republish(t.name)
	}
	delete(r.unparsable, t.name)
}

// changedFile handles a file that somebody changed. done is false when the file must be scanned again.
//
// The order is what makes a crash harmless: the operation is durable first, then the quarantined copy, then the
// claim that lets the publisher replace the file. A crash in between repeats the merge, which then finds nothing to
// change.
func (r *pass) changedFile(
	ctx context.Context,
	t target,
	found publish.Inspection,
	records []publish.Edit,
) (done bool, err error) {
	data, err := durable.ReadFile(r.cfg.FS, t.name)
	if errors.Is(err, fs.ErrNotExist) || err == nil && hashOf(data) != found.Hash {
		r.scanAgainIn(stableAfter) // it is changing at this moment
		return false, nil
	}
	if err != nil {
		return false, err
	}
	p, err := r.makePlan(ctx, t, data, false)
	if err != nil {
		return false, err
	}
	if p.kind == publish.Refused && r.maybeHalfWritten(t.name, found) {
		r.scanAgainIn(stableAfter)
		return false, nil
	}
	e := publish.Edit{File: t.name, Hash: found.Hash, Base: p.base, At: r.cfg.Now()}
	if i := slices.IndexFunc(records, func(o publish.Edit) bool { return o.ID == publish.EditID(t.name, found.Hash) }); i >= 0 {
		e.Op = records[i].Op // an earlier look may have ended in a crash
	}
	if err := r.handle(ctx, p, &e); err != nil {
		return false, err
	}
	if p.kind != "" {
		e.InPlace = true
		_, err := publish.QuarantineEdit(r.cfg.FS, t.name, e)
		return err == nil, err
	}
	if e.Kind == publish.Conflict {
		if _, err := publish.QuarantineEdit(r.cfg.FS, t.name, e); err != nil {
			return false, err
		}
	}
	if err := r.files(t).Claim(t.name, found.Hash); err != nil {
		return false, err
	}
	r.republish(p, false)
	return true, nil
}

// maybeHalfWritten reports whether a file that cannot be parsed may still be in the middle of a write: it is young,
// or open for writing. The answer is no after writerTimeout, so that a writer that hangs cannot hide a broken file.
func (r *pass) maybeHalfWritten(name string, found publish.Inspection) bool {
	now := r.cfg.Now()
	odd := r.unparsable[name]
	if odd.hash == "" {
		odd.since = now
	}
	if odd.hash != found.Hash {
		odd.hash = found.Hash
	}
	r.unparsable[name] = odd
	age := now.Sub(found.ModTime)
	young := age >= 0 && age < stableAfter || found.BeingWritten
	return !r.final && young && now.Sub(odd.since) < writerTimeout
}

// handle adopts a plan, or says in e why it waits for a person. e.Kind is "" when the whole edit was adopted.
func (r *pass) handle(ctx context.Context, p *plan, e *publish.Edit) error {
	if p.kind != "" {
		e.Kind, e.Details = p.kind, p.details
		r.cfg.Logger.Warn(
			"an edit of a published file waits for a decision, see `memsidecar edits`",
			"file",
			p.name,
			"kind",
			string(p.kind),
		)
		return nil
	}
	op, t, err := r.apply(ctx, p, "edited")
	if invalid, ok := errors.AsType[*memory.InvalidError](err); ok {
		if _, err := p.refuse(invalid); err != nil {
			return err
		}
		return r.handle(ctx, p, e)
	}
	if err != nil {
		return err
	}
	if op != 0 {
		e.Op = op
	}
	e.Kind, e.Details = "", nil
	// What could be merged was adopted; only the rest waits for a person.
	if len(t.conflicts) > 0 {
		e.Kind, e.Details = publish.Conflict, t.details()
	}
	if op != 0 || len(t.conflicts) > 0 {
		r.cfg.Logger.Info(
			"adopted an edit of a published file",
			"file",
			p.name,
			"operation",
			op,
			"added",
			t.added,
			"changed",
			t.changed,
			"removed",
			t.removed,
			"conflicts",
			len(t.conflicts),
			"secrets",
			len(t.secrets),
			"notes",
			len(p.notes()),
		)
	}
	return nil
}

// notes says what was brought within the limits of a memory.
func (p *plan) notes() []string {
	switch {
	case p.memories != nil:
		return p.memories.sanitized
	case p.log != nil:
		return p.log.sanitized
	}
	return nil
}

// apply runs a plan as one operation, whose reason says what it does, and returns the operation's number, 0 when
// there was nothing to do. A dry run first keeps an edit without effect from leaving an empty operation in the
// history.
func (s *Service) apply(ctx context.Context, p *plan, verb string) (op int64, t *counts, err error) {
	_, t, changes, err := s.runPlan(ctx, p, "", true)
	if err != nil || len(changes) == 0 {
		return 0, t, err
	}
	res, t, _, err := s.runPlan(ctx, p, p.name+" "+verb+": "+t.String(), false)
	return res.Op, t, err
}

// pendingEdits handles the quarantined edits that nobody read yet: those that a publication displaced.
func (r *pass) pendingEdits(ctx context.Context) error {
	records, err := publish.Edits(r.cfg.FS)
	if err != nil {
		return err
	}
	for _, e := range records {
		if e.Kind == publish.Pending && e.Resolved == "" && ctx.Err() == nil {
			r.recordFailure(e.Copy, r.quarantined(ctx, e))
		}
	}
	return nil
}

// quarantined handles one of them. Its file may have been published over meanwhile.
func (r *pass) quarantined(ctx context.Context, e publish.Edit) error {
	data, err := durable.ReadFile(r.cfg.FS, e.Copy)
	if err != nil {
		return err
	}
	if hashOf(data) != e.Hash {
		return nil // somebody goes on writing into it; that becomes an edit of its own
	}
	t, ok := parsePath(e.File)
	if !ok || t.isDeletion {
		e.Kind, e.Details = publish.Refused, []string{"is not the name of a published file"}
		return e.Save(r.cfg.FS)
	}
	p, err := r.makePlan(ctx, t, data, true)
	if err != nil {
		return err
	}
	e.Base = p.base
	if err := r.handle(ctx, p, &e); err != nil {
		return err
	}
	if e.Kind == "" {
		e.Kind, e.Resolved = publish.Pending, publish.Adopted
	}
	if err := e.Save(r.cfg.FS); err != nil {
		return err
	}
	if p.kind == "" {
		r.republish(p, true)
	}
	return nil
}

// hashOf is the SHA-256 of data in hexadecimal, as manifests and edit records hold it.
func hashOf(data []byte) string {
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:])
}
