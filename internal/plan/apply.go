package plan

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/memsidecar/memsidecar/internal/journal"
	"github.com/memsidecar/memsidecar/internal/store"
)

// Preview returns the outcomes that Apply would report in view.
func Preview(p Plan, view View) []journal.Outcome {
	verdicts := judge(p, view)
	out := make([]journal.Outcome, len(verdicts))
	for i, v := range verdicts {
		out[i] = v.outcome()
	}
	return out
}

// Apply guards p anew against the state of tx, writes what is allowed, and reports one outcome for each item, in order.
// Targets are compared and set by their revision. What the guards leave to a person is kept in the daily log of p.At. It is meant to run inside one store.Update, alone or with what must
// happen together with it.
func Apply(tx *store.Tx, p Plan) error {
	verdicts := judge(p, tx)
	review, err := forReview(p, verdicts, tx)
	if err != nil {
		return err
	}
	for i, v := range verdicts {
		if v.after != nil && v.reject == "" {
			if v.item.Action == Add {
				v.after.ID = cmp.Or(v.after.ID, store.NewID())
				v.after.CreatedAt = tx.Now()
			}
			id := v.after.ID
			if err := tx.Put(v.after); err != nil {
				return fmt.Errorf("item %d of the plan: %w", i, err)
			}
			v.item.Target = id
		}
		tx.Report(v.outcome())
	}
	for _, d := range cleanEntries(slices.Concat(p.Entries, review)) {
		e := d.Entry
		if err := tx.AppendEntry(d.Date, &e); err != nil {
			return fmt.Errorf("append to daily log: %w", err)
		}
	}
	return nil
}

func (v *verdict) outcome() journal.Outcome {
	out := journal.Outcome{ID: v.item.Target, Status: journal.Applied}
	switch {
	case v.reject != "":
		out.Status, out.Reason = journal.Rejected, v.reject
	case v.item.Action == Noop:
		out.Status, out.Reason = journal.Duplicate, v.reason
	case v.item.Action == Add:
		out.Reason = Added
	case v.item.Action == Update:
		out.Reason = Updated
	default:
		out.Reason = Retired
	}
	return out
}
