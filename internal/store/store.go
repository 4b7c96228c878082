// Package store is the state of all spaces. It turns requests into journal records, applies what is durable to the
// memories, daily logs and sessions that readers see, and answers history, undo and the change feed. It imports neither
// memory.json, nor search, nor gRPC.
//
// A write is staged, synced, applied and acknowledged, in this order; Open replays the same records with the same apply
// function. docs/crash-safety.md lists every step with its commit point.
package store

import (
	"context"
	"fmt"
	"iter"
	"log/slog"
	"maps"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/memsidecar/memsidecar/internal/memory"
	"github.com/memsidecar/memsidecar/internal/store/durable"
	"github.com/memsidecar/memsidecar/internal/store/journal"
)

// DefaultHistoryDays is for how many days operations can be listed and undone, unless configured.
const DefaultHistoryDays = 90

// MaxNeededDays is for how many days operations are kept that somebody has still to read; see Config.Needed.
const MaxNeededDays = 365

// Projection follows the durable state. Apply is called in journal order, one call at a time, before the write is
// acknowledged. It must not block and must not call the store.
type Projection interface{ Apply(rec *journal.Record) }

// Config configures Open. FS, Now and Logger are required.
type Config struct {
	FS          durable.FS
	Now         func() time.Time
	Logger      *slog.Logger
	Projections []Projection
	// Failed is called once, when the store turns read-only. It must not block or call the store. It may be nil.
	Failed func(error)
	// Elapsed is the time since a fixed moment. It must keep counting while the machine sleeps and must not follow when
	// somebody sets the wall clock. When it is nil, Now is trusted while the store is open.
	Elapsed     func() time.Duration
	HistoryDays int // 0 is DefaultHistoryDays
	// Needed is the oldest operation that somebody has still to read, math.MaxInt64 when nobody has. History from there
	// on is kept longer than HistoryDays, for MaxNeededDays at most. It must not call the store; nil means nobody.
	Needed func() int64
	// ReadOnly reports whether only journal.ActorShare may change the memories, the forgotten values and the summary of
	// a space. It must not call the store; nil means that no space is so.
	ReadOnly func(space string) bool
	// Opened returns the error of a write to a space by anybody but journal.ActorShare, nil when it may go on. It must
	// not call the store; nil means that all may.
	Opened func(space string) error
	// Busy reports whether requests are answered at the moment, for which maintenance steps aside; nil is never.
	Busy func() bool
	// SegmentSize of the journal in bytes; 0 means 8 MiB. Tests use small ones.
	SegmentSize int64
	// PackFrom is how many small spaces share files of a snapshot at least; 0 means 32. Tests use small ones.
	PackFrom int
	// Repairing opens a directory whose repair is not finished, for the one who finishes it.
	Repairing bool
}

// Store is an open store. It is safe for concurrent use.
type Store struct {
	fs          durable.FS
	now         func() time.Time
	log         *slog.Logger
	projections []Projection
	historyDays int
	needed      func() int64 // nil when nobody needs old operations
	readOnly    func(space string) bool
	opened      func(space string) error // nil when all spaces are
	busy        func() bool              // Config.Busy
	packFrom    int
	stopBytes   int64 // see stopSnapshot
	journal     *journal.Journal
	clock       *clock

	// stageMu is held while a transaction runs. It is taken before mu.
	stageMu sync.Mutex
	// staged is what is durable and what is about to be, of the spaces that it has; see stagedSpace. Guarded by
	// stageMu.
	staged *state

	mu sync.RWMutex
	// visible is what is durable. Guarded by mu.
	visible *state
	// names of its spaces, sorted, when they were last asked for.
	names atomic.Pointer[knownNames]

	interned  interner
	recent    recentMemories
	snapshots snapshots
	checked   checkedBodies
	// filesMu protects the snapshot and journal files against deletion. Readers of files that must stay hold it for
	// reading; whoever deletes or rewrites such files holds it for writing. It is taken before all other locks except
	// snapshots.writing. While snapshots.writing is held, it may only be tried.
	filesMu sync.RWMutex

	// scrubber belongs to a purge that an earlier process began. Only Open sets it.
	scrubber *scrubber

	purgeMu sync.Mutex
	// pendingPurge is a purge that was committed and is not finished. Guarded by purgeMu.
	pendingPurge *pendingPurge

	// lastPurge is the operation of the newest purge since Open. It changes while stageMu is held.
	lastPurge atomic.Int64

	flushMu  sync.Mutex // held while accesses are journaled; before accessMu
	accessMu sync.Mutex
	// accesses that are not journaled yet, by space and memory. Guarded by accessMu.
	accesses map[string]map[string]accessCount
}

