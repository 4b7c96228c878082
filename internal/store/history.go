package store

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"iter"
	"math"

	"github.com/memsidecar/memsidecar/internal/memory"
	"github.com/memsidecar/memsidecar/internal/store/journal"
)

// Operations yields the durable operations with from <= Op <= to, oldest first. The parts of a long operation are
// joined into one record; see Significant for those that people care about. History that is no longer kept is
// skipped. Iteration ends after the first error.
func (s *Store) Operations(ctx context.Context, from, to int64) iter.Seq2[*journal.Record, error] {
	return untilDone(ctx, s.journal.Read(max(from, s.journal.First()), to))
}

// First is the oldest operation whose history is kept, LSN()+1 when there is none.
func (s *Store) First() int64 { return s.journal.First() }

// OperationsBackward is Operations, newest first.
func (s *Store) OperationsBackward(ctx context.Context, from, to int64) iter.Seq2[*journal.Record, error] {
	return untilDone(ctx, s.journal.Backward(max(from, s.journal.First()), to))
}

// untilDone ends a sequence after its first error, and with ctx's error once ctx is done.
func untilDone(ctx context.Context, ops iter.Seq2[*journal.Record, error]) iter.Seq2[*journal.Record, error] {
	return func(yield func(*journal.Record, error) bool) {
		for rec, err := range ops {
			if err == nil {
				err = ctx.Err()
			}
			if err != nil {
				yield(nil, err)
				return
			}
			if !yield(rec, nil) {
				return
			}
		}
	}
}

// Significant reports whether an operation is worth listing for people: it changed more than access counts, messages
// and session headers, or it is an import. That a space was dropped changes nothing of it.
func Significant(rec *journal.Record) bool {
	if rec.Actor == journal.ActorImport {
		return true
	}
	for _, c := range rec.Changes {
		if c.Access == nil && c.Message == nil && c.Session == nil && c.Drop == nil {
			return true
		}
	}
	return false
}

// Operation returns one whole operation. Errors: memory.ErrNotFound, memory.ErrTrimmed.
func (s *Store) Operation(_ context.Context, op int64) (*journal.Record, error) {
	return s.journal.Operation(op)
}

// History returns the operations that changed a memory, newest first, at most limit of them, as far back as history is
// kept. It follows the revisions from one to the next, so it reads these operations only. Error: memory.ErrNotFound.
func (s *Store) History(ctx context.Context, space, id string, limit int) ([]*journal.Record, error) {
	op := int64(0)
	s.Space(space).readMemories(func(sp *spaceState) {
		if m := sp.memory(id); m != nil {
			op = m.Revision
		} else {
			op = sp.removed[id]
		}
	})
	if op == 0 {
		return nil, &memory.NotFoundError{Kind: "memory", Name: id}
	}
	return s.HistoryFrom(ctx, id, op, limit)
}

// HistoryFrom is History that begins with operation op, which must be one that changed the memory.
func (s *Store) HistoryFrom(ctx context.Context, id string, op int64, limit int) (out []*journal.Record, err error) {
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

// Watch yields every operation behind LSN from as it becomes durable, until ctx ends. Error: memory.ErrTrimmed when
// from is older than the history kept.
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

// fingerprintOf identifies a request under an idempotency key: 96 bits of a SHA-256 of actor and request.
func fingerprintOf(meta Meta) string {
	if meta.Key == "" {
		return ""
	}
	sum := sha256.Sum256(append([]byte(meta.Actor+"\x00"), meta.Request...))
	return hex.EncodeToString(sum[:12])
}
