package share

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/memsidecar/memsidecar/internal/memory"
	"github.com/memsidecar/memsidecar/internal/share/pglog"
	"github.com/memsidecar/memsidecar/internal/store"
	"github.com/memsidecar/memsidecar/internal/store/journal"
)

// lateDays is how old a daily log may be to take what arrives: older ones are deleted, or soon will be.
const lateDays = 60

// logs is what a machine does with the daily logs of a space: it sends the entries that are written while it is on, and
// receives those that others sent.
type logs struct {
	// Sent are the local operations whose entries are sent, as ranges that do not overlap, oldest first. The last one
	// is open while logs are on.
	Sent []logSpan `json:"sent"`
	// Head is the position up to which entries of others are applied here. It follows that of the space while logs are
	// on, and is behind it after they were off.
	Head pglog.Head `json:"head"`
}

// logSpan are the operations behind From, up to Until; 0 is no end.
type logSpan struct {
	From  int64 `json:"from"`
	Until int64 `json:"until,omitempty"`
}

// on reports whether logs are sent and received now. A nil l is off.
func (l *logs) on() bool { return l != nil && l.Sent[len(l.Sent)-1].Until == 0 }

// sends reports whether the entries of an operation are sent. A nil l sends none.
func (l *logs) sends(op int64) bool {
	return l != nil && slices.ContainsFunc(l.Sent, func(s logSpan) bool {
		return op > s.From && (s.Until == 0 || op <= s.Until)
	})
}

// entryValue is an entry of a daily log after an operation; no Value means that it was removed.
type entryValue struct {
	Date  string        `json:"date"`
	ID    string        `json:"id"`
	Value *memory.Entry `json:"value,omitempty"`
}

// key names the entry among what operations are about.
func (e *entryValue) key() string { return entryPrefix + e.Date + "/" + e.ID }

const entryPrefix = "entry:"

// isEntryKey reports whether a key names an entry, which is not merged as other things are.
func isEntryKey(key string) bool { return strings.HasPrefix(key, entryPrefix) }

// sentEntries is what is sent of the entries that changes are about. Items for review belong to one machine, and so
// does the deletion of a log that is archived.
func sentEntries(changes []journal.Change) (out []entryValue) {
	deleted := map[string]bool{}
	for i := range changes {
		if d := changes[i].Day; d != nil && d.After == nil {
			deleted[d.Date] = true
		}
	}
	for i := range changes {
		c := changes[i].Entry
		if c == nil || c.After == nil && deleted[c.Date] {
			continue
		}
		if e := c.After; e != nil && e.Type == memory.EntryReview || e == nil && c.Before.Type == memory.EntryReview {
			continue
		}
		out = append(out, entryValue{c.Date, c.ID, withStore(c.After, nil)})
	}
	return out
}

// withStore returns an entry with the JSON text that says which store sent it, and without it when that is nil.
func withStore(e *memory.Entry, name json.RawMessage) *memory.Entry {
	if e == nil || e.Extra[memory.ExtraStore] == nil && name == nil {
		return e
	}
	c := *e
	c.Extra = maps.Clone(e.Extra)
	if name == nil {
		delete(c.Extra, memory.ExtraStore)
		return &c
	}
	if c.Extra == nil {
		c.Extra = map[string]json.RawMessage{}
	}
	c.Extra[memory.ExtraStore] = name
	return &c
}

// SetLogs says whether this machine shares the daily logs of a space from now on: sends the entries that are written
// here, and receives those that others sent, also before. Durable on return. Error: *memory.NotFoundError when the
// space is not shared.
func (s *Service) SetLogs(name string, on bool) error {
	if s.already(name, func(sp *space) bool { return sp.status().Logs == on }) {
		return nil
	}
	sp, unlock, err := s.lockSpace(name)
	if err != nil {
		return err
	}
	defer unlock()
	before := sp.state.Logs
	if before.on() == on {
		return nil
	}
	sp.mu.Lock()
	sp.state.Logs = before.switched(on, sp.applied, sp.state.Sent, sp.state.Remote)
	sp.logs = sp.state.Logs
	sp.mu.Unlock()
	if err := sp.save(s.cfg.FS); err != nil {
		sp.mu.Lock()
		sp.state.Logs, sp.logs = before, before
		sp.mu.Unlock()
		return err
	}
	sp.show()
	s.wake(name)
	return nil
}

