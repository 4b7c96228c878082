package share_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/memsidecar/memsidecar/internal/memory"
	"github.com/memsidecar/memsidecar/internal/memtest"
	"github.com/memsidecar/memsidecar/internal/memtest/postgres"
	"github.com/memsidecar/memsidecar/internal/share/pglog"
	"github.com/memsidecar/memsidecar/internal/store"
	"github.com/memsidecar/memsidecar/internal/store/backup"
	"github.com/memsidecar/memsidecar/internal/store/durable/crashfs"
)

// TestRefused: what a server, an administrator or a mistake puts in the way is said with what to do, costs nothing that
// is acknowledged, and ends when its cause does.
func TestRefused(t *testing.T) {
	t.Parallel()
	pg := postgres.Start(t)
	for name, test := range map[string]func(*testing.T, *postgres.Server, string){
		"password": wrongPassword, "newer": newerSchema, "older": olderSchema, "full": fullServer, "snapshot": damagedSnapshot,
		"unreadable": unreadableSnapshot,
		"replaced":   replacedCluster, "twice": joinedTwice, "restored": restoredStore,
	} {
		t.Run(name, func(t *testing.T) { test(t, pg, pg.Database(t, "refused_"+name)) })
	}
}

// waits fails unless a node says why the exchange of its space waits, keeps what is written, and goes on after mend.
func waits(t *testing.T, n, other *node, id, why string, mend func()) {
	t.Helper()
	n.add(id, "written while the database refused, "+id)
	eventually(t, func() string {
		if st := n.share.Status()[0]; st.Stopped || st.Waiting != 1 || !strings.Contains(st.Error, why) {
			return fmt.Sprintf("%+v; want it waiting, and why: %s", st, why)
		}
		return ""
	})
	if n.content(id) == "" {
		t.Error("local work does not go on")
	}
	mend()
	eventually(t, func() string {
		if other.content(id) == "" {
			return fmt.Sprintf("it never arrived: %+v", n.share.Status()[0])
		}
		if st := n.share.Status()[0]; st.Error != "" {
			return fmt.Sprintf("the error stays: %+v", st)
		}
		return ""
	})
}

// wrongPassword: for a user of that database a password is needed.
func wrongPassword(t *testing.T, pg *postgres.Server, address string) {
	const right, wrong = "right-horse", "wrong-horse"
	pg.Exec(t, address, "CREATE ROLE locked LOGIN SUPERUSER PASSWORD '"+right+"'")
	hba := query(t, address, "SHOW hba_file")
	pg.Exec(t, address, "COPY (VALUES ('local all locked scram-sha-256'), ('local all all trust')) TO '"+hba+"'; "+
		"SELECT pg_reload_conf()")
	with := func(password string) string { return as("locked:"+password, address) }
	a, b := start(t, crashfs.New()), start(t, crashfs.New())
	a.add("m1", "The build runs on port 8080")
	eventually(t, func() string { // the server reads the file soon
		err := a.share.Start(t.Context(), "team", with(wrong))
		if err == nil {
			t.Fatal("shared with a wrong password")
		}
		if !errors.Is(err, memory.ErrDatabase) || !strings.Contains(err.Error(), "check the user and the password") ||
			strings.Contains(err.Error(), wrong) {
			return fmt.Sprint("the error does not say what to do, or holds the password: ", err)
		}
		return ""
	})
	must(t, a.share.Start(t.Context(), "team", with(right)))
	must(t, b.share.Join(t.Context(), "team", "team", address, false))
	settled(t, a, b)
	// The password is changed while they take part.
	pg.Exec(t, address, "ALTER ROLE locked PASSWORD 'another'")
	// In the same transaction, a connection that comes back at once would still be let in.
	pg.Exec(t, address, "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE usename = 'locked'")
	waits(t, a, b, "m2", "check the user and the password", func() {
		if st := a.share.Status()[0]; strings.Contains(st.Error+st.Database, right) {
			t.Errorf("the status shows the password: %+v", st)
		}
		pg.Exec(t, address, "ALTER ROLE locked PASSWORD '"+right+"'")
	})
}

// newerSchema: a newer program migrated the schema, before and while machines take part.
func newerSchema(t *testing.T, pg *postgres.Server, address string) {
	a, b := pair(t, address)
	// The schema is looked at when a connection begins.
	pg.Exec(t, address, "INSERT INTO memsidecar.migration (version) VALUES (99); SELECT pg_terminate_backend(pid) "+
		"FROM pg_stat_activity WHERE application_name = 'memsidecar' AND datname = current_database()")
	c := start(t, crashfs.New())
	for what, err := range map[string]error{
		"start": c.share.Start(t.Context(), "new", address), "join": c.share.Join(t.Context(), "team", "team", address, false),
		"join to read": c.share.Join(t.Context(), "team", "team", address, true),
	} {
		if !errors.Is(err, memory.ErrNewerVersion) || !strings.Contains(err.Error(), "update this program") {
			t.Errorf("%s with a newer schema: %v", what, err)
		}
	}
	waits(t, a, b, "m2", "update this program", func() { pg.Exec(t, address, "DELETE FROM memsidecar.migration WHERE version = 99") })
}

