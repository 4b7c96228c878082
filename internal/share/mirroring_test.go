package share_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/memsidecar/memsidecar/internal/memory"
	"github.com/memsidecar/memsidecar/internal/memtest"
	"github.com/memsidecar/memsidecar/internal/memtest/postgres"
	"github.com/memsidecar/memsidecar/internal/share"
	"github.com/memsidecar/memsidecar/internal/share/mirror"
	"github.com/memsidecar/memsidecar/internal/store"
	"github.com/memsidecar/memsidecar/internal/store/durable/crashfs"
	"github.com/memsidecar/memsidecar/internal/store/journal"
)

// words is a source of mirrors whose terms are words and whose vectors are hashes. "minilm" takes no text with a 中.
var words = share.MirrorSource{
	Describe: func(m *memory.Memory) mirror.Description {
		terms := strings.Fields(strings.ToLower(m.Content))
		slices.Sort(terms)
		key := sha256.Sum256([]byte(m.Content))
		return mirror.Description{Terms: slices.Compact(terms), Length: int64(len(terms)), Key: key[:16]}
	},
	Makers: map[string]string{"terms": "words", "e5": "hash", "minilm": "hash"},
	Vectors: func(_ context.Context, _ string, lacking []mirror.Lacking) (made []mirror.Made, err error) {
		for _, l := range lacking {
			for _, model := range l.Models {
				v := mirror.Made{ID: l.ID, Model: model, Key: l.Key, Codes: bytes.Repeat(l.Key, mirror.Dim/len(l.Key)), Tokens: l.Key}
				if model == "minilm" && l.ID == "chinese" {
					v.Codes = nil
				}
				made = append(made, v)
			}
		}
		return made, nil
	},
}

// mirrored waits until the mirror in a database is what a node holds: every memory once with its values and vectors,
// and what is counted of them.
func mirrored(t testing.TB, address string, n *node) {
	t.Helper()
	within(t, 10*time.Second, func() string { return mirrorDiffers(t, address, n) })
}

// mirrorDiffers says what is different in the mirror, "" for nothing.
func mirrorDiffers(t testing.TB, address string, n *node) string {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), address)
	if err != nil {
		return err.Error()
	}
	defer func() { _ = conn.Close(t.Context()) }()
	rows, err := conn.Query(t.Context(), "SELECT id, content, status, access_count, salience, coalesce(array_to_string(tags, ','), ''), "+
		"e5 IS NOT NULL AND e5_tokens IS NOT NULL, minilm IS NOT NULL, pending <> '{}', terms @@ 'fact'::tsquery FROM memsidecar.memories")
	if err != nil {
		return err.Error()
	}
	got := map[string]string{}
	var id, content, status, tags string
	var count int64
	var salience float64
	var e5, minilm, pending, fact bool
	if _, err := pgx.ForEachRow(rows, []any{&id, &content, &status, &count, &salience, &tags, &e5, &minilm, &pending, &fact}, func() error {
		got[id] = fmt.Sprint(content, status, count, salience, tags, e5, minilm, pending, fact)
		return nil
	}); err != nil {
		return err.Error()
	}
	memories := n.store.Space("team").Memories()
	active, length := 0, 0
	for _, m := range memories {
		status := "active"
		if m.IsActive() {
			active++
			length += len(strings.Fields(m.Content))
		} else {
			status = string(m.Status)
		}
		want := fmt.Sprint(m.Content, status, m.AccessCount(), m.Salience, strings.Join(m.Tags, ","), true, m.ID != "chinese", false,
			slices.Contains(strings.Fields(m.Content), "fact"))
		if got[m.ID] != want {
			return fmt.Sprintf("%s is %q in the mirror, want %q", m.ID, got[m.ID], want)
		}
	}
	if len(got) != len(memories) {
		return fmt.Sprintf("%d memories in the mirror, want %d", len(got), len(memories))
	}
	var counted string
	if err := conn.QueryRow(t.Context(), "SELECT concat_ws(' ', memories, active, length, position) FROM memsidecar.mirror").
		Scan(&counted); err != nil {
		return err.Error()
	}
	if want := fmt.Sprint(len(memories), active, length, n.share.Status()[0].Position); counted != fmt.Sprintf("%d %d %d %d", len(memories), active,
		length, n.share.Status()[0].Position) {
		return fmt.Sprintf("counted %q, want %s", counted, want)
	}
	return ""
}

