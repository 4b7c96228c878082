package share_test

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/memsidecar/memsidecar/internal/memory"
	"github.com/memsidecar/memsidecar/internal/memtest"
	"github.com/memsidecar/memsidecar/internal/memtest/postgres"
	"github.com/memsidecar/memsidecar/internal/share"
	"github.com/memsidecar/memsidecar/internal/share/pglog"
	"github.com/memsidecar/memsidecar/internal/store"
	"github.com/memsidecar/memsidecar/internal/store/durable/crashfs"
	"github.com/memsidecar/memsidecar/internal/store/journal"
)

// people are users of a database: two writers, of a space each, a reader of the first, an administrator, and somebody
// without any role.
const people = `CREATE ROLE alice LOGIN; CREATE ROLE bob LOGIN; CREATE ROLE rita LOGIN; CREATE ROLE ada LOGIN;
CREATE ROLE eve LOGIN; GRANT memsidecar_writer TO alice, bob; GRANT memsidecar_reader TO rita;
GRANT memsidecar_administrator TO ada`

// run is what SQL by a user returns: rows of one text, or an error.
func run(t *testing.T, address, sql string) (rows []string, err error) {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), address)
	must(t, err)
	defer func() { _ = conn.Close(context.Background()) }()
	found, err := conn.Query(t.Context(), sql)
	if err != nil {
		return nil, err
	}
	return pgx.CollectRows(found, pgx.RowTo[string])
}

// forbidden fails unless the server refuses SQL for want of rights.
func forbidden(t *testing.T, address, sql string) {
	t.Helper()
	_, err := run(t, address, sql)
	if e, ok := errors.AsType[*pgconn.PgError](err); !ok || e.Code != "42501" {
		t.Errorf("%s: %v; want it forbidden", sql, err)
	}
}

// TestRoles: with the roles alone, one circle of people, a reader cannot write and an administrator cannot read.
func TestRoles(t *testing.T) {
	pg := postgres.Start(t)
	address := pg.Database(t, "roles")
	pg.Exec(t, address, pglog.Schema(0))
	for range 2 { // it can be run again
		pg.Exec(t, address, pglog.Roles(false))
	}
	pg.Exec(t, address, people)
	a, b, r := start(t, crashfs.New()), start(t, crashfs.New()), start(t, crashfs.New())
	a.add("m1", secret)
	must(t, a.share.Start(t.Context(), "team", as("alice", address)))
	must(t, b.share.Join(t.Context(), "team", "team", as("bob", address), false))
	must(t, r.share.Join(t.Context(), "team", "team", as("rita", address), true))
	b.add("m2", "Deployments happen on Thursdays")
	settled(t, a, b, r)
	ids, err := a.purge([]string{"m1"}, nil)
	must(t, err)
	confirmed(t, a, ids, 3)
	settled(t, a, b, r)
	purgedFrom(t, address, secret, a, b, r)
	if st := r.share.Status()[0]; st.Error != "" || st.Unlisted {
		t.Errorf("status of the reader: %+v", st)
	}
	for _, sql := range []string{
		"INSERT INTO memsidecar.space (name, log, hash) VALUES ('x', 'x', 'x')",
		"UPDATE memsidecar.space SET head = head", "DELETE FROM memsidecar.space",
		"INSERT INTO memsidecar.log (space, seq, origin, epoch, op, at, record, hash) VALUES (1, 99, 'x', 'x', 1, now(), '{}', 'x')",
		"UPDATE memsidecar.log SET record = '{}'", "DELETE FROM memsidecar.log",
		"INSERT INTO memsidecar.snapshot VALUES (1, 99, 'x', 0)", "DELETE FROM memsidecar.snapshot",
		"UPDATE memsidecar.snapshot_part SET data = '{}'", "DELETE FROM memsidecar.snapshot_part",
		"INSERT INTO memsidecar.purge VALUES (1, 99, 'x', now(), '{}')", "UPDATE memsidecar.purge SET texts = NULL",
		"INSERT INTO memsidecar.migration VALUES (99)",
	} {
		forbidden(t, as("rita", address), sql)
	}
	for _, table := range []string{"log", "snapshot", "snapshot_part", "purge"} {
		forbidden(t, as("ada", address), "SELECT space::text FROM memsidecar."+table)
		forbidden(t, as("eve", address), "SELECT space::text FROM memsidecar."+table)
	}
	for _, sql := range []string{"DELETE FROM memsidecar.log", "UPDATE memsidecar.log SET hash = 'x'", "DELETE FROM memsidecar.purge"} {
		forbidden(t, as("alice", address), sql)
	}
	// Old snapshots go with their parts, on which nobody has the right to delete.
	if _, err := run(t, as("alice", address), "DELETE FROM memsidecar.snapshot"); err != nil {
		t.Errorf("a writer removes snapshots: %v", err)
	}
	if n := query(t, address, "SELECT count(*)::text FROM memsidecar.snapshot_part"); n != "0" {
		t.Errorf("%s parts are left of the removed snapshots", n)
	}
	if _, err := run(t, as("ada", address), "DELETE FROM memsidecar.space"); err != nil {
		t.Errorf("an administrator removes a space: %v", err)
	}
	if n := query(t, address, "SELECT count(*)::text FROM memsidecar.log"); n != "0" {
		t.Errorf("%s rows are left of the removed space", n)
	}
}

