package store

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"strconv"
	"time"

	"github.com/memsidecar/memsidecar/internal/memory"
	"github.com/memsidecar/memsidecar/internal/store/journal"
)

// HistoricState is what a space held just after an earlier operation. It belongs to the caller, except for the
// memories, which are shared and must not be changed.
type HistoricState struct {
	Op int64
	// Memories by id, in any status, except removed ones.
	Memories  map[string]*memory.Memory
	Summary   string
	Forgotten map[string]time.Time
}

// StateAt returns what a space held just after operation op, 0 for before the first one. It starts from the present
// state and reverts the changes behind op, newest first, so its cost is that of reading them. A change of an access
// count does not hold the previous time of access; StateAt searches it further back, and LastAccessed is zero where
// history does not reach that far.
//
// Errors: memory.ErrTrimmed when the history does not reach back to op, memory.ErrNotFound when op is not durable yet.
func (s *Store) StateAt(ctx context.Context, space string, op int64) (*HistoricState, error) {
	p := &HistoricState{Op: op, Memories: map[string]*memory.Memory{}, Forgotten: map[string]time.Time{}}
	name, present := s.Space(space).name, int64(0)
	s.Space(space).readMemories(func(sp *spaceState) {
		present = sp.changed
		for _, m := range sp.slots {
			if m != nil {
				p.Memories[m.ID] = m
			}
		}
		p.Summary = sp.summary
		maps.Copy(p.Forgotten, sp.forgotten)
	})
	accessed := map[string]bool{}
	err := s.revertSince(ctx, name, op, present, func(c *journal.Change) { p.revert(c, accessed) })
	if err != nil {
		return nil, err
	}
	return p, s.fillLastAccessed(ctx, name, p, accessed)
}

// revertSince calls revert with every change of a space behind op and up to LSN newest, newest first.
func (s *Store) revertSince(ctx context.Context, space string, op, newest int64, revert func(*journal.Change)) error {
	if newest == 0 { // there is no such space; perhaps it was dropped
		newest = s.newestDrop()
	}
	switch {
	case op < 0 || op > max(s.LSN(), newest):
		return &memory.NotFoundError{Kind: "operation", Name: strconv.FormatInt(op, 10)}
	case op+1 < s.journal.First():
		return fmt.Errorf("the state after operation %d: %w", op, memory.ErrTrimmed)
	case newest <= op:
		return nil
	}
	// The visible state has a record a moment before the journal counts it as synced.
	if err := s.journal.WaitDurable(ctx, newest); err != nil {
		return err
	}
	for rec, err := range s.journal.Backward(op+1, newest) {
		if err = errors.Join(err, ctx.Err()); err != nil {
			return fmt.Errorf("the state after operation %d: %w", op, err)
		}
		if rec.Space != space {
			continue
		}
		if isDrop(rec) {
			return fmt.Errorf("the state after operation %d, before the space was dropped: %w", op, memory.ErrTrimmed)
		}
		for i := len(rec.Changes) - 1; i >= 0; i-- {
			revert(&rec.Changes[i])
		}
	}
	return nil
}

// revert undoes one change. It adds to accessed the memories whose last access is no longer known.
func (p *HistoricState) revert(c *journal.Change, accessed map[string]bool) {
	switch {
	case c.Memory != nil:
		delete(accessed, c.Memory.ID) // Before is complete, with its last access
		if c.Memory.Before == nil {
			delete(p.Memories, c.Memory.ID)
		} else {
			p.Memories[c.Memory.ID] = c.Memory.Before
		}
	case c.Access != nil:
		if m := p.Memories[c.Access.ID]; m != nil {
			before := *m
			before.SetAccesses(m.AccessCount()-c.Access.Count, time.Time{})
			p.Memories[c.Access.ID], accessed[c.Access.ID] = &before, true
		}
	case c.Summary != nil:
		p.Summary = c.Summary.Before
	case c.Forgotten != nil:
		if c.Forgotten.Before.IsZero() {
			delete(p.Forgotten, c.Forgotten.Hash)
		} else {
			p.Forgotten[c.Forgotten.Hash] = c.Forgotten.Before
		}
	}
}

// fillLastAccessed sets LastAccessed of the memories in accessed, of which p holds copies: the newest access since the
// last change, or the time that this change holds.
func (s *Store) fillLastAccessed(ctx context.Context, space string, p *HistoricState, accessed map[string]bool) error {
	if len(accessed) == 0 {
		return nil
	}
	seen := func(id string, at time.Time) {
		if m := p.Memories[id]; at.After(m.LastAccessed()) {
			m.SetAccesses(m.AccessCount(), at)
		}
	}
	for rec, err := range s.journal.Backward(s.journal.First(), p.Op) {
		if errors.Is(err, memory.ErrTrimmed) { // trimmed since First was read
			return nil
		}
		if err = errors.Join(err, ctx.Err()); err != nil {
			return fmt.Errorf("the state after operation %d: %w", p.Op, err)
		}
		if rec.Space != space {
			continue
		}
		if isDrop(rec) {
			return nil
		}
		for i := len(rec.Changes) - 1; i >= 0; i-- {
			switch c := &rec.Changes[i]; {
			case c.Access != nil && accessed[c.Access.ID]:
				seen(c.Access.ID, c.Access.At)
			case c.Memory != nil && accessed[c.Memory.ID]:
				seen(c.Memory.ID, c.Memory.After.LastAccessed())
				delete(accessed, c.Memory.ID)
			}
		}
		if len(accessed) == 0 {
			return nil
		}
	}
	return nil
}

// LogAt returns a daily log as it was just after operation op, with its entries in order of time. Its Revision is 0. A
// day without entries, summary or archival does not exist. It may read a file.
//
// Errors: memory.ErrNotFound when the day did not exist, or op is not durable yet; memory.ErrTrimmed.
func (s *Store) LogAt(ctx context.Context, space, date string, op int64) (*memory.Day, []*memory.Entry, error) {
	v := s.Space(space)
	day, present := memory.Day{Date: date}, int64(0)
	entries, err := readBody(v, func(sp *spaceState) *body {
		day, present = memory.Day{Date: date}, sp.changed
		if d := sp.days[date]; d != nil {
			day = *d.header
			return &d.body
		}
		return nil
	}, entriesOf(v.name, date))
	if err != nil {
		return nil, nil, err
	}
	var back []journal.Change // inverse, in the order in which it is to be applied
	err = s.revertSince(ctx, v.name, op, present, func(c *journal.Change) {
		switch {
		case c.Entry != nil && c.Entry.Date == date:
			back = append(back, journal.Change{
				Entry: &journal.EntryChange{Date: date, ID: c.Entry.ID, Before: c.Entry.After, After: c.Entry.Before}})
		case c.Day != nil && c.Day.Date == date:
			before := c.Day.Before
			if before == nil {
				before = &memory.Day{}
			}
			day.Summary, day.Archived, day.Extra = before.Summary, before.Archived, before.Extra
		}
	})
	if err != nil {
		return nil, nil, err
	}
	entries = applyEntries(entries, back)
	day.Revision, day.Entries = 0, len(entries)
	if len(entries) == 0 && day.Summary == "" && !day.Archived && len(day.Extra) == 0 {
		return nil, nil, &memory.NotFoundError{Kind: "log", Name: date}
	}
	return &day, entries, nil
}
