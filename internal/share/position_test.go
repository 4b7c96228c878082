package share_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/memsidecar/memsidecar/internal/memory"
	"github.com/memsidecar/memsidecar/internal/memtest/postgres"
	"github.com/memsidecar/memsidecar/internal/share"
	"github.com/memsidecar/memsidecar/internal/store"
	"github.com/memsidecar/memsidecar/internal/store/durable/crashfs"
)

// reach waits for positions, for 5 seconds at most.
func (n *node) reach(positions ...string) error {
	ctx, cancel := context.WithTimeout(n.t.Context(), 5*time.Second)
	defer cancel()
	_, err := n.share.Reach(ctx, positions)
	return err
}

// TestReadYourWritesElsewhere: who passes on the position of a write sees the write at every machine, whatever replies
// wait for, at once and without a poll.
func TestReadYourWritesElsewhere(t *testing.T) {
	t.Parallel()
	pg := postgres.Start(t)
	address, p := pg.Database(t, "positions"), newProxy(t, pg)
	a := start(t, crashfs.New())
	a.add("m0", "what was there")
	must(t, a.share.Start(t.Context(), "team", address))
	b := start(t, crashfs.New())
	must(t, b.share.Join(t.Context(), "team", "team", p.address("positions"), false))
	settled(t, a, b)
	for i, ack := range []share.Ack{share.AckLocal, share.AckShared} {
		must(t, a.share.SetAck("team", ack))
		for k := range 20 {
			id := fmt.Sprintf("m%d-%d", i, k)
			_, err := a.request(t.Context(), "", put(id))
			must(t, err)
			position := a.share.Position("team", false)
			must(t, a.reach(position))
			must(t, b.reach(position))
			if b.content(id) == "" {
				t.Fatalf("ack %s: position %s is reached, and its write is not here", ack, position)
			}
		}
	}

	t.Run("by a machine that joined later", func(t *testing.T) {
		must(t, a.share.SetAck("team", share.AckLocal))
		a.add("before", "written before the other joined")
		position := a.share.Position("team", false)
		settled(t, a, b)
		c := start(t, crashfs.New())
		must(t, c.share.Join(t.Context(), "team", "team", address, false))
		must(t, c.reach(position))
		c.stop()
	})

	t.Run("of a write that changed nothing in the log", func(t *testing.T) {
		settled(t, a, b)
		a.stop()
		b.stop()
		same := func(tx *store.Tx) error { tx.SetSummary("the same summary"); return nil }
		a.update(same)
		b.update(same)
		position := b.share.Position("team", false)
		a.connect()
		eventually(t, func() string {
			if n := a.share.Status()[0].Waiting; n > 0 {
				return fmt.Sprint(n, " operations wait")
			}
			return ""
		})
		b.connect()
		must(t, a.reach(position))
		settled(t, a, b)
	})

	t.Run("in the order of the log", func(t *testing.T) {
		must(t, b.share.SetAck("team", share.AckShared))
		p.set(func(direction) verdict { return cut })
		b.add("unsent", "durable at one machine only")
		ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
		defer cancel()
		if err := b.share.AwaitAll(ctx, []string{"team"}); !errors.Is(err, memory.ErrNotReached) {
			t.Errorf("%v for what the log does not have", err)
		}
		p.set(nil)
		must(t, b.share.AwaitAll(t.Context(), []string{"team"}))
		must(t, b.share.SetAck("team", share.AckLocal))
	})

	t.Run("not reached", func(t *testing.T) {
		settled(t, a, b)
		p.set(func(direction) verdict { return cut })
		a.add("far", "the other machine cannot get it")
		position := a.share.Position("team", false)
		ctx, cancel := context.WithTimeout(t.Context(), 500*time.Millisecond)
		defer cancel()
		_, err := b.share.Reach(ctx, []string{position})
		if !errors.Is(err, memory.ErrNotReached) || !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("%v", err)
		}
		p.set(nil)
		must(t, b.reach(position))
		if b.content("far") == "" {
			t.Error("reached, and not here")
		}
	})

	t.Run("no position", func(t *testing.T) {
		_, err := a.share.Reach(t.Context(), []string{"x", "1.log", "1.other.3", "1.other.-3", "1.l.3.o.e.x", ""})
		invalid, ok := errors.AsType[*memory.InvalidError](err)
		if !ok || len(invalid.Violations) != 6 {
			t.Fatalf("%v", err)
		}
		for i, v := range invalid.Violations {
			if want := map[bool]string{true: "NOT_SHARED", false: "INVALID_POSITION"}[i == 2]; v.Reason != want {
				t.Errorf("%+v, want %s", v, want)
			}
		}
		if p := a.share.Position("other", false); p != "" {
			t.Errorf("position %q of a space that is not shared", p)
		}
	})
}
