package consolidator

import (
	"slices"

	"github.com/memsidecar/memsidecar/internal/memory"
	"github.com/memsidecar/memsidecar/internal/reflector/guard"
)

// nearIdentical is the score from which a candidate replaces a known memory, is merged into it, or is explicitly kept
// beside it.
const nearIdentical = 0.95

// A model's additional actions for near-identical texts.
const (
	replace  = "REPLACE"
	merge    = "MERGE"
	keepBoth = "KEEP_BOTH"
)

// Reasons of decisions about near-identical texts.
const (
	ReasonReplaced = "NEAR_IDENTICAL_REPLACED"
	ReasonMerged   = "NEAR_IDENTICAL_MERGED"
	ReasonKeptBoth = "NEAR_IDENTICAL_KEPT_BOTH"
)

// choiceReasons maps a model's action to its reason.
var choiceReasons = map[string]string{replace: ReasonReplaced, merge: ReasonMerged, keepBoth: ReasonKeptBoth}

// shownMemory is a memory in a question to the model.
type shownMemory struct {
	*memory.Memory
	// near-identical to the candidate
	nearIdentical bool
}

// decideNearIdentical refines the rules' decision for a near-identical memory. If numbers, names or negations differ,
// the texts state different values: the new one replaces the old one if both fill the same slot, else both are kept.
// Otherwise they say the same: the known text stays and takes over other fields of the candidate.
func decideNearIdentical(req Request, item guard.Item, near []guard.Neighbour) guard.Item {
	i := slices.IndexFunc(near, func(n guard.Neighbour) bool { return n.Score >= nearIdentical && n.Memory.IsActive() })
	if i < 0 {
		return item
	}
	switch {
	case item.Action == guard.Add:
		item.Reason = ReasonKeptBoth
	case item.Action == guard.Update && item.Target == near[i].Memory.ID && item.Reason == guard.ReasonChangedValue:
		item.Reason = ReasonReplaced
	case item.Action == guard.Noop && item.Reason == guard.ReasonNearDuplicate && item.Target == near[i].Memory.ID:
		return mergeNearIdentical(req, item, near[i].Memory)
	}
	return item
}

// mergeNearIdentical adds title, tags and a higher salience of the request to target, with the average of both
// confidences. It is a NOOP if nothing would change.
func mergeNearIdentical(req Request, item guard.Item, target *memory.Memory) guard.Item {
	news := req.Confidence != nil && *req.Confidence != target.Confidence ||
		req.Salience != nil && *req.Salience > target.Salience ||
		req.Title != "" && target.Title == "" ||
		slices.ContainsFunc(req.Tags, func(t string) bool { return !slices.Contains(target.Tags, t) })
	if !news || target.Pinned {
		return item
	}
	item.Action, item.Reason, item.TargetRevision = guard.Update, ReasonMerged, target.Revision
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

// average returns the mean of two confidences; 0 means unset and counts as 1.
func average(a, b float64) float64 {
	if a == 0 {
		a = 1
	}
	return (a + b) / 2
}
