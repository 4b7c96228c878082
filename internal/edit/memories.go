package edit

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/memsidecar/memsidecar/internal/jsonstore"
	"github.com/memsidecar/memsidecar/internal/memories"
	"github.com/memsidecar/memsidecar/internal/memory"
	"github.com/memsidecar/memsidecar/internal/store"
)

// memoryFile is a memory.json that somebody else wrote, beside the state it was made from.
type memoryFile struct {
	space   string
	partial bool // of a program that does not know every field
	theirs  *jsonstore.File
	base    *store.Past // nil when it is not known
	counted bool        // the base has the accesses of its time too
	notes   []string    // what Tidy changed
}

// readMemories decodes the file. An error says what is wrong with it.
func (s *Service) readMemories(data []byte, space string) (*memoryFile, error) {
	f, err := jsonstore.Decode(data, s.cfg.Location)
	if err != nil {
		return nil, err
	}
	return &memoryFile{space: space, partial: f.Revision == 0, theirs: f}, nil
}

// prepare brings the file within the limits, with what the base knows: which memory one without an id is, and what an old program dropped.
// Error: an *memory.InvalidError.
func (f *memoryFile) prepare() error {
	var check memory.Check
	f.findIDs()
	for i, m := range f.theirs.Memories {
		if strings.TrimSpace(m.Content) == "" && f.published(m.ID) != nil {
			check.Add(fmt.Sprintf("memories[%d].content", i), "EMPTY", "is empty; write something, or remove the memory %s from the file", m.ID)
		}
		if base := f.published(m.ID); f.partial && base != nil {
			fillIn(memoryFields(base, m), base, m)
		}
	}
	if err := check.Err(); err != nil {
		return err
	}
	f.notes = f.theirs.Tidy()
	for i, m := range f.theirs.Memories {
		check.Memory(fmt.Sprintf("memories[%d].", i), m)
	}
	check.Text("rolling_summary", f.theirs.RollingSummary, memory.MaxSummary, false)
	return check.Err()
}

// findIDs gives a memory without an id that of the memory that says the same and is missing in the file.
func (f *memoryFile) findIDs() {
	if f.base == nil {
		return
	}
	missing := maps.Clone(f.base.Memories)
	for _, m := range f.theirs.Memories {
		delete(missing, m.ID)
	}
	byContent := map[string]string{}
	for id, m := range missing {
		if m.IsActive() {
			byContent[m.Category+"\x00"+m.Content] = id
		}
	}
	for _, m := range f.theirs.Memories {
		key := m.Category + "\x00" + m.Content
		if id := byContent[key]; m.ID == "" && id != "" {
			m.ID = id
			delete(byContent, key)
		}
	}
}

// published returns a memory of the base, nil when it was not in the file then.
func (f *memoryFile) published(id string) *memory.Memory {
	if f.base == nil {
		return nil
	}
	if m := f.base.Memories[id]; m != nil && m.IsActive() {
		return m
	}
	return nil
}

// changes lists how the file differs from its base, removed memories last. ours, the present state, tells which accesses are the daemon's.
func (f *memoryFile) changes(ours func(string) *memory.Memory) []change[memory.Memory] {
	var out []change[memory.Memory]
	have := map[string]bool{}
	for _, m := range f.theirs.Memories {
		have[m.ID] = true
		base := f.published(m.ID)
		if base == nil {
			out = append(out, change[memory.Memory]{theirs: m})
			continue
		}
		now := ours(m.ID)
		if now == nil {
			now = base
		}
		if !likeMemory(base, m) && len(differing(memoryFields(base, m), base, m)) > 0 || f.counted && accessesEdited(base, m, now) {
			out = append(out, change[memory.Memory]{base: base, theirs: m})
		}
	}
	if f.base == nil {
		return out
	}
	for id, m := range f.base.Memories {
		if m.IsActive() && !have[id] && !f.older(m) {
			out = append(out, change[memory.Memory]{base: m})
		}
	}
	return out
}

// older reports whether a file that does not say what it was made from does say that it was made before m.
func (f *memoryFile) older(m *memory.Memory) bool {
	return f.partial && !f.theirs.LastUpdated.IsZero() && m.UpdatedAt.After(f.theirs.LastUpdated)
}

// forgotten lists the hashes that the edit adds (with their time) and removes (zero).
func (f *memoryFile) forgotten() map[string]time.Time {
	out, have := map[string]time.Time{}, map[string]bool{}
	base := map[string]time.Time{}
	if f.base != nil {
		base = f.base.Forgotten
	}
	for _, g := range f.theirs.Forgotten {
		have[g.Hash] = true
		if at, ok := base[g.Hash]; !ok || !g.At.IsZero() && !at.Equal(g.At) {
			out[g.Hash] = g.At
		}
	}
	for hash := range base {
		if !have[hash] && !f.partial {
			out[hash] = time.Time{}
		}
	}
	return out
}

