package share_test

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/memsidecar/memsidecar/internal/memory"
	"github.com/memsidecar/memsidecar/internal/memtest"
	"github.com/memsidecar/memsidecar/internal/memtest/postgres"
	"github.com/memsidecar/memsidecar/internal/share/mirror"
	"github.com/memsidecar/memsidecar/internal/share/pglog"
	"github.com/memsidecar/memsidecar/internal/store"
	"github.com/memsidecar/memsidecar/internal/store/durable/crashfs"
	"github.com/memsidecar/memsidecar/internal/store/journal"
)

// asked is a query for words, all of which weigh the same unless weights says otherwise.
func asked(weights map[string]float64, change ...func(*mirror.Query)) *mirror.Query {
	q := &mirror.Query{Limit: 2, AsOf: time.Now().Add(time.Hour)}
	for term := range weights {
		q.Terms = append(q.Terms, term)
	}
	q.Weights = func(int, map[string]int) map[string]float64 { return weights }
	for _, c := range change {
		c(q)
	}
	return q
}

// foundBy lists the memories that a node finds in a mirror, as "space: ids".
func (n *node) foundBy(address string, q *mirror.Query) string {
	n.t.Helper()
	found, err := n.share.FindInMirror(n.t.Context(), address, q)
	if err != nil {
		return err.Error()
	}
	var all []string
	for _, e := range found {
		var line strings.Builder
		line.WriteString(e.Space + ":")
		for _, f := range e.Found {
			line.WriteString(" " + f.Memory.ID)
		}
		all = append(all, line.String())
	}
	return strings.Join(all, "; ")
}

// mirrorFound asks a mirror for candidates of each kind.
func mirrorFound(t *testing.T, address string) {
	a, b := pair(t, address)
	a.add("m2", "a fact about tea")
	a.add("m3", "a fact about coffee")
	a.change("m3", func(m *memory.Memory) { m.Tags = []string{"drink"} })
	a.change("m1", func(m *memory.Memory) { m.CreatedAt = time.Date(2026, 1, 5, 12, 0, 0, 0, time.UTC) })
	settled(t, a, b)
	a.keep()
	mirrored(t, address, a)
	near := words.Describe(&memory.Memory{Content: "a fact about coffee"}).Key
	day := mirror.Span{From: time.Date(2026, 1, 5, 0, 0, 0, 0, time.UTC), Before: time.Date(2026, 1, 6, 0, 0, 0, 0, time.UTC)}
	for _, tt := range []struct {
		name, want string
		q          *mirror.Query
	}{
		{"words", "team: m2", asked(map[string]float64{"tea": 1})},
		{"heavier words", "team: m2 m3", asked(map[string]float64{"tea": 1, "fact": .5, "port": .1})},
		{"quoted words", "", asked(map[string]float64{`it's \ "quoted"`: 1})},
		{"vectors", "team: m3", asked(nil, func(q *mirror.Query) {
			q.Limit, q.Codes = 1, map[string][]byte{"e5": bytes.Repeat(near, mirror.Dim/len(near))}
		})},
		{"ids", "team: m1", asked(nil, func(q *mirror.Query) { q.IDs = []string{"m1", "unknown"} })},
		{"a time", "team: m1", asked(nil, func(q *mirror.Query) { q.Times = []mirror.Span{day} })},
		{"a filter", "team: m3", asked(map[string]float64{"fact": 1}, func(q *mirror.Query) { q.Filter.Tags = []string{"drink"} })},
		{"statuses", "", asked(map[string]float64{"fact": 1}, func(q *mirror.Query) { q.Filter.Statuses = []memory.Status{memory.Retired} })},
		{"the past", "team: m1", asked(map[string]float64{"fact": 1, "port": 1, "build": 1}, func(q *mirror.Query) {
			q.AsOf, q.Past = day.Before, true
		})},
		{"a space that has none", "memsidecar share vectors", asked(nil, func(q *mirror.Query) { q.Spaces = []string{"team", "nowhere"} })},
	} {
		if tt.q.Codes == nil {
			tt.q.Codes = map[string][]byte{"none": {}} // where words decide alone, neighbours are added
		}
		got := a.foundBy("", tt.q)
		if got != tt.want && (tt.name != "a space that has none" || !strings.Contains(got, tt.want)) {
			t.Errorf("%s: %q, want %q", tt.name, got, tt.want)
		}
	}
	found, err := b.share.FindInMirror(t.Context(), address, asked(map[string]float64{"fact": 1, "tea": 1, "absent": 1}))
	must(t, err)
	if e := found[0]; fmt.Sprint(e.Holding) != "map[fact:2 tea:1]" || e.Active != 3 || len(e.Found[0].Codes["e5"]) != mirror.Dim ||
		len(e.Found[0].Tokens["minilm"]) == 0 {
		t.Errorf("what is known of the space: %+v", e)
	}
}