// Meta says who asks for an operation, and why.
type Meta struct {
	Space   string // "" is memory.DefaultSpace
	Actor   string // one of the journal.Actor constants
	Reason  string // for people, in `ops`; never memory text
	Session string
	Key     string // idempotency key, "" for none; kept 24 hours, across restarts
	// Request identifies the request for Key. Another request under the same key is a memory.ErrKeyReused.
	Request []byte
	// Essential operations may use the space that is reserved for a full disk: forgetting, and what the daemon records
	// about its own progress.
	Essential bool
}

// Result is the result of a write.
type Result struct {
	Op       int64             // number of the operation; 0 when nothing changed
	Outcomes []journal.Outcome // what the transaction reported, or what the first use of the key had
	Replayed bool              // the key was known: nothing was done again
}

// Update runs fn in a transaction on the newest state, which includes staged operations. It journals what fn changed as
// one operation, syncs, applies and returns. Nothing changes when fn returns an error.
//
// fn must be quick and do no I/O. A plan made on an older state must compare revisions inside fn. When ctx ends during
// the sync, the outcome is unknown to the caller: the operation may be durable.
//
// Durable on return. Errors: those of fn, memory.ErrReadOnly, memory.ErrDiskFull, memory.ErrKeyReused,
// memory.ErrShuttingDown, memory.ErrReadOnlySpace, those of Config.Opened.
func (s *Store) Update(ctx context.Context, meta Meta, fn func(*Tx) error) (Result, error) {
	return s.update(ctx, meta, 0, fn)
}

// update is Update, for an operation that is the inverse of operation undoes, if that is not 0.
func (s *Store) update(ctx context.Context, meta Meta, undoes int64, fn func(*Tx) error) (Result, error) {
	staged, err := s.stage(ctx, meta, undoes, fn)
	if err != nil {
		return Result{}, err
	}
	return staged.WaitDurable(ctx)
}

// Stage is Update without the wait: for somebody who makes several operations and needs one sync for all of them.
// Later transactions build on the operation, readers do not see it yet, and it may become durable at any time. Nothing
// durable on return. The caller must call WaitDurable soon, because nobody else may be waiting for the sync.
func (s *Store) Stage(ctx context.Context, meta Meta, fn func(*Tx) error) (Staged, error) {
	return s.stage(ctx, meta, 0, fn)
}

// Staged is an operation that is journaled and may not be durable. The zero value is not usable.
type Staged struct {
	store  *Store
	result Result
	lsn    int64           // what the result depends on
	ticket *journal.Ticket // nil when nothing was staged
}

// Result is what WaitDurable will return. It must not be acknowledged before.
func (p Staged) Result() Result { return p.result }

// WaitDurable returns when the operation, and with a result that it did not change anything what that depends on, is
// durable and readers see it. When ctx ends first, the outcome is unknown. Errors: memory.ErrReadOnly, those of ctx.
func (p Staged) WaitDurable(ctx context.Context) (Result, error) {
	var err error
	if p.ticket != nil {
		err = p.ticket.WaitDurable(ctx)
	} else if err = p.store.journal.WaitDurable(ctx, p.lsn); err == nil {
		// The answer depends on operations that may not be durable yet, or whose journal was taken away since.
		err = p.store.journal.CheckAttached()
	}
	if err != nil {
		return Result{}, err
	}
	return p.result, nil
}

