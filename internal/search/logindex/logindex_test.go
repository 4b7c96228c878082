package logindex_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"golang.org/x/sync/errgroup"

	"github.com/memsidecar/memsidecar/internal/memory"
	"github.com/memsidecar/memsidecar/internal/memtest"
	"github.com/memsidecar/memsidecar/internal/search"
	"github.com/memsidecar/memsidecar/internal/search/logindex"
	"github.com/memsidecar/memsidecar/internal/store"
	"github.com/memsidecar/memsidecar/internal/store/durable/crashfs"
)

// world is a store with everything that searches need.
type world struct {
	t      testing.TB
	store  *store.Store
	index  *logindex.Index
	engine *search.Engine
	clock  *memtest.Clock
}

func open(t testing.TB, limits logindex.Limits) *world {
	t.Helper()
	w := &world{t: t, clock: new(memtest.Clock)}
	engine := search.New(search.Config{Now: w.clock.Now})
	w.engine = engine
	w.index = logindex.New(logindex.Config{Search: engine, Now: w.clock.Now})
	w.index.SetLimits(limits)
	w.store = memtest.Open(t, store.Config{FS: crashfs.New(), Now: w.clock.Now,
		Projections: []store.Projection{engine, w.index}})
	w.index.SetStore(w.store)
	return w
}

func (w *world) update(space string, fn func(*store.Tx) error) {
	w.t.Helper()
	if _, err := w.store.Update(w.t.Context(), store.Meta{Space: space}, fn); err != nil {
		w.t.Fatal(err)
	}
}

// date is that of a number of days before the clock's.
func (w *world) date(ago int) string {
	return w.clock.Now().AddDate(0, 0, -ago).Format(memory.DateLayout)
}

func (w *world) log(space string, ago int, entries ...*memory.Entry) {
	w.t.Helper()
	w.update(space, func(tx *store.Tx) error {
		for i, e := range entries {
			if e.At.IsZero() {
				e.At = w.clock.Now().AddDate(0, 0, -ago).Add(-time.Duration(len(entries)-i) * time.Minute)
			}
			e.Time, e.Type = e.At.Format(time.TimeOnly), memory.EntryEvent
			if err := tx.AppendEntry(w.date(ago), e); err != nil {
				return err
			}
		}
		return nil
	})
}

func (w *world) search(req search.Request) *logindex.Result {
	w.t.Helper()
	got, err := w.index.Search(w.t.Context(), req)
	if err != nil {
		w.t.Fatal(err)
	}
	return got
}

// names lists what was found: memories by id, entries as log:ID, summaries as day:DATE.
func names(r *logindex.Result) []string {
	out := []string{}
	for i, h := range r.Hits {
		switch l := r.Logs[i]; {
		case l == nil:
			out = append(out, h.Memory.ID)
		case l.Entry != nil:
			out = append(out, "log:"+l.Entry.ID)
		default:
			out = append(out, "day:"+l.Date)
		}
	}
	return out
}

func (w *world) finds(req search.Request, want ...string) {
	w.t.Helper()
	if want == nil {
		want = []string{}
	}
	if diff := cmp.Diff(want, names(w.search(req))); diff != "" {
		w.t.Errorf("%q (-want +got):\n%s", req.Query, diff)
	}
}

func entry(id, content string) *memory.Entry { return &memory.Entry{ID: id, Content: content} }

func TestFindsLogsBesideMemories(t *testing.T) {
	w := open(t, logindex.Limits{})
	w.update("", func(tx *store.Tx) error {
		return errors.Join(
			tx.Put(memtest.Fact("port", "The staging database listens on port 5433.")),
			tx.Put(memtest.Fact("tea", "She drinks green tea in the morning.")))
	})
	w.log("", 1,
		entry("moved", "Moved the staging database to the host quartz"),
		entry("same", "The staging database listens on port 5433"),
		&memory.Entry{ID: "failed", Content: "The nightly backup did not run", Error: "ERR_DISK_FULL on /dev/sdb1",
			Tool: "restic", Session: "s1"},
		entry("zh", "把备份服务器迁移到了新机房"),
		entry("lunch", "Had lunch with the team"))
	w.update("", func(tx *store.Tx) error {
		return tx.AppendEntry(w.date(40), &memory.Entry{ID: "old", At: w.clock.Now().AddDate(0, 0, -40),
			Time: "12:00:00", Type: "event", Content: "Ordered a turntable"})
	})
	w.update("", func(tx *store.Tx) error {
		tx.SetDay(&memory.Day{Date: w.date(40), Summary: "The record collection got a turntable from Kyoto.",
			Archived: true})
		return nil
	})

	w.finds(search.Request{Query: "staging database port"}, "port", "log:moved")
	w.finds(search.Request{Query: "ERR_DISK_FULL"}, "log:failed")
	w.finds(search.Request{Query: "why did restic fail"}, "log:failed")
	w.finds(search.Request{Query: "备份服务器在哪里"}, "log:zh")
	w.finds(search.Request{Query: "turntable from Kyoto"}, "day:"+w.date(40), "log:old")
	w.finds(search.Request{Query: "the orbit of the moon Titan"})
	w.finds(search.Request{Query: "green tea"}, "tea")

	got := w.search(search.Request{Query: "host quartz", Explain: true})
	if len(got.Hits) != 1 || got.Logs[0].Date != w.date(1) || got.Hits[0].Space != memory.DefaultSpace ||
		len(got.Hits[0].Parts) == 0 || got.CompleteFrom != "" {
		t.Errorf("the hit does not say what it is: %+v", got)
	}
}

