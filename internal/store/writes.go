package store

import (
	"context"
	"slices"
	"sync"

	"github.com/memsidecar/memsidecar/internal/store/journal"
)

// Writes notes what is written with a context: by the calls that one request leads to, whichever package makes them.
// It is safe for concurrent use.
type Writes struct {
	// allow is asked before an operation is staged; its error refuses the write. It must not call the store.
	allow func(space string, changes []journal.Change) error

	mu sync.Mutex
	// list is guarded by mu.
	list []Write
}

// Write is what the reply to a request depends on.
type Write struct {
	Space string // "" for all
	// Op is the operation, 0 when none was made.
	Op int64
	// UpTo is set instead when the reply tells of what earlier operations made, as of a duplicate: they are all numbered
	// up to it.
	UpTo int64
	// Purge is set instead for what other machines are told of a purge: its id.
	Purge string
}

// writesKey is the key of a context's Writes.
type writesKey struct{}

// NoteWrites returns a context whose writes are noted. allow is asked before each with what it changes; an error
// refuses it. It must not call the store.
func NoteWrites(
	ctx context.Context, allow func(space string, changes []journal.Change) error,
) (context.Context, *Writes) {
	w := &Writes{allow: allow}
	return context.WithValue(ctx, writesKey{}, w), w
}

// NoteWrite notes a write that was made with another context, or by an earlier request. Without Writes in the context
// it does nothing.
func NoteWrite(ctx context.Context, write Write) {
	if w, _ := ctx.Value(writesKey{}).(*Writes); w != nil && write != (Write{Space: write.Space}) {
		w.mu.Lock()
		defer w.mu.Unlock()
		w.list = append(w.list, write)
	}
}

// unnoted returns a context whose writes are nobody's request.
func unnoted(ctx context.Context) context.Context {
	return context.WithValue(ctx, writesKey{}, (*Writes)(nil))
}

// List returns what was noted, in order.
func (w *Writes) List() []Write {
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.Clone(w.list)
}

// allowWrite asks whether a context may change a space so.
func allowWrite(ctx context.Context, space string, changes []journal.Change) error {
	if w, _ := ctx.Value(writesKey{}).(*Writes); w != nil && len(changes) > 0 {
		return w.allow(space, changes)
	}
	return nil
}

// noteResult notes an operation, or that the reply tells of earlier ones. staged is the newest operation that the
// transaction saw.
func noteResult(ctx context.Context, space string, res Result, staged int64) {
	duplicate := slices.ContainsFunc(res.Outcomes, func(o journal.Outcome) bool { return o.Status == journal.Duplicate })
	switch {
	case duplicate:
		NoteWrite(ctx, Write{Space: space, UpTo: max(res.Op, staged)})
	case res.Op != 0:
		NoteWrite(ctx, Write{Space: space, Op: res.Op})
	}
}
