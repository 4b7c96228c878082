package archiver_test

import (
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/memsidecar/memsidecar/internal/archiver"
	"github.com/memsidecar/memsidecar/internal/memory"
	"github.com/memsidecar/memsidecar/internal/store"
	"github.com/memsidecar/memsidecar/internal/store/durable"
	"github.com/memsidecar/memsidecar/internal/store/durable/crashfs"
	"github.com/memsidecar/memsidecar/internal/store/journal"
)

var shanghai = time.FixedZone("Asia/Shanghai", 8*60*60)

// noon is when the tests happen, unless they say otherwise.
var noon = time.Date(2026, 6, 1, 12, 0, 0, 0, shanghai)

type harness struct {
	*testing.T
	store *store.Store
	now   time.Time
	loc   *time.Location
	// received is the space that is shared read-only, "" for none.
	received string
}

func newHarness(t *testing.T) *harness {
	b := &harness{T: t, now: noon, loc: shanghai}
	b.store = b.open(crashfs.New())
	return b
}

func (b *harness) open(fsys durable.FS) *store.Store {
	b.Helper()
	st, err := store.Open(store.Config{FS: fsys, Now: b.clock, Logger: slog.New(slog.DiscardHandler),
		ReadOnly: func(space string) bool { return space == b.received }})
	if err != nil {
		b.Fatal(err)
	}
	return st
}

func (b *harness) clock() time.Time { return b.now }

func (b *harness) date(daysAgo int) string {
	return noon.AddDate(0, 0, -daysAgo).Format(memory.DateLayout)
}

func (b *harness) update(space string, fn func(*store.Tx) error) int64 {
	b.Helper()
	res, err := b.store.Update(b.Context(), store.Meta{Space: space, Actor: journal.ActorClient}, fn)
	if err != nil {
		b.Fatal(err)
	}
	return res.Op
}

func (b *harness) log(date string, entries ...memory.Entry) {
	b.Helper()
	b.update("", func(tx *store.Tx) error {
		for i := range entries {
			e := entries[i]
			if e.Time == "" {
				e.Time = fmt.Sprintf("09:%02d:00", i)
			}
			if err := tx.AppendEntry(date, &e); err != nil {
				return err
			}
		}
		return nil
	})
}

func (b *harness) run(opts archiver.Options) archiver.Report {
	b.Helper()
	a := archiver.New(archiver.Config{Store: b.store, Location: b.loc, Logger: slog.New(slog.DiscardHandler)})
	r, err := a.Run(b.Context(), opts)
	if err != nil {
		b.Fatalf("Run: %v", err)
	}
	return r
}

func (b *harness) undo(op int64) {
	b.Helper()
	if _, err := b.store.Undo(b.Context(), store.Meta{}, op); err != nil {
		b.Fatalf("undo of %d: %v", op, err)
	}
}

func (b *harness) promoted(r archiver.Report) []string {
	var out []string
	for _, d := range r.Days {
		for _, p := range d.Promoted {
			if p.Entry != "" {
				out = append(out, p.Category+": "+p.Content)
			}
		}
	}
	return out
}

// actions writes a report as one line per day.
func actions(r archiver.Report) []string {
	var out []string
	for _, d := range r.Days {
		out = append(out, fmt.Sprintf("%d %s", d.Age, d.Action))
	}
	return out
}

func event(text string) memory.Entry { return memory.Entry{Type: memory.EntryEvent, Content: text} }

