package share

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/memsidecar/memsidecar/internal/memory"
	"github.com/memsidecar/memsidecar/internal/share/merge"
	"github.com/memsidecar/memsidecar/internal/share/pglog"
	"github.com/memsidecar/memsidecar/internal/store"
	"github.com/memsidecar/memsidecar/internal/store/journal"
)

// loadedBytes is about how much memory the changes of waiting operations take at most. pageReads bounds how many
// operations of the journal, which has those of other spaces too, are read to load some.
const (
	loadedBytes = 4 << 20
	pageReads   = 10_000
)

// operation is an operation that waits to be sent.
type operation struct {
	op            int64
	at            time.Time
	actor, reason string
	changes       []journal.Change
	entries       []entryValue
}

// operationOf is what is sent of an operation; of daily logs only where they are shared.
func operationOf(rec *journal.Record, shared *logs) *operation {
	o := &operation{op: rec.Op, at: rec.At, actor: rec.Actor, reason: rec.Reason}
	for i := range rec.Changes {
		if merge.KeyOf(&rec.Changes[i]) != "" {
			o.changes = append(o.changes, rec.Changes[i])
		}
	}
	if shared.sends(rec.Op) {
		o.entries = sentEntries(rec.Changes)
	}
	return o
}

// keys lists what the operation is about, sorted.
func (o *operation) keys() (keys []string) {
	for i := range o.changes {
		keys = append(keys, merge.KeyOf(&o.changes[i]))
	}
	for i := range o.entries {
		keys = append(keys, o.entries[i].key())
	}
	slices.Sort(keys)
	return slices.Compact(keys)
}

// size is about how much memory the changes take, in bytes.
func (o *operation) size() (bytes int) {
	const each = 512 // of an operation, and of a memory without its text
	bytes = each
	for i := range o.changes {
		if c := o.changes[i].Memory; c != nil {
			for _, m := range []*memory.Memory{c.Before, c.After} {
				if m != nil {
					bytes += each + len(m.Content)
				}
			}
		} else if c := o.changes[i].Summary; c != nil {
			bytes += len(c.Before) + len(c.After)
		}
	}
	for i := range o.entries {
		bytes += each
		if e := o.entries[i].Value; e != nil {
			bytes += len(e.Content)
		}
	}
	return bytes
}

// waitingOp is what is always in memory of an operation that waits.
type waitingOp struct {
	op   int64
	at   time.Time
	keys []string // sorted
}

// made reports whether a row is what was sent of the operation: made at the same microsecond, about the same things.
// Its values depend on what the log held then.
func (w *waitingOp) made(r *pglog.Row, rec *record) bool {
	about := func(key string) bool {
		_, found := slices.BinarySearch(w.keys, key)
		return found
	}
	return w.at.Equal(r.At) && !slices.ContainsFunc(rec.Changes, func(c merge.Change) bool { return !about(c.Key()) }) &&
		!slices.ContainsFunc(rec.Entries, func(e entryValue) bool { return !about(e.key()) })
}

// waiting are the operations of a space that wait to be sent. What they say is in the journal, so their number does not
// decide how much memory they take: a few are loaded at a time.
type waiting struct {
	space string
	seed  *operation  // the oldest, when it is not one of the journal
	ops   []waitingOp // oldest first
	// byKey has the numbers of the operations about a thing, oldest first.
	byKey  map[string][]int64
	loaded map[int64]*operation
	// bytes is about how much memory the loaded ones take.
	bytes int
}

// newWaiting returns an empty list.
func newWaiting(space string) *waiting {
	return &waiting{space: space, byKey: map[string][]int64{}, loaded: map[int64]*operation{}}
}

// add appends an operation, if it says anything.
func (w *waiting) add(o *operation) {
	if len(o.changes)+len(o.entries) == 0 {
		return
	}
	keys := o.keys()
	w.ops = append(w.ops, waitingOp{o.op, o.at, keys})
	for _, key := range keys {
		w.byKey[key] = append(w.byKey[key], o.op)
	}
	if !w.full() {
		w.load(o)
	}
}

// full reports whether no more should be loaded.
func (w *waiting) full() bool { return w.bytes >= loadedBytes }

// load keeps the changes of an operation in memory.
func (w *waiting) load(o *operation) {
	w.loaded[o.op] = o
	w.bytes += o.size()
}

// unload keeps no changes in memory.
func (w *waiting) unload() {
	clear(w.loaded)
	w.bytes = 0
}

// anyUpTo reports whether an operation waits that is not newer than op.
func (w *waiting) anyUpTo(op int64) bool { return len(w.ops) > 0 && w.ops[0].op <= op }

// find returns an operation by its number, nil when it does not wait.
func (w *waiting) find(op int64) *waitingOp {
	i, found := slices.BinarySearchFunc(w.ops, op, func(o waitingOp, op int64) int { return cmp.Compare(o.op, op) })
	if !found {
		return nil
	}
	return &w.ops[i]
}

// drop removes the operations up to op.
func (w *waiting) drop(op int64) {
	for len(w.ops) > 0 && w.ops[0].op <= op {
		for _, key := range w.ops[0].keys {
			if left := w.byKey[key][1:]; len(left) > 0 {
				w.byKey[key] = left
			} else {
				delete(w.byKey, key)
			}
		}
		if o := w.loaded[w.ops[0].op]; o != nil {
			delete(w.loaded, w.ops[0].op)
			w.bytes -= o.size()
		}
		w.ops = w.ops[1:]
	}
	if w.seed != nil && w.seed.op <= op {
		w.seed = nil
	}
}

// about lists the numbers of the operations behind one that are about any of some things, oldest first.
func (w *waiting) about(keys []string, behind int64) (ops []int64) {
	for _, key := range keys {
		for _, op := range w.byKey[key] {
			if op > behind {
				ops = append(ops, op)
			}
		}
	}
	slices.Sort(ops)
	return slices.Compact(ops)
}

// get returns a waiting operation with its changes, and loads those that follow it, which are wanted next. Error:
// memory.ErrTrimmed.
func (w *waiting) get(ctx context.Context, st *store.Store, shared *logs, op int64) (*operation, error) {
	if w.seed != nil && w.seed.op == op {
		return w.seed, nil
	}
	if o := w.loaded[op]; o != nil {
		return o, nil
	}
	w.unload()
	reads := 0
	for rec, err := range st.Operations(ctx, op, math.MaxInt64) {
		if err != nil {
			return nil, fmt.Errorf("read operation %d, which waits to be sent: %w", op, err)
		}
		if rec.Space == w.space && w.find(rec.Op) != nil {
			w.load(operationOf(rec, shared))
		}
		if reads++; reads == pageReads || w.full() {
			break
		}
	}
	if o := w.loaded[op]; o != nil {
		return o, nil
	}
	return nil, fmt.Errorf("operation %d waits to be sent: %w", op, memory.ErrTrimmed)
}
