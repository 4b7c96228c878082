package share

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/memsidecar/memsidecar/internal/share/merge"
	"github.com/memsidecar/memsidecar/internal/share/pglog"
)

// Bounds of one round: rows that are read at once, operations and bytes that are sent at once, rows that become one
// local operation when many are behind, rows between two snapshots at least.
const (
	readAtOnce    = 500
	sendAtOnce    = 200
	bytesAtOnce   = 4 << 20
	rowsOneByOne  = 50
	rowsTogether  = 100
	snapshotEvery = 1000
)

// settleEvery is how often the marks of a space move up although nothing was sent.
const settleEvery = time.Hour

// exchange sends what waits and receives what others appended, until neither is left. What is written here meanwhile
// wakes the next exchange.
func (s *Service) exchange(ctx context.Context, log *pglog.Log, sp *space) error {
	received, newest := false, int64(0) // operation that waited at the beginning
	quiet := true                       // nothing was sent or received
	var forbidden error                 // to write; what others wrote still arrives
	for ctx.Err() == nil {
		_, _, changed := s.cfg.Store.Space(sp.name).Look(nil)
		sp.catchUp(changed)
		if n := len(sp.waiting.ops); newest == 0 && n > 0 {
			newest = sp.waiting.ops[n-1].op
		}
		if err := s.receiveLogs(ctx, log, sp); err != nil {
			return err
		}
		if sp.done <= sp.state.Remote.Head.Seq {
			did, err := s.publish(ctx, log, sp)
			if err != nil && !errors.Is(err, pglog.ErrBehind) {
				return err
			}
			received = received && !did // the row is received like any other
		}
		if sp.waiting.anyUpTo(newest) && sp.done <= sp.state.Remote.Head.Seq && forbidden == nil {
			switch err := s.send(ctx, log, sp); {
			case err == nil:
				received, quiet = true, false // nobody else had appended
				continue
			case pglog.IsForbidden(err):
				forbidden = err
			case !errors.Is(err, pglog.ErrBehind):
				return err
			}
		} else if received {
			break
		}
		rows, err := log.Read(ctx, sp.state.Remote.ID, sp.state.Remote.Head, readAtOnce)
		if err != nil {
			return err
		}
		if len(rows) == 0 && sp.done > sp.state.Remote.Head.Seq {
			return fmt.Errorf("the log ends at row %d, and row %d was received from it before: the database is older: %w",
				sp.state.Remote.Head.Seq, sp.done, pglog.ErrDamaged)
		}
		if err := s.receive(ctx, log, sp, rows); err != nil {
			return err
		}
		received, quiet = len(rows) < readAtOnce, quiet && len(rows) == 0
	}
	sp.show()
	return errors.Join(ctx.Err(), forbidden, s.answer(ctx, log, sp), s.settle(sp), s.report(ctx, log, sp),
		s.showPurges(ctx, log, sp), s.snapshot(ctx, log, sp, quiet))
}

// settle moves the marks up to the present where nothing waits, at most once in settleEvery, so that the journal may be
// trimmed, and records what was not recorded when it moved.
func (s *Service) settle(sp *space) error {
	now := s.cfg.Now()
	if since := now.Sub(sp.settledAt); since >= 0 && since < settleEvery {
		return s.saveDue(sp)
	}
	present := s.cfg.Store.LSN()
	_, _, changed := s.cfg.Store.Space(sp.name).Look(nil)
	sp.catchUp(changed) // so everything up to present is looked at
	sp.settledAt = now
	if len(sp.waiting.ops) == 0 && sp.done <= sp.state.Remote.Head.Seq {
		sp.state.Read, sp.state.Sent = max(sp.state.Read, present), max(sp.state.Sent, present)
	}
	if sp.state.Read == sp.savedRead {
		return s.saveDue(sp)
	}
	return sp.save(s.cfg.FS)
}

// saveLater notes that the file of a space is older than the state. The journal and the log say the rest, so no write
// and no row waits for the syncs of a file; docs/crash-safety.md says why that loses nothing.
func (s *Service) saveLater(sp *space) {
	if sp.unsaved.IsZero() {
		sp.unsaved = s.cfg.Now()
	}
}

// saveDue replaces the file of a space when it has been older than the state for the time between two polls.
func (s *Service) saveDue(sp *space) error {
	since := s.cfg.Now().Sub(sp.unsaved)
	if sp.unsaved.IsZero() || since >= 0 && since < s.cfg.Poll {
		return nil
	}
	return sp.save(s.cfg.FS)
}

// send appends the oldest waiting operations, expressed against the head. Error: pglog.ErrBehind.
func (s *Service) send(ctx context.Context, log *pglog.Log, sp *space) error {
	rows, recs, err := s.rowsToSend(ctx, sp)
	if err != nil {
		return err
	}
	if _, err := log.Append(ctx, sp.state.Remote.ID, sp.state.Remote.Head, rows); err != nil {
		return err
	}
	var g mergings
	if err := errors.Join(s.merge(ctx, sp, &g, rows, recs, rows[len(rows)-1].Op), g.finish(ctx)); err != nil {
		return err
	}
	sp.show()
	s.saveLater(sp)
	return nil
}