func TestAges(t *testing.T) {
	b := newHarness(t)
	for _, ago := range []int{61, 60, 31, 30, 29, 0} {
		b.log(b.date(ago), event("wrote the API guide"))
	}
	want := []string{"61 archive", "61 delete", "60 archive", "60 delete", "31 archive", "30 archive", "29 keep",
		"0 keep"}

	dry := b.run(archiver.Options{DryRun: true})
	if diff := cmp.Diff(want, actions(dry)); diff != "" {
		t.Errorf("dry run (-want +got):\n%s", diff)
	}
	lsn := b.store.LSN()
	if lsn != 6 {
		t.Errorf("the dry run changed the store: LSN %d", lsn)
	}
	real := b.run(archiver.Options{})
	if diff := cmp.Diff(want, actions(real)); diff != "" {
		t.Errorf("run (-want +got):\n%s", diff)
	}
	ignore := cmp.Options{
		cmpopts.IgnoreUnexported(archiver.Day{}), cmpopts.IgnoreFields(archiver.Day{}, "Op"),
		cmpopts.IgnoreFields(archiver.Promoted{}, "ID"), cmpopts.IgnoreFields(archiver.Report{}, "DryRun"),
	}
	if diff := cmp.Diff(dry, real, ignore); diff != "" {
		t.Errorf("the dry run did not foretell the run (-dry +real):\n%s", diff)
	}
	var dates []string
	for _, d := range b.store.Space("").Days() {
		dates = append(dates, fmt.Sprintf("%s %v %d", d.Date, d.Archived, d.Entries))
	}
	if diff := cmp.Diff([]string{b.date(31) + " true 1", b.date(30) + " true 1", b.date(29) + " false 1", b.date(0) +
		" false 1"}, dates); diff != "" {
		t.Errorf("logs left (-want +got):\n%s", diff)
	}
	// The deleted logs stay answerable, and the operations that deleted them hold the summary.
	m := b.find("Log " + b.date(61))
	if m == nil || !strings.Contains(m.Content, "wrote the API guide") {
		t.Errorf("summary of the deleted log: %+v", m)
	}
	rec, err := b.store.Operation(t.Context(), real.Days[1].Op)
	if err != nil {
		t.Fatal(err)
	}
	if rec.Actor != journal.ActorArchive ||
		!strings.Contains(fmt.Sprint(dayBefore(rec).Summary), "wrote the API guide") {
		t.Errorf("operation %+v does not hold the summary", rec)
	}

	lsn = b.store.LSN()
	again := b.run(archiver.Options{})
	if diff := cmp.Diff([]string{"31 keep", "30 keep", "29 keep", "0 keep"}, actions(again)); diff != "" ||
		b.store.LSN() != lsn {
		t.Errorf("a second run is not without effect, LSN %d → %d (-want +got):\n%s", lsn, b.store.LSN(), diff)
	}
}

func dayBefore(rec *journal.Record) *memory.Day {
	for _, c := range rec.Changes {
		if c.Day != nil && c.Day.Before != nil {
			return c.Day.Before
		}
	}
	return &memory.Day{}
}

func (b *harness) find(title string) *memory.Memory {
	for _, m := range b.store.Space("").Memories() {
		if m.Title == title {
			return m
		}
	}
	return nil
}

func TestUndo(t *testing.T) {
	b := newHarness(t)
	b.log(b.date(40), event("decided to use PostgreSQL"), event("lunch"))
	b.log(b.date(70), event("the user prefers tea"))
	r := b.run(archiver.Options{})
	if diff := cmp.Diff([]string{"70 archive", "70 delete", "40 archive"}, actions(r)); diff != "" {
		t.Fatalf("run (-want +got):\n%s", diff)
	}
	b.undo(r.Days[2].Op)
	day, entries, err := b.store.Space("").Log(b.date(40))
	if err != nil || day.Archived || day.Summary != "" || len(entries) != 2 {
		t.Errorf("after undo of archive: %+v, %d entries, %v", day, len(entries), err)
	}
	if m := b.find("Log " + b.date(40)); m != nil && m.IsActive() {
		t.Errorf("the summary's memory is still there: %+v", m)
	}
	b.undo(r.Days[1].Op)
	day, entries, err = b.store.Space("").Log(b.date(70))
	if err != nil || !day.Archived || len(entries) != 1 || entries[0].Content != "the user prefers tea" {
		t.Errorf("after undo of delete: %+v, %d entries, %v", day, len(entries), err)
	}

	// What a person took back is not done again, also not a month later.
	lsn := b.store.LSN()
	b.now = b.now.AddDate(0, 0, 30)
	r = b.run(archiver.Options{})
	if diff := cmp.Diff([]string{"100 keep", "70 keep"}, actions(r)); diff != "" || b.store.LSN() != lsn {
		t.Errorf("run after undo (-want +got):\n%s", diff)
	}
	// A log that goes on growing is handled like any other.
	b.log(b.date(40), event("another thing"))
	if diff := cmp.Diff([]string{"100 keep", "70 archive", "70 delete"},
		actions(b.run(archiver.Options{}))); diff != "" {
		t.Errorf("run after a new entry (-want +got):\n%s", diff)
	}
}

