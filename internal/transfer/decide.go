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

// known says by place (space, kind, id) what an import has seen to be there: a hash of it. A dry run, which writes nothing, decides by it as the run
// decides by what it wrote.
type known map[string][16]byte

// verdict is what becomes of an item.
type verdict struct {
	reason, detail string
	into           string // of merged
}

// logOf is a daily log as it was read before the transaction.
type logOf struct {
	revision int64
	entries  map[string]*memory.Entry
}

// decision is one attempt at a batch.
type decision struct {
	*importing
	logs     map[string]*logOf
	near     map[*item]string // the memory that says nearly the same
	fresh    known            // what this batch adds to known
	newTexts map[[16]byte]string
	verdicts []verdict
}

// readLogs reads the daily logs concerned, which a transaction must not do.
func (d *decision) readLogs(v *store.Space, batch []*item) error {
	for _, it := range batch {
		if it.kind != Entry || d.logs[it.date] != nil {
			continue
		}
		l := &logOf{entries: map[string]*memory.Entry{}}
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

// run decides about every item and, unless it is a dry run, writes what is new.
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
		return errDry
	}
	return nil
}

func (d *decision) decide(tx *store.Tx, it *item) verdict {
	switch it.kind {
	case Memory:
		if d.foreign {
			return d.foreignMemory(tx, it)
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
		return d.place(it, "", encoded(it.text), orNone(tx.Summary()), "the space has another rolling summary")
	default:
		current := "" // when it was forgotten does not matter
		if _, there := tx.Forgotten(it.forgotten.Hash); there {
			current = "forgotten"
		}
		return d.place(it, it.id, "forgotten", current, "")
	}
}

func orNone(text string) string {
	if text == "" {
		return ""
	}
	return encoded(text)
}

// seen returns what the import itself has seen at a place.
func (d *decision) seen(it *item, id string) (sum [16]byte, ok bool) {
	key := it.space + "\x00" + it.kind + "\x00" + id
	if sum, ok = d.fresh[key]; !ok {
		sum, ok = d.known[key]
	}
	return sum, ok
}

func (d *decision) note(it *item, id, value string) {
	d.fresh[it.space+"\x00"+it.kind+"\x00"+id] = hashOf(value)
}

func hashOf(value string) [16]byte {
	sum := sha256.Sum256([]byte(value))
	return [16]byte(sum[:16])
}

// place decides by what stands at the place of an item: current is "" when nothing does.
func (d *decision) place(it *item, id, value, current, exists string) verdict {
	if sum, ok := d.seen(it, id); ok {
		if sum == hashOf(value) {
			return verdict{reason: same}
		}
		return verdict{reason: ReasonExists, detail: exists}
	}
	switch current {
	case "":
		d.note(it, id, value)
		return verdict{reason: added}
	case value:
		d.note(it, id, value)
		return verdict{reason: same}
	}
	return verdict{reason: ReasonExists, detail: exists}
}

// essence is a memory without what only counts where it is, the revision and the accesses, and without the times that the imported one does not name.
func essence(m, imported *memory.Memory) string {
	c := m.Clone()
	c.Revision, c.AccessCount, c.LastAccessed = 0, 0, time.Time{}
	if imported.CreatedAt.IsZero() {
		c.CreatedAt = time.Time{}
	}
	if imported.UpdatedAt.IsZero() {
		c.UpdatedAt = time.Time{}
	}
	if c.Status == "" {
		c.Status = memory.Active
	}
	return encoded(c)
}

func (d *decision) memory(tx *store.Tx, it *item) verdict {
	m, current := it.memory, ""
	if have := tx.Memory(m.ID); have != nil {
		current = essence(have, m)
	}
	_, seen := d.seen(it, m.ID)
	if current == "" && !seen {
		if tx.IsForgotten(m.Content) {
			return verdict{reason: ReasonForgotten, detail: "its text was forgotten here"}
		}
		// The same text under another id, unless the import brings both.
		if equal := tx.Equal(m.Category, m.Content); m.IsActive() && equal != nil && !equal.Expired(tx.Now()) {
			if _, ours := d.seen(it, equal.ID); !ours {
				return verdict{reason: same}
			}
		}
	}
	return d.place(it, m.ID, essence(m, m), current, "another memory has this id")
}

func (d *decision) entry(tx *store.Tx, it *item) verdict {
	id, current := it.date+"\x00"+it.entry.ID, ""
	if have := d.logs[it.date].entries[it.entry.ID]; have != nil {
		current = encoded(have)
	}
	_, seen := d.seen(it, id)
	if current == "" && !seen && tx.IsForgotten(it.entry.Content) {
		return verdict{reason: ReasonForgotten, detail: "its text was forgotten here"}
	}
	v := d.place(it, id, encoded(it.entry), current, "another entry of the day has this id")
	if day := (&item{space: it.space, kind: Day}); v.reason == added && tx.Day(it.date) == nil {
		if _, known := d.seen(day, it.date); !known { // the entry makes the day
			d.note(day, it.date, plainDay(&memory.Day{Date: it.date}))
		}
	}
	return v
}

// plainDay is what a day says of itself.
func plainDay(day *memory.Day) string {
	c := *day
	c.Revision, c.Entries = 0, 0
	if len(c.Extra) == 0 {
		c.Extra = nil
	}
	return encoded(c)
}

func (d *decision) day(tx *store.Tx, it *item) verdict {
	current, blank := "", plainDay(&memory.Day{Date: it.date})
	if have := tx.Day(it.date); have != nil {
		current = plainDay(have)
	}
	value := plainDay(it.day)
	sum, seen := d.seen(it, it.date)
	if value != blank && (seen && sum == hashOf(blank) || !seen && current == blank) {
		d.note(it, it.date, value) // a day of which nothing is said yet
		return verdict{reason: added}
	}
	return d.place(it, it.date, value, current, "the day has another summary, or is archived")
}

func (d *decision) archived(tx *store.Tx, it *item) verdict {
	current := ""
	if have := tx.ArchivedAs(it.id); have != nil {
		current = plainArchived(have)
	}
	return d.place(it, it.id, plainArchived(it.archived), current, "there is a record of another log of that date")
}

// plainArchived is a record without what only counts where it is: the numbers of operations.
func plainArchived(r *memory.Archived) string {
	c := *r
	c.Op, c.DeletedOp, c.At, c.DeletedAt = 0, 0, c.At.UTC(), c.DeletedAt.UTC()
	return encoded(&c)
}

func (d *decision) session(tx *store.Tx, it *item) verdict {
	current := ""
	if have := tx.Session(it.id); have != nil {
		c := *have
		c.ReflectedOp = 0
		current = encoded(&c)
	}
	return d.place(it, it.id, encoded(it.session), current, "another session has this id, or it has gone on")
}

func write(tx *store.Tx, it *item) error {
	switch it.kind {
	case Memory:
		return tx.Put(it.memory.Clone())
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
