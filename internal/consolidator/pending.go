package consolidator

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/memsidecar/memsidecar/internal/erase"
	"github.com/memsidecar/memsidecar/internal/journal"
	"github.com/memsidecar/memsidecar/internal/memory"
	"github.com/memsidecar/memsidecar/internal/plan"
	"github.com/memsidecar/memsidecar/internal/store"
)

// Fields of log entries.
const (
	extraWaits = "consolidate"  // on a candidate that Run is to decide about: what was asked beside its text
	extraDone  = "consolidated" // on an entry that was decided about: what became of it
)

// reasonInvalid is the reason of an entry that cannot be a memory as it is.
const reasonInvalid = "INVALID_ENTRY"

// ReasonPending is the reason of a candidate that waits in the daily log.
const ReasonPending = "PENDING"

// MaxPending is how many entries one run of Pending looks at.
const MaxPending = 1000

// asked is what a candidate that waits was asked with beside its text and category.
type asked struct {
	Salience   *float64 `json:"salience,omitempty"`
	Confidence *float64 `json:"confidence,omitempty"`
	Title      string   `json:"title,omitempty"`
	Tags       []string `json:"tags,omitempty"`
}

// done is the mark of an entry that was decided about.
type done struct {
	Action plan.Action `json:"action"`
	Memory string      `json:"memory,omitempty"`
	Reason string      `json:"reason,omitempty"`
	At     time.Time   `json:"at"`
}

// waiting is an entry of a daily log that is a candidate, as it was read.
type waiting struct {
	date     string
	revision int64 // of the log
	purge    int64 // the newest one before it was read
	entry    *memory.Entry
}

// mark notes in the entry what becomes of it, in the operation that does it; nothing for a candidate that is none.
func (w *waiting) mark(s *Service, tx *store.Tx, item plan.Item, o journal.Outcome) error {
	if w == nil {
		return nil
	}
	if tx.SameDay(w.date, w.revision) != nil || s.store.LastPurge() != w.purge {
		return errLog
	}
	d := done{Action: item.Action, Memory: o.ID, Reason: o.Reason, At: tx.Now().Truncate(time.Second)}
	switch {
	case o.Status != journal.Applied:
		d.Action = plan.Noop
	case item.Action == plan.Add:
		d.Memory = item.Memory.ID
	}
	raw, err := json.Marshal(d)
	if err != nil {
		return fmt.Errorf("encode the mark of a log entry: %w", err)
	}
	after := *w.entry
	after.Extra = map[string]json.RawMessage{extraDone: raw}
	for k, v := range w.entry.Extra {
		if k != extraWaits && k != extraDone {
			after.Extra[k] = v
		}
	}
	return tx.ChangeEntry(w.date, w.entry, &after)
}

// errLog: the log that a candidate stands in changed meanwhile.
var errLog = errors.New("the log changed meanwhile")

// isCandidate reports whether an entry was written to become a memory and was not looked at yet: what an agent extracted, and events
// that somebody gave a category.
func isCandidate(e *memory.Entry) bool {
	if len(e.Extra[extraDone]) > 0 || erase.Blank(e.Content) {
		return false
	}
	return e.Type == memory.EntryAutoExtract || e.Type == memory.EntryEvent && e.Category != ""
}

// PendingRequest bounds a run.
type PendingRequest struct {
	Space  string
	Limit  int // 0 is MaxPending
	DryRun bool

	asked bool // only what Run is to decide about
	days  int  // only so many newest logs; 0 is all
}

// Consolidated is what became of one entry.
type Consolidated struct {
	Decision
	Date  string
	Entry *memory.Entry // as it was
}

// Pending decides about the entries of daily logs that were written to become memories and have not been looked at, oldest first; logs that
// are archived were. Each is decided about as by Consolidate and marked in the same operation, so that a repeat, also after a crash,
// does nothing. left is how many were not reached. What was done before an error is returned with it.
//
// Durable on return. Errors: *memory.InvalidError, those of Consolidate.
func (s *Service) Pending(ctx context.Context, req PendingRequest) (out []Consolidated, left int, err error) {
	var check memory.Check
	if req.Limit < 0 || req.Limit > MaxPending {
		check.Add("limit", "OUT_OF_RANGE", "must be 1 to %d", MaxPending)
	}
	if err := check.Err(); err != nil {
		return nil, 0, err
	}
	if req.Limit == 0 {
		req.Limit = MaxPending
	}
	days := s.store.Space(req.Space).Days()
	if req.days > 0 && len(days) > req.days {
		days = days[len(days)-req.days:]
	}
	for _, d := range days {
		if d.Archived {
			continue
		}
		ids, err := s.candidates(req, d.Date)
		if err != nil {
			return out, left, err
		}
		for _, id := range ids {
			if len(out) == req.Limit {
				left++
				continue
			}
			c, err := s.consolidateEntry(ctx, req, d.Date, id)
			if err != nil {
				return out, left, err
			}
			if c != nil {
				out = append(out, *c)
			}
		}
	}
	return out, left, nil
}