// watchMoves has a database write down each move of the position of a mirror.
func watchMoves(t testing.TB, address string) {
	t.Helper()
	exec(t, address, `CREATE TABLE moves (before bigint, after bigint);
CREATE FUNCTION note() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN INSERT INTO moves VALUES (OLD.position, NEW.position); RETURN NEW; END $$;
CREATE TRIGGER note AFTER UPDATE ON memsidecar.mirror FOR EACH ROW WHEN (OLD.position <> NEW.position) EXECUTE FUNCTION note()`)
}

// checkMoves fails unless each row of the log was mirrored once, in order.
func checkMoves(t *testing.T, address string) {
	t.Helper()
	twice := query(t, address, "SELECT count(*)::text FROM (SELECT before, lag(after, 1, -1) OVER (ORDER BY before, after) AS last "+
		"FROM moves) AS m WHERE before <> last")
	if twice != "0" {
		t.Errorf("%s moves of the mirror do not follow the one before: %s", twice,
			query(t, address, "SELECT string_agg(before || '-' || after, ' ' ORDER BY before, after) FROM moves"))
	}
}

// exec runs SQL.
func exec(t testing.TB, address, sql string) {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), address)
	must(t, err)
	defer func() { _ = conn.Close(t.Context()) }()
	if _, err := conn.PgConn().Exec(t.Context(), sql).ReadAll(); err != nil {
		t.Fatalf("%s: %v", sql, err)
	}
}

// keep has a node keep the mirror of its space.
func (n *node) keep() {
	n.t.Helper()
	must(n.t, n.share.KeepMirror(n.t.Context(), "team", true, false))
}

func TestMirror(t *testing.T) {
	pg := postgres.StartVector(t)
	for i, tt := range []struct {
		name string
		run  func(t *testing.T, address string)
	}{
		{"kept", mirrorKept}, {"two machines", mirrorOfTwo}, {"purge", mirrorPurged}, {"purge waits", purgeWaits}, {"dropped", mirrorDropped},
		{"found", mirrorFound}, {"other version", mirrorOfOther}, {"restart", mirrorRestarted},
	} {
		t.Run(tt.name, func(t *testing.T) { tt.run(t, pg.Database(t, fmt.Sprintf("m%d", i))) })
	}
	t.Run("killed server", func(t *testing.T) { mirrorKilled(t, pg) })
}

// mirrorKept changes everything that a mirror holds.
func mirrorKept(t *testing.T, address string) {
	a, b := pair(t, address)
	b.add("m2", "a fact that was there before the mirror")
	settled(t, a, b)
	a.keep()
	mirrored(t, address, a)
	b.add("chinese", "中文 fact")
	b.add("nul", "a fact\x00with a nul, it's \\ quoted")
	b.change("m2", func(m *memory.Memory) { m.Content, m.Tags = "another fact", []string{"x", "y"} })
	a.store.CountAccess("team", []string{"m1", "m2"}, time.Now())
	must(t, a.store.FlushAccesses(t.Context()))
	settled(t, a, b)
	within(t, 10*time.Second, func() string {
		if got := query(t, address, "SELECT coalesce(max(content), '') FROM memsidecar.memories WHERE id = 'nul'"); !strings.Contains(got, "it's \\") {
			return "no memory with a nul: " + got
		}
		return ""
	})
	b.update(func(tx *store.Tx) error { tx.Remove("nul"); return nil })
	b.change("m1", func(m *memory.Memory) { m.Status = memory.Retired })
	settled(t, a, b)
	mirrored(t, address, a)
	if st := a.share.Status()[0].Mirror; st == nil || st.Error != "" {
		t.Errorf("status of the mirror: %+v", st)
	}
	if st := b.share.Status()[0].Mirror; st != nil {
		t.Errorf("a machine that keeps no mirror says %+v", st)
	}
	must(t, a.share.KeepMirror(t.Context(), "team", false, false))
	b.add("m3", "a fact for later")
	settled(t, a, b)
	if got := query(t, address, "SELECT count(*)::text FROM memsidecar.memories WHERE id = 'm3'"); got != "0" {
		t.Errorf("mirrored by nobody: %s", got)
	}
	b.keep()
	mirrored(t, address, b)
	var missing *memory.NotFoundError
	if err := a.share.KeepMirror(t.Context(), "other", true, false); !errors.As(err, &missing) {
		t.Errorf("a mirror of a space that is not shared: %v", err)
	}
}