// rowsToSend makes rows, and their records, of the oldest waiting operations.
func (s *Service) rowsToSend(ctx context.Context, sp *space) (rows []pglog.Row, recs []record, err error) {
	ops := sp.waiting.ops[:min(len(sp.waiting.ops), sendAtOnce)]
	rows, recs = make([]pglog.Row, 0, len(ops)), make([]record, 0, len(ops))
	var values merge.Values // of what the rows before left in the log
	text, ends := make([]byte, 0, len(ops)*usualRecord), make([]int, 0, len(ops))
	for _, w := range ops {
		if len(text) > bytesAtOnce {
			break
		}
		o, err := sp.waiting.get(ctx, s.cfg.Store, sp.state.Logs, w.op)
		if err != nil {
			return nil, nil, err
		}
		values.TakeAll(o.changes, &sp.state.Known)
		changes, _ := values.Rebase(o.changes, sp.forgottenSince(o.op)) // conflicts were reported when they arrived
		// An operation that says nothing new is a row, too: somebody may wait for it.
		rec := recordOf(o, changes)
		if text, err = rec.appendJSON(text); err != nil {
			return nil, nil, fmt.Errorf("encode operation %d for the log: %w", o.op, err)
		}
		ends = append(ends, len(text))
		recs = append(recs, rec)
		rows = append(rows, pglog.Row{Origin: s.cfg.Store.Origin(), Epoch: sp.state.Line, Op: o.op, At: o.at.UTC()})
	}
	all, from := string(text), 0
	for i, end := range ends {
		rows[i].Record, from = all[from:end], end
	}
	return rows, recs, nil
}

// receive applies rows that were read: each is one local operation, or some are together when many are behind, and one
// sync makes them durable.
func (s *Service) receive(ctx context.Context, log *pglog.Log, sp *space, rows []pglog.Row) error {
	if len(rows) == 0 {
		return nil
	}
	together := rowsTogether
	if len(rows) <= rowsOneByOne {
		together = 1
	}
	var g mergings
	var err error
	for len(rows) > 0 && err == nil {
		n := 1
		for n < min(len(rows), together) && s.alike(sp, &rows[0], &rows[n]) {
			n++
		}
		err = s.receiveTogether(ctx, log, sp, &g, rows[:n])
		rows = rows[n:]
	}
	err = errors.Join(err, g.finish(ctx)) // what came before an error is applied all the same
	sp.show()
	s.saveLater(sp)
	return err
}

// receiveTogether applies rows that become one local operation, a purge alone. They need not be durable on return.
func (s *Service) receiveTogether(ctx context.Context, log *pglog.Log, sp *space, g *mergings, rows []pglog.Row) error {
	if isPurge(&rows[0]) {
		if err := g.finish(ctx); err != nil {
			return err
		}
		if err := s.receivePurge(ctx, log, sp, &rows[0]); err != nil {
			return err
		}
	}
	recs, err := decodeRecords(rows)
	if err != nil {
		return err
	}
	return s.merge(ctx, sp, g, rows, recs, 0)
}

// alike reports whether two rows may become one local operation: they are of one origin, and applied already, or not.
func (s *Service) alike(sp *space, a, b *pglog.Row) bool {
	return a.Origin == b.Origin && a.Epoch == b.Epoch && (a.Seq <= sp.done) == (b.Seq <= sp.done)
}

// errCopied means that somebody else sends in the name of this machine.
var errCopied = errors.New("this data directory and a copy of it both take part, or an older copy of it was put back")

// isOwn reports whether this store made the operation of a row since it joined. A row that only says so would make what
// waits here count as sent. Error: errCopied.
func (s *Service) isOwn(sp *space, r *pglog.Row, rec *record) (bool, error) {
	if r.Origin != s.cfg.Store.Origin() || r.Epoch != sp.state.Line {
		return false, nil
	}
	if w := sp.waiting.find(r.Op); w != nil && w.made(r, rec) {
		return true, nil
	}
	return false, fmt.Errorf("row %d of the log is said to be operation %d of this machine and is not: %w",
		r.Seq, r.Op, errCopied)
}

// report tells the others how far this machine is, when that changed, at most once in the time between two polls. Who
// only receives may lack the right.
func (s *Service) report(ctx context.Context, log *pglog.Log, sp *space) error {
	if !s.reportDue(sp) {
		return nil
	}
	listed, err := s.list(ctx, log, sp, sp.state.Remote.ID)
	if err != nil {
		return err // it is tried again
	}
	sp.memberAt, sp.memberSeq = s.cfg.Now(), sp.state.Remote.Head.Seq
	if !listed {
		sp.memberAt = sp.memberAt.Add(settleEvery) // so that the server's log does not fill
	}
	return nil
}