// TestMirrorRights: the tables of the mirror show each user what the log shows them, in whichever order an administrator
// sets them up. With the roles alone that is everything; by space it is what they may read.
func TestMirrorRights(t *testing.T) {
	pg := postgres.StartVector(t)
	roles := pg.Database(t, "roles")
	for _, sql := range []string{pglog.Schema(0), pglog.Roles(false), people} {
		pg.Exec(t, roles, sql)
	}
	for _, tt := range []struct {
		name    string
		bySpace bool
		sql     []string
	}{
		{"roles", false, []string{pglog.Schema(0), pglog.Roles(false) + mirror.Rights(), mirror.Schema()}},
		{"roles last", false, []string{pglog.Schema(0), mirror.Schema(), pglog.Roles(false) + mirror.Rights(), mirror.Rights()}},
		{"spaces", true, []string{pglog.Schema(0), pglog.Roles(true) + mirror.Rights(), mirror.Schema()}},
		{"spaces last", true, []string{pglog.Schema(0), mirror.Schema(), pglog.Roles(true) + mirror.Rights(), mirror.Rights()}},
		{"spaces, then roles", true, []string{pglog.Schema(0), pglog.Roles(true) + mirror.Rights(), mirror.Schema(),
			pglog.Roles(false) + mirror.Rights()}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			address := pg.Database(t, "r"+strings.NewReplacer(" ", "", ",", "").Replace(tt.name))
			for _, sql := range tt.sql {
				pg.Exec(t, address, sql)
			}
			alice, bob, rita, ada, eve := as("alice", address), as("bob", address), as("rita", address), as("ada", address), as("eve", address)
			if tt.bySpace {
				_, err := run(t, ada, "INSERT INTO memsidecar.permission VALUES ('team', 'alice', 'write'), ('team', 'rita', 'read'), "+
					"('club', 'bob', 'write')")
				must(t, err)
			}
			a, b := start(t, crashfs.New()), start(t, crashfs.New())
			a.add("m1", "a fact of the team")
			a.add("m2", "a fact to purge")
			_, err := b.store.Update(t.Context(), store.Meta{Space: "club", Actor: journal.ActorClient}, func(tx *store.Tx) error {
				return tx.Put(memtest.Fact("b1", "a fact of the club"))
			})
			must(t, err)
			must(t, a.share.Start(t.Context(), "team", alice))
			must(t, b.share.Start(t.Context(), "club", bob))
			must(t, a.share.KeepMirror(t.Context(), "team", true, false))
			must(t, b.share.KeepMirror(t.Context(), "club", true, false))
			within(t, 10*time.Second, func() string {
				return map[bool]string{true: "", false: "vectors are missing"}[query(t, address,
					"SELECT count(*)::text FROM memsidecar.memories WHERE pending = '{}'") == "3"]
			})
			all := "club: b1; team: m1 m2"
			if query(t, address, "SELECT id::text FROM memsidecar.space WHERE name = 'team'") == "1" {
				all = "team: m1 m2; club: b1"
			}
			own := map[string]string{alice: all, bob: all, rita: all}
			if tt.bySpace {
				own = map[string]string{alice: "team: m1 m2", bob: "club: b1", rita: "team: m1 m2"}
			}
			q := func() *mirror.Query {
				return asked(map[string]float64{"fact": 1}, func(q *mirror.Query) { q.Limit = 10 })
			}
			for _, sql := range append([]string{""}, tt.sql...) { // each can be run again, in any order, and changes nothing
				pg.Exec(t, address, sql)
				for user, want := range own {
					if got := a.foundBy(user, q()); got != want {
						t.Errorf("%s finds %q, want %q", pglog.Shown(user), got, want)
					}
				}
			}
			for _, user := range []string{ada, eve} { // an administrator reads no memory, and somebody without a role nothing
				if _, err := a.share.FindInMirror(t.Context(), user, q()); !errors.Is(err, memory.ErrDatabase) || !strings.Contains(err.Error(), "lacks rights") {
					t.Errorf("%s finds: %v", pglog.Shown(user), err)
				}
			}
			forbidden(t, rita, "UPDATE memsidecar.memories SET content = 'x'")
			forbidden(t, rita, "DELETE FROM memsidecar.mirror")
			ids, err := a.purge([]string{"m2"}, nil)
			must(t, err)
			confirmed(t, a, ids, 1)
			if got := query(t, address, "SELECT string_agg(m::text, ' ') FROM memsidecar.memories m"); strings.Contains(got, "to purge") {
				t.Errorf("the mirror holds what was purged: %s", got)
			}
			if !tt.bySpace {
				return
			}
			team := "(SELECT id FROM memsidecar.space WHERE name = 'team')"
			number := query(t, address, "SELECT id::text FROM memsidecar.space WHERE name = 'team'")
			forbidden(t, bob, "INSERT INTO memsidecar.mirror (space) VALUES ("+number+")")
			forbidden(t, bob, "INSERT INTO memsidecar.memories SELECT (r).* FROM (SELECT jsonb_populate_record(m, '{\"id\": \"x\", \"space\": "+
				number+"}') AS r FROM memsidecar.memories m) AS r")
			forbidden(t, bob, "UPDATE memsidecar.mirror_maker SET identity = 'x'")
			before := query(t, address, "SELECT string_agg(m::text, ' ' ORDER BY id) FROM memsidecar.memories m WHERE space = "+team)
			for _, sql := range []string{"UPDATE memsidecar.memories SET content = 'x' WHERE space = " + number,
				"DELETE FROM memsidecar.memories WHERE space = " + number, "DELETE FROM memsidecar.mirror WHERE space = " + number} {
				_, err := run(t, bob, sql)
				must(t, err) // no row of theirs matches
			}
			if after := query(t, address, "SELECT string_agg(m::text, ' ' ORDER BY id) FROM memsidecar.memories m WHERE space = "+team); after != before {
				t.Errorf("a stranger changed the mirror of another space: %s, was %s", after, before)
			}
		})
	}
}

