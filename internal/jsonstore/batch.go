package jsonstore

import (
	"github.com/memsidecar/memsidecar/internal/dailylog"
	"github.com/memsidecar/memsidecar/internal/store"
)

// One operation adopts at most so much; a day is never divided.
const (
	batchItems = 2000
	batchBytes = 4 << 20
)

// step is a part of an operation that is not divided.
type step struct {
	items, bytes int
	do           func(*store.Tx) error
}

// nextBatch returns the first steps that fit one operation, at least one.
func nextBatch(steps []step) []step {
	items, size := 0, 0
	for i, p := range steps {
		items += p.items
		size += p.bytes
		if i > 0 && (items > batchItems || size > batchBytes) {
			return steps[:i]
		}
	}
	return steps
}

// memorySteps returns the steps that store a memory.json. Each skips what an interrupted adoption stored before.
func memorySteps(f *File) []step {
	if f == nil {
		return nil
	}
	steps := []step{{items: len(f.Forgotten), bytes: len(f.RollingSummary), do: func(tx *store.Tx) error {
		if f.RollingSummary != "" && tx.Summary() == "" {
			tx.SetSummary(f.RollingSummary)
		}
		for _, g := range f.Forgotten {
			if g.At.IsZero() {
				g.At = tx.Now()
			}
			tx.PutForgotten(g.Hash, g.At)
		}
		return nil
	}}}
	for _, m := range f.Memories {
		steps = append(steps, step{items: 1, bytes: len(m.Content) + 512, do: func(tx *store.Tx) error {
			if tx.Memory(m.ID) != nil {
				return nil // by an adoption that was interrupted
			}
			return tx.Put(m)
		}})
	}
	return steps
}

// dayStep returns the step that stores a daily log. A day is never divided: a day that exists was stored whole.
func dayStep(f *dailylog.File) step {
	size := len(f.Day.Summary)
	for _, e := range f.Entries {
		size += len(e.Content) + len(e.Error) + 256
	}
	return step{items: len(f.Entries) + 1, bytes: size, do: func(tx *store.Tx) error {
		if tx.Day(f.Day.Date) != nil {
			return nil // by an adoption that was interrupted
		}
		for _, e := range f.Entries {
			if err := tx.AppendEntry(f.Day.Date, e); err != nil {
				return err
			}
		}
		if d := f.Day; d.Summary != "" || d.Archived || len(d.Extra) > 0 || len(f.Entries) == 0 {
			tx.SetDay(&d)
		}
		return nil
	}}
}
