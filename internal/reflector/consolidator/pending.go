package consolidator

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/memsidecar/memsidecar/internal/memory"
	"github.com/memsidecar/memsidecar/internal/reflector/guard"
	"github.com/memsidecar/memsidecar/internal/store"
	"github.com/memsidecar/memsidecar/internal/store/journal"
	"github.com/memsidecar/memsidecar/internal/store/textscrub"
)

// Extra fields of log entries.
const (
	// on a candidate for Run: the other fields of its request
	extraPending = "consolidate"
	// on a decided entry: the decision
	extraDecided = "consolidated"
)

// reasonInvalid rejects an entry that is no valid memory.
const reasonInvalid = "INVALID"

// ReasonPending is the reason of a candidate that was stored in the daily log for Run.
const ReasonPending = "PENDING"

// MaxPending is the maximum number of entries per call of Pending.
const MaxPending = 1000

// candidateFields are the fields of a pending candidate's request besides text and category.
type candidateFields struct {
	Salience   *float64 `json:"salience,omitempty"`
	Confidence *float64 `json:"confidence,omitempty"`
	Title      string   `json:"title,omitempty"`
	Tags       []string `json:"tags,omitempty"`
}

// decisionRecord is the decision about an entry, stored in the entry.
type decisionRecord struct {
	Action guard.Action `json:"action"`
	Memory string       `json:"memory,omitempty"`
	Reason string       `json:"reason,omitempty"`
	At     time.Time    `json:"at"`
}

// logCandidate is a candidate entry of a daily log, as read.
type logCandidate struct {
	date     string
	revision int64 // of the log
	// newest purge before the read
	purge int64
	entry *memory.Entry
	at    time.Time // when it was written: what is learnt of it is as old
}

// recordDecision stores the decision in the entry, in the operation that applies it. It does nothing for a nil
// logCandidate.
func (w *logCandidate) recordDecision(s *Service, tx *store.Tx, item guard.Item, o journal.Outcome) error {
	if w == nil {
		return nil
	}
	if tx.CheckDayRevision(w.date, w.revision) != nil || s.store.LastPurge() != w.purge {
		return errLogChanged
	}
	d := decisionRecord{Action: item.Action, Memory: o.ID, Reason: o.Reason, At: tx.Now().Truncate(time.Second)}
	switch {
	case o.Status != journal.Applied:
		d.Action = guard.Noop
	case item.Action == guard.Add:
		d.Memory = item.Memory.ID
	}
	raw, err := json.Marshal(d)
	if err != nil {
		return fmt.Errorf("encode the decision about a log entry: %w", err)
	}
	after := *w.entry
	after.Extra = map[string]json.RawMessage{extraDecided: raw}
	for k, v := range w.entry.Extra {
		if k != extraPending && k != extraDecided {
			after.Extra[k] = v
		}
	}
	return tx.ChangeEntry(w.date, w.entry, &after)
}

// errLogChanged means that the log of a candidate changed since it was read.
var errLogChanged = errors.New("the log changed concurrently")

// isCandidate reports whether an entry is an undecided candidate: an extraction by an agent, or an event with a
// category. Who sent an entry from another machine decides about it there.
func isCandidate(e *memory.Entry) bool {
	if len(e.Extra[extraDecided]) > 0 || e.IsReceived() || textscrub.OnlyPlaceholders(e.Content) {
		return false
	}
	return e.Type == memory.EntryAutoExtract || e.Type == memory.EntryEvent && e.Category != ""
}

// PendingRequest limits a call of Pending.
type PendingRequest struct {
	Space string
	// 0 means MaxPending
	Limit  int
	DryRun bool

	requestedOnly bool // only candidates for Run
	// only so many newest logs; 0 means all
	newestDays int
}

// Consolidated is the decision about one entry.
type Consolidated struct {
	Decision
	Date string
	// before the decision
	Entry *memory.Entry
}

