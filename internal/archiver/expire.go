package archiver

import (
	"context"
	"fmt"
	"time"

	"github.com/memsidecar/memsidecar/internal/journal"
	"github.com/memsidecar/memsidecar/internal/memory"
	"github.com/memsidecar/memsidecar/internal/store"
)

// maxExpired bounds the memories of one space that one run retires, in one operation.
const maxExpired = 1000

// ExpireOptions of one run. The zero value is all spaces.
type ExpireOptions struct {
	Space  string // "" is every space
	DryRun bool   // report exactly what would happen and change nothing
}

// ExpireReport says what a run did, or would do.
type ExpireReport struct {
	Expired   []Expired
	Postponed string // why nothing was looked at, "" when it was
}

// Expired is a memory whose time had come.
type Expired struct {
	Space, ID, Category string
	Op                  int64 // the operation; 0 in a dry run
}

// Expire retires the memories whose expiry has passed, those of a space in one operation; searches leave them out from the moment itself. What a
// person took back is left alone. Durable on return.
func (a *Archiver) Expire(ctx context.Context, opts ExpireOptions) (report ExpireReport, err error) {
	now, doubt, err := a.store.TrustedNow(ctx)
	if report.Postponed = doubt; err != nil || doubt != "" {
		return report, err
	}
	spaces := []string{opts.Space}
	if opts.Space == "" {
		spaces = a.store.Spaces()
	}
	for _, space := range spaces {
		expired, err := a.expireSpace(ctx, space, now, opts.DryRun)
		report.Expired = append(report.Expired, expired...)
		if err != nil {
			return report, fmt.Errorf("retire expired memories of space %s: %w", space, err)
		}
	}
	return report, nil
}

func (a *Archiver) expireSpace(ctx context.Context, space string, now time.Time, dry bool) (out []Expired, err error) {
	for _, m := range a.store.Space(space).Memories() {
		if !m.IsActive() || !m.Expired(now) || len(out) == maxExpired {
			continue
		}
		last, err := a.operation(ctx, m.Revision)
		if err != nil {
			return nil, err
		}
		if last == nil || last.Undoes == 0 {
			out = append(out, Expired{Space: space, ID: m.ID, Category: m.Category})
		}
	}
	if dry || len(out) == 0 {
		return out, nil
	}
	var done []Expired
	res, err := a.store.Update(ctx, store.Meta{Space: space, Actor: journal.ActorArchive, Reason: "expired"}, func(tx *store.Tx) error {
		for _, e := range out {
			m := tx.Memory(e.ID)
			if m == nil || !m.IsActive() || !m.Expired(now) {
				continue
			}
			c := m.Clone()
			c.Status = memory.Retired
			if err := tx.Put(c); err != nil {
				return err
			}
			done = append(done, e)
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	for i := range done {
		done[i].Op = res.Op
	}
	return done, nil
}