func TestPromotion(t *testing.T) {
	for _, tt := range []struct {
		name    string
		entries []memory.Entry
		want    []string
	}{
		{"nothing lasting", []memory.Entry{event("finished the API documentation"), event("吃了午饭"),
			{Type: memory.EntrySessionSummary, Content: "We decided much."}}, nil},
		{"by category", []memory.Entry{
			{Type: "auto_extract", Content: "用户喜欢在下午3点开会", Category: "preferences"},
			{Type: "event", Content: "the API is at api.example.com", Category: "facts"},
			{Type: "event", Content: "buy milk", Category: "tasks"},
			{Type: "event", Content: "note to self", Category: "general"},
			{Type: "event", Content: "ship on Friday", Category: "release-rules"},
		}, []string{"preferences: 用户喜欢在下午3点开会", "facts: the API is at api.example.com",
			"release-rules: ship on Friday"}},
		{"correction first", []memory.Entry{
			event("we decided to use PostgreSQL"), {Type: "correction", Content: "use tabs, not spaces"},
		}, []string{"procedural: use tabs, not spaces", "facts: we decided to use PostgreSQL"}},
		{"English cues", []memory.Entry{
			event("User prefers short answers"), event("Never push to main on Friday"), event("it looks like rain"),
			event("should we always use tabs?"),
		}, []string{"procedural: Never push to main on Friday", "preferences: User prefers short answers"}},
		{"Chinese cues", []memory.Entry{
			event("下次不要直接改生产库"), event("用户偏好东方航空"), event("团队决定采用 PostgreSQL"), event("以后要不要改用 MySQL？"), event("开了三个会"),
		}, []string{"procedural: 下次不要直接改生产库", "preferences: 用户偏好东方航空", "facts: 团队决定采用 PostgreSQL"}},
		{"a failure once is chance", []memory.Entry{{Type: "tool_failure", Content: "fetch_url returned nothing",
			Tool: "fetch_url", Error: "empty_content"}}, nil},
		{"what somebody thought", []memory.Entry{
			{Type: "reflection", Content: "先量再切"}, {Type: "reflection", Content: "Learned 1 thing", Session: "s1"},
			{Type: "reflection", Content: "fetch_url 对 https://example.com 失败，该站点是 React SPA", Tool: "fetch_url",
				Error: "empty_content"},
		}, []string{"procedural: fetch_url 对 https://example.com 失败，该站点是 React SPA", "reflections: 先量再切"}},
		{"a failure twice is a rule", []memory.Entry{
			{Type: "tool_failure", Content: "page 1 is empty", Tool: "fetch_url", Error: "timeout after 30 s"},
			{Type: "reflection", Content: "page 2 is empty", Tool: "fetch_url", Error: "timeout after 45 s"},
			{Type: "tool_failure", Content: "no such file", Tool: "terminal", Error: "exit 1"},
		}, []string{"procedural: fetch_url failed 2 times on 2026-04-22: page 1 is empty"}},
		{"the same twice", []memory.Entry{event("User prefers tea."), event("user  prefers tea"),
			event("user does not prefer tea")}, []string{
			"preferences: User prefers tea.", "preferences: user does not prefer tea",
		}},
		{"numbers make a difference", []memory.Entry{
			{Type: "event", Category: "facts",
				Content: "the new staging server that belongs to our web team in Berlin always listens on the TCP " +
					"port 8080"},
			{Type: "event", Category: "facts",
				Content: "the new staging server that belongs to our web team in Berlin always listens on the TCP " +
					"port 8081"},
			{Type: "event", Category: "facts",
				Content: "The new staging server that belongs to our web team in Berlin always listens on TCP port " +
					"8080!"},
		}, []string{
			"facts: the new staging server that belongs to our web team in Berlin always listens on the TCP port 8080",
			"facts: the new staging server that belongs to our web team in Berlin always listens on the TCP port " +
				"8081",
		}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			b := newHarness(t)
			b.log("2026-04-22", tt.entries...)
			if diff := cmp.Diff(tt.want, b.promoted(b.run(archiver.Options{}))); diff != "" {
				t.Errorf("promoted (-want +got):\n%s", diff)
			}
		})
	}
}

func TestPromotedMemory(t *testing.T) {
	b := newHarness(t)
	b.log("2026-04-22", memory.Entry{ID: "e1", Time: "14:30:00", Type: "event", Content: "User prefers tea",
		Session: "s1"})
	r := b.run(archiver.Options{})
	got, err := b.store.Space("").Get(r.Days[0].Promoted[0].ID)
	if err != nil {
		t.Fatal(err)
	}
	want := &memory.Memory{
		ID: got.ID, Category: memory.Preferences, Content: "User prefers tea", Salience: 0.7, Confidence: 1,
		Status: memory.Active,
		Source: memory.SourceArchive, CreatedAt: time.Date(2026, 4, 22, 14, 30, 0, 0, shanghai),
		UpdatedAt: noon, Revision: r.Days[0].Op,
		More: &memory.More{Evidence: []memory.Evidence{{Log: "2026-04-22", Entry: "e1", Session: "s1"}}},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("memory (-want +got):\n%s", diff)
	}
}