// switched returns what is shared behind the local operation now. Up to the operation sent nothing waits, so nobody
// asks about ranges that ended before.
func (l *logs) switched(on bool, now, sent int64, remote pglog.Space) *logs {
	next := &logs{Head: remote.Start()}
	if l != nil {
		next.Head = l.Head
		next.Sent = slices.DeleteFunc(slices.Clone(l.Sent), func(s logSpan) bool { return s.Until != 0 && s.Until <= sent })
	}
	if on {
		next.Sent = append(next.Sent, logSpan{From: now})
	} else {
		next.Sent[len(next.Sent)-1].Until = now
	}
	return next
}

// receiveLogs applies the entries in rows that were received while logs were off, or before this machine joined.
func (s *Service) receiveLogs(ctx context.Context, log *pglog.Log, sp *space) error {
	l := sp.state.Logs
	for l.on() && l.Head.Seq < sp.state.Remote.Head.Seq {
		rows, err := log.Read(ctx, sp.state.Remote.ID, l.Head, int(min(readAtOnce, sp.state.Remote.Head.Seq-l.Head.Seq)))
		if err != nil {
			return err
		}
		if len(rows) == 0 {
			return nil // the log is shorter than what was received: reading on says so
		}
		arrived := newArrivals(s, sp)
		for i := range rows {
			rec, err := decodeRecord(&rows[i])
			if err != nil {
				return err
			}
			arrived.add(&rows[i], rec.Entries)
		}
		if err := s.untilFresh(ctx, sp.name, func() error { return arrived.store(ctx) }); err != nil {
			return err
		}
		last := &rows[len(rows)-1]
		next := *l
		next.Head = pglog.Head{Seq: last.Seq, Hash: last.Hash}
		sp.mu.Lock()
		sp.state.Logs, sp.logs = &next, &next
		sp.mu.Unlock()
		if err := sp.save(s.cfg.FS); err != nil {
			return err
		}
		l = &next
	}
	return nil
}

// followLogs moves the position of the logs with that of the space. Entries of rows that the journal had before logs
// were on are read again instead, by receiveLogs.
func (sp *space) followLogs() {
	next := *sp.state.Logs
	next.Head = sp.state.Remote.Head
	sp.mu.Lock()
	sp.state.Logs, sp.logs = &next, &next
	sp.mu.Unlock()
}

// arrivals are entries of daily logs that others sent, by date and id. The later in the log replaces the earlier.
type arrivals struct {
	service *Service
	space   *space
	days    map[string]map[string]arrival
	seen    map[string]*dayLog // what the space holds, by date
}

// arrival is an entry, and the store that sent it.
type arrival struct {
	entryValue
	origin string
}

// dayLog is a daily log that was looked at.
type dayLog struct {
	revision int64 // 0: there is none
	entries  map[string]*memory.Entry
}

// newArrivals returns an empty set.
func newArrivals(s *Service, sp *space) *arrivals {
	return &arrivals{service: s, space: sp, days: map[string]map[string]arrival{}}
}

// add adds the entries of a row.
func (a *arrivals) add(r *pglog.Row, entries []entryValue) {
	for _, e := range entries {
		if a.days[e.Date] == nil {
			a.days[e.Date] = map[string]arrival{}
		}
		a.days[e.Date][e.ID] = arrival{e, r.Origin}
	}
}