// TestRowSecurity: a user sees the spaces that they may see, in every table and on every way.
func TestRowSecurity(t *testing.T) {
	pg := postgres.Start(t)
	address := pg.Database(t, "rows")
	pg.Exec(t, address, pglog.Schema(0))
	pg.Exec(t, address, pglog.Roles(true))
	pg.Exec(t, address, people)
	alice, bob, rita, ada := as("alice", address), as("bob", address), as("rita", address), as("ada", address)
	_, err := run(t, ada, "INSERT INTO memsidecar.permission VALUES ('team', 'alice', 'write'), ('team', 'rita', 'read'), "+
		"('other', 'alice', 'write'), ('club', 'bob', 'write')")
	must(t, err)
	a, b, r := start(t, crashfs.New()), start(t, crashfs.New()), start(t, crashfs.New())
	a.add("m1", secret)
	a.add("m2", "Deployments happen on Thursdays")
	must(t, a.share.Start(t.Context(), "team", alice))
	must(t, a.share.Start(t.Context(), "other", alice))
	must(t, b.share.Start(t.Context(), "club", bob))
	must(t, r.share.Join(t.Context(), "team", "team", rita, true))
	a.add("m3", "The office closes at six")
	ids, err := a.purge([]string{"m1"}, nil)
	must(t, err)
	confirmed(t, a, ids, 2)
	eventually(t, func() string {
		return map[bool]string{true: "", false: "not there"}[r.content("m3") != "" && r.content("m1") == ""]
	})

	t.Run("other spaces are not there", func(t *testing.T) {
		for _, readOnly := range []bool{true, false} {
			if err := b.share.Join(t.Context(), "team", "team", bob, readOnly); err == nil || !strings.Contains(err.Error(), "no such space") {
				t.Errorf("a stranger joined, read-only %t: %v", readOnly, err)
			}
		}
		if err := b.share.Start(t.Context(), "team", bob); err == nil || errors.Is(err, memory.ErrExists) {
			t.Errorf("starting a space under a name that is not theirs: %v; want no word of whether it exists", err)
		}
		if err := b.share.Start(t.Context(), "nobodys", bob); !errors.Is(err, memory.ErrDatabase) || !strings.Contains(err.Error(), "lacks rights") {
			t.Errorf("starting a space without permission: %v", err)
		}
		for _, table := range []string{"space", "log", "snapshot", "snapshot_part", "purge", "member"} {
			number := "space"
			if table == "space" {
				number = "id"
			}
			all := "SELECT count(*)::text FROM memsidecar." + table + " WHERE " + number + " <> 3"
			if n := query(t, address, all); n == "0" {
				t.Fatalf("table %s has nothing of the others, so nothing is tested", table)
			}
			if n := query(t, bob, all); n != "0" {
				t.Errorf("a stranger sees %s rows of table %s", n, table)
			}
		}
		rows, err := run(t, bob, "SELECT role::text FROM memsidecar.permission")
		if err != nil || len(rows) != 1 || rows[0] != "bob" {
			t.Errorf("a user sees the permissions %v, %v; want their own", rows, err)
		}
		for _, sql := range []string{
			"INSERT INTO memsidecar.log (space, seq, origin, epoch, op, at, record, hash) VALUES (1, 99, 'x', 'x', 1, now(), '{}', 'x')",
			"INSERT INTO memsidecar.snapshot VALUES (1, 99, 'x', 0)",
			"INSERT INTO memsidecar.snapshot_part VALUES (1, 0, 99, '{}', 'x')",
			"INSERT INTO memsidecar.purge VALUES (1, 99, 'x', now(), '{}')",
			"INSERT INTO memsidecar.member VALUES (1, 'x', 'x', 'x', 0)",
			"INSERT INTO memsidecar.permission VALUES ('team', 'bob', 'write')",
		} {
			forbidden(t, bob, sql)
		}
		before := contentsOf(t, address)
		for _, sql := range []string{
			"UPDATE memsidecar.space SET head = 0 WHERE id = 1", "UPDATE memsidecar.log SET record = '{}' WHERE space = 1",
			"DELETE FROM memsidecar.snapshot WHERE space = 1", "UPDATE memsidecar.snapshot_part SET data = '{}' WHERE space = 1",
			"UPDATE memsidecar.purge SET texts = NULL WHERE space = 1", "DELETE FROM memsidecar.member WHERE space = 1",
		} {
			_, err := run(t, bob, sql)
			must(t, err) // no row of theirs matches
		}
		if after := contentsOf(t, address); after != before {
			t.Errorf("a stranger changed the space:\n%s\nwas\n%s", after, before)
		}
	})
	t.Run("a reader of one space who writes to another", func(t *testing.T) {
		_, err := run(t, ada, "INSERT INTO memsidecar.permission VALUES ('team', 'bob', 'read')")
		must(t, err)
		err = b.share.Join(t.Context(), "team", "team", bob, false)
		if err == nil || !strings.Contains(err.Error(), "join with --read-only") {
			t.Errorf("joined to write: %v", err)
		}
		must(t, b.share.Join(t.Context(), "team", "team", bob, true))
		if b.content("m3") == "" {
			t.Error("the space was not received")
		}
		forbidden(t, bob, "UPDATE memsidecar.space SET head = head WHERE name = 'team'")
		forbidden(t, bob, "UPDATE memsidecar.log SET record = '{}' WHERE space = 1")
		_, err = run(t, ada, "DELETE FROM memsidecar.permission WHERE space = 'team' AND role = 'bob'")
		must(t, err)
		must(t, b.share.Leave(t.Context(), "team", false))
	})
	t.Run("announcements say nothing", func(t *testing.T) {
		conn, err := pgx.Connect(t.Context(), bob)
		must(t, err)
		defer func() { _ = conn.Close(context.Background()) }()
		_, err = conn.Exec(t.Context(), "LISTEN memsidecar")
		must(t, err)
		a.add("m4", "The canteen opens at noon")
		ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
		defer cancel()
		n, err := conn.WaitForNotification(ctx)
		must(t, err)
		if !regexp.MustCompile(`^[0-9]+ [0-9]+$`).MatchString(n.Payload) {
			t.Errorf("the announcement says %q, want two numbers", n.Payload)
		}
	})
	t.Run("a right that is taken away", func(t *testing.T) {
		put := func(space, id string) {
			t.Helper()
			_, err := a.store.Update(t.Context(), store.Meta{Space: space, Actor: journal.ActorClient}, func(tx *store.Tx) error {
				return tx.Put(memtest.Fact(id, "memory "+id+" of "+space))
			})
			must(t, err)
		}
		c := start(t, crashfs.New())
		must(t, c.share.Join(t.Context(), "team", "team", address, false))
		for _, sql := range []string{
			"UPDATE memsidecar.permission SET may = 'read' WHERE space = 'team' AND role = 'alice'",
			"DELETE FROM memsidecar.permission WHERE space = 'team' AND role = 'alice'",
		} {
			_, err := run(t, ada, sql)
			must(t, err)
			gone := strings.HasPrefix(sql, "DELETE")
			name := map[bool]string{true: "gone", false: "read"}[gone]
			put("team", name)
			put("other", name)
			c.add("by-c-"+name, "written meanwhile "+name)
			eventually(t, func() string {
				team, other := statusOf(a, "team"), statusOf(a, "other")
				if other.Waiting > 0 || other.Error != "" || other.Position == 0 {
					return fmt.Sprintf("another space waits, too: %+v", other)
				}
				if team.Stopped || team.Error == "" || team.Waiting != 1 {
					return fmt.Sprintf("%+v; want it waiting, with the reason", team)
				}
				if !gone && a.content("by-c-"+name) == "" {
					return "what others write does not arrive any more, although it may be read"
				}
				return ""
			})
			_, err = run(t, ada, "INSERT INTO memsidecar.permission VALUES ('team', 'alice', 'write') "+
				"ON CONFLICT (space, role) DO UPDATE SET may = 'write'")
			must(t, err)
			eventually(t, func() string {
				if st := statusOf(a, "team"); st.Error != "" || st.Waiting > 0 || c.content(name) == "" {
					return fmt.Sprintf("it does not go on with the right: %+v", st)
				}
				return ""
			})
		}
	})
	t.Run("an administrator reads no memory", func(t *testing.T) {
		for _, table := range []string{"log", "snapshot", "snapshot_part", "purge"} {
			forbidden(t, ada, "SELECT space::text FROM memsidecar."+table)
		}
		rows, err := run(t, ada, "SELECT name FROM memsidecar.space ORDER BY name")
		if err != nil || strings.Join(rows, " ") != "club other team" {
			t.Errorf("an administrator sees the spaces %v, %v", rows, err)
		}
		// One who also writes to a space sees no memory of the others.
		pg.Exec(t, address, "GRANT memsidecar_writer TO ada")
		if n := query(t, ada, "SELECT count(*)::text FROM memsidecar.log"); n != "0" {
			t.Errorf("an administrator who may write somewhere sees %s rows of the log", n)
		}
	})
}

