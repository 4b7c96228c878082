package reconcile

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/memsidecar/memsidecar/internal/jsonstore"
	"github.com/memsidecar/memsidecar/internal/memory"
	"github.com/memsidecar/memsidecar/internal/memory/fieldmerge"
	"github.com/memsidecar/memsidecar/internal/service/memorysvc"
	"github.com/memsidecar/memsidecar/internal/store"
)

// memoryFile is a memory.json that somebody else wrote, with the state that it was made from.
type memoryFile struct {
	space       string
	partial     bool                 // of a program that does not know every field
	theirs      *jsonstore.File      // the edit
	base        *store.HistoricState // nil when it is not known
	hasAccesses bool                 // the base has the accesses of its time too
	sanitized   []string             // what Tidy changed
}

// readMemories decodes a memory.json. A file without a revision was written by a program that knows only the
// original format. The error says what is wrong with the file.
func (s *Service) readMemories(data []byte, space string) (*memoryFile, error) {
	f, err := jsonstore.DecodeEdit(data, s.cfg.Location)
	if err != nil {
		return nil, err
	}
	return &memoryFile{space: space, partial: f.Revision == 0, theirs: f}, nil
}

// prepare brings the file within the limits of memories, with the help of the base: it finds the memory that an
// entry without an id stands for, and restores fields that an old program dropped. Error: an *memory.InvalidError.
func (f *memoryFile) prepare() error {
	var check memory.Check
	f.findIDs()
	for i, m := range f.theirs.Memories {
		if strings.TrimSpace(m.Content) == "" && f.published(m.ID) != nil {
			check.Add(
				fmt.Sprintf("memories[%d].content", i),
				"EMPTY",
				"is empty; write something, or remove the memory %s from the file",
				m.ID,
			)
		}
		if base := f.published(m.ID); f.partial && base != nil {
			fieldmerge.FillIn(fieldmerge.Memory(base, m), base, m)
		}
		check.MemoryTimes(fmt.Sprintf("memories[%d].", i), m) // Sanitize would leave them out
	}
	if err := check.Err(); err != nil {
		return err
	}
	f.sanitized = f.theirs.Sanitize()
	for i, m := range f.theirs.Memories {
		check.Memory(fmt.Sprintf("memories[%d].", i), m)
	}
	check.Text("rolling_summary", f.theirs.RollingSummary, memory.MaxSummary, false)
	return check.Err()
}

// findIDs gives a memory without an id the id of the base's memory with the same text that is missing in the file.
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

// changes lists how the file differs from its base, removed memories last. ours returns a memory of the present
// state; it tells which accesses the daemon counted itself.
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
		// Removed here meanwhile; what the edit changed is measured by its base.
		if now == nil {
			now = base
		}
		if !fieldmerge.SameMemory(base, m) && len(fieldmerge.Differing(fieldmerge.Memory(base, m), base, m)) > 0 ||
			f.hasAccesses && accessesEdited(base, m, now) {
			out = append(out, change[memory.Memory]{base: base, theirs: m})
		}
	}
	if f.base == nil {
		return out
	}
	for id, m := range f.base.Memories {
		// Retired memories are not published, so only an active one can be missing from a file.
		if m.IsActive() && !have[id] && !f.predates(m) {
			out = append(out, change[memory.Memory]{base: m})
		}
	}
	return out
}

// predates reports whether a file without a revision was made before m was written: then its lack of m is no
// removal.
func (f *memoryFile) predates(m *memory.Memory) bool {
	return f.partial && !f.theirs.LastUpdated.IsZero() && m.UpdatedAt.After(f.theirs.LastUpdated)
}

// forgotten lists the hashes of forgotten values that the edit adds (with their time) and removes (zero time).
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

// summary returns the rolling summary of the edit, and whether the edit changed it.
func (f *memoryFile) summary() (string, bool) {
	before, text := "", f.theirs.RollingSummary
	if f.base != nil {
		before = f.base.Summary
	}
	return text, text != before && !(f.partial && text == "")
}

