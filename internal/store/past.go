package store

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"strconv"
	"time"

	"github.com/memsidecar/memsidecar/internal/journal"
	"github.com/memsidecar/memsidecar/internal/memory"
)

// Past is what a space held just after an earlier operation. It belongs to the caller; the memories are shared and must not be changed.
type Past struct {
	Op        int64
	Memories  map[string]*memory.Memory // in any state, removed ones excepted
	Summary   string
	Forgotten map[string]time.Time
}

// Past returns what a space held just after operation op, 0 for before the first one. The changes behind op are taken back from
// the present state, last first; its cost is that of reading them. When accesses were counted behind op, what the memories concerned said
// of their newest access is looked for further back; where history does not reach that far, LastAccessed is zero.
//
// Errors: memory.ErrTrimmed when the history does not reach back to op, memory.ErrNotFound when op is not durable yet.
func (s *Store) Past(ctx context.Context, space string, op int64) (*Past, error) {
	p := &Past{Op: op, Memories: map[string]*memory.Memory{}, Forgotten: map[string]time.Time{}}
	name, present := s.Space(space).name, int64(0)
	s.Space(space).read(func(sp *spaceState) {
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
	err := s.takeBack(ctx, name, op, present, func(c *journal.Change) { p.takeBack(c, accessed) })
	if err != nil {
		return nil, err
	}
	return p, s.findAccesses(ctx, name, p, accessed)
}

// takeBack gives every change of a space behind op and up to the newest record of a state to undo, last first.
func (s *Store) takeBack(ctx context.Context, space string, op, newest int64, undo func(*journal.Change)) error {
	switch {
	case op < 0 || op > max(s.LSN(), newest):
		return &memory.NotFoundError{Kind: "operation", Name: strconv.FormatInt(op, 10)}
	case op+1 < s.journal.First():
		return fmt.Errorf("the state after operation %d: %w", op, memory.ErrTrimmed)
	case newest <= op:
		return nil
	}
	// Readers see a record a moment before the journal counts it as synced.
	if err := s.journal.WaitFor(ctx, newest); err != nil {
		return err
	}
	for rec, err := range s.journal.Backward(op+1, newest) {
		if err = errors.Join(err, ctx.Err()); err != nil {
			return fmt.Errorf("the state after operation %d: %w", op, err)
		}
		if rec.Space != space {
			continue
		}
		for i := len(rec.Changes) - 1; i >= 0; i-- {
			undo(&rec.Changes[i])
		}
	}
	return nil
}

// takeBack takes one change back. accessed collects the memories whose newest access is not known any more.
func (p *Past) takeBack(c *journal.Change, accessed map[string]bool) {
	switch {
	case c.Memory != nil:
		delete(accessed, c.Memory.ID) // what was there before is known whole
		if c.Memory.Before == nil {
			delete(p.Memories, c.Memory.ID)
		} else {
			p.Memories[c.Memory.ID] = c.Memory.Before
		}
	case c.Touch != nil:
		if m := p.Memories[c.Touch.ID]; m != nil {
			before := *m
			before.AccessCount -= c.Touch.Count
			before.LastAccessed = time.Time{}
			p.Memories[c.Touch.ID], accessed[c.Touch.ID] = &before, true
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

// findAccesses fills in LastAccessed of the memories in accessed, which p holds in copies: the newest of their accesses since they were last
// changed, or what that change says.
func (s *Store) findAccesses(ctx context.Context, space string, p *Past, accessed map[string]bool) error {
	if len(accessed) == 0 {
		return nil
	}
	seen := func(id string, at time.Time) {
		if m := p.Memories[id]; at.After(m.LastAccessed) {
			m.LastAccessed = at
		}
	}
	for rec, err := range s.journal.Backward(s.journal.First(), p.Op) {
		if errors.Is(err, memory.ErrTrimmed) { // just now
			return nil
		}
		if err = errors.Join(err, ctx.Err()); err != nil {
			return fmt.Errorf("the state after operation %d: %w", p.Op, err)
		}
		if rec.Space != space {
			continue
		}
		for i := len(rec.Changes) - 1; i >= 0; i-- {
			switch c := &rec.Changes[i]; {
			case c.Touch != nil && accessed[c.Touch.ID]:
				seen(c.Touch.ID, c.Touch.At)
			case c.Memory != nil && accessed[c.Memory.ID]:
				seen(c.Memory.ID, c.Memory.After.LastAccessed)
				delete(accessed, c.Memory.ID)
			}
		}
		if len(accessed) == 0 {
			return nil
		}
	}
	return nil
}

// PastLog returns a daily log as it was just after operation op, its entries in order of time. Its Revision is 0. A day of which there is
// neither an entry nor anything said is not there. It may read a file.
//
// Errors: memory.ErrNotFound when there was no such day, or op is not durable yet; memory.ErrTrimmed.
func (s *Store) PastLog(ctx context.Context, space, date string, op int64) (*memory.Day, []*memory.Entry, error) {
	v := s.Space(space)
	day, present := memory.Day{Date: date}, int64(0)
	entries, err := readDoc(v, func(sp *spaceState) *doc {
		day, present = memory.Day{Date: date}, sp.changed
		if d := sp.days[date]; d != nil {
			day = *d.header
			return &d.doc
		}
		return nil
	}, entriesOf(v.name, date))
	if err != nil {
		return nil, nil, err
	}
	var back []journal.Change // inverse, in the order in which it is to be applied
	err = s.takeBack(ctx, v.name, op, present, func(c *journal.Change) {
		switch {
		case c.Entry != nil && c.Entry.Date == date:
			back = append(back, journal.Change{Entry: &journal.EntryChange{Date: date, ID: c.Entry.ID, Before: c.Entry.After, After: c.Entry.Before}})
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
