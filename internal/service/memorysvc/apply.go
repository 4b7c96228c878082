package memorysvc

import (
	"context"
	"errors"
	"reflect"

	"github.com/memsidecar/memsidecar/internal/memory"
	"github.com/memsidecar/memsidecar/internal/redact"
	"github.com/memsidecar/memsidecar/internal/store"
	"github.com/memsidecar/memsidecar/internal/store/journal"
)

// More reasons of outcomes, of Apply.
const (
	ReasonStale     = "STALE_REVISION" // the memory has another revision
	ReasonNotActive = "NOT_ACTIVE"     // the memory is retired or superseded
)

// Step is one change of Apply: Draft adds, Patch changes, without both it retires.
type Step struct {
	Draft    *Draft
	Patch    *Patch
	ID       string // the memory to change or retire
	Expected int64  // required revision; 0 means any
}

// Apply makes changes as one operation. A change that cannot be made is rejected, and the others are made all the
// same; there is one outcome per step. Memories are retired, and kept from being learnt again, before others are
// added or changed.
//
// Durable on return. The steps belong to Apply. Error: *memory.InvalidError when the request as a whole is not valid.
func (s *Service) Apply(ctx context.Context, meta store.Meta, steps []Step) (store.Result, error) {
	var check memory.Check
	checkMeta(&check, &meta)
	checkCount(&check, "changes", len(steps))
	if err := check.Err(); err != nil {
		return store.Result{}, err
	}
	ready := make([]journal.Outcome, len(steps)) // outcomes of additions that are refused
	taken := make([]redact.Cleaner, len(steps))
	latest := s.now().Add(maxAhead)
	for i, st := range steps {
		if st.Draft == nil {
			continue
		}
		var check memory.Check
		taken[i] = prepare(&check, "", st.Draft, latest)
		if err := check.Err(); err != nil {
			ready[i] = rejected(st.Draft.Memory.ID, err)
		}
	}
	return s.store.Update(ctx, meta, func(tx *store.Tx) error {
		outcomes := make([]journal.Outcome, len(steps))
		for _, retiring := range []bool{true, false} {
			for i, st := range steps {
				if retiring != (st.Draft == nil && st.Patch == nil) {
					continue
				}
				var err error
				if outcomes[i], err = st.apply(tx, ready[i], &taken[i]); err != nil {
					return err
				}
			}
		}
		for _, o := range outcomes {
			tx.Report(o)
		}
		return nil
	})
}

// rejected returns the outcome of a rejected change.
func rejected(id string, err error) journal.Outcome {
	o := journal.Outcome{ID: id, Status: journal.Rejected, Reason: "INVALID"}
	if invalid, ok := errors.AsType[*memory.InvalidError](err); ok && len(invalid.Violations) > 0 {
		o.Reason = invalid.Violations[0].Reason
	}
	return o
}

// apply makes one change inside a transaction. ready is the outcome if the change was decided beforehand, taken what
// had to go from an addition.
func (st *Step) apply(tx *store.Tx, ready journal.Outcome, taken *redact.Cleaner) (journal.Outcome, error) {
	if st.Draft != nil {
		if ready.Status == journal.Rejected {
			return ready, nil
		}
		o, err := add(tx, st.Draft.Memory)
		return withRedactions(o, taken), err
	}
	m := tx.Memory(st.ID)
	o := journal.Outcome{ID: st.ID, Status: journal.Rejected}
	switch {
	case m == nil:
		o.Reason = ReasonNotFound
		return o, nil
	case checkRevision(m, st.Expected) != nil:
		o.Reason = ReasonStale
		return o, nil
	case !m.IsActive():
		o.Reason = ReasonNotActive
		return o, nil
	// A step without a patch removes. Its value is forgotten, so that no later session brings it back.
	case st.Patch == nil:
		if !tx.IsForgotten(m.Content) {
			tx.Forget(m.Content)
		}
		c := m.Clone()
		c.Status = memory.Retired
		o.Status = journal.Applied
		return o, tx.Put(c)
	}
	return st.change(tx, m)
}

// change applies the step to m and returns its outcome.
func (st *Step) change(tx *store.Tx, m *memory.Memory) (journal.Outcome, error) {
	c := m.Clone()
	st.Patch.apply(c)
	o := journal.Outcome{ID: m.ID, Status: journal.Applied}
	var taken redact.Cleaner
	redactChange(&taken, c, m)
	o = withRedactions(o, &taken)
	tidy(c)
	var check memory.Check
	check.Memory("", c)
	if err := check.Err(); err != nil {
		return rejected(m.ID, err), nil
	}
	if equal := tx.Equal(c.Category, c.Content); equal != nil && equal.ID != m.ID {
		return journal.Outcome{ID: equal.ID, Status: journal.Rejected, Reason: ReasonEqual}, nil
	}
	if reflect.DeepEqual(m, c) {
		return journal.Outcome{ID: m.ID, Status: journal.Duplicate, Reason: ReasonState}, nil
	}
	if c.Content != m.Content {
		tx.Unforget(c.Content)
	}
	return o, tx.Put(c)
}
