package share

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/memsidecar/memsidecar/internal/memory"
	"github.com/memsidecar/memsidecar/internal/reflector/review"
	"github.com/memsidecar/memsidecar/internal/share/merge"
	"github.com/memsidecar/memsidecar/internal/share/pglog"
	"github.com/memsidecar/memsidecar/internal/store"
	"github.com/memsidecar/memsidecar/internal/store/journal"
)

// memoriesAPart is how many memories a part of a snapshot, and an operation of a joining, hold.
const memoriesAPart = 500

// syncBytes is about how much of a joining is synced together. lineBytes is about what the journal has of a memory
// beside its text.
const (
	syncBytes = 2 << 20
	lineBytes = 400
)

// Start shares a space: it creates the schema if the database has none, and uploads what the space holds. Durable here
// and in PostgreSQL on return. Errors: memory.ErrExists when the space is shared already or the database has one of its
// name; those of pglog.
func (s *Service) Start(ctx context.Context, name, address string) error {
	return s.setUp(ctx, name, address, false, func(log *pglog.Log, sp *space) error {
		if err := log.Migrate(ctx); err != nil {
			return err
		}
		contents, changed := s.cfg.Store.Space(name).ContentsAt()
		parts, err := snapshotParts(contents)
		if err != nil {
			return err
		}
		remote, err := log.Create(ctx, name, store.NewID(), parts)
		if errors.Is(err, pglog.ErrSpaceExists) {
			return fmt.Errorf("%w: %w; `memsidecar share join` takes part in it", err, memory.ErrExists)
		} else if err != nil {
			return err
		}
		return s.begin(sp, remote, changed, nil)
	})
}

// Join takes part in a space of a database, under a local name. What the local space holds already and the log does not
// is sent; where both differ the log's value is chosen and the other is left for review. With readOnly nothing is ever
// sent: what only the local space holds stays here, and where both differ the other value stays in the history. Durable
// here on return. Errors: memory.ErrExists when the local space is shared already; those of pglog.
func (s *Service) Join(ctx context.Context, remoteName, name, address string, readOnly bool) error {
	if s.cfg.Loading != nil {
		defer s.cfg.Loading()()
	}
	return s.setUp(ctx, name, address, readOnly, func(log *pglog.Log, sp *space) (err error) {
		_, _, changed := s.cfg.Store.Space(name).Look(nil)
		fresh := changed == 0 // there is nothing here; from now on operations are queued
		remote, err := s.enter(ctx, log, sp, remoteName)
		if err != nil {
			return err
		}
		defer func() {
			if err != nil {
				_ = log.RemoveMember(ctx, remote.ID, s.cfg.Store.Origin(), sp.state.Line)
			}
		}()
		found, err := fetch(ctx, log, remote)
		if err != nil {
			return err
		}
		remote.Head = found.head
		if err := s.eraseAtJoining(ctx, log, sp, remote); err != nil {
			return err
		}
		if err := s.adopt(ctx, sp, found, remote); err != nil {
			if fresh {
				err = errors.Join(err, s.dropJoined(context.WithoutCancel(ctx), sp))
			}
			return err
		}
		if _, _, changed := s.cfg.Store.Space(name).Look(nil); readOnly || fresh && sp.isReceived(changed) {
			return s.begin(sp, remote, changed, nil)
		}
		// What only this space holds is sent under a number that no other operation has.
		held := &seed{}
		_, err = s.cfg.Store.Update(
			ctx,
			store.Meta{Space: name, Actor: journal.ActorShare, Reason: "joined a shared space",
				Key: store.NewID()},
			func(tx *store.Tx) error { held.Op, held.At = tx.LSN(), tx.Now(); return nil },
		)
		if err != nil {
			return err
		}
		contents, changed := s.cfg.Store.Space(name).ContentsAt()
		values, err := found.values()
		if err != nil {
			return err
		}
		held.Changes = missing(contents, values)
		return s.begin(sp, remote, changed, held)
	})
}

