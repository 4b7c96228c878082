package share_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/memsidecar/memsidecar/internal/memory"
	"github.com/memsidecar/memsidecar/internal/memtest"
	"github.com/memsidecar/memsidecar/internal/memtest/postgres"
	"github.com/memsidecar/memsidecar/internal/share"
	"github.com/memsidecar/memsidecar/internal/store"
	"github.com/memsidecar/memsidecar/internal/store/durable/crashfs"
	"github.com/memsidecar/memsidecar/internal/store/journal"
)

// request writes as a client's request does: it returns when the reply would be sent.
func (n *node) request(ctx context.Context, key string, fn func(*store.Tx) error) (store.Result, error) {
	noted, writes := store.NoteWrites(ctx, n.share.Allow)
	meta := store.Meta{Space: "team", Actor: journal.ActorClient, Key: key, Request: []byte(key)}
	res, err := n.store.Update(noted, meta, fn)
	if err != nil {
		return res, err
	}
	return res, n.share.Await(ctx, writes.List(), key)
}

// put is a transaction that adds a memory named by its id.
func put(id string) func(*store.Tx) error {
	return func(tx *store.Tx) error { return tx.Put(memtest.Fact(id, "The text of memory "+id)) }
}

// rows counts the rows of the log that a node wrote.
func rows(t *testing.T, address string, n *node) string {
	t.Helper()
	return query(t, address, "SELECT count(*)::text FROM memsidecar.log WHERE origin = '"+n.store.Origin()+"'")
}

// unknown checks that an error is an unknown outcome that names the key and a cause.
func unknown(t *testing.T, err error, key, cause string) {
	t.Helper()
	e, ok := errors.AsType[*memory.OutcomeUnknownError](err)
	if !ok || e.Key != key || e.Space != "team" || !strings.Contains(err.Error(), cause) {
		t.Fatalf("%v; want an unknown outcome of key %s because of %q", err, key, cause)
	}
}

// TestChoosingWhatIs writes nothing, and so need not wait for an exchange.
func TestChoosingWhatIs(t *testing.T) {
	t.Parallel()
	fsys := crashfs.New()
	n := start(t, fsys)
	must(t, n.share.Start(t.Context(), "team", postgres.Start(t).Database(t, "choices")))
	n.stop() // nothing else writes from now on
	choose := func(ack share.Ack, logs bool, writes bool) {
		t.Helper()
		before := fsys.Ops()
		must(t, n.share.SetAck("team", ack))
		must(t, n.share.SetLogs("team", logs))
		if wrote := fsys.Ops() > before; wrote != writes {
			t.Errorf("choosing %s and %v wrote: %v, want %v", ack, logs, wrote, writes)
		}
		if st := n.share.Status()[0]; st.Ack != ack || st.Logs != logs {
			t.Errorf("%+v, want %s and %v", st, ack, logs)
		}
	}
	choose(share.AckLocal, false, false)
	choose(share.AckShared, false, true)
	choose(share.AckShared, false, false)
	choose(share.AckShared, true, true)
	choose(share.AckShared, true, false)
	choose(share.AckLocal, true, true)
}

