package store

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/memsidecar/memsidecar/internal/memory"
	"github.com/memsidecar/memsidecar/internal/store/durable"
	"github.com/memsidecar/memsidecar/internal/store/journal"
)

// ReasonPurged is the reason of an undo's outcome for something whose earlier state a purge erased.
const ReasonPurged = "PURGED"

// PurgeRequest says what to erase. docs/purge.md says from where.
type PurgeRequest struct {
	Space       string
	IDs         []string // of memories, also removed ones
	Texts       []string // erased in all spaces
	Transcripts bool     // also the messages of the sessions that the memories were learnt from
	Reason      string   // for `ops`; texts that are erased are taken out of it
	// Received says that another machine of a shared space asks. Then texts are erased in Space only, and the log says
	// which values are forgotten.
	Received bool
	// Only erases texts in Space only: the others belong to other people.
	Only bool
}

// Purge is one purge. Its steps are Commit, Rewrite and Finish, in this order. After an error of one of them, the next
// start continues, or a caller of PendingPurge. It is used by one goroutine at a time.
type Purge struct {
	store  *Store
	req    PurgeRequest
	intent *purgeIntent
	scrub  *scrubber
	// revisions are those of the memories when the purge was planned, or the operation that removed them.
	revisions map[string]int64
	counts    map[string]int64

	committed bool
	// resumed says that another process began the purge.
	resumed bool
	waited  time.Duration
}

// pendingPurge is a purge that was committed and is not finished. blocked says why only the next start can finish it;
// nil when another call can.
type pendingPurge struct {
	purge   *Purge
	blocked error
}

// Commit makes the purge durable and removes its text from what readers see. Writers wait meanwhile. After a nil error,
// and after most errors, the purge cannot be cancelled: PendingPurge returns it.
//
// The commit point is the directory sync of the intent; see writePurgeIntent. Errors: memory.ErrDiskFull,
// memory.ErrReadOnly, those of the file system.
func (p *Purge) Commit(ctx context.Context) error {
	s := p.store
	if err := s.Err(); err != nil {
		return err
	}
	s.snapshots.lock() // a snapshot must not mix what is scrubbed and what is not
	defer s.snapshots.writing.Unlock()
	s.stageMu.Lock()
	defer s.stageMu.Unlock()
	began := s.now()
	defer func() { p.waited = s.now().Sub(began) }()
	if err := s.journal.WaitIdle(ctx); err != nil {
		return err
	}
	if !p.committed {
		if err := p.begin(ctx); err != nil {
			return err
		}
	}
	if err := s.journal.Roll(); err != nil {
		return s.deferPurge(p, fmt.Errorf("erase: %w", err))
	}
	return nil
}

// begin does what happens only once: intent, record, state. The caller holds the locks.
func (p *Purge) begin(ctx context.Context) error {
	s := p.store
	if err := p.planAgainIfChanged(ctx); err != nil {
		return err
	}
	p.intent.Op, p.intent.At = s.journal.Next(), s.now().UTC().Truncate(time.Microsecond)
	p.scrub.op = p.intent.Op
	p.intent.Reason, _ = p.scrub.texts.Replace(p.req.Reason)
	for i := range p.intent.Changes {
		if f := p.intent.Changes[i].Forgotten; f != nil {
			f.After = p.intent.At
		}
	}
	unknown, err := writePurgeIntent(s.fs, p.intent)
	if err != nil {
		err = fmt.Errorf("write %s: %w", purgeIntentFile, err)
		if unknown {
			s.journal.Fail(err)
			return fmt.Errorf("%w; the next start finishes the purge or finds nothing of it: %w", memory.ErrReadOnly,
				err)
		}
		if durable.IsDiskFull(err) {
			err = fmt.Errorf("%w: %w", memory.ErrDiskFull, err)
		}
		return err
	}
	// Committed: from here on the purge happens, now or at the next start.
	if err := p.append(ctx); err != nil {
		return err
	}
	p.committed = true
	s.lastPurge.Store(p.intent.Op)
	s.setPendingPurge(&pendingPurge{purge: p})
	if err := p.scrubStates(); err != nil {
		return s.deferPurgeToRestart(p, fmt.Errorf("erase: %w", err))
	}
	return nil
}

