package archiver_test

import (
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"github.com/memsidecar/memsidecar/internal/archiver"
	"github.com/memsidecar/memsidecar/internal/memory"
	"github.com/memsidecar/memsidecar/internal/service/memorysvc"
	"github.com/memsidecar/memsidecar/internal/store"
)

// old is a memory of 91 days ago that nobody asked for.
func old(id, content string) *memory.Memory {
	at := noon.AddDate(0, 0, -91)
	return &memory.Memory{
		ID: id, Category: memory.Facts, Content: content, Source: memory.SourceReflection, Salience: 0.5, Confidence: 1,
		CreatedAt: at, UpdatedAt: at,
	}
}

func (b *harness) put(list ...*memory.Memory) {
	b.Helper()
	b.update("", func(tx *store.Tx) error {
		for _, m := range list {
			if err := tx.Put(m.Clone()); err != nil {
				return err
			}
		}
		return nil
	})
}

func (b *harness) compress(opts archiver.CompressOptions) archiver.CompressReport {
	b.Helper()
	a := archiver.New(archiver.Config{Store: b.store, Location: b.loc, Logger: slog.New(slog.DiscardHandler)})
	r, err := a.Compress(b.Context(), opts)
	if err != nil {
		b.Fatalf("Compress: %v", err)
	}
	return r
}

// harbour are three memories that are alike.
func harbour() []*memory.Memory {
	return []*memory.Memory{
		old("m1", "The ferry of line A leaves from berth 4 in the morning."),
		old("m2", "the ferry of line A leaves from berth 4 in the morning. It is never late."),
		old("m3", "The ferry of line A leaves from berth 4 in the morning, says Mei Lin."),
	}
}

func TestCompress(t *testing.T) {
	change := func(f func(m *memory.Memory)) []*memory.Memory {
		list := harbour()
		f(list[1])
		return list
	}
	long := func(n int) (out []*memory.Memory) {
		for i := range n {
			out = append(out, old(fmt.Sprintf("m%02d", i),
				strings.Repeat("the ferry of line A leaves from the old berth in the morning ", 60)+strings.Repeat("x",
					i+1)))
		}
		return out
	}
	for _, tt := range []struct {
		name   string
		put    []*memory.Memory
		groups int
		want   []string // contents of the results
	}{
		{"three that are alike", harbour(), 1, []string{
			"The ferry of line A leaves from berth 4 in the morning.\nIt is never late.\nThe ferry of line A leaves " +
				"from berth 4 in the morning, says Mei Lin.",
		}},
		{"Chinese", []*memory.Memory{
			old("m1", "用户的渡轮每天早上从四号泊位出发。"), old("m2", "用户的渡轮每天早上从四号泊位出发！美琳说的。"), old("m3", "用户的渡轮每天早上从四号泊位出发"),
		}, 1, []string{"用户的渡轮每天早上从四号泊位出发。\n美琳说的。"}},
		{"two are no group", harbour()[:2], 0, nil},
		{"too young", change(func(m *memory.Memory) { m.CreatedAt = noon.AddDate(0, 0, -89) }), 0, nil},
		{"changed lately", change(func(m *memory.Memory) { m.UpdatedAt = noon.AddDate(0, 0, -89) }), 0, nil},
		{"found often", change(func(m *memory.Memory) { m.SetAccesses(5, m.LastAccessed()) }), 0, nil},
		{"found four times", change(func(m *memory.Memory) { m.SetAccesses(4, m.LastAccessed()) }), 1, []string{
			"the ferry of line A leaves from berth 4 in the morning. It is never late.\nThe ferry of line A leaves " +
				"from berth 4 in the morning, says Mei Lin.",
		}},
		{"pinned", change(func(m *memory.Memory) { m.Pinned = true }), 0, nil},
		{"another category", change(func(m *memory.Memory) { m.Category = memory.Tasks }), 0, nil},
		{"a title", change(func(m *memory.Memory) { m.Title = "Ferry" }), 0, nil},
		{"an expiry", change(func(m *memory.Memory) { m.SetExpiresAt(noon.AddDate(1, 0, 0)) }), 0, nil},
		{"retired", change(func(m *memory.Memory) { m.Status = memory.Retired }), 0, nil},
		{"data", change(func(m *memory.Memory) { m.SetStructuredData([]byte(`{"a":1}`)) }), 0, nil},
		{"another number", change(func(m *memory.Memory) {
			m.Content = "The ferry of line A leaves from berth 5 in the morning."
		}), 0, nil},
		{"a negation", change(func(m *memory.Memory) {
			m.Content = "The ferry of line A never leaves from berth 4 in the morning."
		}), 0, nil},
		{"another subject", change(func(m *memory.Memory) {
			m.Content = "The crane is repaired by a company from Ningbo."
		}), 0, nil},
		{"another name is another sentence", []*memory.Memory{
			old("m1", "Mei prefers tea in the morning"), old("m2", "Bob prefers tea in the morning"),
			old("m3", "Ann prefers tea in the morning"),
		}, 1, []string{"Mei prefers tea in the morning\nBob prefers tea in the morning\nAnn prefers tea in the morning"}},
		{"summaries of logs", []*memory.Memory{
			{ID: "m1", Title: "Log 2026-01-01", Source: memory.SourceArchive, Category: memory.General,
				Content: "the same", CreatedAt: noon.AddDate(-1, 0, 0), UpdatedAt: noon.AddDate(-1, 0, 0)},
			{ID: "m2", Title: "Log 2026-01-02", Source: memory.SourceArchive, Category: memory.General,
				Content: "the same", CreatedAt: noon.AddDate(-1, 0, 0), UpdatedAt: noon.AddDate(-1, 0, 0)},
			{ID: "m3", Title: "Log 2026-01-03", Source: memory.SourceArchive, Category: memory.General,
				Content: "the same", CreatedAt: noon.AddDate(-1, 0, 0), UpdatedAt: noon.AddDate(-1, 0, 0)},
		}, 0, nil},
		// 3,600 characters each: two fit one result, six fit three.
		{"a large group becomes three", long(6), 1, nil},
		{"what does not fit is left", long(8), 1, nil},
		{"three that do not fit into two", long(3), 1, nil},
	} {
		t.Run(tt.name, func(t *testing.T) {
			b := newHarness(t)
			b.put(tt.put...)
			dry := b.compress(archiver.CompressOptions{DryRun: true})
			if b.store.LSN() != 1 {
				t.Fatal("the dry run changed the store")
			}
			r := b.compress(archiver.CompressOptions{})
			if len(r.Groups) != tt.groups {
				t.Fatalf("%d groups, want %d: %+v", len(r.Groups), tt.groups, r.Groups)
			}
			if len(r.Groups) == 0 {
				if b.store.LSN() != 1 {
					t.Error("something changed")
				}
				return
			}
			requireSameAsDryRun(t, dry, r)
			g := r.Groups[0]
			if tt.want != nil {
				var got []string
				for _, m := range g.Results {
					got = append(got, m.Content)
				}
				if diff := cmp.Diff(tt.want, got); diff != "" {
					t.Errorf("results (-want +got):\n%s", diff)
				}
			}
			b.checkMerged(g, tt.put)
			// What was merged is left alone from here on, and a group that was taken back is not merged again.
			if again := b.compress(archiver.CompressOptions{}); again.Merged() != 0 {
				t.Errorf("merged again: %+v", again.Groups)
			}
			b.undo(g.Op)
			for _, m := range tt.put {
				if got, err := b.store.Space("").Get(m.ID); err != nil || !got.IsActive() || got.Content != m.Content ||
					got.SupersededBy() != "" {
					t.Errorf("after the undo: %+v, %v", got, err)
				}
			}
			if n := b.store.Space("").Count(); n != len(tt.put) {
				t.Errorf("%d memories after the undo, want %d", n, len(tt.put))
			}
			if again := b.compress(archiver.CompressOptions{}); again.Merged() != 0 {
				t.Errorf("merged in spite of the undo: %+v", again.Groups)
			}
		})
	}
}

