package share

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/memsidecar/memsidecar/internal/memory"
	"github.com/memsidecar/memsidecar/internal/share/merge"
	"github.com/memsidecar/memsidecar/internal/share/pglog"
	"github.com/memsidecar/memsidecar/internal/store"
	"github.com/memsidecar/memsidecar/internal/store/journal"
)

// maxAttempts bounds how often rows are merged again because somebody wrote to the same memories meanwhile.
const maxAttempts = 100

// merge brings the space from just before rows of one origin, with these records, to just behind them. own says up to
// which operation this store's own are in them; 0 is for rows that were read. The local operation is one of g, and is
// durable when that is finished.
func (s *Service) merge(
	ctx context.Context, sp *space, g *mergings, rows []pglog.Row, recs []record, own int64,
) error {
	m := &merging{service: s, space: sp, rows: rows, own: own, logs: newArrivals(s, sp)}
	if err := m.collect(recs); err != nil {
		return err
	}
	if !g.takes(m) {
		if err := g.finish(ctx); err != nil {
			return err
		}
	}
	return s.untilFresh(ctx, sp.name, func() error {
		if err := m.plan(ctx); err != nil {
			return err
		}
		return m.run(ctx, g)
	})
}

// mergings are rows that were merged one behind the other, with one wait for all of their local operations. Until that
// ends the position is before all of them, and readers may not see what they say. So they are about different things,
// and none of them changes how the next one is merged. The zero value is empty.
type mergings struct {
	list  []*merging
	last  store.Staged // operation of the newest
	keys  map[string]bool
	bytes int  // of the rows' records
	full  bool // nothing more may be added
}

// takes reports whether another one may be added before this is finished. An empty one takes everything.
func (g *mergings) takes(m *merging) bool {
	return len(g.list) == 0 || !g.full && g.bytes <= bytesAtOnce && !m.isAlone() &&
		!slices.ContainsFunc(m.changes, func(c merge.Change) bool { return g.keys[c.Key()] })
}

// add adds one whose local operation is staged.
func (g *mergings) add(m *merging, staged store.Staged) {
	if g.keys == nil {
		g.keys = map[string]bool{}
	}
	for _, key := range m.keys {
		g.keys[key] = true
	}
	for i := range m.rows {
		g.bytes += len(m.rows[i].Record)
	}
	g.list, g.last, g.full = append(g.list, m), staged, m.isAlone()
}

// finish waits for the sync, also when ctx ends, and advances the position in memory. Then it is empty again.
func (g *mergings) finish(ctx context.Context) error {
	list := g.list
	if len(list) == 0 {
		return nil
	}
	_, err := g.last.WaitDurable(context.WithoutCancel(ctx)) // the journal is synced in order
	*g = mergings{}
	if err != nil {
		return err
	}
	for _, m := range list {
		m.advance()
	}
	return nil
}

// untilFresh repeats do while it fails with memory.ErrStale because somebody wrote to a space meanwhile. Error:
// memory.ErrBusy when they keep doing so.
func (s *Service) untilFresh(ctx context.Context, space string, do func() error) error {
	for range maxAttempts {
		if err := do(); !errors.Is(err, memory.ErrStale) {
			return err
		}
		// Readers see durable state only, so without this the next attempt could see the same again.
		if _, err := s.cfg.Store.Update(ctx, store.Meta{Space: space, Actor: journal.ActorShare}, func(*store.Tx) error { return nil }); err != nil {
			return err
		}
	}
	return fmt.Errorf(
		"merge into space %q: gave up after %d conflicting concurrent changes: %w",
		space,
		maxAttempts,
		memory.ErrBusy,
	)
}

// merging is one call of Service.merge.
type merging struct {
	service *Service
	space   *space
	rows    []pglog.Row
	own     int64 // newest operation of this store in the rows; 0 when they are of another
	changes []merge.Change
	first   record
	// skip says that the journal has the rows already, also those of this store: only what is known of the log changes.
	skip bool

	// what a plan is made of, again for each attempt
	keys      []string
	ids       []string
	seen      []*memory.Memory // by ids
	rest      store.Contents
	now       merge.Values // in the log, after the rows
	target    merge.Values // here, after the rows
	conflicts []merge.Conflict
	open      openReviews
	// lsn is the number of the local operation.
	lsn int64
	// logs are the entries of daily logs in rows of others.
	logs *arrivals
}

// collect notes what the records change.
func (m *merging) collect(recs []record) error {
	for i := range recs {
		rec := &recs[i]
		if i == 0 {
			m.first = *rec
		}
		m.changes = append(m.changes, rec.Changes...)
		own, err := m.service.isOwn(m.space, &m.rows[i], rec)
		if err != nil {
			return err
		}
		if own {
			m.own = max(m.own, m.rows[i].Op)
		} else if m.space.state.Logs.on() {
			m.logs.add(&m.rows[i], rec.Entries)
		}
	}
	m.skip = m.rows[len(m.rows)-1].Seq <= m.space.done
	return nil
}