// stage is Stage, for an operation that is the inverse of operation undoes, if that is not 0.
func (s *Store) stage(ctx context.Context, meta Meta, undoes int64, fn func(*Tx) error) (Staged, error) {
	if err := ctx.Err(); err != nil {
		return Staged{}, err
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
		return Staged{}, err
	}
	if err := s.Err(); err != nil {
		return Staged{}, err
	}
	result, lsn, ticket, err := s.stageOne(ctx, meta, undoes, fn)
	if err != nil {
		return Staged{}, err
	}
	noteResult(ctx, meta.Space, result, lsn)
	return Staged{store: s, result: result, lsn: lsn, ticket: ticket}, nil
}

// stageOne runs the transaction and stages its record. The result depends on what is staged up to lsn; when ticket is
// nil, nothing was staged.
func (s *Store) stageOne(
	ctx context.Context, meta Meta, undoes int64, fn func(*Tx) error,
) (res Result, lsn int64, ticket *journal.Ticket, err error) {
	fingerprint := fingerprintOf(meta)
	s.stageMu.Lock()
	defer s.stageMu.Unlock()
	if s.opened != nil && meta.Actor != journal.ActorShare {
		if err := s.opened(meta.Space); err != nil {
			return res, 0, nil, err
		}
	}
	now := s.now().UTC().Truncate(time.Microsecond)
	sp, err := s.stagedSpace(meta.Space)
	if err != nil {
		return res, 0, nil, err
	}
	if r, ok := sp.receipt(meta.Key, now); ok {
		if r.Fingerprint != fingerprint {
			return res, 0, nil, fmt.Errorf("idempotency key %q: %w", meta.Key, memory.ErrKeyReused)
		}
		// The first call may not be durable yet, so the repeat waits for everything that is staged.
		return Result{Op: r.Op, Outcomes: r.Outcomes, Replayed: true}, s.journal.Next() - 1, nil, nil
	}
	next := s.journal.Next()
	tx := &Tx{space: sp, now: now, lsn: next, salt: s.journal.Origin(), interned: &s.interned,
		readOnly:    s.isReceived(meta),
		checkAppend: func(date, session string) error { return s.checkAppend(bodyOf{meta.Space, date, session}) }}
	if err := fn(tx); err != nil {
		return res, 0, nil, err
	}
	if tx.readOnly && slices.ContainsFunc(tx.changes, isShared) {
		return res, 0, nil, &memory.ReadOnlySpaceError{Space: meta.Space}
	}
	// Nothing to record. What the transaction saw may not be durable yet, so its answer waits for that.
	if len(tx.changes) == 0 && meta.Key == "" {
		return Result{Outcomes: tx.outcomes}, next - 1, nil, nil
	}
	if err := allowWrite(ctx, meta.Space, tx.changes); err != nil {
		return res, 0, nil, err
	}
	rec := &journal.Record{At: now, Space: meta.Space, Actor: meta.Actor, Reason: meta.Reason, Session: meta.Session,
		Undoes: undoes, Changes: tx.changes}
	if meta.Key != "" {
		rec.Receipt = &journal.Receipt{Key: meta.Key, Fingerprint: fingerprint, Outcomes: tx.outcomes}
	}
	t, err := s.journal.Stage(rec, meta.Essential)
	if err != nil {
		return res, 0, nil, err
	}
	// Later transactions build on this one before it is durable; if its sync fails the store is read-only.
	s.staged.apply(rec)
	res = Result{Outcomes: tx.outcomes}
	if len(tx.changes) > 0 {
		res.Op = rec.Op
	}
	return res, next - 1, &t, nil
}

