package reconcile

import (
	"fmt"
	"slices"
	"strings"

	"github.com/memsidecar/memsidecar/internal/memory"
	"github.com/memsidecar/memsidecar/internal/memory/fieldmerge"
	"github.com/memsidecar/memsidecar/internal/store"
)

// change is one thing that an edit adds (no base), changes, or removes (no theirs).
type change[T any] struct {
	base, theirs *T     // the state that the edit started from, the edit
	secrets      string // what looks like a secret in theirs: kinds, for people; "" for nothing
}

// examined says in changes what looks like a secret. What a person wrote is kept as it is and only reported. Looking
// takes long, so it is done before a transaction.
func examined[T any](changes []change[T], look func(*T) string) []change[T] {
	for i, c := range changes {
		if c.theirs != nil {
			changes[i].secrets = look(c.theirs)
		}
	}
	return changes
}

// conflict is a part of an edit that was not adopted, because it would bring back or destroy something that changed
// since.
type conflict struct {
	kind string // "memory", "entry", "log"
	id   string
	why  string // for people
}

// prefix begins the detail of a conflict. Accepting the edit later finds the thing by it.
func (c conflict) prefix() string { return c.kind + " " + c.id + ": " }

// String is the detail of the conflict, for people and for the record of the edit.
func (c conflict) String() string { return c.prefix() + c.why }

// counts what an edit did.
type counts struct {
	added, changed, removed int
	secrets                 []string   // what was taken over and looks like a secret: "memory ID (KINDS)"
	conflicts               []conflict // left as they were
}

// conflict records that a thing was left as it is.
func (t *counts) conflict(kind, id, format string, args ...any) {
	t.conflicts = append(t.conflicts, conflict{kind, id, fmt.Sprintf(format, args...)})
}

// details lists the conflicts for the record of the edit.
func (t *counts) details() (out []string) {
	for _, c := range t.conflicts {
		out = append(out, c.String())
	}
	return out
}

// String is "2 added, 1 removed".
func (t *counts) String() string {
	var parts []string
	for _, p := range []struct {
		n    int
		what string
	}{{t.added, "added"}, {t.changed, "changed"}, {t.removed, "removed"}} {
		if p.n > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", p.n, p.what))
		}
	}
	if len(parts) == 0 {
		return "nothing but what the file says of itself"
	}
	return strings.Join(parts, ", ") + t.suspicion()
}

// maxNamed is how many suspicious things a report names; of the others it gives the number.
const maxNamed = 3

// suspicion says what looks like a secret, "" for nothing.
func (t *counts) suspicion() string {
	if len(t.secrets) == 0 {
		return ""
	}
	text := "; kept, but it looks like a secret: " + strings.Join(t.secrets[:min(maxNamed, len(t.secrets))], ", ")
	if more := len(t.secrets) - maxNamed; more > 0 {
		text += fmt.Sprintf(" and %d more", more)
	}
	return text
}

const nothingWritten = "is empty"

// merger applies changes of memories inside a transaction.
type merger struct {
	tx          *store.Tx
	counts      *counts
	partial     bool // the file is of a program that does not know everything
	hasAccesses bool // the base has the accesses of its time
	// force takes over what would be a conflict, for these ids; all when it holds "*".
	force map[string]bool
	// before finds a memory as it was when the file was made, in any state; nil when it was not there.
	before func(id string) *memory.Memory
}

// forces reports whether a person decided that the edit wins for this memory.
func (a *merger) forces(id string) bool { return a.force["*"] || a.force[id] }

// apply merges one change.
func (a *merger) apply(c change[memory.Memory]) error {
	if c.theirs == nil {
		return a.removed(c.base)
	}
	ours := a.tx.Memory(c.theirs.ID)
	switch {
	case c.theirs.Content == "":
		a.counts.conflict("memory", c.theirs.ID, nothingWritten)
		return nil
	case c.base != nil && ours == nil && !a.forces(c.theirs.ID):
		a.counts.conflict("memory", c.theirs.ID, "changed in the edit, but removed since")
		return nil
	case ours == nil:
		return a.added(c)
	case !ours.IsActive():
		return a.inactive(c, ours)
	}
	return a.mergeInto(c, ours, "")
}

// removed retires a memory, as forgetting by a user does.
func (a *merger) removed(base *memory.Memory) error {
	ours := a.tx.Memory(base.ID)
	if ours == nil || !ours.IsActive() {
		return nil
	}
	if names := fieldmerge.Differing(fieldmerge.Memory(base, ours), base, ours); len(names) > 0 && !a.forces(base.ID) {
		a.counts.conflict("memory", base.ID, "removed in the edit, but changed since (%s)", strings.Join(names, ", "))
		return nil
	}
	if !a.tx.IsForgotten(ours.Content) {
		a.tx.Forget(ours.Content)
	}
	c := ours.Clone()
	c.Status = memory.Retired
	a.counts.removed++
	return a.tx.Put(c)
}

