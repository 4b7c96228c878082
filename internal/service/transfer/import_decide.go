package transfer

import (
	"crypto/sha256"
	"errors"
	"time"

	"github.com/memsidecar/memsidecar/internal/memory"
	"github.com/memsidecar/memsidecar/internal/store"
)

// What becomes of an item beside the reasons to skip it.
const (
	added  = "added"
	same   = "same"
	merged = "merged"
)

// seenHashes holds, by place (space, kind, id), a hash of what the import found or wrote there. A dry run writes
// nothing and decides by these, as the real run decides by what it wrote.
type seenHashes map[string][16]byte

// verdict is what happens to an item.
type verdict struct {
	reason, detail string
	into           string // of merged
}

// logSnapshot is a daily log as it was read before the transaction.
type logSnapshot struct {
	revision int64                    // 0 for no log
	entries  map[string]*memory.Entry // by id
}

// decision is one attempt at a batch.
type decision struct {
	*importing
	logs          map[string]*logSnapshot // by date
	near          map[*item]string        // the memory that says nearly the same
	newlySeen     seenHashes              // what this batch adds to known
	newTextOwners map[[16]byte]string
	verdicts      []verdict // one for each item of the batch
}

// readLogs reads the daily logs of the batch, which a transaction must not do.
func (d *decision) readLogs(v *store.Space, batch []*item) error {
	for _, it := range batch {
		if it.kind != Entry || d.logs[it.date] != nil {
			continue
		}
		l := &logSnapshot{entries: map[string]*memory.Entry{}}
		header, entries, err := v.Log(it.date)
		if err != nil && !errors.Is(err, memory.ErrNotFound) {
			return err
		}
		if header != nil {
			l.revision = header.Revision
		}
		for _, e := range entries {
			l.entries[e.ID] = e
		}
		d.logs[it.date] = l
	}
	return nil
}

// run decides about every item and, unless it is a dry run, writes what is new. Error: *memory.StaleError when a
// daily log changed since readLogs.
func (d *decision) run(tx *store.Tx, batch []*item) error {
	for date, l := range d.logs {
		current := int64(0)
		if day := tx.Day(date); day != nil {
			current = day.Revision
		}
		if current != l.revision {
			return &memory.StaleError{Kind: "log", Name: date, Expected: l.revision, Current: current}
		}
	}
	d.verdicts = make([]verdict, len(batch))
	for i, it := range batch {
		v := d.decide(tx, it)
		if v.reason == added && !d.opts.DryRun {
			if err := write(tx, it); err != nil {
				return err
			}
		}
		d.verdicts[i] = v
	}
	if d.opts.DryRun {
		// The error rolls the transaction back after it has decided everything.
		return errDryRun
	}
	return nil
}

// decide returns what happens to an item.
func (d *decision) decide(tx *store.Tx, it *item) verdict {
	switch it.kind {
	case Memory:
		if d.external {
			return d.externalMemory(tx, it)
		}
		return d.memory(tx, it)
	case Day:
		return d.day(tx, it)
	case Entry:
		return d.entry(tx, it)
	case Archived:
		return d.archived(tx, it)
	case Session:
		return d.session(tx, it)
	case Summary:
		return d.compare(it, "", encoded(it.text), encodedText(tx.Summary()), "the space has another rolling summary")
	default:
		current := "" // when it was forgotten does not matter
		if _, there := tx.ForgottenAt(it.forgotten.Hash); there {
			current = "forgotten"
		}
		return d.compare(it, it.id, "forgotten", current, "")
	}
}

// encodedText is a text in the form in which values are compared, "" for none.
func encodedText(text string) string {
	if text == "" {
		return ""
	}
	return encoded(text)
}

// seenHash returns the hash that the import itself recorded at a place.
func (d *decision) seenHash(it *item, id string) (sum [16]byte, ok bool) {
	key := it.space + "\x00" + it.kind + "\x00" + id
	if sum, ok = d.newlySeen[key]; !ok {
		sum, ok = d.seen[key]
	}
	return sum, ok
}

// recordSeen records what is at a place from now on.
func (d *decision) recordSeen(it *item, id, value string) {
	d.newlySeen[it.space+"\x00"+it.kind+"\x00"+id] = hashOf(value)
}

// hashOf shortens a value to 128 bits: an import of millions of things compares them by hash.
func hashOf(value string) [16]byte {
	sum := sha256.Sum256([]byte(value))
	return [16]byte(sum[:16])
}

// compare decides by what is at the place of an item: current is "" when nothing is.
func (d *decision) compare(it *item, id, value, current, exists string) verdict {
	if sum, ok := d.seenHash(it, id); ok {
		if sum == hashOf(value) {
			return verdict{reason: same}
		}
		return verdict{reason: ReasonExists, detail: exists}
	}
	switch current {
	case "":
		d.recordSeen(it, id, value)
		return verdict{reason: added}
	case value:
		d.recordSeen(it, id, value)
		return verdict{reason: same}
	}
	return verdict{reason: ReasonExists, detail: exists}
}

