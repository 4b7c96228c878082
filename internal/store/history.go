package store

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"iter"
	"math"

	"github.com/memsidecar/memsidecar/internal/journal"
	"github.com/memsidecar/memsidecar/internal/memory"
)

// Operations yields the durable operations (a long one joined) with from <= Op <= to, oldest first, or newest first when
// reverse. Operations that only count accesses or append messages are left out unless all. It stops after the first error.
func (s *Store) Operations(ctx context.Context, from, to int64, reverse, all bool) iter.Seq2[*journal.Record, error] {
	from = max(from, s.journal.First())
	ops := s.journal.Read(from, to)
	if reverse {
		ops = s.journal.Backward(from, to)
	}
	return func(yield func(*journal.Record, error) bool) {
		for rec, err := range ops {
			if err == nil {
				err = ctx.Err()
			}
			if err != nil {
				yield(nil, err)
				return
			}
			if (all || Significant(rec)) && !yield(rec, nil) {
				return
			}
		}
	}
}

// Significant reports whether an operation changed anything beside access counts, messages and the headers of sessions, or is an import.
func Significant(rec *journal.Record) bool {
	if rec.Actor == journal.ActorImport {
		return true
	}
	for _, c := range rec.Changes {
		if c.Touch == nil && c.Message == nil && c.Session == nil {
			return true
		}
	}
	return false
}

// Operation returns one operation whole. Errors: memory.ErrNotFound, memory.ErrTrimmed.
func (s *Store) Operation(_ context.Context, op int64) (*journal.Record, error) {
	return s.journal.Operation(op)
}

// History returns the operations that changed a memory, newest first, at most limit; history that is no longer kept is left out.
// It follows the revisions from one to the next, so its cost is that of reading just these operations. Error: memory.ErrNotFound.
func (s *Store) History(ctx context.Context, space, id string, limit int) ([]*journal.Record, error) {
	op := int64(0)
	s.Space(space).read(func(sp *spaceState) {
		if m := sp.memory(id); m != nil {
			op = m.Revision
		} else {
			op = sp.removed[id]
		}
	})
	if op == 0 {
		return nil, &memory.NotFoundError{Kind: "memory", Name: id}
	}
	var out []*journal.Record
	for op > 0 && len(out) < limit && ctx.Err() == nil {
		rec, err := s.journal.Operation(op)
		if errors.Is(err, memory.ErrTrimmed) {
			break
		}
		if err != nil {
			return nil, err
		}
		out = append(out, rec)
		op = previousRevision(rec, id)
	}
	return out, ctx.Err()
}

// previousRevision is the operation that changed the memory before rec did, 0 for none.
func previousRevision(rec *journal.Record, id string) int64 {
	for i := range rec.Changes {
		if c := rec.Changes[i].Memory; c != nil && c.ID == id {
			if c.Before == nil {
				return c.Prior
			}
			return c.Before.Revision
		}
	}
	return 0
}

// Watch yields every operation behind from as it becomes durable, until ctx ends. Error: memory.ErrTrimmed when from is older than
// the history kept.
func (s *Store) Watch(ctx context.Context, from int64) iter.Seq2[*journal.Record, error] {
	return func(yield func(*journal.Record, error) bool) {
		for ctx.Err() == nil {
			for rec, err := range s.journal.Read(from+1, math.MaxInt64) {
				if !yield(rec, err) || err != nil {
					return
				}
				from = rec.Last()
			}
			if s.journal.Stopped() {
				return
			}
			select {
			case <-s.journal.Advanced(from):
			case <-ctx.Done():
			}
		}
	}
}

// fingerprintOf identifies a request under an idempotency key.
func fingerprintOf(meta Meta) string {
	if meta.Key == "" {
		return ""
	}
	sum := sha256.Sum256(append([]byte(meta.Actor+"\x00"), meta.Request...))
	return hex.EncodeToString(sum[:12])
}
