package merge

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"io"
	"maps"
	"slices"
	"time"

	"github.com/memsidecar/memsidecar/internal/memory"
	"github.com/memsidecar/memsidecar/internal/memory/codec"
	"github.com/memsidecar/memsidecar/internal/store/journal"
)

// Values are some of the things of a space, each as it is somewhere. What is not named is not known.
type Values struct {
	Memories  map[string]*memory.Memory `json:"memories,omitempty"`  // nil: does not exist
	Forgotten map[string]time.Time      `json:"forgotten,omitempty"` // zero: is not forgotten
	Summary   *string                   `json:"summary,omitempty"`

	// received are the memories of the snapshot that the values began with. indexed says that they are in Memories,
	// too, unless they were changed.
	received []Received
	indexed  bool
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

// Part is a part of a snapshot.
type Part struct {
	rest     Values     // all but the memories that exist
	received []Received // in order of creation
}

// Received lists the memories of the part, in order of creation.
func (p *Part) Received() []Received { return p.received }

// Received is a memory of a snapshot.
type Received struct {
	*memory.Memory

	// Text is the memory as the snapshot has it, when that is how the journal may have it: for store.Tx.PutText. nil
	// otherwise.
	Text json.RawMessage
}

// ReadPart reads a part of a snapshot, and makes its memories what is shared of them. Error: that of encoding/json, for
// a member that is not known too.
func ReadPart(data []byte) (p Part, err error) {
	received, ok := readMemories(data)
	if !ok {
		received = nil
		if err := DecodeStrict(bytes.NewReader(data), &p.rest); err != nil {
			return p, err
		}
		for id, m := range p.rest.Memories {
			if m != nil && m.ID == id {
				received = append(received, Received{Memory: m})
				delete(p.rest.Memories, id)
			} else if m != nil {
				share(m)
			}
		}
	}
	for i, r := range received {
		var check memory.Check
		check.Memory("", r.Memory)
		if r.Status == "" || r.Revision != 0 || r.CreatedAt.IsZero() || check.Err() != nil {
			received[i].Text = nil
		}
		share(r.Memory)
	}
	inOrder := func(a, b Received) int { return a.CreatedAt.Compare(b.CreatedAt) }
	if !slices.IsSortedFunc(received, inOrder) { // most parts are
		slices.SortStableFunc(received, byCreation)
	}
	p.received = received
	return p, nil
}

// share makes a memory, which nobody else has, what is shared of it.
func share(m *memory.Memory) {
	m.Revision, m.Status = 0, statusOf(m)
	m.Trim()
}

// byCreation orders memories by the time of their creation.
func byCreation(a, b Received) int {
	return cmp.Or(a.CreatedAt.Compare(b.CreatedAt), cmp.Compare(a.ID, b.ID))
}

// DecodeStrict decodes JSON and refuses members that are not known, and anything behind it.
func DecodeStrict(text io.Reader, v any) error {
	d := json.NewDecoder(text)
	d.DisallowUnknownFields()
	if err := d.Decode(v); err != nil {
		return err
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return errors.New("something follows the values")
	}
	return nil
}

// readMemories reads values that are memories alone, as encoding/json writes them, several times as fast as
// encoding/json. ok is false when that has to read them.
func readMemories(data []byte) (out []Received, ok bool) {
	data, ok = bytes.CutPrefix(data, []byte(`{"memories":`))
	if !ok {
		return nil, false
	}
	const perMemory = 300 // bytes, about
	out = make([]Received, 0, len(data)/perMemory)
	named := true
	var r codec.JournalReader
	rest, ok := r.Members(data, func(id string, m *memory.Memory, text json.RawMessage) {
		named = named && m.ID == id
		out = append(out, Received{m, text})
	})
	return out, ok && named && string(rest) == "}"
}

// Join adds up the parts of a snapshot, which are not used any more. The memories that exist are not in Memories until
// Index is called: who only lists them needs no map.
func Join(parts ...*Part) (v Values) {
	count := 0
	for _, p := range parts {
		count += len(p.received)
	}
	v.received = make([]Received, 0, count)
	for _, p := range parts {
		v.Add(&p.rest)
		v.received = append(v.received, p.received...)
	}
	return v
}

// Index puts the memories of a snapshot into Memories.
func (v *Values) Index() {
	if v.indexed {
		return
	}
	v.indexed = true
	all := make(map[string]*memory.Memory, len(v.Memories)+len(v.received))
	maps.Copy(all, v.Memories)
	for _, r := range v.received {
		all[r.ID] = r.Memory
	}
	v.Memories = all
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

// Received lists the memories that exist: those of the snapshot as it has them, in its order, unless rows changed them,
// and then the others in order of their creation.
func (v *Values) Received() []Received {
	if !v.indexed && len(v.Memories) == 0 {
		return v.received
	}
	v.Index()
	out, others := make([]Received, 0, len(v.Memories)), []Received(nil)
	for _, r := range v.received {
		if v.Memories[r.ID] == r.Memory {
			out = append(out, r)
		}
	}
	if len(out) == len(v.Memories) {
		return out
	}
	same := make(map[string]bool, len(out))
	for _, r := range out {
		same[r.ID] = true
	}
	for id, m := range v.Memories {
		if m != nil && !same[id] {
			others = append(others, Received{Memory: m})
		}
	}
	slices.SortFunc(others, byCreation)
	return append(out, others...)
}

// Apply brings the values from just before an operation of the log to just after it. An access of a memory that is not
// known, or does not exist, changes nothing.
func (v *Values) Apply(changes []Change) {
	if len(v.received) > 0 && len(changes) > 0 {
		v.Index()
	}
	for i := range changes {
		switch c := &changes[i]; {
		case c.Memory != nil:
			v.SetMemory(c.Memory.ID, c.Memory.Value)
		case c.Access != nil:
			if m := v.Memories[c.Access.ID]; m != nil {
				accessed := *m
				accessed.SetAccesses(c.Access.Count, c.Access.Last)
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

// TakeAll copies what another set knows of the things that changes of the journal are about, unless it is known
// already.
func (v *Values) TakeAll(changes []journal.Change, from *Values) {
	for i := range changes {
		if key := KeyOf(&changes[i]); !v.Has(key) && from.Has(key) {
			v.Take(key, from)
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
		return &Change{Access: &AccessValue{m.ID, accessed.AccessCount(), accessed.LastAccessed()}}, nil
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
		retired := *result
		retired.Status = memory.Retired
		result, conflict = &retired, nil
	}
	if Same(result, theirs) {
		return nil, conflict
	}
	return &Change{Memory: &MemoryValue{c.ID, result}}, conflict
}
