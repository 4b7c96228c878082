package archiver

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/memsidecar/memsidecar/internal/journal"
	"github.com/memsidecar/memsidecar/internal/memory"
	"github.com/memsidecar/memsidecar/internal/store"
)

const (
	// markField is the extra field of an archived log that says which entries were archived.
	markField = "archived_entries"
	// replans bounds how often a log that changes while being planned is planned again.
	replans = 3
	// batchDays and batchBytes bound what is summed up at a time, and with it what a run holds in memory.
	batchDays  = 7
	batchBytes = 1 << 20
	// summarySalience keeps the summary of a log findable without pushing aside what was learnt from it.
	summarySalience = 0.3
)

var (
	// errDryRun ends a transaction that was only tried.
	errDryRun = errors.New("dry run")
	// errNoSummary leaves a log for a later run.
	errNoSummary = errors.New("the log could not be summed up")
)

// mark says what an archived log held, so that entries which came later are noticed before it is deleted.
type mark struct {
	Count  int    `json:"count"`
	Digest string `json:"sha256"`
}

func markOf(entries []*memory.Entry) mark {
	h := sha256.New()
	for _, e := range entries {
		// Lengths are written along, so that no two lists of entries give the same bytes.
		for _, s := range []string{e.Type, e.Content, e.Category, e.Tool, e.Error} {
			fmt.Fprintf(h, "%d:%s", len(s), s)
		}
	}
	return mark{Count: len(entries), Digest: hex.EncodeToString(h.Sum(nil)[:16])}
}

// readMark is false for a log not archived by this package.
func readMark(d *memory.Day) (mark, bool) {
	var m mark
	raw, ok := d.Extra[markField]
	return m, ok && json.Unmarshal(raw, &m) == nil
}

// grown reports whether an archived log has got entries since, as far as its header tells.
func grown(d *memory.Day) bool {
	m, ok := readMark(d)
	return ok && m.Count != d.Entries
}

// settled reports whether every entry of a log went through archiving here. A log that another tool archived did not.
func settled(d *memory.Day, entries []*memory.Entry) bool {
	m, ok := readMark(d)
	return d.Archived && ok && m == markOf(entries)
}

// archive archives a log. It returns nil when that was done before.
func (r *run) archive(ctx context.Context, out Day) (*Day, error) {
	for attempt := 1; ; attempt++ {
		p := r.prepared[out.Date]
		if p == nil {
			return nil, nil
		}
		if p.summary == "" && len(p.log.Entries) > 0 {
			delete(r.prepared, out.Date)
			return nil, errNoSummary
		}
		if p.found == nil {
			p.found = candidates(out.Date, p.telling)
		}
		p.pick, p.skip = choose(p.found, r.known.index)
		done, err := r.apply(ctx, p, out)
		if err == nil {
			for _, c := range p.pick {
				r.known.index.add(c.content, c.context)
			}
		}
		if !errors.Is(err, memory.ErrStale) || attempt == replans {
			delete(r.prepared, out.Date)
			return done, err
		}
		// What made the plan stale may not be durable yet, and so not be seen by the next one. A transaction that
		// changes nothing returns when it is.
		if _, err := r.a.store.Update(ctx, store.Meta{Space: out.Space}, func(*store.Tx) error { return nil }); err != nil {
			return nil, err
		}
		if err := r.prepare(ctx, out.Space, []string{out.Date}); err != nil {
			return nil, err
		}
	}
}

func logTitle(date string) string { return "Log " + date }

// isLogSummary reports whether a memory holds the summary of a daily log.
func isLogSummary(m *memory.Memory) bool {
	return m.Source == memory.SourceArchive && strings.HasPrefix(m.Title, logTitle(""))
}

// entryTime is when an entry was written; of one without an instant, the wall clock of its day.
func entryTime(date string, e *memory.Entry, loc *time.Location) time.Time {
	if !e.At.IsZero() {
		return e.At
	}
	if t, err := time.ParseInLocation(time.DateTime, date+" "+e.Time, loc); err == nil {
		return t
	}
	t, _ := time.ParseInLocation(memory.DateLayout, date, loc)
	return t
}