// reportDue reports whether the list of machines has another position of this one, or has not heard of it for long.
func (s *Service) reportDue(sp *space) bool {
	since := s.cfg.Now().Sub(sp.memberAt)
	moved := sp.state.Remote.Head.Seq != sp.memberSeq
	return sp.memberAt.IsZero() || since >= settleEvery || moved && since >= s.cfg.Poll
}

// hasNews reports whether there is something to send or to ask for, although the log is where this machine left it. The
// caller may use the space.
func (s *Service) hasNews(sp *space) bool {
	sp.mu.Lock()
	queued := len(sp.queue) > 0 || len(sp.asked) > 0
	sp.mu.Unlock()
	k, head := &sp.purges, sp.state.Remote.Head.Seq
	return queued || sp.again || len(sp.waiting.ops) > 0 || sp.done > head || k.open || k.confirms ||
		len(s.purgesOf(sp.name)) > 0
}

// hasChores reports whether there is something to report, to record or to look up, for which nobody waits. The caller
// may use the space.
func (s *Service) hasChores(sp *space) bool {
	head := sp.state.Remote.Head.Seq
	return sp.purges.due || s.cfg.Now().Sub(sp.settledAt) >= settleEvery ||
		head != sp.memberSeq && !sp.status().Unlisted || s.reportDue(sp) ||
		s.snapshotDue(sp, true)
}

// list names this machine in the list of a space. Who only receives may lack the right.
func (s *Service) list(ctx context.Context, log *pglog.Log, sp *space, id int64) (listed bool, err error) {
	err = log.SetMember(ctx, id, s.member(sp))
	if sp.readOnly && pglog.IsForbidden(err) {
		err = nil
	} else {
		listed = err == nil
	}
	sp.mu.Lock()
	defer sp.mu.Unlock()
	sp.shown.Unlisted = !listed && err == nil
	return listed, err
}

// member is this machine as the log knows it.
func (s *Service) member(sp *space) pglog.Member {
	return pglog.Member{Origin: s.cfg.Store.Origin(), Epoch: sp.state.Line, Host: s.cfg.Host,
		Position: sp.state.Remote.Head.Seq}
}

// snapshotDue reports whether the log should have a newer snapshot. One is as much work as the space has memories, so
// the larger the space, the more rows are behind one; half as many again unless it is quiet, since nothing else is
// exchanged meanwhile. The machine that appended the newest row makes it; another one does when that one has not.
func (s *Service) snapshotDue(sp *space, quiet bool) bool {
	behind := sp.state.Remote.Head.Seq - sp.snapshotAt
	if !sp.ownHead {
		behind /= 2
	}
	if !quiet {
		behind = behind * 2 / 3
	}
	switch {
	case sp.readOnly:
		return false
	case sp.snapshotAt < 0:
		return true
	}
	return behind >= snapshotEvery && behind >= int64(s.cfg.Store.Space(sp.name).Count()/2)
}

// snapshot stores the state of the space when many rows are behind the newest snapshot, and nothing waits. quiet says
// that nothing was exchanged before; between two polls the link looks at such spaces.
func (s *Service) snapshot(ctx context.Context, log *pglog.Log, sp *space, quiet bool) (err error) {
	if !s.snapshotDue(sp, quiet) {
		return nil
	}
	if sp.snapshotAt, err = log.SnapshotPosition(ctx, sp.state.Remote.ID); err != nil || !s.snapshotDue(sp, quiet) {
		return err // another machine has made one
	}
	head := sp.state.Remote.Head
	contents, changed := s.cfg.Store.Space(sp.name).ContentsAt()
	sp.catchUp(changed)
	if len(sp.waiting.ops) > 0 || sp.state.Read > changed {
		return nil // another time
	}
	parts, err := snapshotParts(contents)
	if err != nil {
		return err
	}
	if err := log.PutSnapshot(ctx, sp.state.Remote.ID, head, parts); err != nil {
		return err
	}
	sp.snapshotAt = head.Seq
	return nil
}

// reasonOf says where the operation that applies rows comes from.
func reasonOf(rows []pglog.Row, rec *record) string {
	first, last := &rows[0], &rows[len(rows)-1]
	origin := first.Origin[:min(8, len(first.Origin))]
	if len(rows) > 1 {
		return fmt.Sprintf("operations %d to %d of store %s", first.Op, last.Op, origin)
	}
	reason := fmt.Sprintf("operation %d of store %s, by %s", first.Op, origin, rec.Actor)
	if rec.Reason != "" {
		reason += ": " + rec.Reason
	}
	return reason
}

// keysOf lists what changes are about, sorted.
func keysOf(changes []merge.Change) (keys []string) {
	for i := range changes {
		keys = append(keys, changes[i].Key())
	}
	slices.Sort(keys)
	return slices.Compact(keys)
}