// planAgainIfChanged plans again if a memory changed since, or if log entries are erased: they have no revision to
// compare.
func (p *Purge) planAgainIfChanged(ctx context.Context) error {
	for id, revision := range p.revisions {
		if p.store.Space(p.req.Space).lastOperation(id) != revision {
			return p.plan(ctx)
		}
	}
	if len(p.intent.Entries) == 0 {
		return nil
	}
	return p.plan(ctx) // the log entries may be others
}

// append journals the record of the purge. If the disk is too full for it, the intent is removed and nothing has
// happened.
func (p *Purge) append(ctx context.Context) error {
	s := p.store
	rec := &journal.Record{At: p.intent.At, Space: p.intent.Space, Actor: journal.ActorClient, Reason: p.intent.Reason,
		Purge: &p.intent.Purge, Changes: p.intent.Changes}
	if p.intent.Received {
		rec.Actor = journal.ActorShare
	}
	_, err := s.stagedSpace(rec.Space) // before anything is staged
	var ticket journal.Ticket
	if err == nil {
		ticket, err = s.journal.Stage(rec, true)
	}
	if err == nil {
		s.staged.apply(rec)
		if err = ticket.WaitDurable(context.WithoutCancel(ctx)); err == nil {
			return nil
		}
	}
	if s.journal.Err() != nil {
		return fmt.Errorf("erase: %w; the next start finishes the purge", err)
	}
	if removeErr := removePurgeIntent(s.fs); removeErr != nil {
		removeErr = fmt.Errorf("take back %s: %w", purgeIntentFile, removeErr)
		s.journal.Fail(removeErr)
		return fmt.Errorf("%w; the next start finishes the purge: %w", memory.ErrReadOnly, errors.Join(err, removeErr))
	}
	return fmt.Errorf("erase: %w", err)
}

// scrubStates removes the text from both states and informs the projections. No group is being flushed and nobody
// stages, so only readers run beside it. Error: *journal.CorruptError, when memories cannot be read; nobody else can
// read them either.
func (p *Purge) scrubStates() error {
	s := p.store
	// Interned strings would keep the erased text alive.
	s.interned.clear()
	s.recent.clear()
	shared := map[*memory.Memory]*memory.Memory{}
	staged, visible := map[string]*scrubbed{}, map[string]*scrubbed{}
	var errs []error
	for _, name := range slices.Sorted(maps.Keys(s.visible.spaces)) { // the order in which packs have cold ones
		change, err := s.visible.spaces[name].scrub(p.scrub, shared)
		if visible[name] = change; err != nil {
			errs = append(errs, err)
		}
	}
	for name, sp := range s.staged.spaces {
		change, err := sp.scrub(p.scrub, shared)
		if staged[name] = change; err != nil {
			errs = append(errs, err)
		}
	}
	for name, change := range staged {
		s.staged.spaces[name].applyScrub(change)
	}
	s.mu.Lock()
	for name, change := range visible {
		s.visible.spaces[name].applyScrub(change)
	}
	s.setAllChanged(p.intent.Op)
	s.mu.Unlock()
	for name, change := range visible {
		p.notifyProjections(name, change)
	}
	return errors.Join(errs...)
}

// setAllChanged makes the next snapshot write every space. The caller holds mu.
func (s *Store) setAllChanged(op int64) {
	for _, sp := range s.visible.spaces {
		if sp.changed > 0 { // else nothing was ever written to it
			sp.changed = max(sp.changed, op)
		}
	}
}

// notifyProjections shows the scrubbed values to the projections. No record of the journal holds these changes, so it
// makes one for them.
func (p *Purge) notifyProjections(space string, change *scrubbed) {
	rec := &journal.Record{LSN: p.intent.Op, Op: p.intent.Op, At: p.intent.At, Space: space, Purge: &p.intent.Purge}
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

// LastPurge is the number of the newest purge since Open, 0 for none. Code that reads a text, derives another from it
// and writes that compares LastPurge inside the transaction with its value before the read. If it differs, the derived
// text may hold what was erased and must not be written.
func (s *Store) LastPurge() int64 { return s.lastPurge.Load() }
