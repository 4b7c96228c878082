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

	"github.com/memsidecar/memsidecar/internal/memory"
	"github.com/memsidecar/memsidecar/internal/redact"
	"github.com/memsidecar/memsidecar/internal/store"
	"github.com/memsidecar/memsidecar/internal/store/journal"
)

const (
	// markField is the extra field of an archived log that identifies the archived entries.
	markField = "archived_entries"
	// maxReplans limits the attempts at a log with concurrent changes.
	maxReplans = 3
	// maxBatchDays and maxBatchBytes limit the logs that are summarised together, and so the memory of a run.
	maxBatchDays  = 7
	maxBatchBytes = 1 << 20
	// summarySalience ranks the summary of a log below the memories made of its entries.
	summarySalience = 0.3
)

var (
	// errDryRun rolls back the transaction of a dry run.
	errDryRun = errors.New("dry run")
	// errNoSummary postpones a log to a later run.
	errNoSummary = errors.New("the log could not be summarised")
)

// archiveMark identifies the entries of an archived log, so that later entries are noticed before the log is deleted.
type archiveMark struct {
	Count  int    `json:"count"`
	Digest string `json:"sha256"`
}

// archiveMarkOf returns the mark of entries, in order.
func archiveMarkOf(entries []*memory.Entry) archiveMark {
	h := sha256.New()
	for _, e := range entries {
		// Lengths are included, so that different entries cannot produce the same input.
		for _, s := range []string{e.Type, e.Content, e.Category, e.Tool, e.Error} {
			fmt.Fprintf(h, "%d:%s", len(s), s)
		}
	}
	return archiveMark{Count: len(entries), Digest: hex.EncodeToString(h.Sum(nil)[:16])}
}

// readArchiveMark returns the mark of a log; ok is false if this package did not archive it.
func readArchiveMark(d *memory.Day) (archiveMark, bool) {
	var m archiveMark
	raw, ok := d.Extra[markField]
	return m, ok && json.Unmarshal(raw, &m) == nil
}

// hasNewEntries reports whether the number of entries changed since a log was archived.
func hasNewEntries(d *memory.Day) bool {
	m, ok := readArchiveMark(d)
	return ok && m.Count != d.Entries
}

// isFullyArchived reports whether this package archived all entries of a log. It is false for logs archived by other
// tools.
func isFullyArchived(d *memory.Day, entries []*memory.Entry) bool {
	m, ok := readArchiveMark(d)
	return d.Archived && ok && m == archiveMarkOf(entries)
}

// archive archives a log. It returns nil if the log is archived already. What it returns may be reported when
// waitDurable returned nil.
func (r *run) archive(ctx context.Context, out Day) (*Day, error) {
	for attempt := 1; ; attempt++ {
		p := r.plans[out.Date]
		if p == nil {
			return nil, nil
		}
		if p.summary == "" && len(p.log.Entries) > 0 {
			delete(r.plans, out.Date)
			return nil, errNoSummary
		}
		if p.candidates == nil {
			p.candidates = findCandidates(out.Date, p.unscrubbed)
		}
		p.promoted, p.skipped = selectCandidates(p.candidates, r.index.texts)
		done, err := r.apply(ctx, p, out)
		if err == nil {
			for _, c := range p.promoted {
				r.index.texts.add(c.content, c.context)
			}
		}
		if !errors.Is(err, memory.ErrStale) || attempt == maxReplans {
			delete(r.plans, out.Date)
			return done, err
		}
		// The change that made the plan stale may not be durable yet, and readers see durable state only. An empty
		// transaction returns when it is, and what was archived before.
		if _, err := r.a.store.Update(ctx, store.Meta{Space: out.Space}, func(*store.Tx) error {
			return nil
		}); err != nil {
			return nil, err
		}
		if err := r.prepare(ctx, out.Space, []string{out.Date}); err != nil {
			return nil, err
		}
	}
}

// logTitle is the title of the memory with a log's summary.
func logTitle(date string) string { return "Log " + date }

// isLogSummary reports whether a memory contains the summary of a daily log.
func isLogSummary(m *memory.Memory) bool {
	const formerSource = "log_archive" // of the same, in directories of earlier builds
	return (m.Source == memory.SourceArchive || m.Source == formerSource) && strings.HasPrefix(m.Title, logTitle(""))
}