// applyDurable applies a synced group to the visible state and the projections. The journal calls it before it wakes
// the writers, so that a writer reads its own write.
func (s *Store) applyDurable(recs []*journal.Record) {
	told := recs
	s.mu.Lock()
	for i, rec := range recs {
		if isDrop(rec) {
			told = slices.Clone(told)
			told[i] = s.visible.removals(rec)
		}
		s.visible.apply(rec)
	}
	s.mu.Unlock()
	for _, rec := range told {
		for _, p := range s.projections {
			p.Apply(rec)
		}
	}
}

// LSN is the newest durable LSN.
func (s *Store) LSN() int64 { return s.journal.Synced() }

// Origin is the identity of this store. It survives a restore. It is also the salt of the hashes of forgotten values.
func (s *Store) Origin() string { return s.journal.Origin() }

// Epoch is the line of history that is being written; see journal.Journal.Epoch.
func (s *Store) Epoch() string { return s.journal.Epoch() }

// EpochOf is the epoch in which the record at an LSN was written, or will be when nothing was yet.
func (s *Store) EpochOf(lsn int64) string { return s.journal.EpochOf(lsn) }

// Restored is when the store was last restored from a backup, the zero time when it never was.
func (s *Store) Restored() time.Time { return s.journal.EpochStart() }

// JournalStats returns the counters of the journal since Open.
func (s *Store) JournalStats() journal.Stats { return s.journal.Stats() }

// Err says why the store is read-only, nil when it is not.
func (s *Store) Err() error {
	if err := s.journal.Err(); err != nil {
		return fmt.Errorf("%w: %w", memory.ErrReadOnly, err)
	}
	return nil
}

// knownNames are the names of the spaces at a time: none is new while there are as many, and none was dropped since.
type knownNames struct {
	sorted  []string
	dropped int64 // the newest drop
}

// Spaces lists the names of all spaces, sorted. memory.DefaultSpace is always there.
func (s *Store) Spaces() []string {
	names, complete := s.spaceNames()
	if !complete { // 100,000 are sorted in 50 ms, for which no writer should wait
		slices.Sort(names.sorted)
		s.names.Store(&names)
	}
	return slices.Clone(names.sorted)
}

// What looks at all spaces in the background, at a start for example, takes half of a processor: a request that comes
// meanwhile would wait for each that computes, ten milliseconds at a time.
const (
	spacesBeforeRest = 128 // which take some milliseconds where memories are read, and much less elsewhere
	rest             = time.Millisecond
)

// SpacesAtLeisure yields the names of all spaces, sorted, to work in the background: it rests between some of them.
func (s *Store) SpacesAtLeisure() iter.Seq[string] {
	return func(yield func(string) bool) {
		for i, name := range s.Spaces() {
			if i%spacesBeforeRest == spacesBeforeRest-1 {
				time.Sleep(rest)
			}
			if !yield(name) {
				return
			}
		}
	}
}

// spaceNames returns the names of all spaces: sorted, if they are known, and otherwise in any order.
func (s *Store) spaceNames() (names knownNames, sorted bool) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	known := s.names.Load()
	if known != nil && len(known.sorted) == len(s.visible.spaces) && known.dropped == s.visible.dropped {
		return *known, true
	}
	return knownNames{slices.Collect(maps.Keys(s.visible.spaces)), s.visible.dropped}, false
}

// Space returns a reader of one space. An unknown space reads as empty.
func (s *Store) Space(name string) *Space {
	if name == "" {
		name = memory.DefaultSpace
	}
	return &Space{store: s, name: name}
}

// Close journals the collected accesses, takes a snapshot, unless that takes seconds, and closes the journal with a
// clean stop. Updates fail from then on.
func (s *Store) Close(ctx context.Context) error {
	var errs []error
	if s.Err() == nil {
		errs = append(errs, s.FlushAccesses(ctx))
		if s.snapshots.stale(s.LSN()) && s.snapshotCost() <= s.stopBytes {
			_, err := s.Checkpoint(ctx)
			errs = append(errs, err)
		}
	}
	errs = append(errs, s.journal.Close(ctx))
	return joinErrors("close store", errs)
}