// candidates lists the entries of a log that are to be looked at.
func (s *Service) candidates(req PendingRequest, date string) (ids []string, err error) {
	_, entries, err := s.store.Space(req.Space).Log(date)
	if errors.Is(err, memory.ErrNotFound) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read the log of %s: %w", date, err)
	}
	for _, e := range entries {
		if isCandidate(e) && (!req.asked || len(e.Extra[extraWaits]) > 0) {
			ids = append(ids, e.ID)
		}
	}
	return ids, nil
}

// logAttempts at an entry of a log that others write to meanwhile.
const logAttempts = 8

// consolidateEntry decides about one entry. The result is nil when somebody was faster.
func (s *Service) consolidateEntry(ctx context.Context, req PendingRequest, date, id string) (*Consolidated, error) {
	for i := range logAttempts {
		if i > 0 {
			if err := s.settle(ctx, req.Space); err != nil {
				return nil, err
			}
		}
		w, err := s.read(req.Space, date, id)
		if w == nil || err != nil {
			return nil, err
		}
		d, err := s.Consolidate(ctx, requestOf(req, w))
		if errors.Is(err, errLog) {
			continue
		}
		if _, ok := errors.AsType[*memory.InvalidError](err); ok { // a log may be written by hand
			return &Consolidated{Decision{Action: plan.Noop, Status: journal.Rejected, Reason: reasonInvalid}, date, w.entry}, nil
		}
		if err != nil {
			return nil, fmt.Errorf("consolidate entry %s of the log of %s: %w", id, date, err)
		}
		return &Consolidated{d, date, w.entry}, nil
	}
	return nil, fmt.Errorf("the log of %s keeps changing: %w", date, memory.ErrBusy)
}

// read reads an entry that is to be looked at, nil when it is not any more.
func (s *Service) read(space, date, id string) (*waiting, error) {
	w := &waiting{date: date, purge: s.store.LastPurge()}
	day, entries, err := s.store.Space(space).Log(date)
	if errors.Is(err, memory.ErrNotFound) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read the log of %s: %w", date, err)
	}
	for _, e := range entries {
		if e.ID == id && isCandidate(e) {
			w.entry, w.revision = e, day.Revision
			return w, nil
		}
	}
	return nil, nil
}

func requestOf(req PendingRequest, w *waiting) Request {
	out := Request{Space: req.Space, Session: w.entry.Session, Content: w.entry.Content, Category: w.entry.Category, DryRun: req.DryRun, from: w,
		Reason: "entry of the daily log"}
	var a asked
	if json.Unmarshal(w.entry.Extra[extraWaits], &a) == nil { // edited by hand, it may be anything
		out.Salience, out.Confidence, out.Title, out.Tags = a.Salience, a.Confidence, a.Title, a.Tags
	}
	return out
}

// waitsAs is the field of an entry that waits for Run.
func waitsAs(req Request) (map[string]json.RawMessage, error) {
	raw, err := json.Marshal(asked{req.Salience, req.Confidence, req.Title, req.Tags})
	if err != nil {
		return nil, fmt.Errorf("encode what was asked: %w", err)
	}
	return map[string]json.RawMessage{extraWaits: raw}, nil
}

const (
	lookBack = 3           // newest daily logs in which Run looks for what an earlier run of the daemon left
	retry    = time.Minute // after a failure
)

// Run decides about candidates that were handed in with Later. What waits is in the daily logs, so nothing is lost when Run stops. It
// returns nil when ctx has ended.
func (s *Service) Run(ctx context.Context) error {
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-s.wake:
		case <-timer.C:
		}
		for _, space := range s.store.Spaces() {
			if _, _, err := s.Pending(ctx, PendingRequest{Space: space, asked: true, days: lookBack}); err != nil && ctx.Err() == nil {
				s.logger.WarnContext(ctx, "what waits to be consolidated goes on waiting", "space", space, "error", err)
				timer.Reset(retry)
			}
		}
	}
}

// nudge has Run look for work now.
func (s *Service) nudge() {
	select {
	case s.wake <- struct{}{}:
	default: // it will look anyway
	}
}