// olderSchema: machines with the older program made it; this one offers to bring it up to date, and who may does so.
func olderSchema(t *testing.T, pg *postgres.Server, address string) {
	a, b := pair(t, address)
	pg.Exec(t, address, "CREATE ROLE plain LOGIN")
	pg.Exec(t, address, pglog.Roles(false))
	pg.Exec(t, address, "GRANT memsidecar_writer TO plain")
	pg.Exec(t, address, "DELETE FROM memsidecar.migration WHERE version = 2; DROP TABLE memsidecar.purge; "+
		"ALTER TABLE memsidecar.log DROP COLUMN replaced; SELECT pg_terminate_backend(pid) FROM pg_stat_activity "+
		"WHERE application_name = 'memsidecar' AND datname = current_database()")
	c := start(t, crashfs.New())
	for _, readOnly := range []bool{true, false} {
		err := c.share.Join(t.Context(), "team", "team", as("plain", address), readOnly)
		if !errors.Is(err, memory.ErrDatabase) || !strings.Contains(err.Error(), "memsidecar share schema") {
			t.Errorf("joined an older schema without the right to change it, read-only %t: %v", readOnly, err)
		}
	}
	waits(t, a, b, "m2", "memsidecar share schema", func() {
		must(t, c.share.Join(t.Context(), "team", "team", address, false)) // who may brings it up to date
	})
	settled(t, a, b, c)
}

// fullServer: the disk of the server is full, as it says with SQLSTATE 53100.
func fullServer(t *testing.T, pg *postgres.Server, address string) {
	a, b := pair(t, address)
	pg.Exec(t, address, `CREATE FUNCTION full_disk() RETURNS trigger LANGUAGE plpgsql AS
		$$ BEGIN RAISE EXCEPTION 'could not extend file: No space left on device' USING ERRCODE = '53100'; END $$;
		CREATE TRIGGER full_disk BEFORE INSERT ON memsidecar.log FOR EACH ROW EXECUTE FUNCTION full_disk()`)
	waits(t, a, b, "m2", "out of disk space", func() { pg.Exec(t, address, "DROP TRIGGER full_disk ON memsidecar.log") })
}

// damagedSnapshot: who joins reads no snapshot that somebody changed, and those who take part need none.
func damagedSnapshot(t *testing.T, pg *postgres.Server, address string) {
	a, b := pair(t, address)
	pg.Exec(t, address, "UPDATE memsidecar.snapshot_part SET data = replace(data, '8080', '9090')")
	c := start(t, crashfs.New())
	for _, readOnly := range []bool{true, false} {
		err := c.share.Join(t.Context(), "team", "team", address, readOnly)
		if !errors.Is(err, pglog.ErrDamaged) || !strings.Contains(err.Error(), "of the snapshot at row 0 does not match its hash") {
			t.Errorf("joined with a damaged snapshot, read-only %t: %v", readOnly, err)
		}
	}
	if n := c.store.Space("team").Count(); n != 0 || len(c.share.Status()) != 0 {
		t.Errorf("the failed joining left %d memories, %+v", n, c.share.Status())
	}
	a.add("m2", "Deployments happen on Thursdays")
	settled(t, a, b)
}

// unreadableSnapshot: a part that has its hash and cannot be read, behind one that can, leaves nothing in a space that
// was not there, and in another what was there.
func unreadableSnapshot(t *testing.T, pg *postgres.Server, address string) {
	a := start(t, crashfs.New())
	for i := range 2 {
		a.update(func(tx *store.Tx) error {
			for j := range 300 {
				if err := tx.Put(memtest.Fact(fmt.Sprint("m", i, "-", j), fmt.Sprint("Port ", j, " is used by service ", i))); err != nil {
					return err
				}
			}
			return nil
		})
	}
	must(t, a.share.Start(t.Context(), "team", address))
	pg.Exec(t, address, "UPDATE memsidecar.snapshot_part SET data = 'x', digest = sha256('x') WHERE part = 2")
	c := start(t, crashfs.New())
	if err := c.share.Join(t.Context(), "team", "team", address, false); err == nil ||
		!strings.Contains(err.Error(), "part 2 of the snapshot: not a record of memsidecar") {
		t.Errorf("joined with a snapshot that cannot be read: %v", err)
	}
	if n := c.store.Space("team").Count(); n != 0 || len(c.share.Status()) != 0 {
		t.Errorf("the failed joining left %d memories, %+v", n, c.share.Status())
	}
	c.add("own", "The build runs on port 8080")
	if err := c.share.Join(t.Context(), "team", "team", address, false); err == nil {
		t.Error("joined with a snapshot that cannot be read")
	}
	if c.content("own") == "" || len(c.share.Status()) != 0 {
		t.Errorf("the failed joining took what was there, %+v", c.share.Status())
	}
	if began, ended := c.loads.Load(), c.loaded.Load(); began != 2 || ended != 2 {
		t.Errorf("of two joinings %d said that they load something, and %d that they do not any more", began, ended)
	}
}