func requireSameAsDryRun(t *testing.T, dry, real archiver.CompressReport) {
	t.Helper()
	for i := range real.Groups {
		g := real.Groups[i]
		g.Op, g.Results = 0, slices.Clone(g.Results)
		for j := range g.Results {
			g.Results[j].ID = ""
		}
		if diff := cmp.Diff(dry.Groups[i], g); diff != "" {
			t.Errorf("the dry run did not foretell group %d (-dry +real):\n%s", i, diff)
		}
	}
}

// checkMerged checks that a group became fewer, that nothing was lost, and that the links go both ways.
func (b *harness) checkMerged(g archiver.Group, before []*memory.Memory) {
	b.Helper()
	if len(g.Results) < 1 || len(g.Results) > 3 || len(g.Results) >= len(g.Originals) {
		b.Errorf("%d originals became %d", len(g.Originals), len(g.Results))
	}
	var all strings.Builder
	for _, r := range g.Results {
		all.WriteString(r.Content)
		m, err := b.store.Space("").Get(r.ID)
		if err != nil {
			b.Fatal(err)
		}
		if utf8.RuneCountInString(m.Content) > memory.MaxContent || !m.IsActive() ||
			!slices.Equal(m.Supersedes(), r.Supersedes) {
			b.Errorf("result %+v", m)
		}
		for _, id := range r.Supersedes {
			o, err := b.store.Space("").Get(id)
			if err != nil || o.Status != memory.Superseded || o.SupersededBy() != r.ID {
				b.Errorf("original %+v, %v", o, err)
			}
		}
	}
	for _, m := range before {
		if !slices.Contains(g.Originals, m.ID) {
			continue
		}
		for _, word := range strings.FieldsFunc(m.Content, func(r rune) bool {
			return strings.ContainsRune(" .,。！", r)
		}) {
			if !strings.Contains(strings.ToLower(all.String()), strings.ToLower(word)) {
				b.Errorf("%q of %s is lost", word, m.ID)
			}
		}
	}
}