// comparableMemory is a memory without what matters only inside one store (revision, accesses) and without the
// times that the imported one does not name.
func comparableMemory(m, imported *memory.Memory) string {
	c := m.Clone()
	c.Revision = 0
	c.SetAccesses(0, time.Time{})
	if imported.CreatedAt.IsZero() {
		c.CreatedAt = time.Time{}
	}
	if imported.UpdatedAt.IsZero() {
		c.UpdatedAt = time.Time{}
	}
	if imported.ContentAt().IsZero() {
		c.SetContentAt(time.Time{})
	}
	if c.Status == "" {
		c.Status = memory.Active
	}
	return encoded(c)
}

// memory decides about a memory of an export of ours.
func (d *decision) memory(tx *store.Tx, it *item) verdict {
	m, current := it.memory, ""
	if have := tx.Memory(m.ID); have != nil {
		current = comparableMemory(have, m)
	}
	_, seen := d.seenHash(it, m.ID)
	if current == "" && !seen {
		if tx.IsForgotten(m.Content) {
			return verdict{reason: ReasonForgotten, detail: "its text was forgotten here"}
		}
		// The same text under another id, unless the import brings both.
		if equal := tx.Equal(m.Category, m.Content); m.IsActive() && equal != nil && !equal.Expired(tx.Now()) {
			if _, ours := d.seenHash(it, equal.ID); !ours {
				return verdict{reason: same}
			}
		}
	}
	return d.compare(it, m.ID, comparableMemory(m, m), current, "another memory has this id")
}

// entry decides about a log entry.
func (d *decision) entry(tx *store.Tx, it *item) verdict {
	id, current := it.date+"\x00"+it.entry.ID, ""
	if have := d.logs[it.date].entries[it.entry.ID]; have != nil {
		current = encoded(have)
	}
	_, seen := d.seenHash(it, id)
	if current == "" && !seen && tx.IsForgotten(it.entry.Content) {
		return verdict{reason: ReasonForgotten, detail: "its text was forgotten here"}
	}
	v := d.compare(it, id, encoded(it.entry), current, "another entry of the day has this id")
	if day := (&item{space: it.space, kind: Day}); v.reason == added && tx.Day(it.date) == nil {
		if _, known := d.seenHash(day, it.date); !known { // the entry makes the day
			d.recordSeen(day, it.date, comparableDay(&memory.Day{Date: it.date}))
		}
	}
	return v
}

// comparableDay is the header of a day without revision and number of entries.
func comparableDay(day *memory.Day) string {
	c := *day
	c.Revision, c.Entries = 0, 0
	if len(c.Extra) == 0 {
		c.Extra = nil
	}
	return encoded(c)
}

// day decides about the header of a daily log. A header that says nothing gives way to one that does.
func (d *decision) day(tx *store.Tx, it *item) verdict {
	current, blank := "", comparableDay(&memory.Day{Date: it.date})
	if have := tx.Day(it.date); have != nil {
		current = comparableDay(have)
	}
	value := comparableDay(it.day)
	sum, seen := d.seenHash(it, it.date)
	if value != blank && (seen && sum == hashOf(blank) || !seen && current == blank) {
		d.recordSeen(it, it.date, value) // a day of which nothing is said yet
		return verdict{reason: added}
	}
	return d.compare(it, it.date, value, current, "the day has another summary, or is archived")
}

// archived decides about the record of an archived log.
func (d *decision) archived(tx *store.Tx, it *item) verdict {
	current := ""
	if have := tx.ArchivedAs(it.id); have != nil {
		current = comparableArchived(have)
	}
	return d.compare(
		it,
		it.id,
		comparableArchived(it.archived),
		current,
		"there is a record of another log of that date",
	)
}

// comparableArchived is a record without the numbers of operations, which belong to one store.
func comparableArchived(r *memory.Archived) string {
	c := *r
	c.Op, c.DeletedOp, c.At, c.DeletedAt = 0, 0, c.At.UTC(), c.DeletedAt.UTC()
	return encoded(&c)
}

// session decides about a session with its messages.
func (d *decision) session(tx *store.Tx, it *item) verdict {
	current := ""
	if have := tx.Session(it.id); have != nil {
		c := *have
		c.ReflectedOp = 0
		current = encoded(&c)
	}
	return d.compare(it, it.id, encoded(it.session), current, "another session has this id, or it has gone on")
}

// write stores an item inside the transaction.
func write(tx *store.Tx, it *item) error {
	switch it.kind {
	case Memory:
		return tx.PutKnown(it.memory.Clone(), it.memory.ContentAt())
	case Day:
		tx.SetDay(it.day)
	case Entry:
		return tx.AppendEntry(it.date, it.entry)
	case Archived:
		tx.PutArchived(it.archived)
	case Summary:
		tx.SetSummary(it.text)
	case Forgotten:
		tx.PutForgotten(it.forgotten.Hash, it.forgotten.At)
	case Session:
		tx.PutSession(it.session)
		for _, m := range it.messages {
			if err := tx.AppendMessage(it.id, m); err != nil {
				return err
			}
		}
	}
	return nil
}
