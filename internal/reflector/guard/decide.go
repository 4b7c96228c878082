package guard

import (
	"cmp"
	"slices"
	"strings"

	"github.com/memsidecar/memsidecar/internal/lazyregexp"
	"github.com/memsidecar/memsidecar/internal/memory"
)

// Neighbour is a known memory similar to a candidate. Score is 0 to 1; 1 means the same text.
type Neighbour struct {
	Memory *memory.Memory
	Score  float64
}

// nearDuplicate is the score from which two texts with equal protected tokens count as duplicates.
const nearDuplicate = 0.95

// Reasons of UPDATEs by Decide.
const (
	// the same slot has a new value
	ReasonChangedValue = "CHANGED_VALUE"
	// the same statement with another polarity
	ReasonContradicted = "CONTRADICTED"
	// the same statement with more detail
	ReasonRefined = "REFINED"
)

// Decide is Claims.Decide for a single candidate.
func Decide(c Item, near []Neighbour) Item { return Claims{}.Decide(c, near) }

// Claims remembers how statements were understood, by text, because that takes dozens of regular expressions and a
// plan compares each candidate with all earlier ones. Make it with Claims{}; it is not safe for concurrent use.
type Claims map[string]*parsedClaim

// of parses a statement, once.
func (r Claims) of(content string) *parsedClaim {
	if r[content] == nil {
		claim := parseClaim(content)
		r[content] = &claim
	}
	return r[content]
}

// Decide chooses an action for the candidate c.Memory among similar memories, by rules only: NOOP if one says the
// same, UPDATE of the one that it corrects, refines or contradicts, else ADD. c.Reason is kept for an ADD. When in
// doubt it returns an ADD, because a duplicate is easier to repair than a lost memory.
func (r Claims) Decide(c Item, near []Neighbour) Item {
	c.Action = Add
	near = byScore(near)
	if item, ok := r.sameSubject(c, near); ok {
		return item
	}
	return supersedeStated(c, near)
}

// Repeated returns the memory that says the same as c, "" for none: the target of the NOOP that Decide would choose. It
// does not look for what c would replace, which costs most of a decision.
func (r Claims) Repeated(c Item, near []Neighbour) string {
	if item, ok := r.sameSubject(c, byScore(near)); ok && item.Action == Noop {
		return item.Target
	}
	return ""
}

// byScore returns a copy with the best first.
func byScore(near []Neighbour) []Neighbour {
	near = slices.Clone(near)
	slices.SortStableFunc(near, func(a, b Neighbour) int { return cmp.Compare(b.Score, a.Score) })
	return near
}

// sameSubject makes c a NOOP or an UPDATE of the first of near that is about the same; ok is false if none is.
func (r Claims) sameSubject(c Item, near []Neighbour) (item Item, ok bool) {
	mine := r.of(c.Memory.Content)
	for _, n := range near {
		if n.Memory == nil || !n.Memory.IsActive() {
			continue
		}
		other := r.of(n.Memory.Content)
		if mine.normal == other.normal && n.Memory.Category == cmp.Or(c.Memory.Category, memory.General) {
			return decideOn(c, n.Memory, Noop, ReasonExactDuplicate, nil), true
		}
		if n.Score >= nearDuplicate && sameTokens(mine.tokens, other.tokens) && mine.slot == other.slot &&
			mine.value == other.value {
			return decideOn(c, n.Memory, Noop, ReasonNearDuplicate, nil), true
		}
	}
	for _, n := range near {
		if n.Memory == nil || !n.Memory.IsActive() {
			continue
		}
		if item, ok := reviseTarget(c, mine, n.Memory, r.of(n.Memory.Content)); ok {
			return item, true
		}
	}
	return c, false
}

// supersedeStated returns c superseding the best of near that it says it replaces, c itself if there is none.
func supersedeStated(c Item, near []Neighbour) Item {
	out := c
	for _, n := range near {
		if n.Memory == nil || !n.Memory.IsActive() {
			continue
		}
		if item, ok := replacedByStatement(c, n.Memory); ok && (!item.Unsure || out.Action == Add) {
			if out = item; !item.Unsure {
				return out
			}
		}
	}
	return out
}

// decideOn returns c with an action on target.
func decideOn(c Item, target *memory.Memory, action Action, why string, replaces []string) Item {
	c.Action, c.Target, c.TargetRevision, c.Reason, c.Replaces = action, target.ID, target.Revision, why, replaces
	if action == Update {
		c.Memory.Category = "" // an update does not move the memory to another category
		c.Memory.Salience = max(c.Memory.Salience, target.Salience)
	}
	return c
}