func TestNotPromotedTwice(t *testing.T) {
	b := newHarness(t)
	put := func(id, category, content string, status memory.Status) {
		b.update("", func(tx *store.Tx) error {
			return tx.Put(&memory.Memory{ID: id, Category: category, Content: content, Status: status, Confidence: 1,
				Source: memory.SourceUser})
		})
	}
	put("m1", memory.Preferences, "User prefers tea", memory.Active)
	put("m2", memory.General, "we decided to use PostgreSQL for the new billing service", memory.Active)
	put("m3", memory.Facts, "decision: the office is in Berlin", memory.Superseded)
	b.update("", func(tx *store.Tx) error { tx.Forget("user likes Bob's ex-wife"); return nil })
	b.log(b.date(40),
		memory.Entry{ID: "exact", Type: "event", Content: "user prefers TEA."},
		memory.Entry{ID: "near", Type: "event", Content: "We decided to use PostgreSQL for the new billing service!!"},
		memory.Entry{ID: "outdated", Type: "event", Content: "Decision: the office is in Berlin"},
		memory.Entry{ID: "forgotten", Type: "event", Content: "User likes Bob's ex-wife"},
		memory.Entry{ID: "new", Type: "event", Content: "user hates coffee"},
	)
	r := b.run(archiver.Options{})
	if diff := cmp.Diff([]string{"preferences: user hates coffee"}, b.promoted(r)); diff != "" {
		t.Errorf("promoted (-want +got):\n%s", diff)
	}
	got := map[string]string{}
	for _, s := range r.Days[0].Skipped {
		got[s.Entry] = s.Reason
	}
	if diff := cmp.Diff(map[string]string{"exact": "NEAR_DUPLICATE", "near": "NEAR_DUPLICATE", "outdated": "NEAR_DUPLICATE",
		"forgotten": "FORGOTTEN"}, got); diff != "" {
		t.Errorf("skipped (-want +got):\n%s", diff)
	}
	for _, m := range b.store.Space("").Memories() {
		if strings.Contains(m.Content, "Bob") {
			t.Errorf("the forgotten value came back: %q", m.Content)
		}
	}
	if strings.Contains(r.Days[0].Summary, "Bob") {
		t.Errorf("the forgotten value is in the summary: %q", r.Days[0].Summary)
	}
}

func TestSummary(t *testing.T) {
	b := newHarness(t)
	long := strings.Repeat("very ", 100) + "long"
	b.log("2026-04-20", event(long), memory.Entry{Type: "tool_failure", Tool: "x", Content: "x failed"},
		event("decided to go"), event(long))
	b.log("2026-04-21", event("完成了项目 API 文档编写"), memory.Entry{Type: "reflection", Content: "先写测试"})
	var many []memory.Entry
	for i := range 300 {
		many = append(many, event(fmt.Sprintf("thing number %d was done", i)))
	}
	many = append(many, event("we decided to stop"))
	b.log("2026-04-22", many...)
	b.update("", func(tx *store.Tx) error { tx.SetDay(&memory.Day{Date: "2026-04-23"}); return nil })
	r := b.run(archiver.Options{})
	want := []string{
		"2026-04-20: 4 entries (event 3, tool failure 1)\n- " + strings.Repeat("very ", 31) +
			"very…\n- x failed\n- decided to go",
		"2026-04-21 共 2 条记录（事件 1、反思 1）\n- 完成了项目 API 文档编写\n- 先写测试",
	}
	for i, w := range want {
		if diff := cmp.Diff(w, r.Days[i].Summary); diff != "" {
			t.Errorf("summary %d (-want +got):\n%s", i, diff)
		}
	}
	s := r.Days[2].Summary
	if n := utf8.RuneCountInString(s); n > 1000 || n < 900 || !strings.HasSuffix(s, "we decided to stop") {
		t.Errorf("summary of a long day has %d characters: %q", n, s)
	}
	if d := r.Days[3]; d.Action != archiver.Archive || d.Summary != "" || len(d.Promoted) != 0 {
		t.Errorf("empty day: %+v", d)
	}
	if b.find("Log 2026-04-23") != nil {
		t.Error("a memory of nothing")
	}
}
