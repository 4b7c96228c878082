// Package store is the state of all spaces: it turns requests into journal records, applies what is
// durable to the memories, daily logs and sessions that readers see, and answers for history, undo and
// the change feed. It does not know memory.json, search or gRPC.
package store

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/memsidecar/memsidecar/internal/durable"
	"github.com/memsidecar/memsidecar/internal/journal"
	"github.com/memsidecar/memsidecar/internal/memory"
)

// DefaultHistoryDays is how long operations can be listed and undone.
const DefaultHistoryDays = 90

// Projection follows the durable state. Apply is called in journal order, one call at a time, before the write is
// acknowledged; it must not block and must not call the store.
type Projection interface{ Apply(rec *journal.Record) }

// Config of a store. FS, Now and Logger are required.
type Config struct {
	FS          durable.FS
	Now         func() time.Time
	Logger      *slog.Logger
	Projections []Projection
	Failed      func(error) // called once when the store turns read-only; must not block or call the store; may be nil
	// Elapsed is the time since any fixed moment, counting also while the machine sleeps, and not following when the wall clock is set. It may be
	// nil: then Now is taken to be right while the store is open.
	Elapsed     func() time.Duration
	HistoryDays int   // 0 is DefaultHistoryDays
	SegmentSize int64 // of the journal, in bytes; 0 is 8 MiB. Tests use small ones.
}

// Store is safe for concurrent use.
type Store struct {
	fs          durable.FS
	now         func() time.Time
	log         *slog.Logger
	projections []Projection
	historyDays int
	journal     *journal.Journal
	clock       *clock

	stage  sync.Mutex // held while a transaction runs; taken before mu
	staged *state     // what is durable and what is about to be; guarded by stage

	mu      sync.RWMutex
	visible *state // what is durable; guarded by mu

	interned  interner
	snapshots snapshots
	// keep is held for reading while somebody reads files of the snapshots or of the journal that must stay, and for writing by whoever removes or
	// rewrites such files. It is taken before all other locks but snapshots.writing, before or after which it is only tried.
	keep sync.RWMutex

	scrubber *scrubber // of a purge that an earlier life began; set by Open only

	purgeMu sync.Mutex
	purging *purging // a purge that is not finished; guarded by purgeMu

	lastPurge atomic.Int64 // changed while stage is held

	touchMu sync.Mutex
	touches map[string]map[string]touch // by space and memory; guarded by touchMu
}

// Meta says who asks for an operation and why.
type Meta struct {
	Space   string // "" is memory.DefaultSpace
	Actor   string // one of the journal.Actor constants
	Reason  string // for people, in `ops`; never memory text
	Session string
	Key     string // idempotency key, "" for none; kept 24 hours, across restarts
	Request []byte // bytes that identify the request, for Key: another request under the same key is memory.ErrKeyReused
	// Essential operations may use the space kept in reserve on a full disk: forgetting, and the daemon's own marks.
	Essential bool
}

// Result of a write.
type Result struct {
	Op       int64             // number of the operation; 0 when nothing changed
	Outcomes []journal.Outcome // what the transaction reported, or what the first use of the key had
	Replayed bool              // the key was known: nothing was done again
}

// Update runs fn in a transaction against the newest state (durable and about to be), journals what it changed as one
// operation, syncs, applies it and returns. Nothing is changed when fn returns an error. fn must be quick, must do no
// I/O and may be run only once; a plan made on an older state compares revisions inside fn. When ctx ends during the
// sync the outcome is unknown to the caller: the operation may be durable.
//
// Durable on return. Errors: those of fn, memory.ErrReadOnly, memory.ErrDiskFull, memory.ErrKeyReused, memory.ErrShuttingDown.
func (s *Store) Update(ctx context.Context, meta Meta, fn func(*Tx) error) (Result, error) {
	return s.update(ctx, meta, 0, fn)
}

func (s *Store) update(ctx context.Context, meta Meta, undoes int64, fn func(*Tx) error) (Result, error) {
	if err := ctx.Err(); err != nil {
		return Result{}, err
	}
	if meta.Space == "" {
		meta.Space = memory.DefaultSpace
	}
	var check memory.Check
	check.Slug("space", meta.Space)
	if meta.Key != "" {
		check.ID("idempotency_key", meta.Key)
	}
	if err := check.Err(); err != nil {
		return Result{}, err
	}
	if err := s.Err(); err != nil {
		return Result{}, err
	}
	result, lsn, ticket, err := s.stageOne(meta, undoes, fn)
	switch {
	case err != nil:
		return Result{}, err
	case ticket == nil:
		err = s.journal.WaitFor(ctx, lsn) // what the answer rests on must be durable too
	default:
		err = ticket.Wait(ctx)
	}
	if err != nil {
		return Result{}, err
	}
	return result, nil
}