// replacedCluster: behind the address is another cluster, with a space of the same name. Two such clusters can also be
// used at once, under two local names.
func replacedCluster(t *testing.T, pg *postgres.Server, address string) {
	second := postgres.Start(t)
	p := newProxy(t, pg)
	a, b := start(t, crashfs.New()), start(t, crashfs.New())
	a.add("m1", "The build runs on port 8080")
	must(t, a.share.Start(t.Context(), "team", p.address("refused_replaced")))
	a.add("m2", "of the first cluster")
	settled(t, a)
	elsewhere := second.Database(t, "refused_replaced")
	b.add("x1", "Another team")
	must(t, b.share.Start(t.Context(), "team", elsewhere))
	b.add("x2", "of the second cluster")
	settled(t, b)

	both := start(t, crashfs.New())
	must(t, both.share.Join(t.Context(), "team", "first", address, false))
	must(t, both.share.Join(t.Context(), "team", "second", elsewhere, false))
	if x, y := both.store.Space("first"), both.store.Space("second"); x.Count() != 2 || y.Count() != 2 {
		t.Errorf("%d and %d memories of two spaces of one name, want 2 and 2", x.Count(), y.Count())
	}

	p.move(second)
	a.add("m3", "written before it was noticed")
	eventually(t, func() string {
		if st := a.share.Status()[0]; !st.Stopped || !strings.Contains(st.Error, "the log was replaced") {
			return fmt.Sprintf("%+v; want it stopped", st)
		}
		return ""
	})
	if a.content("x2") != "" || b.content("m3") != "" || a.content("m3") == "" {
		t.Error("two clusters were mixed, or local work ended")
	}
}

// joinedTwice: one machine may hold a space under two names; each has its own place in the log.
func joinedTwice(t *testing.T, _ *postgres.Server, address string) {
	a, b := pair(t, address)
	if err := b.share.Join(t.Context(), "team", "team", address, true); !errors.Is(err, memory.ErrExists) {
		t.Errorf("joined twice under one name: %v", err)
	}
	must(t, b.share.Join(t.Context(), "team", "copy", address, false))
	b.add("m2", "Deployments happen on Thursdays")
	eventually(t, func() string {
		if m, err := b.store.Space("copy").Get("m2"); err != nil || m.Content != b.content("m2") || a.content("m2") == "" {
			return fmt.Sprintf("the other name does not hold what was written: %v, %+v", err, b.share.Status())
		}
		return ""
	})
	for _, st := range b.share.Status() {
		if st.Stopped || st.Error != "" {
			t.Errorf("%+v", st)
		}
	}
}

// restoredStore: a backup that is older than what was exchanged since is restored on a new disk. It is not shared then;
// joining again gives it what it lacks, and the others what only it holds.
func restoredStore(t *testing.T, _ *postgres.Server, address string) {
	a, b := pair(t, address)
	b.add("m2", "Deployments happen on Thursdays")
	settled(t, a, b)
	var archive bytes.Buffer
	_, err := (&backup.Source{Store: b.store, FS: b.fs, Now: time.Now}).Write(t.Context(), &archive)
	must(t, err)
	b.change("m2", func(m *memory.Memory) { m.Content = "Deployments happen on Fridays" })
	b.add("m3", "sent after the backup")
	settled(t, a, b)
	b.stop()
	must(t, b.store.Close(context.Background()))

	disk := crashfs.New()
	_, err = backup.Restore(t.Context(), disk, &archive, backup.Options{})
	must(t, err)
	r := start(t, disk)
	if st := r.share.Status(); len(st) != 0 || r.content("m3") != "" {
		t.Fatalf("a restored store takes part on its own, or is not the old one: %+v", st)
	}
	r.add("m4", "only on the restored machine")
	must(t, r.share.Join(t.Context(), "team", "team", address, false))
	settled(t, a, r)
	if r.content("m3") == "" || a.content("m4") == "" || a.content("m2") != "Deployments happen on Fridays" {
		t.Errorf("the restored machine holds %q; the other %q and %q", r.content("m3"), a.content("m4"), a.content("m2"))
	}
}