// mirrorOfTwo has two machines write and mirror at the same time.
func mirrorOfTwo(t *testing.T, address string) {
	a, b := pair(t, address)
	a.keep()
	mirrored(t, address, a)
	exec(t, address, "UPDATE memsidecar.mirror SET position = -1, memories = 0, active = 0, length = 0; DELETE FROM memsidecar.memories")
	watchMoves(t, address)
	b.keep()
	for i := range 300 {
		a.add(fmt.Sprint("a", i), fmt.Sprint("fact of a ", i))
		b.add(fmt.Sprint("b", i), fmt.Sprint("fact of b ", i))
		if i%7 == 0 {
			b.change("m1", func(m *memory.Memory) { m.Salience = float64(i) / 300 })
		}
	}
	within(t, 20*time.Second, func() string {
		if s := a.share.Status()[0]; s.Waiting > 0 || s.Position != b.share.Status()[0].Position || b.share.Status()[0].Waiting > 0 {
			return "not exchanged"
		}
		return ""
	})
	settled(t, a, b)
	mirrored(t, address, a)
	checkMoves(t, address)
}

// mirrorPurged purges at a machine that keeps no mirror.
func mirrorPurged(t *testing.T, address string) {
	a, b := pair(t, address)
	a.add("secret", "the password is hunter2")
	a.add("quote", "remember: the password is hunter2")
	a.add("other", "a fact of its own")
	a.store.CountAccess("team", []string{"quote", "other"}, time.Now())
	must(t, a.store.FlushAccesses(t.Context()))
	settled(t, a, b)
	a.keep()
	mirrored(t, address, a)
	ids, err := b.purge([]string{"secret"}, nil)
	must(t, err)
	b.share.AwaitPurges(t.Context(), ids)
	// The announcement is in the log in the transaction that erases, so nothing is to be waited for.
	within(t, 10*time.Second, func() string {
		return map[bool]string{true: "", false: "not announced"}[query(t, address, "SELECT count(*)::text FROM memsidecar.purge") == "1"]
	})
	if got := query(t, address, "SELECT string_agg(m::text, ' ') FROM memsidecar.memories m"); strings.Contains(got, "hunter2") {
		t.Errorf("the mirror holds what was purged: %s", got)
	}
	settled(t, a, b)
	mirrored(t, address, a)
}

// purgeWaits has a purge meet a machine that is mirroring what is purged: it must not overtake it.
func purgeWaits(t *testing.T, address string) {
	a, b := pair(t, address)
	a.add("secret", "the password is hunter2")
	a.add("other", "a fact of its own")
	settled(t, a, b)
	a.keep()
	mirrored(t, address, a)
	conn, err := pgx.Connect(t.Context(), address)
	must(t, err)
	defer func() { _ = conn.Close(t.Context()) }()
	mirroring := "BEGIN; SELECT position FROM memsidecar.mirror FOR UPDATE; UPDATE memsidecar.memories SET " +
		"content = content || ': the password is hunter2', terms = terms || 'hunter2'::tsvector, " +
		"data = replace(data, 'of its own', 'of its own: the password is hunter2') WHERE id = 'other'"
	_, err = conn.PgConn().Exec(t.Context(), mirroring).ReadAll()
	must(t, err)
	_, err = b.purge([]string{"secret"}, nil)
	must(t, err)
	within(t, 10*time.Second, func() string {
		if query(t, address, "SELECT count(*)::text FROM pg_locks WHERE NOT granted") == "0" {
			return "the purge does not wait"
		}
		return ""
	})
	_, err = conn.PgConn().Exec(t.Context(), "COMMIT").ReadAll()
	must(t, err)
	within(t, 10*time.Second, func() string {
		return map[bool]string{true: "", false: "not announced"}[query(t, address, "SELECT count(*)::text FROM memsidecar.purge") == "1"]
	})
	if got := query(t, address, "SELECT string_agg(m::text, ' ') FROM memsidecar.memories m"); strings.Contains(got, "hunter2") {
		t.Errorf("the mirror holds what was purged: %s", got)
	}
}

