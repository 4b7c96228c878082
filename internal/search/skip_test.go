package search_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/memsidecar/memsidecar/internal/journal"
	"github.com/memsidecar/memsidecar/internal/memory"
	"github.com/memsidecar/memsidecar/internal/search"
)

// history drives an engine through random changes of one space.
type history struct {
	*rand.Rand
	engine *search.Engine
	lsn    int64
	state  map[string]*memory.Memory
	words  []string
	share  float64 // of the words in a memory
	now    time.Time
}

func (h *history) text() string {
	var s strings.Builder
	for i, w := range h.words {
		for range 1 + h.IntN(2)*h.IntN(3) {
			if h.Float64() < h.share*2/float64(1+i%4) {
				s.WriteString(w + " ")
			}
		}
	}
	if h.IntN(8) == 0 {
		fmt.Fprintf(&s, "own%d", h.IntN(40))
	}
	return s.String() + "."
}

// put adds or replaces a memory; many are alike in everything, so that there are ties.
func (h *history) put(id string) {
	m := mem(id, h.text())
	m.Salience = float64(h.IntN(3)) / 2
	m.CreatedAt = epoch.Add(-time.Duration(h.IntN(4)) * 13 * time.Hour)
	if h.IntN(3) == 0 {
		m.Title = h.text()
	}
	if h.IntN(4) == 0 {
		m.Category, m.Tags = memory.Preferences, []string{"apricot"}
	}
	if h.IntN(10) == 0 {
		m.LastAccessed, m.AccessCount = epoch.Add(-time.Duration(h.IntN(100))*time.Hour), int64(h.IntN(30))
	}
	m.Pinned = h.IntN(6) == 0
	if h.IntN(6) == 0 {
		m.ExpiresAt = epoch.Add(time.Duration(h.IntN(100)-50) * time.Hour)
	}
	if h.IntN(30) == 0 {
		m.Status = memory.Superseded
	}
	h.apply(journal.Change{Memory: &journal.MemoryChange{ID: id, Before: h.state[id], After: m}})
	h.state[id] = m
}

func (h *history) apply(c journal.Change) {
	h.lsn++
	h.engine.Apply(record(h.lsn, "", c))
}

func (h *history) step() {
	id := fmt.Sprint("m", h.IntN(len(h.state)+3))
	switch h.IntN(4) {
	case 0:
		if h.state[id] != nil {
			h.apply(journal.Change{Memory: &journal.MemoryChange{ID: id, Before: h.state[id]}})
			delete(h.state, id)
		}
	case 1:
		h.apply(journal.Change{Touch: &journal.TouchChange{ID: id, Count: 3, At: epoch.Add(-time.Duration(h.IntN(50)) * time.Hour)}})
	default:
		h.put(id)
	}
}

func (h *history) request() search.Request {
	var q []string
	if h.IntN(6) == 0 {
		q = append(q, h.words...) // more than are told apart
	}
	for range 1 + h.IntN(6) {
		q = append(q, h.words[h.IntN(len(h.words))])
	}
	for _, extra := range []string{"own7", "yesterday", "2026-02-20", "know user time", "unheard", "preference"} {
		if h.IntN(6) == 0 {
			q = append(q, extra)
		}
	}
	if h.IntN(20) == 0 {
		q = []string{"yesterday"}
	}
	req := search.Request{
		Query: strings.Join(q, " "), K: 1 + h.IntN(12), Explain: h.IntN(2) == 0,
		Profile: []string{search.Balanced, search.Balanced, search.Product, search.Weighted, search.Overlap, search.Recent}[h.IntN(6)],
	}
	if h.IntN(4) == 0 {
		req.Filter.Categories = []string{memory.Preferences}
	}
	switch h.IntN(20) {
	case 0:
		req.Filter.Tags = []string{"unused", "apricot"}
	case 1:
		req.Filter.Pinned = new(bool)
		*req.Filter.Pinned = h.IntN(2) == 0
	case 2:
		req.Filter.CreatedAfter = epoch.Add(-time.Duration(h.IntN(40)) * time.Hour)
	case 3:
		req.Filter.CreatedBefore = epoch.Add(-time.Duration(h.IntN(40)) * time.Hour)
	case 4:
		req.Filter.Sources = []string{"nobody"}
	case 5:
		req.Filter.Statuses = []memory.Status{memory.Superseded}
	case 6:
		req.Filter.MinSalience = 0.5
	case 7:
		req.Filter.MinScore = h.Float64() / 2
	case 8:
		req.Filter.UpdatedAfter = epoch.Add(-time.Duration(h.IntN(40)) * time.Hour)
	}
	if h.IntN(4) == 0 {
		req.AsOf = epoch.Add(-time.Duration(h.IntN(40)) * time.Hour)
	}
	if h.IntN(4) == 0 {
		req.UseDecay = new(bool)
	}
	if h.IntN(3) == 0 {
		req.Spaces = []string{"", "beside"}
	}
	return req
}