// isAlone reports whether what is merged behind this depends on more than the values that it writes: on what waits to
// be sent, and on what is forgotten.
func (m *merging) isAlone() bool {
	return m.own > 0 || m.skip || m.first.Purge != nil ||
		slices.ContainsFunc(m.changes, func(c merge.Change) bool { return c.Forgotten != nil })
}

// plan finds out what the space must hold afterwards. Error: memory.ErrTrimmed.
func (m *merging) plan(ctx context.Context) error {
	sp := m.space
	m.keys = keysOf(m.changes)
	m.extend()
	for {
		m.look()
		before := len(m.keys)
		m.extend() // by what was written meanwhile
		if len(m.keys) == before {
			break
		}
	}
	m.now = merge.Values{}
	for _, key := range m.keys {
		if sp.state.Known.Has(key) {
			m.now.Take(key, &sp.state.Known)
		} else {
			m.takeLocal(key)
		}
	}
	m.now.Apply(m.changes)
	m.target, m.conflicts = m.now.Clone(), nil
	arrived := m.arrived()
	for _, op := range sp.waiting.about(m.keys, m.own) {
		o, err := sp.waiting.get(ctx, m.service.cfg.Store, sp.state.Logs, op)
		if err != nil {
			return err
		}
		since := sp.forgottenSince(op)
		for _, c := range o.changes {
			if _, concerned := slices.BinarySearch(m.keys, merge.KeyOf(&c)); !concerned {
				continue
			}
			_, conflicts := m.target.Rebase(
				[]journal.Change{c},
				func(text string) bool { return since(text) || arrived(text) },
			)
			if m.own == 0 {
				m.conflicts = append(m.conflicts, conflicts...)
			}
		}
	}
	if err := m.logs.look(); err != nil {
		return err
	}
	m.open = nil
	if len(m.conflicts) == 0 {
		return nil
	}
	var err error
	m.open, err = m.service.openReviews(sp.name)
	return err
}

// look reads what the space holds of the keys, and everything that is written up to then.
func (m *merging) look() {
	m.ids = m.ids[:0]
	for _, key := range m.keys {
		if id := merge.MemoryID(key); id != "" {
			m.ids = append(m.ids, id)
		}
	}
	var changed int64
	m.seen, m.rest, changed = m.service.cfg.Store.Space(m.space.name).Look(m.ids)
	m.space.catchUp(changed)
}

// extend adds to the keys what else may change: the waiting memories when a value was forgotten, and what own
// operations in the rows touched.
func (m *merging) extend() {
	before := len(m.keys)
	for _, w := range m.space.waiting.ops {
		if w.op > m.own {
			break
		}
		m.keys = append(m.keys, w.keys...)
	}
	if m.own == 0 && slices.ContainsFunc(
		m.changes,
		func(c merge.Change) bool { return c.Forgotten != nil && !c.Forgotten.At.IsZero() },
	) {
		for key := range m.space.waiting.byKey {
			if merge.MemoryID(key) != "" {
				m.keys = append(m.keys, key)
			}
		}
	}
	if len(m.keys) > before {
		m.keys = slices.DeleteFunc(m.keys, isEntryKey)
		slices.Sort(m.keys)
		m.keys = slices.Compact(m.keys)
	}
}

// takeLocal copies what the space holds of a key, which equals the log because no waiting operation touches it.
func (m *merging) takeLocal(key string) {
	if id := merge.MemoryID(key); id != "" {
		i, _ := slices.BinarySearch(m.ids, id) // sorted, as the keys are
		m.now.SetMemory(id, m.seen[i])
	} else if hash := merge.ForgottenHash(key); hash != "" {
		m.now.SetForgotten(hash, m.rest.Forgotten[hash])
	} else {
		m.now.Summary = &m.rest.Summary
	}
}

// arrived returns what reports whether the rows forget a text.
func (m *merging) arrived() func(string) bool {
	return func(text string) bool {
		if m.own > 0 {
			return false
		}
		return slices.ContainsFunc(m.changes, func(c merge.Change) bool {
			if c.Forgotten == nil || c.Forgotten.At.IsZero() {
				return false
			}
			salt, _, _ := strings.Cut(c.Forgotten.Hash, ":")
			return memory.ForgottenHash(salt, text) == c.Forgotten.Hash
		})
	}
}

// run makes the space hold what was planned, as one operation of g; where nothing has to be written it advances the
// position in memory. Error: memory.ErrStale when somebody wrote to the space since it was looked at.
func (m *merging) run(ctx context.Context, g *mergings) error {
	if m.skip || m.own > 0 && !m.differs() {
		m.advance()
		return nil
	}
	meta := store.Meta{
		Space:  m.space.name,
		Actor:  journal.ActorShare,
		Reason: "what the log says of the own operations",
	}
	if m.own == 0 {
		meta.Reason = reasonOf(m.rows, &m.first)
		meta.Key = markOf(m.space.state.Remote.Log, m.rows[len(m.rows)-1].Seq)
	}
	staged, err := m.service.cfg.Store.Stage(ctx, meta, m.write)
	if err != nil {
		return err
	}
	g.add(m, staged)
	return nil
}

