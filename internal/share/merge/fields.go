package merge

import (
	"encoding/json"
	"slices"

	"github.com/memsidecar/memsidecar/internal/memory"
	"github.com/memsidecar/memsidecar/internal/memory/fieldmerge"
	"github.com/memsidecar/memsidecar/internal/store/textscrub"
)

// rebase expresses a change of a memory, from base to mine, against theirs, which is what the memory is in the log. Any
// of the three may be nil, for a memory that does not exist. The result shares values with them and has no revision.
func rebase(base, mine, theirs *memory.Memory) (*memory.Memory, *Conflict) {
	switch {
	case theirs == nil && mine == nil:
		return nil, nil
	case theirs == nil && base != nil && Same(base, mine):
		return nil, nil
	case theirs == nil && textscrub.OnlyPlaceholders(mine.Content):
		return nil, nil // it was purged: nothing is left to tell
	case theirs == nil:
		return Shared(mine), nil
	case mine == nil && (base == nil || meaningDiffers(base, theirs)):
		return Shared(theirs), nil // removed here, changed there: nothing is lost
	case mine == nil:
		return nil, nil
	}
	result := *Shared(theirs)
	out := &result
	var disputed []string
	for _, f := range fieldmerge.Memory(nonNil(base, mine, theirs)...) {
		if merged[f.Name] {
			continue
		}
		m, t := f.Text(mine), f.Text(theirs)
		if m == t || base != nil && m == f.Text(base) {
			continue
		}
		if (base == nil || t != f.Text(base)) && f.Name != "created_at" {
			disputed = append(disputed, f.Name)
		}
		f.Copy(out, mine)
	}
	mergeSets(out, base, mine, theirs)
	mergeAccesses(out, base, mine, theirs)
	if mine.UpdatedAt.After(out.UpdatedAt) {
		out.UpdatedAt = mine.UpdatedAt
	}
	if out.Content == mine.Content && out.Title == mine.Title {
		out.SetContentAt(mine.ContentAt())
	}
	var conflict *Conflict
	if slices.ContainsFunc(disputed, isMeaning) {
		conflict = &Conflict{ID: mine.ID, Kind: BothChanged, Lost: theirs, Fields: disputed}
	}
	if mergeStatus(out, base, mine, theirs) {
		conflict = &Conflict{ID: mine.ID, Kind: ChangedRetired, Lost: theirs, Fields: append(disputed, "status")}
	}
	return out, conflict
}

// merged lists the fields that are not merged as one value.
var merged = map[string]bool{
	"tags": true, "supersedes": true, "relations": true, "evidence": true, "status": true, "superseded_by": true,
}

// isMeaning reports whether a field says what the memory means. Two values of such a field are a conflict for a person;
// of any other the later in the log is chosen, and the other stays in the history alone.
func isMeaning(name string) bool {
	switch name {
	case "content", "title", "category", "structured_data":
		return true
	}
	return false
}

// meaningDiffers reports whether two memories differ in what they mean.
func meaningDiffers(a, b *memory.Memory) bool {
	return slices.ContainsFunc(fieldmerge.Differing(fieldmerge.Memory(a, b), a, b), isMeaning)
}

// mergeStatus sets the status of out and reports a memory that one side retired and the other changed: it stays active.
func mergeStatus(out, base, mine, theirs *memory.Memory) (conflict bool) {
	was := memory.Active
	if base != nil {
		was = statusOf(base)
	}
	m, t := statusOf(mine), statusOf(theirs)
	chosen := mine
	switch {
	case m == t:
	case m == was:
		chosen = theirs
		conflict = was == memory.Active && base != nil && meaningDiffers(base, mine)
	case t == was:
		conflict = was == memory.Active && base != nil && meaningDiffers(base, theirs)
	case m != memory.Active && t == memory.Active:
		chosen = theirs
	}
	out.Status = statusOf(chosen)
	out.SetSupersededBy(chosen.SupersededBy())
	if conflict {
		out.Status = memory.Active
		out.SetSupersededBy("")
	}
	return conflict
}

// mergeSets merges the lists that are sets: what either side added is in, what either removed is out.
func mergeSets(out, base, mine, theirs *memory.Memory) {
	if base == nil {
		base = &memory.Memory{}
	}
	out.Tags = mergeSet(base.Tags, mine.Tags, theirs.Tags)
	out.SetSupersedes(mergeSet(base.Supersedes(), mine.Supersedes(), theirs.Supersedes()))
	out.SetRelations(mergeSet(base.Relations(), mine.Relations(), theirs.Relations()))
	out.SetEvidence(mergeSet(base.Evidence(), mine.Evidence(), theirs.Evidence()))
}

// mergeSet returns theirs with what mine added to base and without what mine removed from it, in their order. nil when
// nothing is left.
func mergeSet[T any](base, mine, theirs []T) (out []T) {
	in := func(list []T, v T) bool {
		return slices.ContainsFunc(list, func(w T) bool { return textOf(v) == textOf(w) })
	}
	for _, v := range theirs {
		if in(mine, v) || !in(base, v) {
			out = append(out, v)
		}
	}
	for _, v := range mine {
		if !in(base, v) && !in(out, v) {
			out = append(out, v)
		}
	}
	return out
}

// textOf is equal for equal elements of a set.
func textOf(v any) string {
	raw, _ := json.Marshal(v) // texts and numbers always encode
	return string(raw)
}

// mergeAccesses adds to theirs what was counted between base and mine.
func mergeAccesses(out, base, mine, theirs *memory.Memory) {
	counted := mine.AccessCount()
	if base != nil {
		counted -= base.AccessCount()
	}
	last := out.LastAccessed()
	if mine.LastAccessed().After(theirs.LastAccessed()) {
		last = mine.LastAccessed()
	}
	out.SetAccesses(max(0, theirs.AccessCount()+counted), last)
}

// nonNil returns the memories that exist.
func nonNil(memories ...*memory.Memory) []*memory.Memory {
	return slices.DeleteFunc(memories, func(m *memory.Memory) bool { return m == nil })
}