// A file that lost most of its memories is more often a program's mistake, or a merge that went wrong, than a decision,
// and adopting it would retire them all. So it waits for a person. Of few memories a person may well remove most.
const (
	minGuarded      = 20  // memories, from which on the share counts
	maxRemovedShare = 0.5 // of the base's memories that an edit may remove unasked
)

// removesTooMuch says why the edit removes too much to be adopted unasked, "" when it does not.
func (f *memoryFile) removesTooMuch(changes []change[memory.Memory]) string {
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
	case all >= minGuarded && float64(removed) > maxRemovedShare*float64(all):
		return fmt.Sprintf("%d of %d memories are not in it any more", removed, all)
	}
	return ""
}

// apply merges the changes of memories inside a transaction. force is that of merger.
func (f *memoryFile) apply(tx *store.Tx, t *counts, changes []change[memory.Memory], insist map[string]bool) error {
	a := &merger{
		tx:          tx,
		counts:      t,
		partial:     f.partial,
		hasAccesses: f.hasAccesses,
		force:       insist,
		before: func(id string) *memory.Memory {
			if f.base == nil {
				return nil
			}
			return f.base.Memories[id]
		},
	}
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

// applyRest merges the rolling summary and the forgotten values.
func (f *memoryFile) applyRest(tx *store.Tx, t *counts) {
	before := len(tx.Changes())
	if text, changed := f.summary(); changed {
		if kinds := memorysvc.SecretsInText(text); kinds != "" {
			t.secrets = append(t.secrets, "rolling summary ("+kinds+")")
		}
		tx.SetSummary(text)
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

// has reports whether the file lists a forgotten value.
func (f *memoryFile) has(hash string) bool {
	return slices.ContainsFunc(f.theirs.Forgotten, func(g jsonstore.Forgotten) bool { return g.Hash == hash })
}

// currentState is the state of a space now, in the form of an earlier one. It reads again until no write came in
// between.
func (s *Service) currentState(space string) *store.HistoricState {
	v := s.cfg.Store.Space(space)
	for {
		p := &store.HistoricState{
			Op:        v.Revision(),
			Memories:  map[string]*memory.Memory{},
			Summary:   v.Summary(),
			Forgotten: v.Forgotten(),
		}
		for _, m := range v.Memories() {
			p.Memories[m.ID] = m
		}
		if v.Revision() == p.Op {
			return p
		}
	}
}

// errUnknownBase says why the state that an edit was made from is unknown.
type errUnknownBase struct{ why string }

func (e *errUnknownBase) Error() string { return e.why }

// findBase finds the state that the file was made from. published is the revision that was published last, 0 when
// that is unknown; displaced says that it is later than the file. Errors: *errUnknownBase, and those of the store.
func (s *Service) findBase(ctx context.Context, f *memoryFile, published int64, displaced bool) error {
	v := s.cfg.Store.Space(f.space)
	op := f.theirs.Revision
	switch {
	case op == 0 && v.Revision() == 0:
		f.base = &store.HistoricState{Memories: map[string]*memory.Memory{}} // nothing was ever there
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
	past, err := s.cfg.Store.StateAt(ctx, f.space, op)
	switch {
	case errors.Is(err, memory.ErrTrimmed) && op == v.Revision():
		f.base = s.currentState(f.space) // nothing but accesses came since
		return nil
	case errors.Is(err, memory.ErrTrimmed):
		return baseTooOld(op)
	case err != nil:
		return err
	}
	f.base, f.hasAccesses = past, true
	return nil
}

// baseTooOld is the error for a base that trimming removed from the history.
func baseTooOld(op int64) error {
	return &errUnknownBase{
		fmt.Sprintf("it was made from revision %d, which is older than the history that is kept", op),
	}
}

// checkOperation makes sure that a file of the space can have had the revision op: it is a number that anybody can
// write.
func (s *Service) checkOperation(ctx context.Context, space string, op int64) error {
	rec, err := s.cfg.Store.Operation(ctx, op)
	switch {
	case errors.Is(err, memory.ErrTrimmed):
		return baseTooOld(op)
	case errors.Is(err, memory.ErrNotFound), err == nil && (rec.Op != op || rec.Space != space):
		return &errUnknownBase{fmt.Sprintf("its revision %d is none of this space", op)}
	}
	return err
}