// dropJoined removes what a joining that failed brought to a space that was not there, unless somebody wrote to it.
func (s *Service) dropJoined(ctx context.Context, sp *space) error {
	if _, _, changed := s.cfg.Store.Space(sp.name).Look(nil); changed > 0 && sp.isReceived(changed) {
		return s.dropRest(ctx, sp.name)
	}
	return nil
}

// enter finds a space to join and names this machine in its list, before anything is read, so that no purge counts as
// finished without this machine. Who only receives brings no schema up to date, and is not named without the right.
// Errors: those of pglog.
func (s *Service) enter(ctx context.Context, log *pglog.Log, sp *space, name string) (remote pglog.Space, err error) {
	if err := log.CheckSchema(ctx); errors.Is(err, pglog.ErrOldSchema) && !sp.readOnly {
		if err := log.Migrate(ctx); err != nil {
			return remote, err
		}
	} else if err != nil {
		return remote, err
	}
	if remote, err = log.Find(ctx, name); err != nil {
		return remote, err
	}
	if !sp.readOnly {
		if err := log.CheckWrite(ctx, remote.ID); err != nil {
			return remote, err
		}
	}
	_, err = s.list(ctx, log, sp, remote.ID)
	return remote, err
}

// setUp runs do with a connection and a space that collects the local operations from now on, and then starts to
// exchange it.
func (s *Service) setUp(
	ctx context.Context, name, address string, readOnly bool, do func(*pglog.Log, *space) error,
) (err error) {
	var check memory.Check
	check.Slug("space", name)
	if err := check.Err(); err != nil {
		return err
	}
	s.setup.Lock()
	defer s.setup.Unlock()
	if s.Shared(name) {
		return fmt.Errorf("space %q is shared already: %w", name, memory.ErrExists)
	}
	log, err := pglog.Connect(ctx, address)
	if err != nil {
		return &DatabaseError{err}
	}
	defer func() { _ = log.Close() }()
	_, _, changed := s.cfg.Store.Space(name).Look(nil)
	sp := newSpace(name, &state{
		Version: stateVersion, Space: name, URL: address, Epoch: s.cfg.Store.Epoch(), Line: store.NewID(), ReadOnly: readOnly,
	})
	sp.applied = changed
	s.mu.Lock()
	s.spaces[name] = sp
	s.mu.Unlock()
	if err := do(log, sp); err != nil {
		s.mu.Lock()
		delete(s.spaces, name)
		s.mu.Unlock()
		if errors.Is(err, memory.ErrExists) {
			return err
		}
		return &DatabaseError{err}
	}
	sp.show()
	sp.contact(s.cfg.Now())
	s.mu.Lock()
	s.logs[sp.state.Remote.Log] = sp
	s.attach(sp)
	s.mu.Unlock()
	return nil
}

// begin records where the exchange starts: the local operations up to from are in the log, or in held.
func (s *Service) begin(sp *space, remote pglog.Space, from int64, held *seed) error {
	st := sp.state
	st.Remote, st.From, st.Read, st.Sent = remote, from, from, from
	if held != nil && len(held.Changes) > 0 {
		st.Seed, st.Sent = held, held.Op-1
		for i := range held.Changes {
			if c := held.Changes[i].Memory; c != nil {
				st.Known.SetMemory(c.ID, c.Before)
			} else if f := held.Changes[i].Forgotten; f != nil {
				st.Known.SetForgotten(f.Hash, f.Before)
			}
		}
		sp.waitSeed(held)
	}
	sp.done = remote.Head.Seq
	return sp.save(s.cfg.FS)
}

