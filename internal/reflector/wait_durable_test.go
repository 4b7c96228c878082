package reflector_test

import (
	"context"
	"log/slog"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/memsidecar/memsidecar/internal/memory"
	"github.com/memsidecar/memsidecar/internal/memtest"
	"github.com/memsidecar/memsidecar/internal/reflector"
	"github.com/memsidecar/memsidecar/internal/search"
	"github.com/memsidecar/memsidecar/internal/store"
	"github.com/memsidecar/memsidecar/internal/store/durable/crashfs"
	"github.com/memsidecar/memsidecar/internal/store/journal"
)

// TestPlansAnewOnWhatIsStaged: a memory the plan updates is changed while the plan is made, and that is not durable
// yet. The second attempt waits for it, so nothing is lost and no third one is needed.
func TestPlansAnewOnWhatIsStaged(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		disk := &memtest.GatedFS{FS: crashfs.New()}
		now := func() time.Time { return saturday }
		b := &bed{t: t, engine: search.New(search.Config{Now: now})}
		var err error
		b.store, err = store.Open(store.Config{FS: disk, Now: now, Logger: slog.New(slog.DiscardHandler),
			Projections: []store.Projection{b.engine}})
		if err != nil {
			t.Fatal(err)
		}
		defer func() { b.store.Close(context.WithoutCancel(t.Context())) }()
		b.update(func(tx *store.Tx) error {
			return tx.Put(&memory.Memory{ID: "m1", Category: memory.Facts, Content: "We use Postgres 14",
				Status: memory.Active, Source: memory.SourceUser, CreatedAt: saturday, Confidence: 1})
		})
		b.say("s1", user("We use Postgres 16")...)
		plans := 0
		change := func() {
			if plans++; plans > 1 {
				return
			}
			disk.Gate = make(chan struct{})
			go func() {
				_, err := b.store.Update(t.Context(), store.Meta{Space: "p", Actor: journal.ActorClient},
					func(tx *store.Tx) error {
						c := tx.Memory("m1").Clone()
						c.Content = "We use Postgres 15"
						return tx.Put(c)
					})
				if err != nil {
					t.Error(err)
				}
			}()
			synctest.Wait() // staged, its sync waits
			time.AfterFunc(time.Minute, func() { close(disk.Gate) })
		}
		_, err = b.with(&after{b.engine, change}).Reflect(t.Context(), "p", "s1", reflector.Options{})
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff([]string{"We use Postgres 16"}, b.contents()); diff != "" || plans != 2 {
			t.Errorf("%d plans: %s", plans, diff)
		}
	})
}

// after runs do at each look-up, after what was there has been found.
type after struct {
	*search.Engine
	do func()
}

func (a *after) Similar(ctx context.Context, space, text string, k int) ([]search.Hit, error) {
	hits, err := a.Engine.Similar(ctx, space, text, k)
	a.do()
	return hits, err
}