// added stores a memory, as an explicit save by a user does.
func (a *merger) added(c change[memory.Memory]) error {
	m := c.theirs.Clone()
	equal := a.tx.Equal(m.Category, m.Content)
	switch {
	case equal == nil || a.forces(m.ID):
	// The person wrote again what had expired here, so it is meant to hold again.
	case equal.Expired(a.tx.Now()):
		return a.mergeInto(change[memory.Memory]{theirs: m, secrets: c.secrets}, equal, "")
	default:
		names := slices.DeleteFunc(
			fieldmerge.Differing(fieldmerge.Memory(m, equal), m, equal),
			func(s string) bool { return s == "created_at" || s == "source" },
		)
		if len(names) > 0 {
			a.counts.conflict(
				"memory",
				m.ID,
				"says the same as memory %s, which stays as it is (%s)",
				equal.ID,
				strings.Join(names, ", "),
			)
		}
		return nil
	}
	a.counts.count(&a.counts.added, "memory", m.ID, c.secrets)
	if m.IsActive() {
		a.tx.Unforget(m.Content)
	}
	return a.tx.Put(m)
}

// inactive decides about a memory of the file that is retired or superseded by now.
func (a *merger) inactive(c change[memory.Memory], ours *memory.Memory) error {
	id := ours.ID
	was := a.before(id)
	// Somebody who had it retired before him and wrote it into the file wants it back. One who had it active, or
	// may have had, did not know.
	wanted := !a.partial && c.base == nil && was != nil && !was.IsActive()
	switch {
	case !c.theirs.IsActive():
		return a.mergeInto(c, ours, "")
	case wanted || a.forces(id):
		c.base = nil
		if err := a.detach(ours); err != nil {
			return err
		}
		return a.mergeInto(c, ours, memory.Active)
	case c.base == nil:
		a.counts.conflict("memory", id, "added in the edit, but it was retired")
	default:
		a.counts.conflict("memory", id, "changed in the edit, but retired since (%s)",
			strings.Join(fieldmerge.Differing(fieldmerge.Memory(c.base, c.theirs), c.base, c.theirs), ", "))
	}
	return nil
}

// detach removes a memory from the list of what its successor superseded.
func (a *merger) detach(m *memory.Memory) error {
	successor := a.tx.Memory(m.SupersededBy())
	if successor == nil || !slices.Contains(successor.Supersedes(), m.ID) {
		return nil
	}
	c := successor.Clone()
	c.SetSupersedes(slices.DeleteFunc(c.Supersedes(), func(id string) bool { return id == m.ID }))
	if len(c.Supersedes()) == 0 {
		c.SetSupersedes(nil)
	}
	return a.tx.Put(c)
}

// mergeInto merges a memory of the file into ours and stores the result when it differs. A status overrides the
// merged one.
func (a *merger) mergeInto(c change[memory.Memory], ours *memory.Memory, status memory.Status) error {
	theirs := c.theirs
	if theirs.CreatedAt.IsZero() || a.partial && c.base == nil {
		copied := *theirs
		theirs = &copied
		if theirs.CreatedAt.IsZero() {
			theirs.CreatedAt = ours.CreatedAt
		}
		if a.partial && c.base == nil {
			fieldmerge.FillIn(fieldmerge.Memory(theirs, ours), ours, theirs)
		}
	}
	out := ours.Clone()
	fieldmerge.Merge(fieldmerge.Memory(c.base, theirs, ours), c.base, theirs, ours, out)
	if c.base != nil && a.hasAccesses && accessesEdited(c.base, theirs, ours) {
		out.SetAccesses(theirs.AccessCount(), theirs.LastAccessed())
	}
	if status != "" {
		out.Status = status
		out.SetSupersededBy("")
	}
	if len(fieldmerge.Differing(fieldmerge.Memory(out, ours), out, ours)) == 0 &&
		out.AccessCount() == ours.AccessCount() && out.LastAccessed().Equal(ours.LastAccessed()) {
		return nil
	}
	switch {
	case ours.IsActive() && out.Status == memory.Retired:
		if !a.tx.IsForgotten(out.Content) {
			a.tx.Forget(out.Content)
		}
	case out.IsActive() && (out.Content != ours.Content || !ours.IsActive()):
		a.tx.Unforget(out.Content)
	}
	a.counts.count(&a.counts.changed, "memory", out.ID, c.secrets)
	return a.tx.Put(out)
}

// accessesEdited reports whether the edit changed the accesses. The daemon counts accesses without a new revision,
// so a file may hold any count between that of its base and the present one. It also publishes them late, so a lower
// count with an earlier access says nothing.
func accessesEdited(base, theirs, ours *memory.Memory) bool {
	if theirs.AccessCount() < base.AccessCount() && theirs.LastAccessed().Before(base.LastAccessed()) {
		return false
	}
	low, high := min(base.AccessCount(), ours.AccessCount()), max(base.AccessCount(), ours.AccessCount())
	first, last := base.LastAccessed(), ours.LastAccessed()
	if last.Before(first) {
		first, last = last, first
	}
	at := theirs.LastAccessed()
	return theirs.AccessCount() < low || theirs.AccessCount() > high || at.Before(first) && !at.IsZero() || at.After(last)
}

// count adds one to n, and notes what looks like a secret.
func (t *counts) count(n *int, kind, id, secrets string) {
	*n++
	if secrets != "" {
		t.secrets = append(t.secrets, kind+" "+id+" ("+secrets+")")
	}
}