// TestReplyWaitsForTheLog: with AckShared a write is in PostgreSQL when it returns. When that cannot be known, the same
// request with the same key waits again, returns the first result, and nothing is there twice.
func TestReplyWaitsForTheLog(t *testing.T) {
	t.Parallel()
	pg := postgres.Start(t)
	address, p := pg.Database(t, "acks"), newProxy(t, pg)
	fsys := crashfs.New()
	n := start(t, fsys)
	must(t, n.share.Start(t.Context(), "team", p.address("acks")))
	if n.share.WaitsForLog("team") || n.share.Status()[0].Ack != share.AckLocal {
		t.Error("replies wait, and nobody chose that")
	}
	must(t, n.share.SetAck("team", share.AckShared))
	if !n.share.WaitsForLog("") || n.share.WaitsForLog("other") || n.share.Status()[0].Ack != share.AckShared {
		t.Errorf("replies do not wait: %+v", n.share.Status())
	}
	_, err := n.request(t.Context(), "k1", put("m1"))
	must(t, err)
	if got := rows(t, address, n); got != "1" {
		t.Fatalf("%s rows when the reply was sent, want 1", got)
	}

	t.Run("connection breaks", func(t *testing.T) {
		p.set(func(direction) verdict { return cut })
		first, err := n.request(t.Context(), "k2", put("m2"))
		unknown(t, err, "k2", "")
		if n.content("m2") == "" {
			t.Error("the write is not durable here")
		}
		began := time.Now()
		_, err = n.request(t.Context(), "k3", put("m3")) // the link is in a pause now
		unknown(t, err, "k3", "")
		if took := time.Since(began); took > 10*time.Second {
			t.Errorf("a write waited %v for a database that is away", took)
		}
		p.set(nil)
		again, err := n.request(t.Context(), "k2", put("m2"))
		must(t, err)
		if !again.Replayed || again.Op == 0 || first.Op != again.Op {
			t.Errorf("the repeat returned %+v, the first call %+v", again, first)
		}
		_, err = n.request(t.Context(), "k3", put("m3"))
		must(t, err)
		if got := rows(t, address, n); got != "3" {
			t.Errorf("%s rows of three writes", got)
		}
	})

	t.Run("deadline", func(t *testing.T) {
		conn, err := pgx.Connect(t.Context(), address)
		must(t, err)
		defer func() { _ = conn.Close(context.Background()) }()
		tx, err := conn.Begin(t.Context())
		must(t, err)
		_, err = tx.Exec(t.Context(), "SELECT 1 FROM memsidecar.space FOR UPDATE") // nobody can append
		must(t, err)
		ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
		defer cancel()
		_, err = n.request(ctx, "k4", put("m4"))
		unknown(t, err, "k4", "deadline")
		must(t, tx.Rollback(t.Context()))
		res, err := n.request(t.Context(), "k4", put("m4"))
		must(t, err)
		if !res.Replayed || rows(t, address, n) != "4" {
			t.Errorf("%+v, %s rows of four writes", res, rows(t, address, n))
		}
	})

	t.Run("duplicate of what is not sent", func(t *testing.T) {
		p.set(func(direction) verdict { return cut })
		defer p.set(nil)
		_, err := n.request(t.Context(), "k5", put("m5"))
		unknown(t, err, "k5", "")
		_, err = n.request(t.Context(), "", func(tx *store.Tx) error {
			tx.Report(journal.Outcome{ID: "m5", Status: journal.Duplicate})
			return nil
		})
		unknown(t, err, "", "")
	})

	t.Run("what is not shared", func(t *testing.T) {
		p.set(func(direction) verdict { return cut })
		defer p.set(nil)
		_, err := n.request(t.Context(), "", func(tx *store.Tx) error {
			return tx.AppendEntry("2026-02-21", &memory.Entry{At: time.Now(), Time: "10:00:00", Type: memory.EntryReview, Content: "x"})
		})
		must(t, err)
	})

	whole := t
	t.Run("restart", func(t *testing.T) {
		n.stop()
		must(t, n.store.Close(context.Background()))
		n = start(whole, fsys)
		if !n.share.WaitsForLog("team") {
			t.Error("the promise is forgotten")
		}
		res, err := n.request(t.Context(), "k5", put("m5"))
		must(t, err)
		if !res.Replayed || rows(t, address, n) != "5" {
			t.Errorf("%+v, %s rows of five writes", res, rows(t, address, n))
		}
	})

	t.Run("stop of the daemon", func(t *testing.T) {
		p.set(func(direction) verdict { return halve })
		done := make(chan error, 1)
		go func() { _, err := n.request(context.Background(), "k6", put("m6")); done <- err }()
		eventually(t, func() string {
			if n.content("m6") == "" {
				return "not written"
			}
			return ""
		})
		n.stop()
		unknown(t, <-done, "k6", "")
		_, err := n.request(t.Context(), "k7", put("m7"))
		unknown(t, err, "k7", memory.ErrShuttingDown.Error())
		p.set(nil)
		n.connect()
		for _, k := range []string{"6", "7"} {
			eventually(t, func() string {
				if _, err := n.request(t.Context(), "k"+k, put("m"+k)); err != nil {
					return err.Error() // the exchange has not begun again
				}
				return ""
			})
		}
	})

	t.Run("stopped exchange", func(t *testing.T) {
		if err := n.share.SetAck("other", share.AckShared); !errors.Is(err, memory.ErrNotFound) {
			t.Errorf("%v for a space that is not shared", err)
		}
		pg.Exec(t, address, "UPDATE memsidecar.space SET hash = hash || hash")
		_, err := n.request(t.Context(), "k8", put("m8"))
		unknown(t, err, "k8", memory.ErrShareStopped.Error())
		before := n.store.LSN()
		_, err = n.request(t.Context(), "k9", put("m9"))
		if !errors.Is(err, memory.ErrShareStopped) || !strings.Contains(err.Error(), "memsidecar share ack team local") {
			t.Fatalf("%v; want a refusal that says what to do", err)
		}
		if n.store.LSN() != before || n.content("m9") != "" {
			t.Error("a refused write left something behind")
		}
		must(t, n.share.SetAck("team", share.AckLocal))
		_, err = n.request(t.Context(), "k9", put("m9"))
		must(t, err)
	})
}