// apply stages a plan as one operation, so memories, summary and mark exist together or not at all. The error is
// memory.ErrStale if the log changed since the plan.
func (r *run) apply(ctx context.Context, p *plan, out Day) (*Day, error) {
	out.Action, out.Entries = Archive, p.mark.Count
	meta := store.Meta{Space: p.space, Actor: journal.ActorArchive, Reason: "archive log " + p.day.Date}
	staged, err := r.a.store.Stage(ctx, meta, func(tx *store.Tx) error {
		now := tx.Day(p.day.Date)
		if now == nil {
			return &memory.NotFoundError{Kind: "log", Name: p.day.Date}
		}
		if now.Revision != p.day.Revision {
			return &memory.StaleError{Kind: "log", Name: p.day.Date, Expected: p.day.Revision, Current: now.Revision}
		}
		for _, e := range p.log.Entries { // forgotten since the summary was made
			if tx.IsForgotten(e.Content) {
				return &memory.StaleError{Kind: "log", Name: p.day.Date, Expected: p.day.Revision,
					Current: now.Revision}
			}
		}
		if err := p.promote(tx, &out, r.a.loc); err != nil {
			return err
		}
		if err := p.archiveLog(tx, now, &out, r.a.loc); err != nil {
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
	if r.opts.DryRun {
		for i := range out.Promoted {
			out.Promoted[i].ID = ""
		}
		return &out, nil
	}
	r.staged = append(r.staged, staged)
	out.Op = staged.Result().Op
	return &out, nil
}

// promote adds the memories of the selected entries.
func (p *plan) promote(tx *store.Tx, out *Day, loc *time.Location) error {
	out.Promoted, out.Skipped = nil, slices.Clone(p.skipped)
	for _, c := range p.promoted {
		skip := func(reason string) {
			out.Skipped = append(out.Skipped,
				Skipped{Entry: c.entry.ID, Category: c.category, Content: c.content, Reason: reason})
		}
		if p.isForgotten(tx, c) {
			skip("FORGOTTEN")
			continue
		}
		if tx.Equal(c.category, c.content) != nil {
			skip("EXACT_DUPLICATE")
			continue
		}
		m := c.memory(p.day.Date, c.entry.Instant(p.day.Date, loc))
		err := tx.Put(m)
		if _, invalid := errors.AsType[*memory.InvalidError](err); invalid {
			skip("INVALID") // a hand-edited entry can be invalid; it stays in the journal's before-image of the log
			continue
		}
		if err != nil {
			return err
		}
		out.Promoted = append(out.Promoted,
			Promoted{ID: m.ID, Entry: c.entry.ID, Category: c.category, Content: c.content})
	}
	return nil
}

// isForgotten reports whether the text or the entry of a candidate was forgotten.
func (p *plan) isForgotten(tx *store.Tx, c candidate) bool {
	return tx.IsForgotten(c.content) || tx.IsForgotten(c.entry.Content)
}

// archiveLog marks the log as archived and stores its summary, in the log and as a memory that outlives the log.
func (p *plan) archiveLog(tx *store.Tx, now *memory.Day, out *Day, loc *time.Location) error {
	out.Summary, out.Note = p.summary, p.note
	if p.summary != "" {
		if err := p.putLogSummary(tx, p.summary, out, loc); err != nil {
			return err
		}
	}
	day := *now
	day.Summary, day.Archived = p.summary, true
	raw, err := json.Marshal(p.mark)
	if err != nil {
		return fmt.Errorf("encode the archive mark of a log: %w", err)
	}
	// The header of a day is shared with readers, so its map is copied before it is changed.
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

// firstEntryTime returns the time of the log's first entry. Unlike the start of the day it does not depend on the
// current time zone.
func (p *plan) firstEntryTime(loc *time.Location) time.Time {
	if len(p.log.Entries) == 0 {
		return new(memory.Entry).Instant(p.day.Date, loc)
	}
	return p.log.Entries[0].Instant(p.day.Date, loc)
}

// putLogSummary adds the memory with a log's summary. It updates the memory of an earlier archiving, unless that was
// edited or retired since.
func (p *plan) putLogSummary(tx *store.Tx, summary string, out *Day, loc *time.Location) error {
	quoted := func(s string) string {
		s, _ = redact.Text(s) // a person may have written it
		return clip(s, memory.MaxContent)
	}
	content := quoted(summary)
	if tx.IsForgotten(content) {
		return nil
	}
	var m *memory.Memory
	if p.summaryMemory != nil {
		old := tx.Memory(p.summaryMemory.ID)
		// A summary that a person edited or retired stays as they left it.
		if old == nil || !old.IsActive() || old.Content == content ||
			old.Content != quoted(p.day.Summary) {
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
			CreatedAt: p.firstEntryTime(loc),
			More:      &memory.More{Evidence: []memory.Evidence{{Log: p.day.Date}}},
		}
	}
	if err := tx.PutKnown(m, p.firstEntryTime(loc)); err != nil {
		return err
	}
	out.Promoted = append(out.Promoted, Promoted{ID: m.ID, Category: m.Category, Content: content})
	return nil
}
