// Package merge decides what a shared space holds when several machines changed it at the same time. It is pure: equal
// arguments give equal results, and nothing here reads a clock, a file or the network.
//
// The log of a space holds values, not differences: each operation in it says what its memories are afterwards. So
// adding up the log is plain application (Values.Apply), and equal positions are equal states. The decisions are made
// by the machine that appends: it expresses its operation against the head of the log (Values.Rebase), by a three-way
// merge with the state that the operation was made on.
package merge

import (
	"bytes"
	"slices"
	"strings"
	"time"

	"github.com/memsidecar/memsidecar/internal/memory"
	"github.com/memsidecar/memsidecar/internal/memory/codec"
	"github.com/memsidecar/memsidecar/internal/store/journal"
)

// Change is what one thing of the space is after an operation. Exactly one field is set.
type Change struct {
	Memory    *MemoryValue    `json:"memory,omitempty"`
	Access    *AccessValue    `json:"access,omitempty"`
	Forgotten *ForgottenValue `json:"forgotten,omitempty"`
	Summary   *string         `json:"summary,omitempty"`
}

// MemoryValue is a memory after an operation; no Value means that it was removed. Its Revision is 0.
type MemoryValue struct {
	ID    string         `json:"id"`
	Value *memory.Memory `json:"value,omitempty"`
}

// AccessValue is how often a memory was used in all, and when last, after an operation.
type AccessValue struct {
	ID    string    `json:"id"`
	Count int64     `json:"count"`
	Last  time.Time `json:"last"`
}

// ForgottenValue is when a value was forgotten; a zero At means that it no longer is.
type ForgottenValue struct {
	Hash string    `json:"hash"`
	At   time.Time `json:"at,omitzero"`
}

// Keys of things in a space, as Change.Key and KeysOf return them.
const (
	summaryKey      = "summary"
	memoryPrefix    = "memory:"
	forgottenPrefix = "forgotten:"
)

// Key names the thing that c is about.
func (c *Change) Key() string {
	switch {
	case c.Memory != nil:
		return memoryPrefix + c.Memory.ID
	case c.Access != nil:
		return memoryPrefix + c.Access.ID
	case c.Forgotten != nil:
		return forgottenPrefix + c.Forgotten.Hash
	}
	return summaryKey
}

// MemoryID is the id in a key, "" for keys of other things.
func MemoryID(key string) string {
	id, ok := strings.CutPrefix(key, memoryPrefix)
	if !ok {
		return ""
	}
	return id
}

// ForgottenHash is the hash in a key, "" for keys of other things.
func ForgottenHash(key string) string {
	hash, ok := strings.CutPrefix(key, forgottenPrefix)
	if !ok {
		return ""
	}
	return hash
}

// KeyOf names the shared thing that a change of the journal is about, "" when it is about something that is not shared.
func KeyOf(c *journal.Change) string {
	switch {
	case c.Memory != nil:
		return memoryPrefix + c.Memory.ID
	case c.Access != nil:
		return memoryPrefix + c.Access.ID
	case c.Forgotten != nil:
		return forgottenPrefix + c.Forgotten.Hash
	case c.Summary != nil:
		return summaryKey
	}
	return ""
}

// Conflict is something that two machines changed differently. The value that was not chosen is Lost.
type Conflict struct {
	ID   string // of the memory
	Kind ConflictKind
	// Lost is the memory as the other machine left it. It is never nil.
	Lost *memory.Memory
	// Fields are the fields with two values.
	Fields []string
}

// ConflictKind says how two changes collide.
type ConflictKind string

// The kinds, as reasons of proposals.
const (
	BothChanged    ConflictKind = "REVIEW_BOTH_CHANGED"    // one field, two values: the later in the log was chosen
	ChangedRetired ConflictKind = "REVIEW_CHANGED_RETIRED" // one changed what the other retired: it stays active
)

// Same reports whether two memories, either may be nil, are equal in everything that is shared.
func Same(a, b *memory.Memory) bool {
	if a == nil || b == nil || a == b {
		return a == b
	}
	if areCopies(a, b) {
		return true
	}
	x, errX := codec.AppendMemory(nil, Shared(a))
	y, errY := codec.AppendMemory(nil, Shared(b))
	return errX == nil && errY == nil && bytes.Equal(x, y)
}

// areCopies is Same for the common case, two memories without anything rare that are copies but for the revision: false
// says nothing.
func areCopies(a, b *memory.Memory) bool {
	for i := range memory.Fields {
		f := &memory.Fields[i]
		if f.Name != "revision" && !sameValue(f.Pointer(a), f.Pointer(b)) {
			return false
		}
	}
	return len(a.Extra()) == 0 && len(b.Extra()) == 0
}

// sameValue reports whether two pointers to values of a field point to the same. Of what few memories have it only
// knows that nothing is nothing.
func sameValue(a, b any) bool {
	switch x := a.(type) {
	case *string:
		return *x == *b.(*string)
	case *memory.Status:
		return *x == *b.(*memory.Status)
	case *float64:
		return *x == *b.(*float64)
	case *int64:
		return *x == *b.(*int64)
	case *bool:
		return *x == *b.(*bool)
	case *time.Time:
		return *x == *b.(*time.Time)
	case *[]string:
		return slices.Equal(*x, *b.(*[]string))
	}
	return memory.IsZero(a) && memory.IsZero(b)
}

// Shared returns what is shared of a memory: all but its revision, which counts the operations of one store. The result
// may be m.
func Shared(m *memory.Memory) *memory.Memory {
	if m.Revision == 0 && m.Status == statusOf(m) {
		return m
	}
	c := *m
	c.Revision = 0
	c.Status = statusOf(m)
	return &c
}

// statusOf is the status of m, in words.
func statusOf(m *memory.Memory) memory.Status {
	if m.IsActive() {
		return memory.Active
	}
	return m.Status
}
