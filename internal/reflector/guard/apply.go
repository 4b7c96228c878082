package guard

import (
	"fmt"
	"slices"

	"github.com/memsidecar/memsidecar/internal/store"
	"github.com/memsidecar/memsidecar/internal/store/journal"
)

// Preview returns the outcomes that Apply would report in view, without changing anything.
func Preview(p Plan, view View) []journal.Outcome {
	verdicts := evaluate(p, view)
	out := make([]journal.Outcome, len(verdicts))
	for i, v := range verdicts {
		out[i] = v.outcome()
	}
	return out
}

// Apply evaluates p against the state of tx, writes the accepted items, and reports one outcome per item, in order.
// Stale targets are rejected by their revision. Items that are left to a person become review entries in the daily
// log of p.At. Apply runs inside one store.Update, so its changes are atomic with the caller's.
func Apply(tx *store.Tx, p Plan) error {
	verdicts := evaluate(p, tx)
	assignIDs(tx, verdicts)
	review, err := forReview(p, verdicts, tx)
	if err != nil {
		return err
	}
	for i := range verdicts {
		if err := verdicts[i].put(tx); err != nil {
			return fmt.Errorf("item %d of the plan: %w", i, err)
		}
		tx.Report(verdicts[i].outcome())
	}
	for _, d := range cleanEntries(slices.Concat(p.Entries, review)) {
		e := d.Entry
		if err := tx.AppendEntry(d.Date, &e); err != nil {
			return fmt.Errorf("append to the daily log of %s: %w", d.Date, err)
		}
	}
	return nil
}

// outcome converts a verdict to the outcome that Apply reports.
func (v *verdict) outcome() journal.Outcome {
	out := journal.Outcome{ID: v.item.Target, Status: journal.Applied}
	switch {
	case v.reject != "":
		out.Status, out.Reason = journal.Rejected, v.reject
	case v.item.Action == Noop:
		out.Status, out.Reason = journal.Duplicate, v.reason
	case v.item.Action == Add:
		out.Reason = ReasonAdded
	case v.item.Action == Update:
		out.Reason = ReasonUpdated
	case v.retired != nil:
		out.ID, out.Reason = v.after.ID, ReasonSuperseded
	default:
		out.Reason = ReasonRetired
	}
	return out
}