// apply carries a plan out as one operation: the memories, the summary and the mark are there together or not at all.
// memory.ErrStale says that the log is not the one that was planned for.
func (r *run) apply(ctx context.Context, p *plan, out Day) (*Day, error) {
	out.Action, out.Entries = Archive, p.mark.Count
	meta := store.Meta{Space: p.space, Actor: journal.ActorArchive, Reason: "archive log " + p.day.Date}
	res, err := r.a.store.Update(ctx, meta, func(tx *store.Tx) error {
		now := tx.Day(p.day.Date)
		if now == nil {
			return &memory.NotFoundError{Kind: "log", Name: p.day.Date}
		}
		if now.Revision != p.day.Revision {
			return &memory.StaleError{Kind: "log", Name: p.day.Date, Expected: p.day.Revision, Current: now.Revision}
		}
		for _, e := range p.log.Entries { // forgotten since it was summed up
			if tx.IsForgotten(e.Content) {
				return &memory.StaleError{Kind: "log", Name: p.day.Date, Expected: p.day.Revision, Current: now.Revision}
			}
		}
		if err := p.promote(tx, &out, r.a.loc); err != nil {
			return err
		}
		if err := p.sumUp(tx, now, &out, r.a.loc); err != nil {
			return err
		}
		if r.opts.DryRun {
			return errDryRun
		}
		return nil
	})
	if err != nil && !errors.Is(err, errDryRun) {
		return nil, err
	}
	if out.Op = res.Op; r.opts.DryRun {
		out.Op = 0
		for i := range out.Promoted {
			out.Promoted[i].ID = ""
		}
	}
	return &out, nil
}

// promote makes memories of the chosen entries.
func (p *plan) promote(tx *store.Tx, out *Day, loc *time.Location) error {
	out.Promoted, out.Skipped = nil, slices.Clone(p.skip)
	for _, c := range p.pick {
		skip := func(reason string) {
			out.Skipped = append(out.Skipped, Skipped{Entry: c.at.ID, Category: c.category, Content: c.content, Reason: reason})
		}
		if p.forgotten(tx, c) {
			skip("FORGOTTEN")
			continue
		}
		if tx.Equal(c.category, c.content) != nil {
			skip("DUPLICATE")
			continue
		}
		m := c.memory(p.day.Date, entryTime(p.day.Date, c.at, loc))
		err := tx.Put(m)
		if _, invalid := errors.AsType[*memory.InvalidError](err); invalid {
			skip("INVALID") // a log edited by hand may hold anything; the entry stays in the log's before-image
			continue
		}
		if err != nil {
			return err
		}
		out.Promoted = append(out.Promoted, Promoted{ID: m.ID, Entry: c.at.ID, Category: c.category, Content: c.content})
	}
	return nil
}

func (p *plan) forgotten(tx *store.Tx, c candidate) bool {
	return tx.IsForgotten(c.content) || tx.IsForgotten(c.at.Content)
}

// sumUp writes the summary into the log and beside it as a memory, which outlives the log.
func (p *plan) sumUp(tx *store.Tx, now *memory.Day, out *Day, loc *time.Location) error {
	out.Summary, out.Note = p.summary, p.note
	if p.summary != "" {
		if err := p.putLog(tx, p.summary, out, loc); err != nil {
			return err
		}
	}
	day := *now
	day.Summary, day.Archived = p.summary, true
	raw, err := json.Marshal(p.mark)
	if err != nil {
		return fmt.Errorf("encode the mark of an archived log: %w", err)
	}
	if day.Extra = maps.Clone(now.Extra); day.Extra == nil {
		day.Extra = map[string]json.RawMessage{}
	}
	day.Extra[markField] = raw
	tx.SetDay(&day)
	record := memory.Archived{Date: day.Date, Entries: p.mark.Count, Summary: p.summary}
	for _, m := range out.Promoted {
		record.Promoted = append(record.Promoted, m.ID)
	}
	tx.LogArchived(record)
	return nil
}

// begin is when the first entry of the log was written, which does not depend on the zone that the daemon is in now.
func (p *plan) begin(loc *time.Location) time.Time {
	if len(p.log.Entries) == 0 {
		return entryTime(p.day.Date, &memory.Entry{}, loc)
	}
	return entryTime(p.day.Date, p.log.Entries[0], loc)
}

// putLog creates the memory that holds a log's summary, or renews the one of an earlier archiving unless somebody
// changed or removed it since.
func (p *plan) putLog(tx *store.Tx, summary string, out *Day, loc *time.Location) error {
	content := clip(summary, memory.MaxContent)
	if tx.IsForgotten(content) {
		return nil
	}
	var m *memory.Memory
	if p.knownLog != nil {
		old := tx.Memory(p.knownLog.ID)
		if old == nil || !old.IsActive() || old.Content == content || old.Content != clip(p.day.Summary, memory.MaxContent) {
			return nil
		}
		m = old.Clone()
		m.Content = content
	} else {
		if tx.Equal(memory.General, content) != nil {
			return nil
		}
		m = &memory.Memory{
			ID: store.NewID(), Category: memory.General, Title: logTitle(p.day.Date), Content: content,
			Salience: summarySalience, Confidence: 1, Status: memory.Active, Source: memory.SourceArchive,
			CreatedAt: p.begin(loc),
			Evidence:  []memory.Evidence{{Log: p.day.Date}},
		}
	}
	if err := tx.Put(m); err != nil {
		return err
	}
	out.Promoted = append(out.Promoted, Promoted{ID: m.ID, Category: m.Category, Content: content})
	return nil
}