// summary returns the rolling summary of the edit when it changed it.
func (f *memoryFile) summary() (string, bool) {
	before, text := "", f.theirs.RollingSummary
	if f.base != nil {
		before = f.base.Summary
	}
	return text, text != before && !(f.partial && text == "")
}

// empties says why the edit takes away too much to be believed, "" when it does not.
func (f *memoryFile) empties(changes []change[memory.Memory]) string {
	removed, all := 0, 0
	for _, c := range changes {
		if c.theirs == nil {
			removed++
		}
	}
	for _, m := range f.base.Memories {
		if m.IsActive() {
			all++
		}
	}
	switch {
	case all > 0 && removed == all:
		return fmt.Sprintf("none of the %d memories is left in it", all)
	case all >= 20 && 2*removed > all:
		return fmt.Sprintf("%d of %d memories are not in it any more", removed, all)
	}
	return ""
}

// apply takes the changes of memories over inside a transaction. insist is of merger.
func (f *memoryFile) apply(tx *store.Tx, t *tally, changes []change[memory.Memory], insist map[string]bool) error {
	a := &merger{tx: tx, tally: t, partial: f.partial, counted: f.counted, insist: insist, before: func(id string) *memory.Memory {
		if f.base == nil {
			return nil
		}
		return f.base.Memories[id]
	}}
	// What is removed goes first: a memory that only got another id is no duplicate then.
	for _, removed := range []bool{true, false} {
		for _, c := range changes {
			if removed != (c.theirs == nil) {
				continue
			}
			if err := a.apply(c); err != nil {
				return err
			}
		}
	}
	return nil
}

// applyRest takes over what is not about single memories.
func (f *memoryFile) applyRest(tx *store.Tx, t *tally) {
	before := len(tx.Changes())
	if text, changed := f.summary(); changed {
		clean, redacted := memories.RedactText(text)
		if redacted {
			t.redacted++
		}
		tx.SetSummary(clean)
	}
	for hash, at := range f.forgotten() {
		if _, known := tx.ForgottenAt(hash); at.IsZero() && f.has(hash) {
			// Written by hand, without a time.
			if known {
				continue
			}
			at = tx.Now()
		}
		tx.SetForgotten(hash, at)
	}
	if len(tx.Changes()) > before {
		t.changed++
	}
}

func (f *memoryFile) has(hash string) bool {
	return slices.ContainsFunc(f.theirs.Forgotten, func(g jsonstore.Forgotten) bool { return g.Hash == hash })
}

// present is the state of a space as it is now, as if it were an earlier one.
func (s *Service) present(space string) *store.Past {
	v := s.cfg.Store.Space(space)
	for {
		p := &store.Past{Op: v.Revision(), Memories: map[string]*memory.Memory{}, Summary: v.Summary(), Forgotten: v.Forgotten()}
		for _, m := range v.Memories() {
			p.Memories[m.ID] = m
		}
		if v.Revision() == p.Op {
			return p
		}
	}
}

// errUnknownBase says why it is not known what an edit was made from.
type errUnknownBase struct{ why string }

func (e *errUnknownBase) Error() string { return e.why }

// findBase finds the state that the file was made from. published is the revision published last, 0 when that is not known; displaced
// says that this is a later one than the file was made from. Error: *errUnknownBase, and those of the store.
func (s *Service) findBase(ctx context.Context, f *memoryFile, published int64, displaced bool) error {
	v := s.cfg.Store.Space(f.space)
	op := f.theirs.Revision
	switch {
	case op == 0 && v.Revision() == 0:
		f.base = &store.Past{Memories: map[string]*memory.Memory{}} // nothing was ever there
		f.partial = false
		return nil
	case op == 0 && displaced, op == 0 && published == 0:
		return &errUnknownBase{"it has no revision, so it is not known what it was made from"}
	case op == 0:
		op = published
	}
	if op != v.Revision() {
		if err := s.checkOperation(ctx, f.space, op); err != nil {
			return err
		}
	}
	past, err := s.cfg.Store.Past(ctx, f.space, op)
	switch {
	case errors.Is(err, memory.ErrTrimmed) && op == v.Revision():
		f.base = s.present(f.space) // nothing but accesses came since
		return nil
	case errors.Is(err, memory.ErrTrimmed):
		return tooOld(op)
	case err != nil:
		return err
	}
	f.base, f.counted = past, true
	return nil
}

func tooOld(op int64) error {
	return &errUnknownBase{fmt.Sprintf("it was made from revision %d, which is older than the history that is kept", op)}
}

// checkOperation makes sure that a file of the space can have had the revision op.
func (s *Service) checkOperation(ctx context.Context, space string, op int64) error {
	rec, err := s.cfg.Store.Operation(ctx, op)
	switch {
	case errors.Is(err, memory.ErrTrimmed):
		return tooOld(op)
	case errors.Is(err, memory.ErrNotFound), err == nil && (rec.Op != op || rec.Space != space):
		return &errUnknownBase{fmt.Sprintf("its revision %d is none of this space", op)}
	}
	return err
}