func TestRestoreMerged(t *testing.T) {
	b := newHarness(t)
	b.put(harbour()...)
	g := b.compress(archiver.CompressOptions{}).Groups[0]
	s := memorysvc.New(b.store, b.clock)
	if _, err := s.Restore(t.Context(), store.Meta{}, []string{"m3"}); err != nil {
		t.Fatal(err)
	}
	m, err := b.store.Space("").Get("m3")
	if err != nil || !m.IsActive() || m.SupersededBy() != "" {
		t.Errorf("restored: %+v, %v", m, err)
	}
	if m, err = b.store.Space("").Get(g.Results[0].ID); err != nil || slices.Contains(m.Supersedes(), "m3") {
		t.Errorf("successor: %+v, %v", m, err)
	}
}

func TestCompressLimits(t *testing.T) {
	b := newHarness(t)
	for n, text := range []string{"The ferry leaves every morning.", "Timetables come from the port authority.",
		"Mei repairs engines herself."} {
		for i, more := range []string{"", " It is so.", " They say so."} {
			m := old(fmt.Sprint(n, ".", i), text+more)
			b.put(m)
		}
	}
	if r := b.compress(archiver.CompressOptions{MaxGroups: 2}); r.Merged() != 2 || r.Candidates != 9 {
		t.Errorf("%d groups of %d candidates", r.Merged(), r.Candidates)
	}
	if r := b.compress(archiver.CompressOptions{}); r.Merged() != 1 {
		t.Errorf("then %d groups", r.Merged())
	}
	a := archiver.New(archiver.Config{Store: b.store, Location: b.loc, Logger: slog.New(slog.DiscardHandler)})
	if _, err := a.Compress(t.Context(), archiver.CompressOptions{Space: "No Slug", Days: -1,
		MaxGroups: -1}); err == nil {
		t.Error("bad options accepted")
	}
}

// TestCompressAfterMoreThan90Days: by whole days, since the last access, or since the creation of what was never
// accessed.
func TestCompressAfterMoreThan90Days(t *testing.T) {
	day := 24 * time.Hour
	for _, tt := range []struct {
		name              string
		created, accessed time.Duration // ago; accessed 0 is never
		want              int           // candidates
	}{
		{"never accessed, 89 days", 89 * day, 0, 0},
		{"exactly 90 days", 90 * day, 0, 0},
		{"90 days and some hours", 91*day - time.Second, 0, 0},
		{"91 days", 91 * day, 0, 3},
		{"accessed exactly 90 days ago", 200 * day, 90 * day, 0},
		{"accessed 91 days ago", 200 * day, 91 * day, 3},
		{"accessed yesterday", 200 * day, day, 0},
		{"a year", 365 * day, 0, 3},
	} {
		t.Run(tt.name, func(t *testing.T) {
			b := newHarness(t)
			list := harbour()
			for _, m := range list {
				m.CreatedAt = noon.Add(-tt.created)
				m.UpdatedAt = m.CreatedAt
				if tt.accessed > 0 {
					m.SetAccesses(1, noon.Add(-tt.accessed))
				}
			}
			b.put(list...)
			if r := b.compress(archiver.CompressOptions{}); r.Candidates != tt.want || len(r.Groups) != min(1, tt.want) {
				t.Errorf("%d candidates, %d groups, want %d", r.Candidates, len(r.Groups), tt.want)
			}
		})
	}
}

// TestMergedMemory: what a result takes from its originals beside the text.
func TestMergedMemory(t *testing.T) {
	b := newHarness(t)
	list := harbour()
	list[0].Salience, list[0].Tags = 0.9, []string{"ferry"}
	list[0].SetAccesses(2, time.Time{})
	list[1].Confidence, list[1].Tags = 0.5, []string{"ferry", "line"}
	list[1].SetAccesses(1, noon.AddDate(0, 0, -95))
	list[1].CreatedAt = noon.AddDate(0, 0, -96)
	list[2].CreatedAt = noon.AddDate(-1, 0, 0)
	list[2].SetEvidence([]memory.Evidence{{Log: "2025-06-01", Entry: "e1"}})
	list[2].SetRelations([]memory.Relation{{Type: "supports", Target: "other", Strength: 1}})
	b.put(list...)
	r := b.compress(archiver.CompressOptions{})
	got, err := b.store.Space("").Get(r.Groups[0].Results[0].ID)
	if err != nil {
		t.Fatal(err)
	}
	want := &memory.Memory{
		ID: got.ID, Category: memory.Facts, Content: got.Content, Salience: 0.9, Confidence: 0.5,
		Status: memory.Active,
		Source: memory.SourceCompression, CreatedAt: list[2].CreatedAt,
		UpdatedAt: noon, Revision: r.Groups[0].Op,
		Tags: []string{"ferry", "line"}, More: &memory.More{AccessCount: 3, LastAccessed: list[1].LastAccessed(),
			Evidence: list[2].Evidence(), Relations: list[2].Relations(),
			Supersedes: got.Supersedes(), ContentAt: list[0].CreatedAt},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if !strings.HasPrefix(got.Content, list[0].Content) || got.Supersedes()[0] != "m1" {
		t.Errorf("the most important text is not kept first: %q, %q", got.Content, got.Supersedes())
	}
}
