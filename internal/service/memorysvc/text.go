package memorysvc

import (
	"context"
	"fmt"
	"time"

	"github.com/memsidecar/memsidecar/internal/memory"
	"github.com/memsidecar/memsidecar/internal/store"
	"github.com/memsidecar/memsidecar/internal/store/journal"
)

// Summary returns the rolling summary of a space and the space's revision.
func (s *Service) Summary(space string) (text string, revision int64, err error) {
	var check memory.Check
	space = checkSpace(&check, space)
	if err := check.Err(); err != nil {
		return "", 0, err
	}
	view := s.store.Space(space)
	return view.Summary(), view.Revision(), nil
}

// SetSummary replaces the rolling summary. Durable on return.
func (s *Service) SetSummary(ctx context.Context, meta store.Meta, text string) (store.Result, error) {
	var check memory.Check
	checkMeta(&check, &meta)
	text, redacted := redactText(text)
	check.Text("summary", text, memory.MaxSummary, false)
	if err := check.Err(); err != nil {
		return store.Result{}, err
	}
	return s.store.Update(ctx, meta, func(tx *store.Tx) error {
		outcome := journal.Outcome{Status: journal.Applied}
		switch {
		case tx.Summary() == text:
			outcome = journal.Outcome{Status: journal.Duplicate, Reason: ReasonState}
		case redacted:
			outcome.Reason = ReasonRedacted
		}
		tx.SetSummary(text)
		tx.Report(outcome)
		return nil
	})
}

// AppendLog appends entries to the daily logs of their days, in the daemon's time zone, as one operation. An entry
// without At happened now. One invalid entry refuses all. Durable on return. The entries belong to AppendLog.
func (s *Service) AppendLog(ctx context.Context, meta store.Meta, entries []*memory.Entry) (store.Result, error) {
	var check memory.Check
	checkMeta(&check, &meta)
	checkCount(&check, "entries", len(entries))
	if err := check.Err(); err != nil {
		return store.Result{}, err
	}
	now := s.now()
	redacted := make([]bool, len(entries))
	for i, e := range entries {
		redacted[i] = prepareEntry(&check, fmt.Sprintf("entries[%d].", i), e, now)
		e.Session = meta.Session
	}
	if err := check.Err(); err != nil {
		return store.Result{}, err
	}
	return s.store.Update(ctx, meta, func(tx *store.Tx) error {
		for i, e := range entries {
			if err := tx.AppendEntry(e.At.Format(memory.DateLayout), e); err != nil {
				return err
			}
			outcome := journal.Outcome{ID: e.ID, Status: journal.Applied}
			if redacted[i] {
				outcome.Reason = ReasonRedacted
			}
			tx.Report(outcome)
		}
		return nil
	})
}

// prepareEntry validates, redacts and completes an entry, and reports whether it was redacted.
func prepareEntry(check *memory.Check, prefix string, e *memory.Entry, now time.Time) (redacted bool) {
	e.ID = store.NewID()
	if e.Type == "" {
		e.Type = memory.EntryEvent
	}
	if e.At.IsZero() {
		e.At = now
	}
	if e.At.After(now.Add(maxAhead)) {
		check.Add(prefix+"at", "IN_FUTURE", "is more than 24 hours ahead of the daemon's clock")
	}
	e.At = e.At.In(now.Location())
	e.Time = e.At.Format(time.TimeOnly)
	for _, text := range []*string{&e.Content, &e.Tool, &e.Error} {
		clean, changed := redactText(*text)
		*text, redacted = clean, redacted || changed
	}
	check.Entry(prefix, e)
	return redacted
}