// TestDays asks for nothing but a day.
func TestDays(t *testing.T) {
	w := open(t, logindex.Limits{})
	for ago, what := range []string{"Wrote the tender", "Repaired the printer", "Sowed the beans"} {
		w.log("", ago, entry(fmt.Sprint("e", ago), what))
	}
	w.finds(search.Request{Query: "what happened yesterday?"}, "log:e1")
	w.finds(search.Request{Query: "昨天"}, "log:e1")
	w.finds(search.Request{Query: w.date(2)}, "log:e2")
}

// TestUnrelatedLogsChangeNothing compares searches with logs that hold nothing of the question and searches without
// logs.
func TestUnrelatedLogsChangeNothing(t *testing.T) {
	w := open(t, logindex.Limits{})
	w.log("", 1, entry("a", "Sowed the beans"), entry("b", "浇了花园里的番茄"))
	for i, content := range []string{
		"The staging database listens on port 5433.", "The production database listens on port 5432.",
		"Deploys go through make release in src/deploy.sh.",
		"用户喜欢用中文写代码注释", "The database is backed up at night.",
	} {
		w.update("", func(tx *store.Tx) error { return tx.Put(memtest.Fact(fmt.Sprint("m", i), content)) })
	}
	for _, query := range []string{"database port", "src/deploy.sh", "代码注释用什么语言", "database", "weather in Lisbon",
		"what is"} { // the profile overlap counts "the", which is in the logs
		for _, profile := range []string{search.Balanced, search.Product, search.Weighted, search.Overlap,
			search.Recent} {
			req := search.Request{Query: query, Profile: profile, Explain: true}
			plain, err := w.engine.Search(t.Context(), req)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(plain, w.search(req).Response); diff != "" {
				t.Errorf("%s %q (-without +with):\n%s", profile, query, diff)
			}
		}
	}
}

