package share

import (
	"time"

	"github.com/memsidecar/memsidecar/internal/memory"
	"github.com/memsidecar/memsidecar/internal/reflector/guard"
	"github.com/memsidecar/memsidecar/internal/reflector/review"
	"github.com/memsidecar/memsidecar/internal/share/merge"
	"github.com/memsidecar/memsidecar/internal/store"
)

// openReviews are the items for review that conflicts left open, the newest of each memory, by its id.
type openReviews map[string]*review.Item

// openReviews reads those of a space.
func (s *Service) openReviews(space string) (openReviews, error) {
	items, err := s.reviews.List(space, false)
	out := openReviews{}
	for i := range items {
		switch merge.ConflictKind(items[i].Reason) {
		case merge.BothChanged, merge.ChangedRetired:
			out[items[i].Target] = &items[i]
		}
	}
	return out, err
}

// checkReview returns an error that is memory.ErrStale when the log with an item, nil for none, changed since.
func (s *Service) checkReview(tx *store.Tx, open *review.Item) error {
	if open == nil {
		return nil
	}
	return s.reviews.CheckUnchanged(tx, open)
}

// reviewConflict writes a conflict about a memory as an item for review: accepting it chooses the other value. An item
// that an earlier conflict left open, nil for none, says the new values instead, so that a person decides once about a
// memory. The values that it said before are versions of the memory.
func reviewConflict(tx *store.Tx, c *merge.Conflict, loc *time.Location, open *review.Item) error {
	now := tx.Memory(c.ID)
	if now == nil || !now.IsActive() {
		return nil
	}
	p := &guard.Proposal{
		Reason:   string(c.Kind),
		Action:   guard.Update,
		Target:   c.ID,
		Revision: now.Revision,
		By:       guard.ByRules,
		Before:   now.Content,
	}
	text := c.Lost.Content
	switch {
	case c.Kind == merge.BothChanged:
		p.Proposed = &guard.Values{
			Content:        c.Lost.Content,
			Category:       c.Lost.Category,
			Title:          c.Lost.Title,
			StructuredData: c.Lost.StructuredData(),
		}
	default:
		p.Action, text = guard.Delete, "retire: "+now.Content
	}
	if open != nil {
		entry := *open.Entry
		entry.Content = text
		after, err := guard.WithProposal(&entry, p)
		if err != nil {
			return err
		}
		return tx.ChangeEntry(open.Date, open.Entry, after)
	}
	at := tx.Now().In(loc)
	entry, err := guard.WithProposal(
		&memory.Entry{At: at, Time: at.Format(time.TimeOnly), Type: memory.EntryReview, Content: text},
		p,
	)
	if err != nil {
		return err
	}
	return tx.AppendEntry(at.Format(time.DateOnly), entry)
}