// differs reports whether the space does not hold yet what was planned.
func (m *merging) differs() bool {
	for i, id := range m.ids {
		if !merge.Same(m.seen[i], m.target.Memories[id]) {
			return true
		}
	}
	for hash, at := range m.target.Forgotten {
		if !m.rest.Forgotten[hash].Equal(at) {
			return true
		}
	}
	return m.target.Summary != nil && *m.target.Summary != m.rest.Summary
}

// write is the transaction.
func (m *merging) write(tx *store.Tx) error {
	if err := m.checkUnchanged(tx); err != nil {
		return err
	}
	m.lsn = tx.LSN()
	for _, id := range m.ids {
		if err := m.writeMemory(tx, id); err != nil {
			return err
		}
	}
	for hash, at := range m.target.Forgotten {
		tx.SetForgotten(hash, at)
	}
	if m.target.Summary != nil {
		if m.own == 0 && m.now.Summary != nil && *m.now.Summary != *m.target.Summary {
			tx.SetSummary(*m.now.Summary) // it stays as a version
		}
		tx.SetSummary(*m.target.Summary)
	}
	// Reviews change daily logs, too, so they come behind what compares these with what was looked at.
	if err := m.logs.write(tx); err != nil {
		return err
	}
	return m.review(tx)
}

// checkUnchanged compares the state with the one that was looked at.
func (m *merging) checkUnchanged(tx *store.Tx) error {
	for i, id := range m.ids {
		if now := tx.Memory(id); now != m.seen[i] &&
			(now == nil || m.seen[i] == nil || now.Revision != m.seen[i].Revision || !merge.Same(now, m.seen[i])) {
			return &memory.StaleError{Kind: "memory", Name: id}
		}
	}
	for hash := range m.target.Forgotten {
		if at, _ := tx.ForgottenAt(hash); !at.Equal(m.rest.Forgotten[hash]) {
			return &memory.StaleError{Kind: "forgotten value", Name: hash}
		}
	}
	if m.target.Summary != nil && tx.Summary() != m.rest.Summary {
		return &memory.StaleError{Kind: "summary", Name: m.space.name}
	}
	for _, c := range m.conflicts {
		if err := m.service.checkReview(tx, m.open[c.ID]); err != nil {
			return err
		}
	}
	return nil
}

// writeMemory writes one memory. A version that lost a conflict is written first, so that history has it.
func (m *merging) writeMemory(tx *store.Tx, id string) error {
	for _, c := range m.conflicts {
		if c.ID == id && !merge.Same(tx.Memory(id), c.Lost) {
			if err := tx.PutReceived(c.Lost.Clone()); err != nil {
				return err
			}
		}
	}
	target := m.target.Memories[id]
	switch {
	case merge.Same(tx.Memory(id), target):
		return nil
	case target == nil:
		tx.Remove(id)
		return nil
	}
	return tx.PutReceived(target.Clone())
}

// review leaves conflicts to a person, in the daily log of today.
func (m *merging) review(tx *store.Tx) error {
	for i, c := range m.conflicts {
		if slices.ContainsFunc(m.conflicts[i+1:], func(later merge.Conflict) bool { return later.ID == c.ID }) {
			continue // the last one says it all
		}
		if err := reviewConflict(tx, &c, m.service.cfg.Location, m.open[c.ID]); err != nil {
			return err
		}
	}
	return nil
}

// advance moves the position behind the rows.
func (m *merging) advance() {
	sp := m.space
	arrived := max(m.lsn, sp.state.Read+1)
	if m.skip { // what was written since then knew
		arrived = sp.appliedBy(m.rows[len(m.rows)-1].Seq)
	}
	for _, c := range m.changes {
		if c.Forgotten == nil || m.own > 0 {
			continue
		}
		if c.Forgotten.At.IsZero() {
			delete(sp.state.Arrived, c.Forgotten.Hash)
		} else if len(sp.waiting.ops) > 0 {
			if sp.state.Arrived == nil {
				sp.state.Arrived = map[string]int64{}
			}
			sp.state.Arrived[c.Forgotten.Hash] = arrived
		}
	}
	if m.own > 0 {
		sp.sent(m.own)
	}
	for _, key := range m.keys {
		if len(sp.waiting.byKey[key]) > 0 {
			sp.state.Known.Take(key, &m.now)
		} else {
			sp.state.Known.Drop(key)
		}
	}
	if n := len(m.rows); n > 0 {
		last := &m.rows[n-1]
		before := sp.state.Remote.Head
		sp.state.Remote.Head = pglog.Head{Seq: last.Seq, Hash: last.Hash}
		if l := sp.state.Logs; l.on() && l.Head.Equal(before) && (!m.skip || l.sends(arrived)) {
			sp.followLogs()
		}
		if last.Seq >= sp.done {
			sp.done, sp.marks = last.Seq, nil
		}
		sp.ownHead = m.own > 0
		sp.noteRow(last) // the rows are of one line
	}
}
