package memorysvc

import (
	"context"
	"slices"
	"time"

	"github.com/memsidecar/memsidecar/internal/memory"
	"github.com/memsidecar/memsidecar/internal/store"
	"github.com/memsidecar/memsidecar/internal/store/journal"
)

// Delete retires memories as one operation; with forget their values are also kept from being learnt again. There is
// one outcome per id. An expected revision other than 0 goes with a single id. Errors: *memory.NotFoundError when no
// id is known, *memory.StaleError, *memory.InvalidError. Durable on return; works on a full disk too.
func (s *Service) Delete(ctx context.Context, meta store.Meta, ids []string, expected int64, forget bool) (store.Result,
	error) {
	var check memory.Check
	if expected != 0 && len(ids) != 1 {
		check.Add("expected_revision", "NEEDS_ONE_ID", "can be given with a single id only")
	}
	meta.Essential = true
	return s.changeMany(ctx, meta, &check, ids, func(tx *store.Tx, m *memory.Memory) (journal.Outcome, error) {
		if err := checkRevision(m, expected); err != nil {
			return journal.Outcome{}, err
		}
		if forget && !tx.IsForgotten(m.Content) {
			tx.Forget(m.Content)
		}
		if m.Status == memory.Retired {
			return journal.Outcome{ID: m.ID, Status: journal.Duplicate, Reason: ReasonState}, nil
		}
		c := m.Clone()
		c.Status = memory.Retired
		return journal.Outcome{ID: m.ID, Status: journal.Applied}, tx.Put(c)
	})
}

// Restore makes retired and superseded memories active again, and their values no longer forgotten; an expiry that
// has passed is taken from them. There is one outcome per id; one that equals an active memory is rejected. Error:
// *memory.NotFoundError when no id is known. Durable on return.
func (s *Service) Restore(ctx context.Context, meta store.Meta, ids []string) (store.Result, error) {
	var check memory.Check
	return s.changeMany(ctx, meta, &check, ids, func(tx *store.Tx, m *memory.Memory) (journal.Outcome, error) {
		if m.IsActive() {
			return journal.Outcome{ID: m.ID, Status: journal.Duplicate, Reason: ReasonState}, nil
		}
		if equal := tx.Equal(m.Category, m.Content); equal != nil {
			return journal.Outcome{ID: m.ID, Status: journal.Rejected, Reason: ReasonEqual}, nil
		}
		c := m.Clone()
		c.Status = memory.Active
		c.SetSupersededBy("")
		if c.Expired(tx.Now()) {
			c.SetExpiresAt(time.Time{})
		}
		tx.Unforget(c.Content)
		if err := detach(tx, m); err != nil {
			return journal.Outcome{}, err
		}
		return journal.Outcome{ID: m.ID, Status: journal.Applied}, tx.Put(c)
	})
}

// detach removes m from the Supersedes of its successor.
func detach(tx *store.Tx, m *memory.Memory) error {
	successor := tx.Memory(m.SupersededBy())
	if successor == nil || !slices.Contains(successor.Supersedes(), m.ID) {
		return nil
	}
	c := successor.Clone()
	c.SetSupersedes(slices.DeleteFunc(c.Supersedes(), func(id string) bool { return id == m.ID }))
	return tx.Put(c)
}

// changeMany runs change for each id in one operation and reports what it returns.
func (s *Service) changeMany(ctx context.Context, meta store.Meta, check *memory.Check, ids []string,
	change func(*store.Tx, *memory.Memory) (journal.Outcome, error),
) (store.Result, error) {
	checkMeta(check, &meta)
	checkCount(check, "ids", len(ids))
	if err := check.Err(); err != nil {
		return store.Result{}, err
	}
	return s.store.Update(ctx, meta, func(tx *store.Tx) error {
		known := false
		for _, id := range ids {
			m := tx.Memory(id)
			if m == nil {
				tx.Report(journal.Outcome{ID: id, Status: journal.Rejected, Reason: ReasonNotFound})
				continue
			}
			known = true
			outcome, err := change(tx, m)
			if err != nil {
				return err
			}
			tx.Report(outcome)
		}
		// Some ids may be wrong, which the outcomes say. A call in which none is right is a mistake.
		if !known {
			return &memory.NotFoundError{Kind: "memory", Name: ids[0]}
		}
		return nil
	})
}
