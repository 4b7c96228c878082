package guard

import (
	"cmp"
	"fmt"
	"strings"
	"time"

	"github.com/memsidecar/memsidecar/internal/memory"
	"github.com/memsidecar/memsidecar/internal/store"
)

// supersede decides about a DELETE with a text: the text becomes a memory that supersedes the target. If the target
// may not be retired, the text becomes a memory all the same: no decision loses what was to be saved. A retirement
// that is left to a person becomes a proposal that names the new memory.
func (b *guardRun) supersede(item Item) verdict {
	target, refused := b.target(item)
	if refused == "" {
		refused = b.checkRetire(item, target)
	}
	if !item.Model && (refused == ReasonStale || refused == ReasonInactive) {
		return verdict{item: item, reject: refused} // the rules decide again; a model is not asked again
	}
	added := item
	added.Action, added.Target, added.TargetRevision = Add, "", 0
	v := b.add(added)
	if v.refused = refused; refused != "" {
		v.proposed = item
		return v
	}
	if v.item.Action == Noop { // the text is known
		known := b.view.Memory(v.item.Target)
		if known == nil || known.ID == target.ID {
			return v
		}
		v.after = known.Clone()
	}
	if v.reject == "" {
		item.Memory = v.item.Memory // cleaned
		v.item = item
		v.supersede(target)
	}
	return v
}

// supersede makes the memory after the successor of target.
func (v *verdict) supersede(target *memory.Memory) {
	v.after.SetSupersedes(append(v.after.Supersedes(), target.ID))
	if n := len(v.after.Supersedes()); n > memory.MaxLinks {
		v.after.SetSupersedes(v.after.Supersedes()[n-memory.MaxLinks:])
	}
	v.retired = target.Clone()
	v.retired.Status = memory.Superseded
	v.retired.SetSupersededBy(v.after.ID)
}

// retire decides about a DELETE without a text. With item.ReplacedBy, that memory supersedes the target.
func (b *guardRun) retire(item Item) verdict {
	target, reason := b.target(item)
	if reason == "" {
		reason = b.checkRetire(item, target)
	}
	if reason != "" {
		return verdict{item: item, reject: reason}
	}
	if by := b.view.Memory(item.ReplacedBy); item.ReplacedBy != "" && by != nil && by.IsActive() && by.ID != target.ID {
		v := verdict{item: item, after: by.Clone()}
		v.supersede(target)
		return v
	}
	after := target.Clone()
	after.Status = memory.Retired
	return verdict{item: item, after: after}
}

// checkRetire returns why an item must not retire target, "" if it may.
func (b *guardRun) checkRetire(item Item, target *memory.Memory) string {
	switch {
	case b.byPerson:
		return ""
	case item.Unsure:
		return ReasonUnsure
	case !item.Model:
		return ""
	case b.retired > maxModelRetired:
		return ReasonManyRetired
	}
	return modelReviewReason(item, target)
}

// RefusedRetirements returns for each item why the memory that its text would supersede stays, "" where none does. Such
// an item is applied as an ADD.
func RefusedRetirements(p Plan, view View) []string {
	verdicts := evaluate(p, view)
	out := make([]string, len(verdicts))
	for i, v := range verdicts {
		out[i] = v.refused
	}
	return out
}

// put writes the memories of an accepted verdict and makes its target the memory that its outcome names.
func (v *verdict) put(tx *store.Tx) error {
	if v.after == nil || v.reject != "" {
		return nil
	}
	known := tx.Now()
	if from := v.item.Memory.CreatedAt; !from.IsZero() { // of a log
		known = later(v.after.KnownAt(), from)
	}
	if err := tx.PutKnown(v.after, known); err != nil {
		return fmt.Errorf("write memory %s: %w", v.after.ID, err)
	}
	v.item.Target = v.after.ID
	if v.retired == nil {
		return nil
	}
	v.retired.SetSupersededBy(v.after.ID)
	if err := tx.Put(v.retired); err != nil {
		return fmt.Errorf("supersede memory %s: %w", v.retired.ID, err)
	}
	return nil
}

// later returns the later of two times.
func later(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}

// assignIDs gives the new memories of verdicts an id, so that proposals can name them.
func assignIDs(tx *store.Tx, verdicts []verdict) {
	for i := range verdicts {
		if v := &verdicts[i]; v.fresh && v.reject == "" {
			v.after.ID = cmp.Or(v.after.ID, store.NewID())
		}
	}
}

// review returns the item that a person is asked about and the reason, nil if there is none.
func (v *verdict) review() (*Item, string) {
	switch {
	case strings.HasPrefix(v.reject, ReviewPrefix):
		return &v.item, v.reject
	case strings.HasPrefix(v.refused, ReviewPrefix) && v.reject == "":
		item := v.proposed
		item.Memory = memory.Memory{}
		if item.ReplacedBy = v.item.Target; v.after != nil { // otherwise a known memory has the text
			item.ReplacedBy = v.after.ID
		}
		return &item, v.refused
	}
	return nil, ""
}
