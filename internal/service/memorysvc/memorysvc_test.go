package memorysvc_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/memsidecar/memsidecar/internal/memory"
	"github.com/memsidecar/memsidecar/internal/service/memorysvc"
	"github.com/memsidecar/memsidecar/internal/store"
	"github.com/memsidecar/memsidecar/internal/store/durable"
	"github.com/memsidecar/memsidecar/internal/store/journal"
)

const secret = "ghp_" + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8"

// bench is a service on a store of its own, with a clock that the test sets.
type bench struct {
	*memorysvc.Service
	store *store.Store
	clock time.Time
}

func newBench(t *testing.T) *bench {
	t.Helper()
	root, err := os.OpenRoot(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	b := &bench{clock: time.Date(2026, 2, 21, 10, 30, 0, 0, time.UTC)}
	now := func() time.Time { return b.clock }
	b.store, err = store.Open(store.Config{FS: durable.Dir(root), Now: now, Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := errors.Join(b.store.Close(context.Background()), root.Close()); err != nil {
			t.Error(err)
		}
	})
	b.Service = memorysvc.New(b.store, now)
	return b
}

func draft(id, category, content string) memorysvc.Draft {
	return memorysvc.Draft{Memory: &memory.Memory{ID: id, Category: category, Content: content}}
}

func (b *bench) add(t *testing.T, drafts ...memorysvc.Draft) store.Result {
	t.Helper()
	result, err := b.Add(t.Context(), store.Meta{}, drafts)
	if err != nil {
		t.Fatalf("Add: %v", err)
	}
	return result
}

func (b *bench) get(t *testing.T, id string) *memory.Memory {
	t.Helper()
	found, _, err := b.Get("", []string{id})
	if err != nil {
		t.Fatalf("Get: %v", err)
	}
	return found[0]
}

func reasons(t *testing.T, err error) []string {
	t.Helper()
	invalid, ok := errors.AsType[*memory.InvalidError](err)
	if !ok {
		t.Fatalf("got %v, want an *InvalidError", err)
	}
	var out []string
	for _, v := range invalid.Violations {
		out = append(out, v.Field+" "+v.Reason)
	}
	return out
}

func TestAddFillsInDefaults(t *testing.T) {
	b := newBench(t)
	result := b.add(t, draft("", "", "likes tea"))
	got := b.get(t, result.Outcomes[0].ID)
	want := &memory.Memory{
		ID: got.ID, Category: "general", Content: "likes tea", Salience: 0.5, Confidence: 1, Source: "user_explicit",
		CreatedAt: b.clock, UpdatedAt: b.clock, Revision: result.Op, Status: memory.Active,
	}
	if diff := cmp.Diff(want, got); diff != "" || len(got.ID) != 36 {
		t.Errorf("stored memory, id %q (-want +got):\n%s", got.ID, diff)
	}
	zero := 0.0
	d := draft("z", "facts", "matters little")
	d.Salience, d.Confidence = &zero, &zero
	b.add(t, d)
	if m := b.get(t, "z"); m.Salience != 0 || m.Confidence != 0 {
		t.Errorf("explicit zeros became %v and %v", m.Salience, m.Confidence)
	}
}

func TestAddOutcomes(t *testing.T) {
	b := newBench(t)
	b.add(t, draft("a", "facts", "The port is 8080."))
	expired := draft("old", "facts", "The coupon works")
	expired.Memory.SetExpiresAt(b.clock.Add(time.Hour))
	b.add(t, expired, draft("gone", "facts", "Moved to Berlin"))
	if _, err := b.Delete(t.Context(), store.Meta{}, []string{"gone"}, 0, true); err != nil {
		t.Fatal(err)
	}
	b.clock = b.clock.Add(2 * time.Hour)
	result := b.add(t,
		draft("", "facts", "the port  is 8080"),         // equal
		draft("a", "facts", "The port is 8080"),         // same id, equal
		draft("a", "facts", "The port is 9090"),         // same id, other content
		draft("n1", "preferences", "The port is 8080."), // other category
		draft("n2", "facts", "new"), draft("", "facts", "New!"),
		draft("n2", "facts", "other"),
		draft("", "facts", "the coupon works"), // the equal one has expired
		draft("gone", "facts", "moved to berlin"),
		draft("n3", "facts", "the token is "+secret),
	)
	want := []journal.Outcome{
		{ID: "a", Status: journal.Duplicate, Reason: memorysvc.ReasonEqual},
		{ID: "a", Status: journal.Duplicate, Reason: memorysvc.ReasonEqual},
		{ID: "a", Status: journal.Rejected, Reason: memorysvc.ReasonIDExists},
		{ID: "n1", Status: journal.Applied},
		{ID: "n2", Status: journal.Applied},
		{ID: "n2", Status: journal.Duplicate, Reason: memorysvc.ReasonEqual},
		{ID: "n2", Status: journal.Rejected, Reason: memorysvc.ReasonIDExists},
		{ID: "old", Status: journal.Applied, Reason: memorysvc.ReasonRevived},
		{ID: "gone", Status: journal.Applied, Reason: memorysvc.ReasonRevived},
		{ID: "n3", Status: journal.Applied, Reason: memorysvc.ReasonRedacted, Redactions: []memory.Redaction{
			{Field: "content", Kind: "github-token", From: 13, To: 53},
		}},
	}
	if diff := cmp.Diff(want, result.Outcomes); diff != "" {
		t.Errorf("outcomes (-want +got):\n%s", diff)
	}
	if len(b.store.Space("").Forgotten()) != 0 {
		t.Error("the value that was saved again is still forgotten")
	}
	if m := b.get(t, "n3"); strings.Contains(m.Content, secret) {
		t.Errorf("stored %q", m.Content)
	}
}

func TestAddRefusesWithAllViolations(t *testing.T) {
	b := newBench(t)
	late := draft("", "facts", "from the future")
	late.Memory.CreatedAt = b.clock.Add(25 * time.Hour)
	late.Memory.SetContentAt(late.Memory.CreatedAt)
	tags := draft("", "facts", "x")
	tags.Memory.Tags = slices.Repeat([]string{"t"}, 33)
	_, err := b.Add(t.Context(), store.Meta{Session: "a b"}, []memorysvc.Draft{draft("", "", "ok")})
	if diff := cmp.Diff([]string{"session_id INVALID_ID"}, reasons(t, err)); diff != "" {
		t.Error(diff)
	}
	_, err = b.Add(t.Context(), store.Meta{}, []memorysvc.Draft{
		draft("", "facts", "fine"), draft("", "Not A Slug", ""), late, tags,
		draft("", "facts", strings.Repeat("字", 8001)),
		draft("", "facts", "<private>nothing else</private>"),
	})
	want := []string{
		"items[1].category INVALID_SLUG", "items[1].content REQUIRED", "items[2].created_at IN_FUTURE",
		"items[2].content_at IN_FUTURE",
		"items[3].tags TOO_MANY", "items[4].content TOO_LONG", "items[5].content NOTHING_LEFT",
	}
	if diff := cmp.Diff(want, reasons(t, err)); diff != "" {
		t.Errorf("violations (-want +got):\n%s", diff)
	}
	for _, n := range []int{0, 1001} {
		_, err := b.Add(t.Context(), store.Meta{}, make([]memorysvc.Draft, n))
		if diff := cmp.Diff([]string{"items OUT_OF_RANGE"}, reasons(t, err)); diff != "" {
			t.Error(diff)
		}
	}
	if n := b.store.Space("").Count(); n != 0 {
		t.Errorf("%d memories were stored", n)
	}
}

func TestRedactionReachesEveryText(t *testing.T) {
	b := newBench(t)
	d := draft("r", "facts", "harmless")
	d.Memory.Title, d.Memory.Tags = "t "+secret, []string{secret}
	d.Memory.SetContext(&memory.Context{Tool: "x " + secret})
	d.Memory.SetStructuredData(json.RawMessage(`{"n":12345678901234567890,"deep":[{"k":"` + secret + `"}]}`))
	b.add(t, d)
	data, err := json.Marshal(b.get(t, "r"))
	if err != nil {
		t.Fatal(err)
	}
	if strings.Contains(string(data), secret) {
		t.Errorf("stored %s", data)
	}
	if !strings.Contains(string(data), "12345678901234567890") {
		t.Errorf("a number lost digits: %s", data)
	}
}

func TestIdempotencyKey(t *testing.T) {
	b := newBench(t)
	meta := store.Meta{Key: "k1", Request: []byte("one")}
	first, err := b.Add(t.Context(), meta, []memorysvc.Draft{draft("", "facts", "once")})
	if err != nil {
		t.Fatal(err)
	}
	again, err := b.Add(t.Context(), meta, []memorysvc.Draft{draft("", "facts", "once")})
	if err != nil || !again.Replayed || again.Op != first.Op || !cmp.Equal(first.Outcomes, again.Outcomes) {
		t.Errorf("again: %+v, %v, want the first result %+v", again, err, first)
	}
	meta.Request = []byte("two")
	if _, err := b.Add(t.Context(), meta, []memorysvc.Draft{draft("", "facts", "twice")}); !errors.Is(err,
		memory.ErrKeyReused) {
		t.Errorf("another request under the key: %v", err)
	}
}

func TestUpdate(t *testing.T) {
	b := newBench(t)
	d := draft("a", "facts", "The port is 8080")
	d.Memory.Tags, d.Memory.Title = []string{"net"}, "Port"
	revision := b.add(t, d, draft("b", "facts", "other")).Op
	b.clock = b.clock.Add(time.Hour)
	content, title, tags := "The port is 9090", "", []string{}
	result, m, err := b.Update(t.Context(), store.Meta{}, "a", revision,
		memorysvc.Patch{Content: &content, Title: &title, Tags: &tags})
	if err != nil {
		t.Fatal(err)
	}
	want := &memory.Memory{
		ID: "a", Category: "facts", Content: content, Salience: 0.5, Confidence: 1, Source: "user_explicit",
		CreatedAt: b.clock.Add(-time.Hour), UpdatedAt: b.clock, Revision: result.Op, Status: memory.Active,
		More: &memory.More{ContentAt: b.clock},
	}
	if diff := cmp.Diff(want, m); diff != "" {
		t.Errorf("after Update (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(want, b.get(t, "a")); diff != "" {
		t.Errorf("stored (-want +got):\n%s", diff)
	}

	same, _, err := b.Update(t.Context(), store.Meta{}, "a", 0, memorysvc.Patch{Content: &content})
	if err != nil || same.Op != 0 || same.Outcomes[0].Status != journal.Duplicate {
		t.Errorf("no change: %+v, %v, want a duplicate without operation", same, err)
	}
	stale, isStale := (*memory.StaleError)(nil), false
	_, _, err = b.Update(t.Context(), store.Meta{}, "a", revision, memorysvc.Patch{Title: new("x")})
	if stale, isStale = errors.AsType[*memory.StaleError](err); !isStale || stale.Current != result.Op {
		t.Errorf("old revision: %v, want a StaleError with %d", err, result.Op)
	}
	if _, _, err = b.Update(t.Context(), store.Meta{}, "a", 0, memorysvc.Patch{Content: new("Other.")}); !errors.Is(err,
		memory.ErrExists) {
		t.Errorf("content of another memory: %v, want ErrExists", err)
	}
	if _, _, err = b.Update(t.Context(), store.Meta{}, "nope", 0, memorysvc.Patch{}); !errors.Is(err,
		memory.ErrNotFound) {
		t.Errorf("unknown id: %v, want ErrNotFound", err)
	}
	_, _, err = b.Update(t.Context(), store.Meta{}, "a", 0, memorysvc.Patch{Content: new(" "), Salience: new(2.0)})
	if diff := cmp.Diff([]string{"patch.content REQUIRED", "patch.salience OUT_OF_RANGE"},
		reasons(t, err)); diff != "" {
		t.Error(diff)
	}
}

func TestDeleteAndRestore(t *testing.T) {
	b := newBench(t)
	revision := b.add(t, draft("a", "facts", "A"), draft("b", "facts", "B"), draft("c", "facts", "C")).Op
	if _, err := b.Delete(t.Context(), store.Meta{}, []string{"a"}, revision+7, true); !errors.Is(err,
		memory.ErrStale) {
		t.Errorf("wrong revision: %v", err)
	}
	if _, err := b.Delete(t.Context(), store.Meta{}, []string{"x", "y"}, 0, true); !errors.Is(err, memory.ErrNotFound) {
		t.Errorf("no id known: %v", err)
	}
	result, err := b.Delete(t.Context(), store.Meta{}, []string{"a", "nope", "a"}, 0, true)
	if err != nil {
		t.Fatal(err)
	}
	want := []journal.Outcome{
		{ID: "a", Status: journal.Applied}, {ID: "nope", Status: journal.Rejected, Reason: memorysvc.ReasonNotFound},
		{ID: "a", Status: journal.Duplicate, Reason: memorysvc.ReasonState},
	}
	if diff := cmp.Diff(want, result.Outcomes); diff != "" {
		t.Error(diff)
	}
	if m := b.get(t, "a"); m.Status != memory.Retired || len(b.store.Space("").Forgotten()) != 1 {
		t.Errorf("status %q, forgotten %v", m.Status, b.store.Space("").Forgotten())
	}
	if _, err := b.Delete(t.Context(), store.Meta{}, []string{"b"}, 0, false); err != nil ||
		len(b.store.Space("").Forgotten()) != 1 {
		t.Errorf("without forget: %v, forgotten %v", err, b.store.Space("").Forgotten())
	}
	b.add(t, draft("b2", "facts", "b"))
	result, err = b.Restore(t.Context(), store.Meta{}, []string{"a", "b", "c"})
	if err != nil {
		t.Fatal(err)
	}
	want = []journal.Outcome{
		{ID: "a", Status: journal.Applied}, {ID: "b", Status: journal.Rejected, Reason: memorysvc.ReasonEqual},
		{ID: "c", Status: journal.Duplicate, Reason: memorysvc.ReasonState},
	}
	if diff := cmp.Diff(want, result.Outcomes); diff != "" {
		t.Error(diff)
	}
	if m := b.get(t, "a"); !m.IsActive() || len(b.store.Space("").Forgotten()) != 0 {
		t.Errorf("restored: status %q, forgotten %v", m.Status, b.store.Space("").Forgotten())
	}
}

func TestRestoreSuperseded(t *testing.T) {
	b := newBench(t)
	_, err := b.store.Update(t.Context(), store.Meta{}, func(tx *store.Tx) error {
		return errors.Join(
			tx.Put(&memory.Memory{ID: "old", Category: "facts", Content: "o", Source: "s", Status: memory.Superseded,
				More: &memory.More{SupersededBy: "new"}}),
			tx.Put(&memory.Memory{ID: "new", Category: "facts", Content: "n", Source: "s",
				More: &memory.More{Supersedes: []string{"old", "older"}}}))
	})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := b.Restore(t.Context(), store.Meta{}, []string{"old"}); err != nil {
		t.Fatal(err)
	}
	if o, n := b.get(t, "old"), b.get(t, "new"); !o.IsActive() || o.SupersededBy() != "" ||
		!slices.Equal(n.Supersedes(), []string{"older"}) {
		t.Errorf("old %+v, new %+v", o, n)
	}
}

func TestLinks(t *testing.T) {
	b := newBench(t)
	b.add(t, draft("a", "facts", "A"), draft("b", "facts", "B"))
	r := memory.Relation{Type: "supports", Target: "b", Strength: 0.5}
	if _, m, err := b.Link(t.Context(), store.Meta{}, "a", 0, r); err != nil ||
		!slices.Equal(m.Relations(), []memory.Relation{r}) {
		t.Fatalf("Link: %+v, %v", m, err)
	}
	if res, _, err := b.Link(t.Context(), store.Meta{}, "a", 0, r); err != nil || res.Op != 0 {
		t.Errorf("again: %+v, %v", res, err)
	}
	r.Strength = 0.9
	if _, m, err := b.Link(t.Context(), store.Meta{}, "a", 0, r); err != nil ||
		!slices.Equal(m.Relations(), []memory.Relation{r}) {
		t.Errorf("new strength: %+v, %v", m, err)
	}
	if stored := b.get(t, "a").Relations(); !slices.Equal(stored, []memory.Relation{r}) {
		t.Errorf("stored %v", stored)
	}
	if _, _, err := b.Link(t.Context(), store.Meta{}, "a", 0,
		memory.Relation{Type: "supports", Target: "zzz"}); !errors.Is(err, memory.ErrNotFound) {
		t.Errorf("unknown target: %v", err)
	}
	if _, _, err := b.Link(t.Context(), store.Meta{}, "a", 0,
		memory.Relation{Type: "supports", Target: "a"}); !slices.Equal(reasons(t, err),
		[]string{"relation.target SELF"}) {
		t.Errorf("to itself: %v", err)
	}
	if _, m, err := b.Unlink(t.Context(), store.Meta{}, "a", 0,
		memory.Relation{Type: "supports", Target: "b"}); err != nil || m.Relations() != nil {
		t.Errorf("Unlink: %+v, %v", m, err)
	}
	if res, _, err := b.Unlink(t.Context(), store.Meta{}, "a", 0, r); err != nil || res.Op != 0 {
		t.Errorf("Unlink again: %+v, %v", res, err)
	}
}

func TestListPages(t *testing.T) {
	for _, order := range []memorysvc.Order{"", memorysvc.ByUpdated, memorysvc.BySalience, memorysvc.ByAccess} {
		for _, ascending := range []bool{false, true} {
			t.Run(fmt.Sprint(order, ascending), func(t *testing.T) {
				b := newBench(t)
				for i := range 25 {
					b.clock = b.clock.Add(time.Duration(i%3) * time.Second) // some have equal keys
					d := draft(fmt.Sprintf("m%02d", i*7%25), "facts", fmt.Sprint("memory ", i))
					s := float64(i%5) / 5
					d.Salience = &s
					d.Memory.SetAccesses(int64(i%4), d.Memory.LastAccessed())
					b.add(t, d)
				}
				seen := map[string]int{}
				q := memorysvc.Query{Order: order, Ascending: ascending, Size: 4}
				for n := 0; ; n++ {
					page, err := b.List(q)
					if err != nil {
						t.Fatal(err)
					}
					for _, m := range page.Memories {
						seen[m.ID]++
					}
					if n == 2 { // what comes and goes must not shift the others
						b.clock = b.clock.Add(time.Hour)
						b.add(t, draft("late", "facts", "late"))
						if _, err := b.Delete(t.Context(), store.Meta{}, []string{page.Memories[0].ID}, 0,
							true); err != nil {
							t.Fatal(err)
						}
					}
					if q.Token = page.Next; q.Token == "" {
						break
					}
				}
				delete(seen, "late")
				if len(seen) != 25 {
					t.Errorf("saw %d memories, want 25", len(seen))
				}
				for id, n := range seen {
					if n != 1 {
						t.Errorf("%s came %d times", id, n)
					}
				}
			})
		}
	}
}

func TestListFilters(t *testing.T) {
	b := newBench(t)
	start := b.clock
	pinned := draft("pin", "facts", "pinned")
	pinned.Memory.Pinned, pinned.Memory.Tags = true, []string{"x"}
	expiring := draft("exp", "tasks", "expires")
	expiring.Memory.SetExpiresAt(start.Add(time.Minute))
	b.add(t, pinned, expiring, draft("gone", "facts", "retired"))
	b.clock = start.Add(time.Hour)
	high := 0.9
	top := draft("top", "preferences", "matters")
	top.Salience, top.Memory.Source = &high, "import"
	b.add(t, top)
	if _, err := b.Delete(t.Context(), store.Meta{}, []string{"gone"}, 0, false); err != nil {
		t.Fatal(err)
	}
	tests := []struct {
		name   string
		filter memory.Filter
		want   []string
	}{
		{"none", memory.Filter{}, []string{"top", "pin"}},
		{"categories", memory.Filter{Categories: []string{"facts", "tasks"}}, []string{"pin"}},
		{"tags", memory.Filter{Tags: []string{"x", "y"}}, []string{"pin"}},
		{"sources", memory.Filter{Sources: []string{"import"}}, []string{"top"}},
		{"retired", memory.Filter{Statuses: []memory.Status{memory.Retired}}, []string{"gone"}},
		{"active, expired too", memory.Filter{Statuses: []memory.Status{memory.Active}},
			[]string{"top", "pin", "exp"}},
		{"salience", memory.Filter{MinSalience: 0.6}, []string{"top"}},
		{"not pinned", memory.Filter{Pinned: new(false)}, []string{"top"}},
		{"created from", memory.Filter{CreatedFrom: start.Add(time.Hour)}, []string{"top"}},
		{"created before", memory.Filter{CreatedBefore: start.Add(time.Hour)}, []string{"pin"}},
		{"updated", memory.Filter{UpdatedFrom: start, UpdatedBefore: start.Add(time.Second)}, []string{"pin"}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			page, err := b.List(memorysvc.Query{Filter: test.filter})
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			for _, m := range page.Memories {
				got = append(got, m.ID)
			}
			slices.Sort(got)
			slices.Sort(test.want)
			if diff := cmp.Diff(test.want, got); diff != "" || page.Total != len(test.want) {
				t.Errorf("total %d (-want +got):\n%s", page.Total, diff)
			}
		})
	}
}

func TestListRefuses(t *testing.T) {
	b := newBench(t)
	b.add(t, draft("", "facts", "1"), draft("", "facts", "2"))
	page, err := b.List(memorysvc.Query{Size: 1})
	if err != nil {
		t.Fatal(err)
	}
	for name, q := range map[string]memorysvc.Query{
		"garbage":       {Token: "!"},
		"not a token":   {Token: "e30x"},
		"another order": {Token: page.Next, Order: memorysvc.ByAccess},
		"another space": {Token: page.Next, Space: "work"},
	} {
		if _, err := b.List(q); !slices.Equal(reasons(t, err), []string{"page_token INVALID_TOKEN"}) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := b.List(memorysvc.Query{Size: 1001}); !slices.Equal(reasons(t, err),
		[]string{"page_size OUT_OF_RANGE"}) {
		t.Error(err)
	}
}

func TestListCutsLargePages(t *testing.T) {
	b := newBench(t)
	var drafts []memorysvc.Draft
	for i := range 300 {
		drafts = append(drafts, draft("", "facts", fmt.Sprint(i)+strings.Repeat("字", 7990)))
	}
	b.add(t, drafts...)
	total, pages := 0, 0
	for q := (memorysvc.Query{Size: 1000}); ; pages++ {
		page, err := b.List(q)
		if err != nil {
			t.Fatal(err)
		}
		size := 0
		for _, m := range page.Memories {
			size += len(m.Content)
		}
		if size > 3<<20 {
			t.Errorf("a page has %d bytes", size)
		}
		total += len(page.Memories)
		if q.Token = page.Next; q.Token == "" {
			break
		}
	}
	if total != 300 || pages < 1 {
		t.Errorf("%d memories on %d pages", total, pages+1)
	}
}

func TestStatsAndHot(t *testing.T) {
	b := newBench(t)
	hot := draft("h", "facts", "hot")
	hot.Memory.SetAccesses(5, time.Time{})
	hot.Salience = new(1.0)
	b.add(t, hot, draft("c", "tasks", "cold"), draft("g", "tasks", "gone"))
	if _, err := b.Add(t.Context(), store.Meta{Space: "work"},
		[]memorysvc.Draft{draft("w", "facts", "work")}); err != nil {
		t.Fatal(err)
	}
	if _, err := b.Delete(t.Context(), store.Meta{}, []string{"g"}, 0, true); err != nil {
		t.Fatal(err)
	}
	if _, err := b.AppendLog(t.Context(), store.Meta{}, []*memory.Entry{{Content: "x"}, {Content: "y"}}, false); err != nil {
		t.Fatal(err)
	}
	got, err := b.Stats([]string{""})
	if err != nil {
		t.Fatal(err)
	}
	want := memorysvc.Stats{
		Total: 3, ByCategory: map[string]int64{"facts": 1, "tasks": 1},
		ByStatus: map[memory.Status]int64{"active": 2, "retired": 1},
		BySource: map[string]int64{"user_explicit": 2}, AverageSalience: 0.75, Accesses: 5, Days: 1, LogEntries: 2,
		LSN:    b.store.LSN(),
		Spaces: []memorysvc.SpaceStats{{Name: "default", Active: 2, Total: 3, Revision: b.store.Space("").Revision()}},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if all, err := b.Stats(nil); err != nil || all.Total != 4 || len(all.Spaces) != 2 {
		t.Errorf("all spaces: %+v, %v", all, err)
	}
	list, err := b.Hot("")
	if err != nil || len(list) != 1 || list[0].ID != "h" {
		t.Errorf("Hot = %v, %v", list, err)
	}
}

func TestSummaryAndLog(t *testing.T) {
	b := newBench(t)
	b.clock = b.clock.In(time.FixedZone("CST", 8*3600))
	result, err := b.SetSummary(t.Context(), store.Meta{}, "key "+secret)
	if err != nil || result.Outcomes[0].Reason != memorysvc.ReasonRedacted {
		t.Fatalf("SetSummary: %+v, %v", result, err)
	}
	if text, _, _ := b.Summary(""); text == "" || strings.Contains(text, secret) {
		t.Errorf("summary %q", text)
	}
	night := time.Date(2026, 2, 20, 17, 5, 0, 0, time.UTC) // the 21st in the daemon's zone
	result, err = b.AppendLog(t.Context(), store.Meta{Session: "s1"},
		[]*memory.Entry{{Content: "<private>x</private>done", At: night}}, false)
	if err != nil {
		t.Fatal(err)
	}
	_, entries, err := b.store.Space("").Log("2026-02-21")
	if err != nil {
		t.Fatal(err)
	}
	want := []*memory.Entry{{ID: result.Outcomes[0].ID, Time: "01:05:00", At: night, Type: "event", Content: "done",
		Session: "s1"}}
	if diff := cmp.Diff(want, entries); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	_, err = b.AppendLog(t.Context(), store.Meta{},
		[]*memory.Entry{{Content: ""}, {Content: "x", At: b.clock.Add(25 * time.Hour)}}, false)
	if diff := cmp.Diff([]string{"entries[0].content REQUIRED", "entries[1].at IN_FUTURE"},
		reasons(t, err)); diff != "" {
		t.Error(diff)
	}
}
