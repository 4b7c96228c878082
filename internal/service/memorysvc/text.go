package memorysvc

import (
	"context"
	"fmt"
	"time"

	"github.com/memsidecar/memsidecar/internal/memory"
	"github.com/memsidecar/memsidecar/internal/redact"
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
	var taken redact.Cleaner
	text = taken.Text("summary", text)
	check.Text("summary", text, memory.MaxSummary, false)
	if err := check.Err(); err != nil {
		return store.Result{}, err
	}
	return s.store.Update(ctx, meta, func(tx *store.Tx) error {
		outcome := journal.Outcome{Status: journal.Applied}
		if tx.Summary() == text {
			outcome = journal.Outcome{Status: journal.Duplicate, Reason: ReasonState}
		}
		tx.SetSummary(text)
		tx.Report(withRedactions(outcome, &taken))
		return nil
	})
}

// AppendLog appends entries to the daily logs of their days, in the daemon's time zone, as one operation. An entry
// without At happened now. With keep, what looks like a secret stays. One invalid entry refuses all. Durable on return.
// The entries belong to AppendLog.
func (s *Service) AppendLog(ctx context.Context, meta store.Meta, entries []*memory.Entry,
	keep bool) (store.Result, error) {
	var check memory.Check
	checkMeta(&check, &meta)
	checkCount(&check, "entries", len(entries))
	if err := check.Err(); err != nil {
		return store.Result{}, err
	}
	now := s.now()
	taken := make([]redact.Cleaner, len(entries))
	for i, e := range entries {
		taken[i].Keep = keep
		prepareEntry(&check, &taken[i], fmt.Sprintf("entries[%d].", i), e, now)
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
			tx.Report(withRedactions(journal.Outcome{ID: e.ID, Status: journal.Applied}, &taken[i]))
		}
		return nil
	})
}

// prepareEntry validates, redacts and completes an entry.
func prepareEntry(check *memory.Check, taken *redact.Cleaner, prefix string, e *memory.Entry, now time.Time) {
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
	redactEntry(taken, e)
	check.Entry(prefix, e)
}