// TestCutWhileAReplyWaits cuts the connection at each message to and from the server while a write waits. A write that
// was acknowledged is in the log; one whose outcome is unknown is after a repeat, and both are there once. Without the
// variable it cuts at a few of the places only.
func TestCutWhileAReplyWaits(t *testing.T) {
	t.Parallel()
	pg := postgres.Start(t)
	address, p := pg.Database(t, "waits"), newProxy(t, pg)
	n := start(t, crashfs.New())
	must(t, n.share.Start(t.Context(), "team", p.address("waits")))
	must(t, n.share.SetAck("team", share.AckShared))
	step := 3
	if os.Getenv(longTests) != "" {
		step = 1
	}
	writes, unknowns := 0, 0
	write := func() error {
		id := fmt.Sprint("m", writes)
		_, err := n.request(t.Context(), id, put(id))
		got := query(t, address, fmt.Sprintf("SELECT count(*)::text FROM memsidecar.log WHERE record LIKE '%%memory %s\"%%'", id))
		if err == nil && got != "1" {
			t.Fatalf("%s was acknowledged and has %s rows", id, got)
		}
		for tries := 0; err != nil; tries++ {
			unknown(t, err, id, "")
			unknowns++
			if tries == 100 {
				t.Fatalf("%s is never acknowledged: %v", id, err)
			}
			if _, err = n.request(t.Context(), id, put(id)); err == nil {
				writes++
				return memory.ErrOutcomeUnknown
			}
		}
		writes++
		return err
	}
	must(t, write())
	for _, way := range []direction{toServer, toClient} {
		cuts := 0
		for k := 1; ; k += step {
			pieces, hit := 0, false
			p.set(func(w direction) verdict { // called with a lock held
				if w == way {
					pieces++
				}
				if w == way && pieces == k {
					hit = true
					return cut
				}
				return pass
			})
			for range 9 { // so that polls and positions are cut, too
				_ = write()
			}
			p.set(nil)
			if !hit {
				break
			}
			cuts++
		}
		if cuts < 6/step {
			t.Errorf("only %d cuts in direction %d", cuts, way)
		}
		t.Logf("direction %d: %d cuts", way, cuts)
	}
	if unknowns == 0 {
		t.Error("no outcome was unknown, so nothing was tried")
	}
	if got := rows(t, address, n); got != fmt.Sprint(writes) {
		t.Errorf("%s rows of %d writes", got, writes)
	}
	t.Logf("%d writes, %d replies with an unknown outcome", writes, unknowns)
}

// TestCrashWhileAReplyWaits crashes a machine at each operation of its file system while its writes wait, and then
// deletes its directory: what was acknowledged is in the log.
func TestCrashWhileAReplyWaits(t *testing.T) {
	t.Parallel()
	address := postgres.Start(t).Database(t, "vanish")
	crashed, acknowledged, step := 0, 0, 1
	if memtest.RaceDetector {
		step = 3
	}
	for k := 0; ; k += step {
		remote := fmt.Sprint("t", k)
		first := start(t, crashfs.New())
		must(t, shareAs(first, remote, address))
		sim := crashfs.New()
		n := start(t, sim)
		must(t, n.share.Join(t.Context(), remote, "team", address, false))
		must(t, n.share.SetAck("team", share.AckShared))
		sim.CrashAt(sim.Ops() + k)
		ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
		var ids []string
		for i := range 3 {
			id := fmt.Sprint("v", i)
			if _, err := n.request(ctx, id, put(id)); err == nil {
				ids = append(ids, id)
			}
			if sim.Crashed() {
				break
			}
		}
		cancel()
		hit := sim.Crashed()
		n.stop()
		eventually(t, func() string {
			for _, id := range ids {
				if first.content(id) == "" {
					return fmt.Sprintf("crash at %d: %s was acknowledged and is gone with the directory", k, id)
				}
			}
			return ""
		})
		first.stop()
		acknowledged += len(ids)
		if !hit {
			break
		}
		crashed++
	}
	if crashed < 4 || acknowledged < crashed/2 {
		t.Errorf("%d operations were crashed, %d writes acknowledged", crashed, acknowledged)
	}
	t.Logf("%d operations of the file system, each crashed once; %d writes acknowledged, 0 lost", crashed, acknowledged)
}
