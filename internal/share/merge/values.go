package merge

import (
	"maps"
	"slices"
	"time"

	"github.com/memsidecar/memsidecar/internal/memory"
	"github.com/memsidecar/memsidecar/internal/store/journal"
)

// Values are some of the things of a space, each as it is somewhere. What is not named is not known.
type Values struct {
	Memories  map[string]*memory.Memory `json:"memories,omitempty"`  // nil: does not exist
	Forgotten map[string]time.Time      `json:"forgotten,omitempty"` // zero: is not forgotten
	Summary   *string                   `json:"summary,omitempty"`
}

// Clone returns a copy. The memories are shared.
func (v Values) Clone() Values {
	return Values{Memories: maps.Clone(v.Memories), Forgotten: maps.Clone(v.Forgotten), Summary: v.Summary}
}

// Has reports whether the thing with a key is known.
func (v *Values) Has(key string) (known bool) {
	if id := MemoryID(key); id != "" {
		_, known = v.Memories[id]
	} else if hash := ForgottenHash(key); hash != "" {
		_, known = v.Forgotten[hash]
	} else {
		known = v.Summary != nil
	}
	return known
}

// Drop forgets what the thing with a key is.
func (v *Values) Drop(key string) {
	if id := MemoryID(key); id != "" {
		delete(v.Memories, id)
	} else if hash := ForgottenHash(key); hash != "" {
		delete(v.Forgotten, hash)
	} else {
		v.Summary = nil
	}
}

// Keys lists what is known, sorted.
func (v *Values) Keys() (keys []string) {
	for id := range v.Memories {
		keys = append(keys, memoryPrefix+id)
	}
	for hash := range v.Forgotten {
		keys = append(keys, forgottenPrefix+hash)
	}
	if v.Summary != nil {
		keys = append(keys, summaryKey)
	}
	slices.Sort(keys)
	return keys
}

// SetMemory sets what a memory is, nil for one that does not exist.
func (v *Values) SetMemory(id string, m *memory.Memory) {
	if v.Memories == nil {
		v.Memories = map[string]*memory.Memory{}
	}
	if m != nil {
		m = Shared(m)
	}
	v.Memories[id] = m
}

// SetForgotten sets when a value was forgotten; the zero time for one that is not.
func (v *Values) SetForgotten(hash string, at time.Time) {
	if v.Forgotten == nil {
		v.Forgotten = map[string]time.Time{}
	}
	v.Forgotten[hash] = at
}

// Take copies the thing with a key from another set, which must know it.
func (v *Values) Take(key string, from *Values) {
	if id := MemoryID(key); id != "" {
		v.SetMemory(id, from.Memories[id])
	} else if hash := ForgottenHash(key); hash != "" {
		v.SetForgotten(hash, from.Forgotten[hash])
	} else {
		text := *from.Summary
		v.Summary = &text
	}
}

// Normalize makes all memories what is shared of them.
func (v *Values) Normalize() {
	for id, m := range v.Memories {
		if m != nil {
			v.Memories[id] = Shared(m)
		}
	}
}

// Add takes over everything that another set knows, which is not used any more and was normalized.
func (v *Values) Add(from *Values) {
	if v.Memories == nil {
		v.Memories = map[string]*memory.Memory{}
	}
	if v.Forgotten == nil {
		v.Forgotten = map[string]time.Time{}
	}
	maps.Copy(v.Memories, from.Memories)
	maps.Copy(v.Forgotten, from.Forgotten)
	if from.Summary != nil {
		v.Summary = from.Summary
	}
}

// Apply brings the values from just before an operation of the log to just after it. An access of a memory that is not
// known, or does not exist, changes nothing.
func (v *Values) Apply(changes []Change) {
	for i := range changes {
		switch c := &changes[i]; {
		case c.Memory != nil:
			v.SetMemory(c.Memory.ID, c.Memory.Value)
		case c.Access != nil:
			if m := v.Memories[c.Access.ID]; m != nil {
				accessed := *m
				accessed.AccessCount, accessed.LastAccessed = c.Access.Count, c.Access.Last
				v.Memories[c.Access.ID] = &accessed
			}
		case c.Forgotten != nil:
			v.SetForgotten(c.Forgotten.Hash, c.Forgotten.At)
		case c.Summary != nil:
			text := *c.Summary
			v.Summary = &text
		}
	}
}

// Rebase expresses changes of the journal against the values, which must know everything that the changes are about,
// applies them, and returns them as the log holds them. Changes that say nothing new are left out. isForgotten reports
// whether a text was forgotten, judged by what v.Forgotten does not say; it may be nil.
func (v *Values) Rebase(changes []journal.Change, isForgotten func(string) bool) (out []Change, conflicts []Conflict) {
	ordered := slices.Clone(changes)
	// A text that is saved on purpose is no longer forgotten: that is known before the text is looked at.
	slices.SortStableFunc(ordered, func(a, b journal.Change) int { return rank(&a) - rank(&b) })
	for i := range ordered {
		change, conflict := v.rebaseOne(&ordered[i], isForgotten)
		if conflict != nil {
			conflicts = append(conflicts, *conflict)
		}
		if change != nil {
			v.Apply([]Change{*change})
			out = append(out, *change)
		}
	}
	return out, conflicts
}

// rank puts changes of forgotten values before all others.
func rank(c *journal.Change) int {
	if c.Forgotten != nil {
		return 0
	}
	return 1
}

// rebaseOne expresses one change against the values, nil when it says nothing new.
func (v *Values) rebaseOne(c *journal.Change, isForgotten func(string) bool) (*Change, *Conflict) {
	switch {
	case c.Memory != nil:
		return v.rebaseMemory(c.Memory, isForgotten)
	case c.Access != nil:
		m := v.Memories[c.Access.ID]
		if m == nil {
			return nil, nil
		}
		accessed := c.Access.Apply(m)
		return &Change{Access: &AccessValue{m.ID, accessed.AccessCount, accessed.LastAccessed}}, nil
	case c.Forgotten != nil:
		now := v.Forgotten[c.Forgotten.Hash]
		if now.Equal(c.Forgotten.After) || !now.IsZero() && !now.Equal(c.Forgotten.Before) {
			return nil, nil // forgotten there, too, or again: it stays forgotten
		}
		return &Change{Forgotten: &ForgottenValue{c.Forgotten.Hash, c.Forgotten.After}}, nil
	case c.Summary != nil:
		if v.Summary != nil && *v.Summary == c.Summary.After {
			return nil, nil
		}
		text := c.Summary.After
		return &Change{Summary: &text}, nil
	}
	return nil, nil
}

// rebaseMemory expresses a change of a memory. A text that was forgotten meanwhile stays forgotten.
func (v *Values) rebaseMemory(c *journal.MemoryChange, isForgotten func(string) bool) (*Change, *Conflict) {
	theirs := v.Memories[c.ID]
	result, conflict := rebase(c.Before, c.After, theirs)
	learnt := c.After != nil && c.After.IsActive() &&
		(c.Before == nil || !c.Before.IsActive() || c.Before.Content != c.After.Content)
	if learnt && result != nil && result.IsActive() && isForgotten != nil && isForgotten(result.Content) {
		result.Status, conflict = memory.Retired, nil
	}
	if Same(result, theirs) {
		return nil, conflict
	}
	return &Change{Memory: &MemoryValue{c.ID, result}}, conflict
}
