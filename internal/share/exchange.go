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
// local operation when many are behind, rows between two snapshots.
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

// exchange sends what waits and receives what others appended, until neither is left.
func (s *Service) exchange(ctx context.Context, log *pglog.Log, sp *space) error {
	received := false
	var forbidden error // to write; what others wrote still arrives
	for ctx.Err() == nil {
		_, _, changed := s.cfg.Store.Space(sp.name).Look(nil)
		sp.catchUp(changed)
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
		if len(sp.waiting.ops) > 0 && sp.done <= sp.state.Remote.Head.Seq && forbidden == nil {
			switch err := s.send(ctx, log, sp); {
			case err == nil:
				received = true // nobody else had appended
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
		received = len(rows) < readAtOnce
	}
	sp.show()
	return errors.Join(ctx.Err(), forbidden, s.answer(ctx, log, sp), s.settle(sp), s.report(ctx, log, sp),
		s.showPurges(ctx, log, sp), s.snapshot(ctx, log, sp))
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
	var rows []pglog.Row
	var recs []record
	values, last, size := sp.state.Known.Clone(), int64(0), 0
	for _, w := range sp.waiting.ops[:min(len(sp.waiting.ops), sendAtOnce)] {
		if size > bytesAtOnce {
			break
		}
		o, err := sp.waiting.get(ctx, s.cfg.Store, sp.state.Logs, w.op)
		if err != nil {
			return err
		}
		last = o.op
		changes, _ := values.Rebase(o.changes, sp.forgottenSince(o.op)) // conflicts were reported when they arrived
		// An operation that says nothing new is a row, too: somebody may wait for it.
		rec, text, err := encodeRecord(o, changes)
		if err != nil {
			return err
		}
		size += len(text)
		recs = append(recs, rec)
		rows = append(
			rows,
			pglog.Row{Origin: s.cfg.Store.Origin(), Epoch: sp.state.Line, Op: o.op, At: o.at.UTC(), Record: text},
		)
	}
	if len(rows) > 0 {
		if _, err := log.Append(ctx, sp.state.Remote.ID, sp.state.Remote.Head, rows); err != nil {
			return err
		}
	}
	if err := s.merge(ctx, sp, rows, recs, last); err != nil {
		return err
	}
	sp.show()
	s.saveLater(sp)
	return nil
}

// receive applies rows that were read.
func (s *Service) receive(ctx context.Context, log *pglog.Log, sp *space, rows []pglog.Row) error {
	if len(rows) == 0 {
		return nil
	}
	together := rowsTogether
	if len(rows) <= rowsOneByOne {
		together = 1
	}
	for len(rows) > 0 {
		n := 1
		for n < min(len(rows), together) && s.alike(sp, &rows[0], &rows[n]) {
			n++
		}
		if isPurge(&rows[0]) {
			if err := s.receivePurge(ctx, log, sp, &rows[0]); err != nil {
				return err
			}
		}
		recs, err := decodeRecords(rows[:n])
		if err != nil {
			return err
		}
		if err := s.merge(ctx, sp, rows[:n], recs, 0); err != nil {
			return err
		}
		rows = rows[n:]
	}
	sp.show()
	s.saveLater(sp)
	return nil
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
		!sp.readOnly && (sp.snapshotAt < 0 || head-sp.snapshotAt >= snapshotEvery)
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

// snapshot stores the state of the space when many rows are behind the newest snapshot, and nothing waits.
func (s *Service) snapshot(ctx context.Context, log *pglog.Log, sp *space) (err error) {
	if sp.readOnly {
		return nil
	}
	head := sp.state.Remote.Head
	if sp.snapshotAt < 0 {
		if sp.snapshotAt, err = log.SnapshotPosition(ctx, sp.state.Remote.ID); err != nil {
			return err
		}
	}
	if head.Seq-sp.snapshotAt < snapshotEvery {
		return nil
	}
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
