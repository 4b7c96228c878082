package consolidator_test

import (
	"context"
	"log/slog"
	"testing"
	"testing/synctest"
	"time"

	"github.com/memsidecar/memsidecar/internal/memtest"
	"github.com/memsidecar/memsidecar/internal/reflector/consolidator"
	"github.com/memsidecar/memsidecar/internal/reflector/guard"
	"github.com/memsidecar/memsidecar/internal/search"
	"github.com/memsidecar/memsidecar/internal/store"
	"github.com/memsidecar/memsidecar/internal/store/durable/crashfs"
	"github.com/memsidecar/memsidecar/internal/store/journal"
)

// once runs do at the first look-up, after what was there has been found.
type once struct {
	*search.Engine
	do    func()
	calls int
}

func (o *once) Similar(ctx context.Context, space, text string, k int) ([]search.Hit, error) {
	hits, err := o.Engine.Similar(ctx, space, text, k)
	if o.calls++; o.calls == 1 {
		o.do()
	}
	return hits, err
}

// TestDecidesAnewOnWhatIsStaged: the change that makes a decision stale is not durable yet. Deciding again at once
// would see the same old state, again and again; it waits for the sync instead and needs one more attempt.
func TestDecidesAnewOnWhatIsStaged(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		disk := &memtest.GatedFS{FS: crashfs.New()}
		now := func() time.Time { return noon }
		engine := search.New(search.Config{Now: now})
		st, err := store.Open(store.Config{FS: disk, Now: now, Logger: slog.New(slog.DiscardHandler),
			Projections: []store.Projection{engine}})
		if err != nil {
			t.Fatal(err)
		}
		defer func() { st.Close(context.WithoutCancel(t.Context())) }()
		near := &once{Engine: engine}
		s := consolidator.New(consolidator.Config{Store: st, Search: near, Now: now})
		near.do = func() {}
		first := must(t, s, consolidator.Request{Content: "We use Postgres 14"})

		near.calls, near.do = 0, func() {
			disk.Gate = make(chan struct{})
			go func() {
				_, err := st.Update(t.Context(), store.Meta{Actor: journal.ActorClient}, func(tx *store.Tx) error {
					c := tx.Memory(first.ID).Clone()
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
		d := must(t, s, consolidator.Request{Content: "We use Postgres 15"})
		if d.Action != guard.Noop || d.ID != first.ID || near.calls != 2 {
			t.Errorf("%s %s after %d attempts", d.Action, d.Reason, near.calls)
		}
	})
}

// TestDisabled: candidates are stored as they are, exact repeats and what is never stored excepted.
func TestDisabled(t *testing.T) {
	st, _ := open(t)
	// it never searches
	s := consolidator.New(consolidator.Config{Store: st, Now: func() time.Time { return noon }, Disabled: true})
	for _, tt := range []struct{ content, want string }{
		{"We use Postgres 14", "ADD NEW"},
		{"We use Postgres 15", "ADD NEW"},
		{"We use Postgres 15 with pgvector", "ADD NEW"},
		{"用户住在北京", "ADD NEW"},
		{"用户住在上海", "ADD NEW"},
		{"we use  Postgres 14.", "NOOP EXACT_DUPLICATE"},
		{"password=hunter2", "NOOP SECRET"},
	} {
		d := must(t, s, consolidator.Request{Content: tt.content})
		if got := string(d.Action) + " " + d.Reason; got != tt.want {
			t.Errorf("%q: got %q, want %q", tt.content, got, tt.want)
		}
	}
	if n := len(st.Space("").Memories()); n != 5 {
		t.Errorf("%d memories", n)
	}
}