// stageOne runs the transaction and stages its record. Without a ticket nothing was staged, and the result rests on what is staged up to lsn.
func (s *Store) stageOne(meta Meta, undoes int64, fn func(*Tx) error) (res Result, lsn int64, ticket *journal.Ticket, err error) {
	fingerprint := fingerprintOf(meta)
	s.stage.Lock()
	defer s.stage.Unlock()
	now := s.now().UTC().Truncate(time.Microsecond)
	sp := s.staged.space(meta.Space)
	if r, ok := sp.receipt(meta.Key, now); ok {
		if r.Fingerprint != fingerprint {
			return res, 0, nil, fmt.Errorf("idempotency key %q: %w", meta.Key, memory.ErrKeyReused)
		}
		return Result{Op: r.Op, Outcomes: r.Outcomes, Replayed: true}, s.journal.Next() - 1, nil, nil
	}
	next := s.journal.Next()
	tx := &Tx{space: sp, now: now, lsn: next, salt: s.journal.Origin(), interned: &s.interned}
	if err := fn(tx); err != nil {
		return res, 0, nil, err
	}
	if len(tx.changes) == 0 && meta.Key == "" {
		return Result{Outcomes: tx.outcomes}, next - 1, nil, nil
	}
	rec := &journal.Record{At: now, Space: meta.Space, Actor: meta.Actor, Reason: meta.Reason, Session: meta.Session, Undoes: undoes, Changes: tx.changes}
	if meta.Key != "" {
		rec.Receipt = &journal.Receipt{Key: meta.Key, Fingerprint: fingerprint, Outcomes: tx.outcomes}
	}
	t, err := s.journal.Stage(rec, meta.Essential)
	if err != nil {
		return res, 0, nil, err
	}
	s.staged.apply(rec)
	res = Result{Outcomes: tx.outcomes}
	if len(tx.changes) > 0 {
		res.Op = rec.Op
	}
	return res, 0, &t, nil
}

// applyDurable shows a synced group to readers and projections.
func (s *Store) applyDurable(recs []*journal.Record) {
	s.mu.Lock()
	for _, rec := range recs {
		s.visible.apply(rec)
	}
	s.mu.Unlock()
	for _, rec := range recs {
		for _, p := range s.projections {
			p.Apply(rec)
		}
	}
}

// LSN is the newest durable LSN.
func (s *Store) LSN() int64 { return s.journal.Synced() }

// Origin is the identity of this store, and the salt of its forgotten values. It survives a restore.
func (s *Store) Origin() string { return s.journal.Origin() }

// Epoch is the line of history that is being written; see journal.Journal.Epoch.
func (s *Store) Epoch() string { return s.journal.Epoch() }

// Restored is when the store was made of a backup, the zero time when it was not.
func (s *Store) Restored() time.Time { return s.journal.Begun() }

// Journal returns the counters of the journal since Open.
func (s *Store) Journal() journal.Figures { return s.journal.Figures() }

// Err says why the store is read-only, nil when it is not.
func (s *Store) Err() error {
	if err := s.journal.Err(); err != nil {
		return fmt.Errorf("%w: %w", memory.ErrReadOnly, err)
	}
	return nil
}

// Spaces lists the names of all spaces, sorted. memory.DefaultSpace is always there.
func (s *Store) Spaces() []string {
	s.mu.RLock()
	defer s.mu.RUnlock()
	names := make([]string, 0, len(s.visible.spaces))
	for name := range s.visible.spaces {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

// Space returns a reader of one space. An unknown space reads as empty.
func (s *Store) Space(name string) *Space {
	if name == "" {
		name = memory.DefaultSpace
	}
	return &Space{store: s, name: name}
}

// Close journals the collected accesses, takes a snapshot and closes the journal with the mark of a clean stop. Updates fail from here on.
func (s *Store) Close(ctx context.Context) error {
	var errs []error
	if s.Err() == nil {
		errs = append(errs, s.FlushTouches(ctx))
		if s.snapshots.stale(s.LSN()) {
			_, err := s.Checkpoint(ctx)
			errs = append(errs, err)
		}
	}
	errs = append(errs, s.journal.Close(ctx))
	return joinErrors("close store", errs)
}