// TestMirrorOfMany: in a table of more rows than are all compared the index proposes the nearest, also to a search of
// one space among others, and to one whose filter leaves a few.
func TestMirrorOfMany(t *testing.T) {
	if os.Getenv(longTests) == "" {
		t.Skip("25,000 vectors take a minute to index; " + longTests + "=1 runs it")
	}
	address := postgres.StartVector(t).Database(t, "many")
	a, _ := pair(t, address)
	a.keep()
	mirrored(t, address, a)
	r := rand.New(rand.NewPCG(1, 2))
	vectors := make([][]byte, 25_000)
	for i := range vectors {
		vectors[i] = make([]byte, mirror.Dim)
		for d := range vectors[i] {
			vectors[i][d] = byte(int8(r.NormFloat64()*20 + 40*float64((i%97+d)%5-2))) // 97 groups
		}
	}
	insertVectors(t, address, vectors)
	for _, q := range []struct {
		name   string
		filter memory.Filter
		of     func(i int) bool
	}{
		{"all", memory.Filter{}, func(int) bool { return true }},
		{"some", memory.Filter{Categories: []string{"patterns"}}, func(i int) bool { return i%2 == 0 }},
		{"few", memory.Filter{Categories: []string{"rare"}}, func(i int) bool { return i%1000 == 1 }},
	} {
		hits, began := 0, time.Now()
		const queries = 20
		for n := range queries {
			codes := slices.Clone(vectors[n*1001])
			for d := range codes {
				codes[d] = byte(int8(max(-100, min(100, float64(int8(codes[d]))+r.NormFloat64()*10))))
			}
			found, err := a.share.FindInMirror(t.Context(), "", asked(nil, func(m *mirror.Query) {
				m.Codes, m.Filter, m.Limit = map[string][]byte{"e5": codes}, q.filter, 256
			}))
			must(t, err)
			got := map[string]bool{}
			for _, f := range found[0].Found {
				got[f.Memory.ID] = true
			}
			for _, id := range nearestOf(vectors, codes, q.of) {
				if got[id] {
					hits++
				}
			}
		}
		recall := float64(hits) / (10 * queries)
		t.Logf("%s: %.3f of the ten nearest, %s a search", q.name, recall, (time.Since(began) / queries).Round(time.Millisecond))
		if recall < .98 {
			t.Errorf("%s: %.3f of the ten nearest are proposed", q.name, recall)
		}
	}
}