// contentsOf is everything that the first space of a database has, but for who was seen when.
func contentsOf(t *testing.T, address string) (all string) {
	t.Helper()
	for _, sql := range []string{"space t WHERE id = 1", "log t WHERE space = 1", "snapshot t WHERE space = 1",
		"snapshot_part t WHERE space = 1", "purge t WHERE space = 1"} {
		all += query(t, address, "SELECT md5(string_agg(t::text, '' ORDER BY t::text)) FROM memsidecar."+sql) + "\n"
	}
	return all + query(t, address, "SELECT count(*)::text FROM memsidecar.member WHERE space = 1")
}

// TestRowSecurityComesLater: who has taken part through the roles goes on when row-level security is switched on.
func TestRowSecurityComesLater(t *testing.T) {
	pg := postgres.Start(t)
	address := pg.Database(t, "later")
	pg.Exec(t, address, pglog.Schema(0))
	pg.Exec(t, address, pglog.Roles(false))
	pg.Exec(t, address, people)
	a, r := start(t, crashfs.New()), start(t, crashfs.New())
	a.add("m1", "The build runs on port 8080")
	must(t, a.share.Start(t.Context(), "team", as("alice", address)))
	must(t, r.share.Join(t.Context(), "team", "team", as("rita", address), true))
	settled(t, a, r)
	pg.Exec(t, address, pglog.Roles(true))
	a.add("m2", "Deployments happen on Thursdays")
	settled(t, a, r)
	for _, n := range []*node{a, r} {
		if st := n.share.Status()[0]; st.Error != "" {
			t.Errorf("status: %+v", st)
		}
	}
}

// statusOf is how the sharing of a space goes at a node.
func statusOf(n *node, space string) share.Status {
	for _, st := range n.share.Status() {
		if st.Space == space {
			return st
		}
	}
	return share.Status{}
}