// Pending decides about undecided candidates in the daily logs, oldest first; archived logs have none. Each decision
// is made as by Consolidate and recorded in the same operation, so a repeat after a crash changes nothing. left is
// the number of candidates beyond the limit. Decisions made before an error are returned with it.
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
	if req.newestDays > 0 && len(days) > req.newestDays {
		days = days[len(days)-req.newestDays:]
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

// candidates returns the ids of a log's candidates.
func (s *Service) candidates(req PendingRequest, date string) (ids []string, err error) {
	_, entries, err := s.store.Space(req.Space).Log(date)
	if errors.Is(err, memory.ErrNotFound) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read the log of %s: %w", date, err)
	}
	for _, e := range entries {
		if isCandidate(e) && (!req.requestedOnly || len(e.Extra[extraPending]) > 0) {
			ids = append(ids, e.ID)
		}
	}
	return ids, nil
}

// logAttempts is the number of attempts at an entry of a log with concurrent writes.
const logAttempts = 8

// consolidateEntry decides about one entry. The result is nil if the entry is no candidate any more.
func (s *Service) consolidateEntry(ctx context.Context, req PendingRequest, date, id string) (*Consolidated, error) {
	for i := range logAttempts {
		if i > 0 {
			if err := s.waitDurable(ctx, req.Space); err != nil {
				return nil, err
			}
		}
		w, err := s.readCandidate(req.Space, date, id)
		if w == nil || err != nil {
			return nil, err
		}
		d, err := s.Consolidate(ctx, requestOf(req, w))
		if errors.Is(err, errLogChanged) {
			continue
		}
		if _, ok := errors.AsType[*memory.InvalidError](err); ok { // logs may be edited by hand
			return &Consolidated{Decision{Action: guard.Noop, Status: journal.Rejected, Reason: reasonInvalid}, date,
				w.entry}, nil
		}
		if err != nil {
			return nil, fmt.Errorf("consolidate entry %s of the log of %s: %w", id, date, err)
		}
		return &Consolidated{d, date, w.entry}, nil
	}
	return nil, fmt.Errorf("consolidate the log of %s: gave up after %d conflicting concurrent changes: %w", date,
		logAttempts, memory.ErrBusy)
}

// readCandidate reads a candidate entry, nil if it is none any more.
func (s *Service) readCandidate(space, date, id string) (*logCandidate, error) {
	w := &logCandidate{date: date, purge: s.store.LastPurge()}
	day, entries, err := s.store.Space(space).Log(date)
	if errors.Is(err, memory.ErrNotFound) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read the log of %s: %w", date, err)
	}
	for _, e := range entries {
		if e.ID == id && isCandidate(e) {
			w.entry, w.at, w.revision = e, e.Instant(date, s.location), day.Revision
			return w, nil
		}
	}
	return nil, nil
}

// requestOf rebuilds the request of a candidate entry.
func requestOf(req PendingRequest, w *logCandidate) Request {
	out := Request{Space: req.Space, Session: w.entry.Session, Content: w.entry.Content, Category: w.entry.Category,
		DryRun: req.DryRun, from: w,
		Reason: "entry of the daily log"}
	var a candidateFields
	if json.Unmarshal(w.entry.Extra[extraPending], &a) == nil { // after a hand edit it may be invalid
		out.Salience, out.Confidence, out.Title, out.Tags = a.Salience, a.Confidence, a.Title, a.Tags
	}
	return out
}

// pendingExtra returns the extra field that marks an entry as a candidate for Run.
func pendingExtra(req Request) (map[string]json.RawMessage, error) {
	raw, err := json.Marshal(candidateFields{req.Salience, req.Confidence, req.Title, req.Tags})
	if err != nil {
		return nil, fmt.Errorf("encode the pending request: %w", err)
	}
	return map[string]json.RawMessage{extraPending: raw}, nil
}

const (
	// newest daily logs in which Run looks for candidates of an earlier process
	pendingLogDays = 3
	retryDelay     = time.Minute // delay after a failure
)

// Run decides about candidates of requests with Later, until ctx ends. Pending candidates are in the daily logs, so
// nothing is lost when Run stops. It returns nil.
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
		for space := range s.store.SpacesAtLeisure() {
			if _, _, err := s.Pending(ctx,
				PendingRequest{Space: space, requestedOnly: true, newestDays: pendingLogDays}); err != nil &&
				ctx.Err() == nil {
				s.logger.WarnContext(ctx, "consolidation of pending candidates failed, will retry", "space", space,
					"error", err)
				timer.Reset(retryDelay)
			}
		}
	}
}

// wakeRun wakes Run. It never blocks.
func (s *Service) wakeRun() {
	select {
	case s.wake <- struct{}{}:
	default: // Run is about to wake anyway
	}
}