func TestFilters(t *testing.T) {
	w := open(t, logindex.Limits{})
	for ago := range 5 {
		w.log("", ago, &memory.Entry{ID: fmt.Sprint("e", ago), Content: "Deployed the gateway release number " +
			strings.Repeat("xi", ago+1), Category: memory.Tasks, Session: fmt.Sprint("s", ago)})
	}
	w.log("work", 1, entry("other", "Deployed the gateway of the office"))
	w.update("", func(tx *store.Tx) error { return tx.Put(memtest.Fact("fact", "The gateway is deployed by hand.")) })
	now := w.clock.Now()
	for _, tt := range []struct {
		name string
		req  search.Request
		want []string
	}{
		{"session", search.Request{Filter: memory.Filter{Sessions: []string{"s2"}}}, []string{"log:e2"}},
		{"from", search.Request{Filter: memory.Filter{CreatedFrom: now.AddDate(0, 0, -2),
			Sources: []string{logindex.Source}}}, []string{"log:e0", "log:e1"}},
		{"before", search.Request{Filter: memory.Filter{CreatedBefore: now.AddDate(0, 0, -3)}},
			[]string{"log:e3", "log:e4"}},
		{"as of", search.Request{AsOf: now.AddDate(0, 0, -4)}, []string{"log:e4"}},
		{"category", search.Request{Filter: memory.Filter{Categories: []string{memory.Facts}}}, []string{"fact"}},
		{"source", search.Request{Filter: memory.Filter{Sources: []string{memory.SourceUser}}}, []string{"fact"}},
		{"salience", search.Request{Filter: memory.Filter{MinSalience: 0.4}}, []string{"fact"}},
		{"tags", search.Request{Filter: memory.Filter{Tags: []string{"x"}}}, nil},
		{"pinned", search.Request{Filter: memory.Filter{Pinned: new(true)}}, nil},
		{"status", search.Request{Filter: memory.Filter{Statuses: []memory.Status{memory.Retired}}}, nil},
		{"score", search.Request{MinScore: 2}, nil},
		{"k", search.Request{K: 1}, []string{"log:e0"}},
		{"space", search.Request{Spaces: []string{"work"}}, []string{"log:other"}},
		{"spaces", search.Request{Spaces: []string{"work", "default"},
			Filter: memory.Filter{CreatedBefore: now.AddDate(0, 0, -1), CreatedFrom: now.AddDate(0, 0, -2)}},
			[]string{"log:e1", "log:other"}},
		{"arm", search.Request{Arm: search.Vector}, nil},
	} {
		t.Run(tt.name, func(t *testing.T) {
			tt.req.Query = "gateway deployed"
			w.t = t
			got := names(w.search(tt.req))
			slices.Sort(got)
			if diff := cmp.Diff(tt.want, got, cmpopts.EquateEmpty()); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// TestFollows is what was written, changed and taken out since the first search.
func TestFollows(t *testing.T) {
	w := open(t, logindex.Limits{})
	w.log("", 1, entry("a", "The crane lifted the zebrawood beam"))
	w.finds(search.Request{Query: "zebrawood"}, "log:a")
	w.log("", 1, entry("b", "Bought a xylophone"))
	w.finds(search.Request{Query: "xylophone"}, "log:b")
	w.finds(search.Request{Query: "zebrawood"}, "log:a")
	w.update("", func(tx *store.Tx) error {
		_, entries, err := w.store.Space(memory.DefaultSpace).Log(w.date(1))
		if err != nil {
			return err
		}
		after := *entries[0]
		after.Content = "The crane lifted the mahogany beam"
		return tx.ChangeEntry(w.date(1), entries[0], &after)
	})
	w.finds(search.Request{Query: "zebrawood"})
	w.finds(search.Request{Query: "mahogany"}, "log:a")
	w.update("", func(tx *store.Tx) error {
		tx.SetDay(&memory.Day{Date: w.date(1), Summary: "A quokka came by.", Archived: true})
		return nil
	})
	w.finds(search.Request{Query: "quokka"}, "day:"+w.date(1))
	w.update("", func(tx *store.Tx) error {
		day, entries, err := w.store.Space(memory.DefaultSpace).Log(w.date(1))
		if err != nil {
			return err
		}
		if err := tx.RemoveDay(day, entries); err != nil {
			return err
		}
		tx.LogDeleted(memory.Archived{Date: w.date(1), Entries: 2, Summary: "A quokka came by."})
		return nil
	})
	w.finds(search.Request{Query: "mahogany"})
	if got := w.search(search.Request{Query: "quokka"}); len(got.Logs) != 1 || !got.Logs[0].Deleted {
		t.Errorf("the summary of the deleted day: %v", names(got))
	}
}

func TestBounds(t *testing.T) {
	w := open(t, logindex.Limits{Entries: 6, Bytes: 1 << 20, Summaries: 100, Texts: 10})
	for ago := range 10 {
		w.log("", ago, entry(fmt.Sprint("x", ago), "The lighthouse keeper saw ship number "+
			strings.Repeat("qa", ago+1)), entry(fmt.Sprint("y", ago), "Nothing of note"))
	}
	got := w.search(search.Request{Query: "lighthouse keeper", K: 50})
	if len(got.Hits) != 3 || got.CompleteFrom != w.date(2) || w.index.IndexedTexts("") != 6 {
		t.Errorf("found %v from %s, kept %d", names(got), got.CompleteFrom, w.index.IndexedTexts(""))
	}
	// What is older is read for one search.
	old := search.Request{Query: "lighthouse keeper",
		Filter: memory.Filter{CreatedBefore: w.clock.Now().AddDate(0, 0, -6)}}
	if got := w.search(old); len(got.Hits) != 2 || got.CompleteFrom != w.date(7) {
		t.Errorf("found %v from %s", names(got), got.CompleteFrom)
	}
	// So are days that the query names.
	if got := names(w.search(search.Request{Query: "did the lighthouse keeper see a ship on " + w.date(8) + "?",
		K: 50})); !slices.Contains(got, "log:x8") || !slices.Contains(got, "log:x0") || slices.Contains(got, "log:x5") {
		t.Errorf("found %v", got)
	}
	// A new day displaces the oldest.
	w.clock.Advance(24 * time.Hour)
	w.log("", 0, entry("new", "The lighthouse keeper left"))
	if got := w.search(search.Request{Query: "lighthouse keeper", K: 50}); got.CompleteFrom != w.date(2) ||
		w.index.IndexedTexts("") != 5 {
		t.Errorf("found %v from %s, kept %d", names(got), got.CompleteFrom, w.index.IndexedTexts(""))
	}
	// What is used least gives way.
	for _, space := range []string{"a", "b"} {
		for ago := range 3 {
			w.log(space, ago, entry("1", "one thing"), entry("2", "another thing"))
		}
	}
	w.clock.Advance(time.Second)
	w.search(search.Request{Query: "thing", Spaces: []string{"a"}})
	w.clock.Advance(time.Second)
	w.search(search.Request{Query: "thing", Spaces: []string{"b"}})
	if a, b, first := w.index.IndexedTexts("a"), w.index.IndexedTexts("b"), w.index.IndexedTexts(""); b == 0 ||
		a+b+first > 10 || first != 0 {
		t.Errorf("kept %d, %d and %d", first, a, b)
	}
	w.clock.Advance(time.Hour)
	w.index.ReleaseIdle()
	if n := w.index.IndexedTexts("b"); n != 0 {
		t.Errorf("%d are kept after an hour", n)
	}
}

func TestUnusedCostsNothing(t *testing.T) {
	w := open(t, logindex.Limits{})
	w.log("", 0, entry("a", "The crane lifted the beam"))
	if n := w.index.CachedSpaces(); n != 0 {
		t.Errorf("%d spaces are followed before the first search", n)
	}
}

// TestInterrupted is a search whose time ends before all is indexed: the next one goes on from there.
func TestInterrupted(t *testing.T) {
	w := open(t, logindex.Limits{})
	w.log("", 0, entry("a", "The crane lifted the zebrawood beam"))
	w.log("", 1, entry("b", "Bought a xylophone"))
	ctx := &endsAfter{Context: t.Context(), left: 1}
	if _, err := w.index.Search(ctx, search.Request{Query: "xylophone"}); !errors.Is(err, context.DeadlineExceeded) {
		t.Fatalf("got %v", err)
	}
	if n := w.index.IndexedTexts(""); n != 1 {
		t.Errorf("%d entries are kept of the interrupted search", n)
	}
	w.finds(search.Request{Query: "xylophone"}, "log:b")
}

// endsAfter is a context that ends when it was asked a number of times.
type endsAfter struct {
	context.Context
	left int
}

func (c *endsAfter) Err() error {
	if c.left--; c.left < 0 {
		return context.DeadlineExceeded
	}
	return nil
}

func TestTooManySpaces(t *testing.T) {
	w := open(t, logindex.Limits{})
	_, err := w.index.Search(t.Context(), search.Request{Query: "x", Spaces: make([]string, logindex.MaxSpaces+1)})
	if invalid := new(memory.InvalidError); !errors.As(err, &invalid) {
		t.Errorf("got %v", err)
	}
}

// TestTogether is searches, new entries, purges and release at once. What was acknowledged before a search is found
// by it.
func TestTogether(t *testing.T) {
	w := open(t, logindex.Limits{Entries: 60, Bytes: 1 << 20, Summaries: 100, Texts: 30})
	var group errgroup.Group
	for g := range 3 {
		group.Go(func() error {
			space := fmt.Sprint("space", g%2)
			for i := range 20 {
				word := fmt.Sprintf("word%dof%d", i, g)
				_, err := w.store.Update(t.Context(), store.Meta{Space: space}, func(tx *store.Tx) error {
					return tx.AppendEntry(w.date(g),
						&memory.Entry{ID: word, At: w.clock.Now().AddDate(0, 0, -g), Type: memory.EntryEvent,
							Content: "They said " + word + " aloud"})
				})
				if err != nil {
					return err
				}
				got, err := w.index.Search(t.Context(), search.Request{Query: word, Spaces: []string{space}})
				if err != nil {
					return err
				}
				if len(got.Hits) > 0 && got.Logs[0].Entry.ID != word {
					return fmt.Errorf("asked for %s, found %v", word, names(got))
				}
				if len(got.Hits) == 0 && g > 0 { // another goroutine may have had all forgotten in between
					return fmt.Errorf("%s is not found: %s", word, got.Reason)
				}
				if g == 0 && i%5 == 4 {
					w.index.ReleaseIdle()
				}
			}
			return nil
		})
	}
	if err := group.Wait(); err != nil {
		t.Error(err)
	}
}