// TestSkippingChangesNothing: a search finds what looking at every memory finds, with the same scores in the same order,
// whatever happened to the index before.
func TestSkippingChangesNothing(t *testing.T) {
	dense := 0
	defer func() {
		if dense == 0 {
			t.Error("no term was dense: nothing was tested")
		}
	}()
	rapid.Check(t, func(t *rapid.T) {
		h := &history{Rand: rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 7)), state: map[string]*memory.Memory{}, now: epoch}
		h.engine = search.New(search.Config{Now: func() time.Time { return h.now }})
		h.words = append(slices.Clone(commonWords[:2+h.IntN(12)]), "know", "time", "get_user", "数据库")
		h.share = []float64{0.05, 0.2, 0.5}[h.IntN(3)]
		h.engine.Apply(record(1, "beside", journal.Change{Memory: &journal.MemoryChange{ID: "b", After: mem("b", h.text()+"apricot basalt")}}))
		size := rapid.IntRange(1, 500).Draw(t, "memories")
		thickenAt := h.IntN(size)
		for i := range size {
			h.put(fmt.Sprint("m", i))
			if i == thickenAt {
				h.engine.Thicken("", []int{4, 16, 64}[h.IntN(3)])
			}
		}
		dense += h.engine.Dense("")
		for range rapid.IntRange(1, 4).Draw(t, "rounds") {
			for range h.IntN(60) {
				h.step()
			}
			h.now = h.now.Add(time.Duration(h.IntN(3)*h.IntN(40)) * time.Hour) // bounds get loose with time, and are made anew
			if err := errors.Join(h.engine.CheckDense(""), h.engine.CheckBounds("", h.now)); err != nil {
				t.Fatal(err)
			}
			for range 6 {
				req := h.request()
				h.compare(t, req)
			}
		}
	})
}

func (h *history) compare(t *rapid.T, req search.Request) {
	want, err := h.engine.SearchAll(req)
	if err != nil {
		t.Fatal(err)
	}
	got, err := h.engine.Search(t.Context(), req)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Fatalf("%+v (-all +skipping):\n%s", req, diff)
	}
	limit := 1 + h.IntN(30) // keeping few makes skipping bold
	all, err := h.engine.PoolAll(req, limit)
	if err != nil {
		t.Fatal(err)
	}
	some, err := h.engine.Pool(req, limit)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(all, some); diff != "" {
		t.Fatalf("%+v, %d kept (-all +skipping):\n%s", req, limit, diff)
	}
}

// TestSkippingAfterLoad: a loaded index skips, too, and knows what changed while the daemon was down.
func TestSkippingAfterLoad(t *testing.T) {
	memories := uniform(3000, commonWords, 0.5)
	fsys := newDir(t)
	if err := loaded(t, memories).Save(fsys); err != nil {
		t.Fatal(err)
	}
	memories[7] = memories[7].Clone()
	memories[7].Content, memories[7].Revision = "apricot", 5000
	e := search.New(search.Config{Now: func() time.Time { return epoch }})
	if err := e.Load("", memories[:2900], fsys); err != nil {
		t.Fatal(err)
	}
	if n := e.Dense(""); n != len(commonWords)+1 { // and the word in group12
		t.Errorf("%d terms are dense, want %d", n, len(commonWords)+1)
	}
	if err := errors.Join(e.CheckDense(""), e.CheckBounds("", epoch)); err != nil {
		t.Fatal(err)
	}
	for _, q := range []string{"apricot", "apricot basalt cobalt", "group12 dolphin ember"} {
		req := search.Request{Query: q, Explain: true}
		want, err := e.SearchAll(req)
		if err != nil {
			t.Fatal(err)
		}
		got, err := e.Search(t.Context(), req)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, got); diff != "" || len(got.Hits) == 0 {
			t.Errorf("%q: %d hits (-all +skipping):\n%s", q, len(got.Hits), diff)
		}
	}
}