// insertVectors adds memories with vectors to the mirror of the only space.
func insertVectors(t *testing.T, address string, vectors [][]byte) {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), address)
	must(t, err)
	defer func() { _ = conn.Close(context.Background()) }()
	exec(t, address, "DROP INDEX memsidecar.memories_e5") // to build it at once is faster
	for from := 0; from < len(vectors); from += 500 {
		var ids, texts, categories []string
		for i := from; i < from+500; i++ {
			parts := make([]string, mirror.Dim)
			for d, c := range vectors[i] {
				parts[d] = fmt.Sprint(int8(c))
			}
			text := "[" + strings.Join(parts, ",") + "]"
			category := []string{"patterns", "facts"}[i%2]
			if i%1000 == 1 {
				category = "rare"
			}
			ids, texts, categories = append(ids, fmt.Sprintf("v%05d", i)), append(texts, text), append(categories, category)
		}
		_, err := conn.Exec(t.Context(), `INSERT INTO memsidecar.memories (space, id, category, title, content, salience, confidence,
			status, source, pinned, tags, relations, created_at, access_count, session, data, terms, length, text_key, e5, pending)
			SELECT m.space, v.id, v.category, '', v.id, .5, 1, 'active', 'user_explicit', false, '{}', '[]', now(), 0, '',
			'{"id":"' || v.id || '","content":"x","category":"' || v.category || '","salience":0.5,"created_at":"2026-01-01T00:00:00Z"}',
			'', 1, '', v.e5::vector, '{}' FROM memsidecar.mirror m, unnest($1::text[], $2::text[], $3::text[]) AS v (id, category, e5)`,
			ids, categories, texts)
		must(t, err)
	}
	exec(t, address, "SET maintenance_work_mem = '256MB'; "+
		"CREATE INDEX memories_e5 ON memsidecar.memories USING hnsw (e5 vector_cosine_ops)")
	exec(t, address, fmt.Sprintf("UPDATE memsidecar.mirror SET memories = memories + %d, active = active + %d; ANALYZE memsidecar.memories",
		len(vectors), len(vectors)))
}

// nearestOf are the ids of the ten nearest by cosine.
func nearestOf(vectors [][]byte, codes []byte, of func(i int) bool) (ids []string) {
	type scored struct {
		id     string
		cosine float64
	}
	var all []scored
	for i, v := range vectors {
		if !of(i) {
			continue
		}
		dot, square := 0.0, 0.0
		for d := range v {
			dot += float64(int8(v[d])) * float64(int8(codes[d]))
			square += float64(int8(v[d])) * float64(int8(v[d]))
		}
		all = append(all, scored{fmt.Sprintf("v%05d", i), dot / math.Sqrt(square)})
	}
	slices.SortFunc(all, func(a, b scored) int { return cmp.Compare(b.cosine, a.cosine) })
	for _, s := range all[:10] {
		ids = append(ids, s.id)
	}
	return ids
}
