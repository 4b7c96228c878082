package consolidator

import (
	"slices"

	"github.com/memsidecar/memsidecar/internal/memory"
	"github.com/memsidecar/memsidecar/internal/plan"
)

// nearIdentical is the score from which a known memory is replaced by a candidate, merged with it, or kept beside it.
const nearIdentical = 0.95

// What a model chooses for near-identical texts.
const (
	replace  = "REPLACE"
	merge    = "MERGE"
	keepBoth = "KEEP_BOTH"
)

// Rules by which near-identical texts were settled, as Decision.Reason.
const (
	WhyReplaced = "NEAR_IDENTICAL_REPLACED"
	WhyMerged   = "NEAR_IDENTICAL_MERGED"
	WhyKeptBoth = "NEAR_IDENTICAL_KEPT_BOTH"
)

var choices = map[string]string{replace: WhyReplaced, merge: WhyMerged, keepBoth: WhyKeptBoth}

// known is a memory that a model is shown.
type known struct {
	*memory.Memory
	near bool // to the candidate
}

// settleNear is what the rules do about a near-identical memory. Texts with other numbers, names or negations are about different values: the new one
// takes the old one's place where both give the same thing its value, else both are kept. Texts without such a difference say the
// same: the known one stays, and takes over what the candidate has beside the text, with the average of both confidences.
func settleNear(req Request, item plan.Item, near []plan.Neighbour) plan.Item {
	i := slices.IndexFunc(near, func(n plan.Neighbour) bool { return n.Score >= nearIdentical && n.Memory.IsActive() })
	if i < 0 {
		return item
	}
	switch {
	case item.Action == plan.Add:
		item.Why = WhyKeptBoth
	case item.Action == plan.Update && item.Target == near[i].Memory.ID && item.Why == plan.WhyChangedValue:
		item.Why = WhyReplaced
	case item.Action == plan.Noop && item.Why == plan.ReasonNearDuplicate && item.Target == near[i].Memory.ID:
		return merged(req, item, near[i].Memory)
	}
	return item
}

// merged adds to target what the candidate has beside its text; a NOOP when that is nothing.
func merged(req Request, item plan.Item, target *memory.Memory) plan.Item {
	news := req.Confidence != nil && *req.Confidence != target.Confidence || req.Salience != nil && *req.Salience > target.Salience ||
		req.Title != "" && target.Title == "" || slices.ContainsFunc(req.Tags, func(t string) bool { return !slices.Contains(target.Tags, t) })
	if !news || target.Pinned {
		return item
	}
	item.Action, item.Why, item.TargetRevision = plan.Update, WhyMerged, target.Revision
	m := &item.Memory
	m.Content, m.Category, m.Confidence = target.Content, "", average(target.Confidence, m.Confidence)
	if req.Salience == nil {
		m.Salience = 0
	}
	m.Salience = max(m.Salience, target.Salience)
	if target.Title != "" {
		m.Title = target.Title
	}
	return item
}

// average of two confidences; a memory that has none counts as sure.
func average(a, b float64) float64 {
	if a == 0 {
		a = 1
	}
	return (a + b) / 2
}