// mirrorDropped has people remove parts of a mirror.
func mirrorDropped(t *testing.T, address string) {
	a, b := pair(t, address)
	a.keep()
	mirrored(t, address, a)
	for i, sql := range []string{
		"DROP TABLE memsidecar.memories", "DROP TABLE memsidecar.memories, memsidecar.mirror, memsidecar.mirror_maker, memsidecar.mirror_migration",
		"DROP EXTENSION vector CASCADE", "DELETE FROM memsidecar.mirror",
	} {
		exec(t, address, sql)
		b.add(fmt.Sprint("after", i), "a fact after "+sql)
		settled(t, a, b)
		mirrored(t, address, a)
	}
	exec(t, address, "DELETE FROM memsidecar.memories WHERE id = 'm1'")
	a.stop() // the next session counts the rows
	a.connect()
	mirrored(t, address, a)
	exec(t, address, "UPDATE memsidecar.memories SET content = 'by hand'")
	must(t, a.share.KeepMirror(t.Context(), "team", true, true))
	mirrored(t, address, a)
}

// mirrorOfOther has a program of another version meet a mirror.
func mirrorOfOther(t *testing.T, address string) {
	a, _ := pair(t, address)
	a.keep()
	mirrored(t, address, a)
	exec(t, address, "UPDATE memsidecar.mirror_maker SET identity = 'newer' WHERE name = 'e5'")
	err := a.share.KeepMirror(t.Context(), "team", true, false)
	if !errors.Is(err, memory.ErrDatabase) || !errors.Is(err, mirror.ErrOtherMaker) || !strings.Contains(err.Error(), "--rebuild") {
		t.Errorf("a mirror of another version: %v", err)
	}
	must(t, a.share.KeepMirror(t.Context(), "team", true, true))
	mirrored(t, address, a)
}

// mirrorRestarted starts the daemon of a machine that keeps a mirror again.
func mirrorRestarted(t *testing.T, address string) {
	a, b := pair(t, address)
	a.keep()
	mirrored(t, address, a)
	a.stop()
	must(t, a.store.Close(t.Context()))
	b.add("m2", "a fact of the meantime")
	a = start(t, a.fs)
	settled(t, a, b)
	mirrored(t, address, a)
}

// mirrorKilled kills the server while it is mirrored.
func mirrorKilled(t *testing.T, pg *postgres.Server) {
	address := pg.Database(t, "killed")
	a, b := pair(t, address)
	a.keep()
	mirrored(t, address, a)
	watchMoves(t, address)
	exec(t, address, "INSERT INTO moves SELECT -1, position FROM memsidecar.mirror")
	for round := range 3 {
		for i := range 50 {
			b.add(fmt.Sprint("k", round, "n", i), fmt.Sprint("fact ", i, " of round ", round))
		}
		pg.Kill()
		pg.Restart(t)
	}
	within(t, 20*time.Second, func() string {
		if s := b.share.Status()[0]; s.Waiting > 0 {
			return "not sent: " + s.Error
		}
		return ""
	})
	within(t, 20*time.Second, func() string { return mirrorDiffers(t, address, a) })
	checkMoves(t, address)
}

// TestMirrorRefused asks for a mirror where the server has no vectors.
func TestMirrorRefused(t *testing.T) {
	address := postgres.Start(t).Database(t, "plain")
	if query(t, address, "SELECT count(*)::text FROM pg_available_extensions WHERE name = 'vector'") != "0" {
		t.Skip("this PostgreSQL has the extension vector")
	}
	a, _ := pair(t, address)
	for what, err := range map[string]error{
		"the question": a.share.CanMirror(t.Context(), address), "the mirror": a.share.KeepMirror(t.Context(), "team", true, false),
	} {
		if !errors.Is(err, memory.ErrDatabase) || !errors.Is(err, mirror.ErrNoExtension) || !strings.Contains(err.Error(), "-pgvector") {
			t.Errorf("%s where the extension is missing: %v", what, err)
		}
	}
	if st := a.share.Status()[0]; st.Mirror != nil || st.Error != "" {
		t.Errorf("after the refusal: %+v", st)
	}
	ids, err := a.purge([]string{"m1"}, nil)
	must(t, err)
	if got := a.share.AwaitPurges(t.Context(), ids); len(got) != 1 || got[0].Position == 0 {
		t.Errorf("a purge without a mirror: %+v", got)
	}
}