// adopt makes the local space hold what the log does. Each operation makes a part of it: who asks for the history of
// a memory reads the operation whole. Of some megabytes of them, one sync is enough.
func (s *Service) adopt(ctx context.Context, sp *space, found *received, remote pglog.Space) error {
	meta := store.Meta{Space: sp.name, Actor: journal.ActorShare,
		Reason: fmt.Sprintf("joined shared space %s at position %d", remote.Name, remote.Head.Seq)}
	var syncs errgroup.Group // go on while the next parts are prepared
	syncs.SetLimit(1)
	unsynced := 0
	for some, err := range found.memories() {
		var part store.Staged
		if err == nil {
			part, err = s.adoptPart(ctx, sp, meta, some)
		}
		if err != nil {
			return errors.Join(err, syncs.Wait())
		}
		for _, m := range some {
			unsynced += lineBytes + len(m.Content) + len(m.StructuredData())
		}
		if unsynced >= syncBytes {
			syncs.Go(func() error { _, err := part.WaitDurable(ctx); return err })
			unsynced = 0
		}
	}
	if err := syncs.Wait(); err != nil {
		return err
	}
	values, err := found.values()
	if err != nil {
		return err
	}
	// This waits for all of them, also when it has nothing to change.
	_, err = s.cfg.Store.Update(ctx, meta, func(tx *store.Tx) error {
		for hash, at := range values.Forgotten {
			tx.PutForgotten(hash, at)
		}
		if values.Summary != nil && *values.Summary != "" {
			tx.SetSummary(*values.Summary)
		}
		return nil
	})
	return err
}

// adoptPart stages an operation that makes some memories what they are in the log. From then on they belong to the
// store.
func (s *Service) adoptPart(
	ctx context.Context, sp *space, meta store.Meta, some []merge.Received,
) (part store.Staged, err error) {
	err = s.untilFresh(ctx, sp.name, func() (err error) {
		var open openReviews
		if s.cfg.Store.Space(sp.name).Count() > 0 {
			if open, err = s.openReviews(sp.name); err != nil {
				return err
			}
		}
		part, err = s.cfg.Store.Stage(ctx, meta, func(tx *store.Tx) error {
			for _, m := range some {
				if err := s.checkReview(tx, open[m.ID]); err != nil {
					return err
				}
			}
			tx.Expect(len(some))
			for _, m := range some {
				if err := s.adoptMemory(tx, m, !sp.readOnly, open[m.ID]); err != nil {
					return err
				}
			}
			return nil
		})
		return err
	})
	return part, err
}

// adoptMemory makes a local memory what it is in the log. Another text that was here stays in the history, and with
// ask it is left for review too, in the item that an earlier conflict left open, if there is one.
func (s *Service) adoptMemory(tx *store.Tx, m merge.Received, ask bool, open *review.Item) error {
	before := tx.Memory(m.ID)
	if merge.Same(before, m.Memory) {
		return nil
	}
	if m.Text != nil {
		tx.PutText(before, m.Memory, m.Text)
	} else if err := tx.PutReceived(m.Memory); err != nil {
		return err
	}
	if !ask || before == nil || before.Content == m.Content && before.Title == m.Title {
		return nil
	}
	return reviewConflict(tx, &merge.Conflict{ID: m.ID, Kind: merge.BothChanged, Lost: before}, s.cfg.Location, open)
}

// missing lists what the space holds and the log does not.
func missing(contents store.Contents, values *merge.Values) (changes []journal.Change) {
	values.Index()
	for _, m := range contents.Memories {
		if known := values.Memories[m.ID]; !merge.Same(known, m) {
			changes = append(changes, journal.Change{Memory: &journal.MemoryChange{ID: m.ID, Before: known, After: m}})
		}
	}
	for hash, when := range contents.Forgotten {
		if values.Forgotten[hash].IsZero() {
			changes = append(changes, journal.Change{Forgotten: &journal.ForgottenChange{Hash: hash, After: when}})
		}
	}
	return changes
}

// snapshotParts encodes what a space holds.
func snapshotParts(contents store.Contents) (parts [][]byte, err error) {
	rest := merge.Values{Summary: &contents.Summary, Forgotten: map[string]time.Time{}}
	for hash, at := range contents.Forgotten {
		rest.SetForgotten(hash, at)
	}
	part, err := json.Marshal(rest)
	if err != nil {
		return nil, fmt.Errorf("encode a snapshot: %w", err)
	}
	parts = append(parts, part)
	for some := range slices.Chunk(contents.Memories, memoriesAPart) {
		if part, err = merge.AppendMemories(make([]byte, 0, len(part)*9/8), some); err != nil {
			return nil, fmt.Errorf("encode a snapshot: %w", err)
		}
		parts = append(parts, part)
	}
	return parts, nil
}
