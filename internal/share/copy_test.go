package share_test

import (
	"context"
	"fmt"
	"io"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/memsidecar/memsidecar/internal/memtest/postgres"
	"github.com/memsidecar/memsidecar/internal/store/durable"
	"github.com/memsidecar/memsidecar/internal/store/durable/crashfs"
)

// stoppedFor waits until a space is not exchanged any more, for a reason.
func stoppedFor(t *testing.T, n *node, reason string) {
	t.Helper()
	eventually(t, func() string {
		s := n.share.Status()[0]
		if s.Stopped && strings.Contains(s.Error, reason) && strings.Contains(s.Error, "share leave team --force") {
			return ""
		}
		return fmt.Sprintf("%+v; want it stopped: %s", s, reason)
	})
}

// rejoin leaves and joins again.
func rejoin(t *testing.T, n *node, address string) {
	t.Helper()
	must(t, n.share.Leave(t.Context(), "team", true))
	must(t, n.share.Join(t.Context(), "team", "team", address, false))
}

// copyFile copies a file from one file system into another.
func copyFile(t *testing.T, from, to durable.FS, name string) {
	t.Helper()
	raw, err := durable.ReadFile(from, name)
	must(t, err)
	must(t, durable.WriteFile(to, name, func(w io.Writer) error { _, err := w.Write(raw); return err }))
}

// query returns the one value of a query.
func query(t *testing.T, address, sql string) (value string) {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), address)
	must(t, err)
	defer func() { _ = conn.Close(context.Background()) }()
	must(t, conn.QueryRow(t.Context(), sql).Scan(&value))
	return value
}

// TestCopiedDirectory: a copy of a data directory that takes part beside the original is noticed, and costs neither
// what is not sent yet.
func TestCopiedDirectory(t *testing.T) {
	t.Parallel()
	pg := postgres.Start(t)
	t.Run("both write", func(t *testing.T) {
		address := pg.Database(t, "together")
		a, b := pair(t, address)
		b.stop()
		copied := start(t, b.fs.(*crashfs.FS).Crash(crashfs.Kept, nil))
		b.add("b1", "written by the original while the database was away")
		copied.add("c1", "written by the copy")
		copied.add("c2", "something else that the copy wrote")
		settled(t, a, copied)
		b.connect()
		stoppedFor(t, b, "copy")
		b.add("b2", "local work goes on")
		err := b.share.Leave(t.Context(), "team", false)
		if err == nil || !strings.Contains(err.Error(), "--force") || strings.Contains(err.Error(), "wait until") {
			t.Errorf("leaving a stopped space: %v; want it to ask for --force, not to wait", err)
		}
		rejoin(t, b, address)
		eventually(t, func() string { return map[bool]string{true: "", false: "not there"}[a.content("b2") != ""] })
		settled(t, a, b, copied)
		for _, id := range []string{"b1", "b2", "c1", "c2"} {
			if a.content(id) == "" {
				t.Errorf("%s is lost", id)
			}
		}
		// From now on they are two machines.
		b.add("b3", "the original, again")
		copied.add("c3", "the copy, again")
		eventually(t, func() string {
			return map[bool]string{true: "", false: "not there"}[a.content("b3") != "" && a.content("c3") != ""]
		})
		settled(t, a, b, copied)
	})
	t.Run("an older copy was put back", func(t *testing.T) {
		address := pg.Database(t, "older")
		a, b := pair(t, address)
		older := b.fs.(*crashfs.FS).Crash(crashfs.Kept, nil)
		b.add("b1", "written after the copy was made")
		settled(t, a, b)
		b.stop()
		b = start(t, older)
		stoppedFor(t, b, "copy")
		rejoin(t, b, address)
		settled(t, a, b)
		if b.content("b1") == "" {
			t.Error("what was sent before is not there")
		}
	})
	t.Run("a lost reply is not a copy", func(t *testing.T) {
		a, b := pair(t, pg.Database(t, "reply"))
		b.stop()
		before := b.fs.(*crashfs.FS).Crash(crashfs.Kept, nil) // the file of the state
		b.add("b1", "sent, and the file of the state is older")
		b.connect()
		settled(t, a, b)
		b.stop()
		now := b.fs.(*crashfs.FS).Crash(crashfs.Kept, nil)
		copyFile(t, before, now, "share/team.json")
		b = start(t, now)
		b.add("b2", "sent after it")
		eventually(t, func() string { return map[bool]string{true: "", false: "not there"}[a.content("b2") != ""] })
		settled(t, a, b)
		if got := a.share.Status()[0].Position; got != 2 {
			t.Errorf("%d rows in the log, want 2", got)
		}
	})
	t.Run("the number is taken", func(t *testing.T) {
		address := pg.Database(t, "taken")
		a, b := pair(t, address)
		b.add("b1", "sent as operation 1")
		settled(t, a, b)
		pg.Exec(t, address, "UPDATE memsidecar.log SET op = "+fmt.Sprint(b.store.LSN()+1))
		b.add("b2", "whose number the log has")
		stoppedFor(t, b, "has this operation of this machine already")
		b.add("b3", "local work goes on")
	})
}

// TestLines: a joining has an identity of its own.
func TestLines(t *testing.T) {
	t.Parallel()
	pg := postgres.Start(t)
	address := pg.Database(t, "lines")
	a, b := pair(t, address)
	b.add("b1", "before")
	settled(t, a, b)
	rejoin(t, b, address)
	b.add("b2", "after")
	eventually(t, func() string { return map[bool]string{true: "", false: "not there"}[a.content("b2") != ""] })
	if got := query(t, address, "SELECT count(DISTINCT epoch)::text FROM memsidecar.log"); got != "2" {
		t.Errorf("the log has %s lines of a machine that joined twice, want 2", got)
	}
	eventually(t, func() string {
		got := query(t, address, "SELECT count(*)::text FROM memsidecar.member")
		return map[bool]string{true: "", false: got + " machines are listed, want 2"}[got == "2"]
	})
}