// TestCutWhileMirroring cuts the connections of a machine at each message to and from the server while it begins to
// mirror, mirrors and adds vectors. Each row of the log is mirrored once. Without the variable it cuts at a few of the
// places only.
func TestCutWhileMirroring(t *testing.T) {
	t.Parallel()
	pg := postgres.StartVector(t)
	p := newProxy(t, pg)
	step := 7
	if os.Getenv(longTests) != "" {
		step = 1
	}
	for _, way := range []direction{toServer, toClient} {
		cuts := 0
		for n := 1; cutMirror(t, pg, p, way, n); n += step {
			cuts++
		}
		if cuts < 40/step {
			t.Errorf("only %d cuts in direction %d", cuts, way)
		}
		t.Logf("direction %d: %d cuts", way, cuts)
	}
}

// cutMirror cuts the connection at piece n in a direction while a mirror begins and grows, and reports whether there
// was one.
func cutMirror(t *testing.T, pg *postgres.Server, p *proxy, way direction, n int) (hit bool) {
	t.Helper()
	name := fmt.Sprintf("c%dn%d", way, n)
	address := pg.Database(t, name)
	a, c := start(t, crashfs.New()), start(t, crashfs.New())
	defer func() { a.stop(); c.stop(); pg.Exec(t, pg.URL("postgres"), "DROP DATABASE "+name+" WITH (FORCE)") }()
	a.add("m1", "a fact")
	must(t, a.share.Start(t.Context(), "team", address))
	must(t, c.share.Join(t.Context(), "team", "team", p.address(name), false))
	pieces := 0
	p.set(func(w direction) verdict { // called with a lock held
		if w == way {
			pieces++
		}
		if w == way && pieces == n {
			hit = true
			return cut
		}
		return pass
	})
	if err := c.share.KeepMirror(t.Context(), "team", true, false); err != nil {
		must(t, c.share.KeepMirror(t.Context(), "team", true, false))
	}
	watchMoves(t, address)
	exec(t, address, "INSERT INTO moves SELECT -1, position FROM memsidecar.mirror WHERE position >= 0 AND NOT EXISTS (SELECT FROM moves)")
	a.add("m2", "a second fact")
	c.add("m3", "a third fact")
	a.change("m1", func(m *memory.Memory) { m.Content = "a fact that changed" })
	settled(t, a, c)
	mirrored(t, address, c)
	p.set(nil)
	checkMoves(t, address)
	return hit
}

// TestMirrorKeepsUp writes 500 operations a second for a while: the mirror is never behind for more than 2 seconds.
func TestMirrorKeepsUp(t *testing.T) {
	if testing.Short() {
		t.Skip("takes seconds")
	}
	address := postgres.StartVector(t).Database(t, "fast")
	a := start(t, crashfs.New())
	a.add("first", "a fact")
	must(t, a.share.Start(t.Context(), "team", address))
	a.keep()
	mirrored(t, address, a)
	const perSecond, seconds = 500, 4
	began, worst := time.Now(), time.Duration(0)
	waiting := map[int]time.Time{} // by number of memories, when there were so many
	done := make(chan struct{})
	go func() {
		defer close(done)
		for i := range perSecond * seconds {
			time.Sleep(time.Until(began.Add(time.Duration(i) * time.Second / perSecond)))
			_, err := a.store.Update(context.Background(), store.Meta{Space: "team", Actor: journal.ActorClient}, func(tx *store.Tx) error {
				return tx.Put(memtest.Fact(fmt.Sprint("f", i), fmt.Sprint("fact number ", i, " of the many that are written")))
			})
			if err != nil {
				t.Error(err)
				return
			}
		}
	}()
	conn, err := pgx.Connect(t.Context(), address)
	must(t, err)
	defer func() { _ = conn.Close(t.Context()) }()
	for mirroredRows := 0; mirroredRows < perSecond*seconds+1; {
		waiting[a.store.Space("team").Count()] = time.Now()
		must(t, conn.QueryRow(t.Context(), "SELECT memories FROM memsidecar.mirror").Scan(&mirroredRows))
		for n, at := range waiting {
			if n <= mirroredRows {
				worst = max(worst, time.Since(at))
				delete(waiting, n)
			} else if time.Since(at) > 30*time.Second {
				t.Fatalf("%d of %d memories are mirrored", mirroredRows, n)
			}
		}
		time.Sleep(10 * time.Millisecond)
	}
	<-done
	t.Logf("%d operations in %s, mirrored at most %s later", perSecond*seconds, time.Since(began).Round(time.Millisecond), worst.Round(time.Millisecond))
	if worst > 2*time.Second {
		t.Errorf("the mirror was %s behind", worst)
	}
}
