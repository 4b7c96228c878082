package store

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/memsidecar/memsidecar/internal/durable"
	"github.com/memsidecar/memsidecar/internal/journal"
	"github.com/memsidecar/memsidecar/internal/memory"
)

// ReasonPurged is the reason of what an undo left alone because a purge erased what was before.
const ReasonPurged = "PURGED"

// PurgeRequest says what to erase. docs/purge.md says where.
type PurgeRequest struct {
	Space       string
	IDs         []string // of memories, also removed ones
	Texts       []string // erased in all spaces
	Transcripts bool     // also the messages of the sessions that the memories were learnt from
	Reason      string   // for `ops`; texts that are erased are taken out of it
}

// Purge is one purge, from its survey to its end. It is used by one goroutine. Its steps are Commit, Rewrite and Finish, in this order; an error of one ends it,
// and the next start, or what PendingPurge returns, goes on.
type Purge struct {
	store  *Store
	req    PurgeRequest
	in     *intent
	scrub  *scrubber
	known  map[string]int64 // revisions of the memories, or the operation that removed them, at the survey
	counts map[string]int64

	committed bool
	resumed   bool // another process began it
	waited    time.Duration
}

// purging is what the store knows of a purge that is not finished.
type purging struct {
	purge *Purge
	stuck error // why it can only be finished by the next start; nil when it can be now
}

// Commit makes the purge durable and takes what it erases out of what readers see. Writers wait meanwhile. After a nil error, and after most errors, there is no way
// back: the store has a PendingPurge then.
//
// Errors: memory.ErrDiskFull, memory.ErrReadOnly, those of the file system.
func (p *Purge) Commit(ctx context.Context) error {
	s := p.store
	if err := s.Err(); err != nil {
		return err
	}
	s.snapshots.writing.Lock() // a snapshot must not mix what is scrubbed and what is not
	defer s.snapshots.writing.Unlock()
	s.stage.Lock()
	defer s.stage.Unlock()
	began := s.now()
	defer func() { p.waited = s.now().Sub(began) }()
	if err := s.journal.Idle(ctx); err != nil {
		return err
	}
	if !p.committed {
		if err := p.begin(ctx); err != nil {
			return err
		}
	}
	if err := s.journal.Roll(); err != nil {
		return s.stuck(p, fmt.Errorf("erase: %w", err), canGoOn(err))
	}
	return nil
}

// begin does what happens once: intent, record, state. The locks are the caller's.
func (p *Purge) begin(ctx context.Context) error {
	s := p.store
	if err := p.refresh(ctx); err != nil {
		return err
	}
	p.in.Op, p.in.At = s.journal.Next(), s.now().UTC().Truncate(time.Microsecond)
	p.scrub.op = p.in.Op
	p.in.Reason, _ = p.scrub.texts.Replace(p.req.Reason)
	for i := range p.in.Changes {
		if f := p.in.Changes[i].Forgotten; f != nil {
			f.After = p.in.At
		}
	}
	unknown, err := writeIntent(s.fs, p.in)
	if err != nil {
		err = fmt.Errorf("write %s: %w", intentFile, err)
		if unknown {
			s.journal.Fail(err)
			return fmt.Errorf("%w; the next start finishes the purge or finds nothing of it: %w", memory.ErrReadOnly, err)
		}
		if durable.IsDiskFull(err) {
			err = fmt.Errorf("%w: %w", memory.ErrDiskFull, err)
		}
		return err
	}
	// From here on the purge happens, now or at the next start.
	if err := p.append(ctx); err != nil {
		return err
	}
	p.committed = true
	s.lastPurge.Store(p.in.Op)
	s.setPurging(&purging{purge: p})
	p.clean()
	return nil
}

// refresh plans again what was changed since the survey.
func (p *Purge) refresh(ctx context.Context) error {
	for id, revision := range p.known {
		if p.store.Space(p.req.Space).lastOf(id) != revision {
			return p.plan(ctx)
		}
	}
	if len(p.in.Entries) == 0 {
		return nil
	}
	return p.plan(ctx) // the log entries may be others
}

// append writes the record of the purge. When there is no space for it, nothing has happened.
func (p *Purge) append(ctx context.Context) error {
	s := p.store
	rec := &journal.Record{At: p.in.At, Space: p.in.Space, Actor: journal.ActorClient, Reason: p.in.Reason, Purge: &p.in.Purge, Changes: p.in.Changes}
	ticket, err := s.journal.Stage(rec, true)
	if err == nil {
		s.staged.apply(rec)
		if err = ticket.Wait(context.WithoutCancel(ctx)); err == nil {
			return nil
		}
	}
	if s.journal.Err() != nil {
		return fmt.Errorf("erase: %w; the next start finishes the purge", err)
	}
	if removeErr := removeIntent(s.fs); removeErr != nil {
		removeErr = fmt.Errorf("take back %s: %w", intentFile, removeErr)
		s.journal.Fail(removeErr)
		return fmt.Errorf("%w; the next start finishes the purge: %w", memory.ErrReadOnly, errors.Join(err, removeErr))
	}
	return fmt.Errorf("erase: %w", err)
}

// clean takes the text out of both states and tells the projections. The flusher is idle and nobody stages, so only readers are about.
func (p *Purge) clean() {
	s := p.store
	s.interned.drop()
	shared := map[*memory.Memory]*memory.Memory{}
	staged, visible := map[string]*scrubbed{}, map[string]*scrubbed{}
	for name, sp := range s.visible.spaces {
		visible[name] = sp.scrub(p.scrub, shared)
	}
	for name, sp := range s.staged.spaces {
		staged[name] = sp.scrub(p.scrub, shared)
	}
	for name, change := range staged {
		s.staged.spaces[name].swap(change)
	}
	s.mu.Lock()
	for name, change := range visible {
		s.visible.spaces[name].swap(change)
	}
	s.touchAll(p.in.Op)
	s.mu.Unlock()
	for name, change := range visible {
		p.tell(name, change)
	}
}

// touchAll makes the next snapshot write every space anew. The caller holds mu.
func (s *Store) touchAll(op int64) {
	for _, sp := range s.visible.spaces {
		sp.changed = max(sp.changed, op)
	}
}

// tell shows projections what changed though no record says so.
func (p *Purge) tell(space string, change *scrubbed) {
	rec := &journal.Record{LSN: p.in.Op, Op: p.in.Op, At: p.in.At, Space: space}
	for id, m := range change.memories {
		rec.Changes = append(rec.Changes, journal.Change{Memory: &journal.MemoryChange{ID: id, After: m}})
	}
	for date := range change.days {
		rec.Changes = append(rec.Changes, journal.Change{Day: &journal.DayChange{Date: date}})
	}
	for id, r := range change.archive {
		rec.Changes = append(rec.Changes, journal.Change{Archive: &journal.ArchiveChange{ID: id, After: r}})
	}
	if change.summary != nil {
		rec.Changes = append(rec.Changes, journal.Change{Summary: &journal.SummaryChange{After: *change.summary}})
	}
	for _, projection := range p.store.projections {
		projection.Apply(rec)
	}
}