// reviseTarget makes c, which says mine, an UPDATE of target, which says other, or a NOOP if both are about the same.
// ok is false if they are not.
func reviseTarget(c Item, mine *parsedClaim, target *memory.Memory, other *parsedClaim) (Item, bool) {
	if mine.slot != "" && mine.slot == other.slot {
		switch {
		case mine.value == other.value && mine.tokens.Negations == other.tokens.Negations:
			if refines(c.Memory.Content, target.Content, mine, other) {
				return decideOn(c, target, Update, ReasonRefined, nil), true
			}
			return decideOn(c, target, Noop, ReasonNearDuplicate, nil), true
		case mine.value == "", mine.slot != "user.name" && other.value != "" && containsWord(other.value, mine.value):
			return decideOn(c, target, Noop, ReasonNearDuplicate, nil), true // the known text says more
		case other.value != "" && strings.HasPrefix(mine.slot, "project.") &&
			(valueKind(mine.value) != valueKind(other.value) || unlike(mine.value, other.value)):
			return c, false // "runs on Fly.io" and "runs on Tuesday" do not contradict each other
		case saysMore(other.value, mine.value): // the new text must not drop it
			item := decideOn(c, target, Delete, ReasonChangedValue, nil)
			item.Unsure = true
			return item, true
		case mine.value != other.value:
			return decideOn(c, target, Update, ReasonChangedValue,
				replacedTokens(other.tokens, mine.tokens, other.value)), true
		}
	}
	if mine.tokens.Negations != other.tokens.Negations && slices.Equal(mine.words, other.words) && len(mine.words) > 1 {
		return decideOn(c, target, Update, ReasonContradicted, []string{negationToken}), true
	}
	if len(mine.words) > 1 && slices.Equal(mine.words, other.words) && sameTokens(mine.tokens, other.tokens) {
		return decideOn(c, target, Noop, ReasonNearDuplicate, nil), true // in other words of the same meaning
	}
	if repeats(mine, other) {
		return decideOn(c, target, Noop, ReasonNearDuplicate, nil), true
	}
	if len(other.words) > 1 && !otherFrequency(mine, other) && refines(c.Memory.Content, target.Content, mine, other) &&
		(mine.tokens.Negations == other.tokens.Negations || addsClause(mine.normal, other.normal)) {
		return decideOn(c, target, Update, ReasonRefined, nil), true
	}
	return c, false
}

// leastClause is the number of words from which what follows a comma is a clause, not the country of a town.
const leastClause = 3

// saysMore reports whether an old value holds what a new one does not replace: a further clause, or more numbers than
// the new one has in their place ("5432 behind nginx on web03" and "6543"). Values are in lower case, so names are not
// seen.
func saysMore(old, now string) bool {
	if strings.ContainsAny(old, ";；。") {
		return true
	}
	if _, rest, ok := strings.Cut(strings.ReplaceAll(old, "，", ","), ","); ok && !strings.ContainsAny(now, ",，") &&
		(isHan(rest) || len(strings.Fields(rest)) >= leastClause) {
		return true
	}
	was, is := protectedTokensOf(old).Numbers, protectedTokensOf(now).Numbers
	return countMissing(was, is) > max(1, countMissing(is, was))
}

// countMissing counts the keys of a that b lacks.
func countMissing(a, b map[string]bool) (n int) {
	for k := range a {
		if !b[k] {
			n++
		}
	}
	return n
}

// repeatedWords is the minimum length of a statement that counts as a repetition when another one contains it.
const repeatedWords = 4

// repeats reports whether other contains all words of mine in order, so that mine adds nothing.
func repeats(mine, other *parsedClaim) bool {
	if mine.slot != "" || mine.hasHan || other.hasHan || len(mine.words) < repeatedWords ||
		2*len(mine.words) < len(other.words) {
		return false
	}
	for n := range mine.tokens.Names {
		if !other.tokens.Names[n] {
			return false
		}
	}
	return mine.tokens.Negations == other.tokens.Negations && containsInOrder(other.words, mine.words)
}

// refines reports whether text contains all of old and at most three times as many words. Chinese text must contain
// old literally: single characters in order prove nothing.
func refines(text, old string, mine, other *parsedClaim) bool {
	if len(mine.words) <= len(other.words) || len(other.words) == 2 && !extendsText(text, old) ||
		len(mine.words) > 3*len(other.words) {
		return false
	}
	if other.hasHan {
		return strings.Contains(mine.normal, other.normal)
	}
	return containsInOrder(mine.words, other.words)
}

// continuation starts an addition that leaves a very short statement true.
var continuation = lazyregexp.New(`^(?:,? (?:with|via|behind|and|on|in|as|from|since)\b|，)`)

// extendsText reports whether text is old followed by a continuation.
func extendsText(text, old string) bool {
	rest, ok := strings.CutPrefix(memory.Normalize(text), memory.Normalize(old))
	return ok && continuation.MatchString(rest)
}

// addsClause reports whether text is old, word for word, and a clause behind a comma: "likes tea, without sugar". Such
// a clause may deny something, for what was said before it stands as it was.
func addsClause(text, old string) bool {
	rest, ok := strings.CutPrefix(text, old)
	return ok && old != "" && strings.IndexAny(rest, ",;，；") == 0
}

// replacedTokens returns the protected tokens of the old value that the new statement lacks. Only these are replaced
// on purpose.
func replacedTokens(old, now protectedTokens, oldValue string) (out []string) {
	replaced := protectedTokensOf(oldValue) // numbers in words count, too
	for n := range old.Numbers {
		if !now.Numbers[n] && replaced.Numbers[n] {
			out = append(out, n)
		}
	}
	for n := range old.Names {
		if !now.Names[n] && strings.Contains(oldValue, n) {
			out = append(out, n)
		}
	}
	if replaced.Negations > 0 {
		out = append(out, negationToken)
	}
	slices.Sort(out)
	return out
}

// sameTokens reports whether both have the same protected tokens.
func sameTokens(a, b protectedTokens) bool {
	return a.Negations == b.Negations && sameKeys(a.Numbers, b.Numbers) && sameKeys(a.Names, b.Names)
}

// sameKeys reports whether both sets are equal.
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

// containsInOrder reports whether b is a subsequence of a.
func containsInOrder(a, b []string) bool {
	for _, w := range a {
		if len(b) > 0 && w == b[0] {
			b = b[1:]
		}
	}
	return len(b) == 0
}
