package consolidator

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/memsidecar/memsidecar/internal/memory"
	"github.com/memsidecar/memsidecar/internal/redact"
	"github.com/memsidecar/memsidecar/internal/reflector/guard"
	"github.com/memsidecar/memsidecar/internal/store"
	"github.com/memsidecar/memsidecar/internal/store/journal"
)

// appendDaily appends the candidate to today's log. With Request.Later the entry is marked as pending, and Run is
// woken.
func (s *Service) appendDaily(ctx context.Context, req Request, meta store.Meta) (Decision, error) {
	kind := memory.EntryEvent // what an agent writes into the log is an event of the day
	if req.Later {
		kind = memory.EntryAutoExtract
	} else {
		req.Category = cmp.Or(req.Category, memory.General) // the category makes an event a candidate for Pending
	}
	at := s.now().In(s.location)
	d, err := s.appendEntry(ctx, req, meta, at, kind)
	today := at.Format(memory.DateLayout)
	switch {
	case d.Replayed: // a key is known for 24 hours
		d.LogDate = s.loggedOn(req.Space, d.ID, today, at.AddDate(0, 0, -1).Format(memory.DateLayout))
	case d.ID != "":
		d.LogDate = today
	}
	if d.Reason == ReasonPending {
		d.Action, d.Pending, d.DecidedBy = guard.Noop, true, ""
		s.wakeRun()
	}
	return d, err
}

// loggedOn returns the first of days whose log has the entry, "" if none has it any more.
func (s *Service) loggedOn(space, id string, days ...string) string {
	for _, day := range days {
		_, entries, err := s.store.Space(space).Log(day)
		if err == nil && slices.ContainsFunc(entries, func(e *memory.Entry) bool { return e.ID == id }) {
			return day
		}
	}
	return ""
}

// appendEntry appends the candidate to the log of at, unless the day has it.
func (s *Service) appendEntry(ctx context.Context, req Request, meta store.Meta, at time.Time,
	kind string) (Decision, error) {
	day := at.Format(memory.DateLayout)
	same, err := s.findLogged(req, day)
	if err != nil {
		return Decision{}, err
	}
	e := memory.Entry{ID: store.NewID(), At: at, Time: at.Format(time.TimeOnly), Type: kind,
		Content: req.Content, Category: req.Category, Session: req.Session}
	reason := guard.ReasonLogged
	if req.Later {
		if e.Extra, err = pendingExtra(req); err != nil {
			return Decision{}, err
		}
		reason = ReasonPending
	}
	return s.update(ctx, req, meta, &Decision{DecidedBy: ByRules}, &guard.Item{},
		func(tx *store.Tx) ([]journal.Outcome, error) {
			o := journal.Outcome{ID: e.ID, Status: journal.Applied, Reason: reason}
			switch {
			case strings.TrimSpace(redact.WithoutMarkers(req.Content)) == "":
				o = journal.Outcome{Status: journal.Rejected, Reason: guard.ReasonSecret}
			case tx.IsForgotten(req.Content):
				o = journal.Outcome{Status: journal.Rejected, Reason: guard.ReasonForgotten}
			case same != "":
				o = journal.Outcome{ID: same, Status: journal.Duplicate, Reason: guard.ReasonExactDuplicate}
			}
			if req.DryRun {
				return []journal.Outcome{o}, errDryRun
			}
			if o.Status == journal.Applied {
				if err := guard.Apply(tx, guard.Plan{Space: req.Space, Session: req.Session,
					Entries: []guard.DatedEntry{{Date: day, Entry: e}}}); err != nil {
					return nil, err
				}
			}
			tx.Report(o)
			return nil, nil
		})
}

// persist makes the candidate durable in today's log before the model is asked about it, and req a request about that
// entry. A dry run, a candidate that is in a log already and a question whose answer is known need no entry. The entry
// is not marked as pending: an undo of the decision must not make Run repeat it.
func (s *Service) persist(ctx context.Context, req *Request, q question) error {
	if _, answered := s.replies.get(q.key); answered || req.DryRun || req.from != nil {
		return nil
	}
	at := s.now().In(s.location)
	d, err := s.appendEntry(ctx, *req, store.Meta{Space: req.Space,
		Actor: cmp.Or(req.Actor, journal.ActorConsolidate), Reason: "candidate for a memory", Session: req.Session}, at,
		memory.EntryAutoExtract)
	if err != nil || d.ID == "" { // the guards will reject it, too
		return err
	}
	// nil if the same text was decided about today: then it is durable as it is
	req.from, err = s.readCandidate(req.Space, at.Format(memory.DateLayout), d.ID)
	return err
}

// findLogged returns the id of the day's entry with the same content, "" if there is none.
func (s *Service) findLogged(req Request, day string) (string, error) {
	_, entries, err := s.store.Space(req.Space).Log(day)
	if errors.Is(err, memory.ErrNotFound) {
		return "", nil
	}
	if err != nil {
		return "", fmt.Errorf("read the log of %s: %w", day, err)
	}
	want := memory.Normalize(req.Content)
	for _, e := range entries {
		if (e.Type == memory.EntryAutoExtract || e.Type == memory.EntryEvent) && memory.Normalize(e.Content) == want {
			return e.ID, nil
		}
	}
	return "", nil
}