// samePool checks that a search keeps what it would by looking at every memory, and returns that.
func samePool(t *testing.T, e *search.Engine, req search.Request, limit int) []search.Hit {
	t.Helper()
	all, err := e.PoolAll(req, limit)
	if err != nil {
		t.Fatal(err)
	}
	got, err := e.Pool(req, limit)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(all, got); diff != "" {
		t.Errorf("-all +skipping:\n%s", diff)
	}
	return all
}

// TestAlmostAlike: memories of one length that hold the same common words, and differ in what else counts.
func TestAlmostAlike(t *testing.T) {
	filler := strings.Join(commonWords[2:9], " ")
	many := strings.Join(commonWords[:16], " ")
	for _, c := range []struct {
		name, query string
		text        func(i int) string
	}{
		{"in frequency", "apricot", func(i int) string {
			switch {
			case i%128 == 0:
				return "apricot" // these blocks come first
			case i%128 < 64:
				return "apricot basalt " + filler
			}
			return "apricot apricot " + filler
		}},
		{"in frequency, the newer ones less", "apricot", func(i int) string {
			if i < 20*64 {
				return "apricot apricot " + filler
			}
			return "apricot basalt " + filler
		}},
		{"in a rare word", "apricot unique", func(i int) string {
			switch {
			case i%256 == 100:
				return "apricot unique"
			case i%2 == 0:
				return "apricot basalt"
			}
			return "cobalt dolphin"
		}},
		{"in the seventeenth word", many + " lonely lost", func(i int) string {
			word := " lost"
			if i%3 == 0 {
				word = " lonely"
			}
			if i%8 == 0 {
				return many + word
			}
			return word
		}},
		{"beside a frequent word", "apricot basalt cobalt", func(i int) string {
			if i%3 == 0 {
				return strings.Repeat("apricot ", 20) + "basalt"
			}
			return strings.Repeat("apricot ", 20) + "cobalt"
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			var memories []*memory.Memory
			for i := range 40 * 64 {
				memories = append(memories, mem(fmt.Sprint("m", i), c.text(i), func(m *memory.Memory) { m.CreatedAt = epoch.Add(time.Duration(i-40*64) * time.Second) }))
			}
			e := loaded(t, memories)
			e.Thicken("", 256)
			if e.Dense("") == 0 {
				t.Fatal("no word is dense")
			}
			req := search.Request{Query: c.query}
			if kept := samePool(t, e, req, 200); len(kept) != 200 {
				t.Errorf("%d were kept", len(kept))
			}
		})
	}
}

// TestAccessedLater: what had happened by the time that a search is made for counts, also beside an access that had not.
func TestAccessedLater(t *testing.T) {
	asOf := epoch.Add(300 * time.Hour)
	var memories []*memory.Memory
	for i := range 40 * 64 {
		memories = append(memories, mem(fmt.Sprint("m", i), "apricot basalt", func(m *memory.Memory) {
			m.CreatedAt = epoch.Add(time.Duration(i) * time.Second)
			switch i {
			case 100:
				m.LastAccessed = asOf.Add(-time.Hour)
			case 101:
				m.LastAccessed = asOf.Add(time.Hour)
			}
		}))
	}
	e := loaded(t, memories)
	e.Thicken("", 256)
	req := search.Request{Query: "apricot", AsOf: asOf}
	if first := samePool(t, e, req, 50)[0]; first.Memory.ID != "m100" {
		t.Errorf("the first is %s", first.Memory.ID)
	}
}
