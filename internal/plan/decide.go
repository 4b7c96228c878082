package plan

import (
	"cmp"
	"slices"
	"strings"

	"github.com/memsidecar/memsidecar/internal/memory"
	"github.com/memsidecar/memsidecar/internal/pattern"
)

// Neighbour is a memory that may say the same as a candidate. Score 1 means the same text.
type Neighbour struct {
	Memory *memory.Memory
	Score  float64
}

// nearDuplicate is the score from which two texts without different numbers, names or negations say the same.
const nearDuplicate = 0.95

// Rules by which Decide updates, as Item.Why.
const (
	WhyChangedValue = "CHANGED_VALUE" // the same subject has another value now
	WhyContradicted = "CONTRADICTED"  // the same statement, negated
	WhyRefined      = "REFINED"       // the same statement with more to it
)

// Decide chooses, by rules alone, what becomes of the candidate c.Memory beside the memories near to it: NOOP when one says
// the same, UPDATE of the one it corrects, refines or contradicts, else ADD. c.Why and c.Said are kept, Why of an
// UPDATE excepted. The candidate is never compared word by word with a memory of another subject: in doubt it is added.
func Decide(c Item, near []Neighbour) Item {
	c.Action = Add
	near = slices.Clone(near)
	slices.SortStableFunc(near, func(a, b Neighbour) int { return cmp.Compare(b.Score, a.Score) })
	mine := read(c.Memory.Content)
	for _, n := range near {
		if n.Memory == nil || !n.Memory.IsActive() {
			continue
		}
		other := read(n.Memory.Content)
		if memory.Normalize(n.Memory.Content) == memory.Normalize(c.Memory.Content) && n.Memory.Category == cmp.Or(c.Memory.Category, memory.General) {
			return settle(c, n.Memory, Noop, ReasonExactDuplicate, nil)
		}
		if n.Score >= nearDuplicate && sameFacts(mine.facts, other.facts) && mine.slot == other.slot && mine.value == other.value {
			return settle(c, n.Memory, Noop, ReasonNearDuplicate, nil)
		}
	}
	for _, n := range near {
		if n.Memory == nil || !n.Memory.IsActive() {
			continue
		}
		if item, ok := revise(c, mine, n.Memory); ok {
			return item
		}
	}
	return c
}

func settle(c Item, target *memory.Memory, action Action, why string, replaces []string) Item {
	c.Action, c.Target, c.TargetRevision, c.Why, c.Replaces = action, target.ID, target.Revision, why, replaces
	if action == Update {
		c.Memory.Category = "" // a memory keeps the place people know it in
		c.Memory.Salience = max(c.Memory.Salience, target.Salience)
	}
	return c
}

// revise makes c an UPDATE of target, or a NOOP, when both are about the same.
func revise(c Item, mine reading, target *memory.Memory) (Item, bool) {
	other := read(target.Content)
	if mine.slot != "" && mine.slot == other.slot {
		switch {
		case mine.value == other.value && mine.facts.Negations == other.facts.Negations:
			if refines(c.Memory.Content, target.Content, mine, other) {
				return settle(c, target, Update, WhyRefined, nil), true
			}
			return settle(c, target, Noop, ReasonNearDuplicate, nil), true
		case mine.value == "", mine.slot != "user.name" && other.value != "" && containsWord(other.value, mine.value):
			return settle(c, target, Noop, ReasonNearDuplicate, nil), true // the old one says more
		case other.value != "" && strings.HasPrefix(mine.slot, "project.") && kindOf(mine.value) != kindOf(other.value):
			return c, false // "runs on Fly.io" and "runs on Tuesday" are not about the same
		case mine.value != other.value:
			return settle(c, target, Update, WhyChangedValue, missing(other.facts, mine.facts, other.value)), true
		}
	}
	if mine.facts.Negations != other.facts.Negations && slices.Equal(mine.words, other.words) && len(mine.words) > 1 {
		return settle(c, target, Update, WhyContradicted, []string{negationAnchor}), true
	}
	if repeats(mine, other) {
		return settle(c, target, Noop, ReasonNearDuplicate, nil), true
	}
	if mine.facts.Negations == other.facts.Negations && len(other.words) > 1 && refines(c.Memory.Content, target.Content, mine, other) {
		return settle(c, target, Update, WhyRefined, nil), true
	}
	return c, false
}

// repeatedWords a statement needs before being part of another one makes it a repetition.
const repeatedWords = 4

// repeats reports whether all of mine stands in other, in order: it says nothing new.
func repeats(mine, other reading) bool {
	if mine.slot != "" || mine.han || other.han || len(mine.words) < repeatedWords || 2*len(mine.words) < len(other.words) {
		return false
	}
	for n := range mine.facts.Names {
		if !other.facts.Names[n] {
			return false
		}
	}
	return mine.facts.Negations == other.facts.Negations && contains(other.words, mine.words)
}

// refines reports whether text says all that old says and not too much beside. Chinese has to hold the old text as it
// stands: single characters in order prove nothing.
func refines(text, old string, mine, other reading) bool {
	if len(mine.words) <= len(other.words) || len(other.words) == 2 && !goesOn(text, old) || len(mine.words) > 3*len(other.words) {
		return false
	}
	if other.han {
		return strings.Contains(memory.Normalize(text), memory.Normalize(old))
	}
	return contains(mine.words, other.words)
}

// going starts what is said beside an earlier, very short statement and leaves it true.
var going = pattern.New(`^(?:,? (?:with|via|behind|and|on|in|as|from|since)\b|，)`)

// goesOn reports whether text is old with something added to its end.
func goesOn(text, old string) bool {
	rest, ok := strings.CutPrefix(memory.Normalize(text), memory.Normalize(old))
	return ok && going.MatchString(rest)
}

// missing lists what the value of the old statement has and the new statement has not: just that is what it replaces.
func missing(old, now anchors, oldValue string) (out []string) {
	for n := range old.Numbers {
		if !now.Numbers[n] && strings.Contains(oldValue, n) {
			out = append(out, n)
		}
	}
	for n := range old.Names {
		if !now.Names[n] && strings.Contains(oldValue, n) {
			out = append(out, n)
		}
	}
	if anchorsOf(oldValue).Negations > 0 {
		out = append(out, negationAnchor)
	}
	slices.Sort(out)
	return out
}

func sameFacts(a, b anchors) bool {
	return a.Negations == b.Negations && sameKeys(a.Numbers, b.Numbers) && sameKeys(a.Names, b.Names)
}

func sameKeys(a, b map[string]bool) bool {
	if len(a) != len(b) {
		return false
	}
	for k := range a {
		if !b[k] {
			return false
		}
	}
	return true
}

// contains reports whether all of b stands in a, in order.
func contains(a, b []string) bool {
	for _, w := range a {
		if len(b) > 0 && w == b[0] {
			b = b[1:]
		}
	}
	return len(b) == 0
}
