package share

import (
	"context"
	"fmt"
	"iter"
	"runtime"
	"slices"

	"github.com/memsidecar/memsidecar/internal/share/merge"
	"github.com/memsidecar/memsidecar/internal/share/pglog"
)

// received is what was read of a space: a snapshot, and the rows behind it. Its parts may still be decoded.
type received struct {
	head       pglog.Head // of the last row
	snapshotAt int64      // position of the snapshot
	parts      []*part
	joined     *merge.Values // nil until values
}

// part is one of a snapshot. The rest is set when done is closed.
type part struct {
	done chan struct{}
	merge.Part
	err error
}

// fetch reads a snapshot and the rows behind it. All of it has arrived and has its hash on return, so the connection is
// not needed any more.
func fetch(ctx context.Context, log *pglog.Log, remote pglog.Space) (*received, error) {
	r, err := fetchSnapshot(ctx, log, remote)
	if err != nil {
		return nil, err
	}
	for {
		rows, err := log.Read(ctx, remote.ID, r.head, readAtOnce)
		if err != nil {
			return nil, err
		}
		for i := range rows {
			rec, err := decodeRecord(&rows[i])
			if err != nil {
				return nil, err
			}
			values, err := r.values()
			if err != nil {
				return nil, err
			}
			values.Apply(rec.Changes)
			r.head = pglog.Head{Seq: rows[i].Seq, Hash: rows[i].Hash}
		}
		if len(rows) < readAtOnce {
			return r, nil
		}
	}
}

// fetchSnapshot reads the newest snapshot. Parts are decoded while others arrive.
func fetchSnapshot(ctx context.Context, log *pglog.Log, remote pglog.Space) (*received, error) {
	r := &received{}
	slots := make(chan struct{}, runtime.GOMAXPROCS(0))
	at, err := log.Snapshot(ctx, remote.ID, func(data []byte) {
		p, number := &part{done: make(chan struct{})}, len(r.parts)
		r.parts = append(r.parts, p)
		go func() { // it ends on its own
			slots <- struct{}{}
			defer func() {
				<-slots
				close(p.done)
			}()
			if p.Part, p.err = merge.ReadPart(data); p.err != nil {
				p.err = fmt.Errorf("part %d of the snapshot: %w that this version knows; if a newer one shares the space, "+
					"bring memsidecar up to date here", number, errRecord)
			}
		}()
	})
	r.head, r.snapshotAt = at, at.Seq
	return r, err
}

// values is all of it. It is called by one goroutine at a time. Error: errRecord.
func (r *received) values() (*merge.Values, error) {
	if r.joined == nil {
		parts := make([]*merge.Part, len(r.parts))
		for i, p := range r.parts {
			if <-p.done; p.err != nil {
				return nil, p.err
			}
			parts[i] = &p.Part
		}
		v := merge.Join(parts...)
		r.joined = &v
	}
	return r.joined, nil
}

// memories yields the memories that exist, no more at a time than an operation of a joining has. When no row changed
// anything, the first are there while others are decoded. Error: errRecord, which is the last.
func (r *received) memories() iter.Seq2[[]merge.Received, error] {
	return func(yield func([]merge.Received, error) bool) {
		early := r.joined == nil
		for i := 0; early && i < len(r.parts); i++ {
			p := r.parts[i]
			if <-p.done; p.err != nil {
				yield(nil, p.err)
				return
			}
			for some := range slices.Chunk(p.Received(), memoriesAPart) {
				if !yield(some, nil) {
					return
				}
			}
		}
		values, err := r.values()
		if err != nil {
			yield(nil, err)
			return
		}
		if early && len(values.Memories) == 0 {
			return // there are no others
		}
		for some := range slices.Chunk(values.Received(), memoriesAPart) {
			if !yield(some, nil) {
				return
			}
		}
	}
}
