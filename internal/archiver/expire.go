package archiver

import (
	"context"
	"fmt"
	"time"

	"github.com/memsidecar/memsidecar/internal/memory"
	"github.com/memsidecar/memsidecar/internal/store"
	"github.com/memsidecar/memsidecar/internal/store/journal"
)

// maxExpired is the maximum number of memories per space that one run retires, in one operation.
const maxExpired = 1000

// ExpireOptions of one run. The zero value handles all spaces.
type ExpireOptions struct {
	Space string // "" is every space
	// report exactly what would happen and change nothing
	DryRun bool
}

// ExpireReport is the result of a run, or of a dry run.
type ExpireReport struct {
	Expired []Expired
	// why nothing was looked at, "" when it was
	Postponed string
}

// Expired is a retired memory whose expiry has passed.
type Expired struct {
	Space, ID, Category string
	// the operation; 0 in a dry run
	Op int64
}

// Expire retires the memories whose expiry has passed, one operation per space. Searches exclude them from the moment
// of expiry. A memory whose retirement was undone is not retired again. A space that is only received is left alone.
// Durable on return.
func (a *Archiver) Expire(ctx context.Context, opts ExpireOptions) (report ExpireReport, err error) {
	now, doubt, err := a.store.TrustedNow(ctx)
	if report.Postponed = doubt; err != nil || doubt != "" {
		return report, err
	}
	for space := range a.spaces(opts.Space) {
		if a.store.Writable(space) != nil {
			continue // a machine that may write does it
		}
		if err := ctx.Err(); err != nil {
			return report, err
		}
		expired, err := a.expireSpace(ctx, space, now, opts.DryRun)
		report.Expired = append(report.Expired, expired...)
		if err != nil {
			return report, fmt.Errorf("retire expired memories of space %s: %w", space, err)
		}
	}
	return report, nil
}

// expireSpace retires the expired memories of one space.
func (a *Archiver) expireSpace(ctx context.Context, space string, now time.Time, dry bool) (out []Expired, err error) {
	view := a.store.Space(space)
	if !view.Expiring() {
		return nil, nil
	}
	for _, m := range view.Memories() {
		if !m.IsActive() || !m.Expired(now) || len(out) == maxExpired {
			continue
		}
		last, err := a.operation(ctx, m.Revision)
		if err != nil {
			return nil, err
		}
		// A person who undid the expiry wants the memory to stay.
		if last == nil || last.Undoes == 0 {
			out = append(out, Expired{Space: space, ID: m.ID, Category: m.Category})
		}
	}
	if dry || len(out) == 0 {
		return out, nil
	}
	var done []Expired
	res, err := a.store.Update(ctx, store.Meta{Space: space, Actor: journal.ActorArchive, Reason: "expired"},
		func(tx *store.Tx) error {
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