// store makes the space hold the entries, as one operation. Error: memory.ErrStale.
func (a *arrivals) store(ctx context.Context) error {
	if err := a.look(); err != nil || !a.differ() {
		return err
	}
	_, err := a.service.cfg.Store.Update(ctx, store.Meta{Space: a.space.name, Actor: journal.ActorShare,
		Reason: "daily logs of the shared space"}, a.write)
	return err
}

// look reads the daily logs that the entries belong to, but for those that take nothing any more.
func (a *arrivals) look() error {
	a.seen = map[string]*dayLog{}
	view := a.service.cfg.Store.Space(a.space.name)
	oldest := a.service.cfg.Now().In(a.service.cfg.Location).AddDate(0, 0, -lateDays).Format(memory.DateLayout)
	for date := range a.days {
		header, entries, err := view.Log(date)
		switch {
		case errors.Is(err, memory.ErrNotFound):
			if date <= oldest || slices.ContainsFunc(view.ArchivedOn(date), (*memory.Archived).Deleted) {
				continue // it is deleted, or would be at once
			}
			a.seen[date] = &dayLog{}
		case errors.Is(err, memory.ErrCorrupt):
			a.service.cfg.Logger.Error("a daily log takes no entries of other machines", "space", a.space.name, "date", date,
				"err", err)
		case err != nil:
			return fmt.Errorf("read the log of %s: %w", date, err)
		default:
			day := &dayLog{header.Revision, map[string]*memory.Entry{}}
			for _, e := range entries {
				day.entries[e.ID] = e
			}
			a.seen[date] = day
		}
	}
	return nil
}

// differ reports whether the space lacks any of the entries.
func (a *arrivals) differ() bool {
	for date, day := range a.seen {
		for id := range a.days[date] {
			if before, after := a.change(day, date, id); !sameEntry(before, after) {
				return true
			}
		}
	}
	return false
}

// change is an entry here, and as it arrived; an own operation that waits comes later in the log than what arrived.
func (a *arrivals) change(day *dayLog, date, id string) (before, after *memory.Entry) {
	e := a.days[date][id]
	before = day.entries[id]
	if len(a.space.waiting.byKey[e.key()]) > 0 {
		return before, before
	}
	var name json.RawMessage
	switch {
	case before != nil:
		name = before.Extra[memory.ExtraStore]
	case e.origin != a.service.cfg.Store.Origin():
		name = json.RawMessage(fmt.Sprintf("%q", shortOrigin(e.origin)))
	}
	return before, withStore(e.Value, name)
}

// write is the transaction. Error: memory.ErrStale when somebody wrote to the logs since they were looked at.
func (a *arrivals) write(tx *store.Tx) error {
	for _, date := range slices.Sorted(maps.Keys(a.seen)) {
		day := a.seen[date]
		if err := tx.CheckDayRevision(date, day.revision); err != nil {
			return err
		}
		ids := slices.SortedFunc(maps.Keys(a.days[date]), func(x, y string) int {
			return cmp.Or(a.days[date][x].at().Compare(a.days[date][y].at()), strings.Compare(x, y))
		})
		for _, id := range ids {
			before, after := a.change(day, date, id)
			switch {
			case sameEntry(before, after):
			case before == nil:
				if err := tx.AppendEntry(date, after); err != nil {
					return err
				}
			default:
				if err := tx.ChangeEntry(date, before, after); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

// at is when the entry was written, the zero time for one that was removed.
func (a arrival) at() time.Time {
	if a.Value == nil {
		return time.Time{}
	}
	return a.Value.At
}

// sameEntry reports whether two entries, either may be nil, are equal.
func sameEntry(a, b *memory.Entry) bool {
	x, errX := json.Marshal(a)
	y, errY := json.Marshal(b)
	return errX == nil && errY == nil && string(x) == string(y)
}

// shortOrigin is how people see a store.
func shortOrigin(origin string) string { return origin[:min(8, len(origin))] }
