package search_test

import (
	"bytes"
	"context"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/memsidecar/memsidecar/internal/memory"
	"github.com/memsidecar/memsidecar/internal/search"
	"github.com/memsidecar/memsidecar/internal/search/embedding"
	"github.com/memsidecar/memsidecar/internal/search/vector"
)

const hour = time.Hour

// TestWorkedExamples holds the formulas against numbers computed by hand from their sources:
//
//	product   similarity · salience · exp(−0.05 · whole days since the last access)
//	weighted  0.6 · similarity + 0.2 · exp(−whole days since the last access / 30) + 0.2 · salience; never = 365 days
//	balanced  relevance · (0.9 + 0.1 · salience · exp(−0.05 · whole days since the last access))
//
// Every memory holds the words "redis", "cache" and "port", so the similarity is the share of the query's three words
// that are among them.
func TestWorkedExamples(t *testing.T) {
	const all, twoOfThree, one = "redis cache port", "redis cache violin", "redis violin harbor"
	for _, tt := range []struct {
		name       string
		query      string
		similarity float64
		salience   float64
		idle       time.Duration // since the last access; negative is in the future
		decay      float64       // of product and balanced
		product    float64
		weighted   float64
	}{
		{"no days", all, 1, 1, 0, 1, 1, 1},
		{"half a day is no day", all, 1, 1, 12 * hour, 1, 1, 1},
		{"a second before a day", all, 1, 0.85, day - time.Second, 1, 0.85, 0.97},
		{"1 day", all, 1, 1, day, 0.951229, 0.951229, 0.993443},
		{"1 day and 23 hours", all, 1, 0.5, 47 * hour, 0.951229, 0.475615, 0.893443},
		{"14 days halve", all, 1, 1, 14 * day, 0.496585, 0.496585, 0.925418},
		{"14 days of a preference", all, 1, 0.85, 14 * day, 0.496585, 0.422098, 0.895418},
		{"29 days", all, 1, 0.9, 29 * day, 0.234570, 0.211113, 0.856070},
		{"30 days", all, 1, 0.9, 30 * day, 0.223130, 0.200817, 0.853576},
		{"60 days", all, 1, 0.5, 60 * day, 0.049787, 0.024894, 0.727067},
		{"60 days and a half", all, 1, 0.5, 60*day + 12*hour, 0.049787, 0.024894, 0.727067},
		{"90 days", all, 1, 1, 90 * day, 0.011109, 0.011109, 0.809957},
		{"365 days", all, 1, 1, 365 * day, 1.1861e-8, 1.1861e-8, 0.800001},
		{"tomorrow", all, 1, 0.7, -day, 1, 0.7, 0.94},
		{"in ten years", all, 1, 0.7, -3650 * day, 1, 0.7, 0.94},
		{"two words of three", twoOfThree, 2.0 / 3, 0.9, 14 * day, 0.496585, 0.297951, 0.705418},
		{"one word of three", one, 1.0 / 3, 1, 0, 1, 1.0 / 3, 0.6},
		{"no salience", all, 1, 0, 30 * day, 0.223130, 0, 0.673576},
	} {
		t.Run(tt.name, func(t *testing.T) {
			e := inDefault(mem("a", "redis cache port", func(m *memory.Memory) {
				m.Salience, m.CreatedAt = tt.salience, epoch.Add(-400*day)
				m.SetAccesses(0, epoch.Add(-tt.idle))
			}))
			for profile, want := range map[string]float64{search.Product: tt.product, search.Weighted: tt.weighted} {
				resp := find(t, e, search.Request{Query: tt.query, Profile: profile, Explain: true})
				if len(resp.Hits) != 1 {
					t.Fatalf("%s: found %v, %s", profile, ids(resp.Hits), resp.Reason)
				}
				p := parts(resp.Hits[0])
				if math.Abs(resp.Hits[0].Score-want) > 1e-6 || !near(p["similarity"], tt.similarity) {
					t.Errorf("%s: score %v of similarity %v, want %v of %v", profile, resp.Hits[0].Score, p["similarity"], want,
						tt.similarity)
				}
			}
			if tt.query != all {
				return
			}
			hit := find(t, e, search.Request{Query: tt.query, Explain: true}).Hits[0]
			p := parts(hit)
			if math.Abs(p["decay"]-tt.decay) > 1e-6 || !near(hit.Score, p["relevance"]*(0.9+0.1*tt.salience*tt.decay)) {
				t.Errorf("balanced: score %v, parts %v, want a decay of %v", hit.Score, p, tt.decay)
			}
		})
	}
}

// TestNeverAccessed: Product counts from the creation, as every memory of its source has a last access; Weighted counts
// 365 days, also for a memory of today.
func TestNeverAccessed(t *testing.T) {
	for _, tt := range []struct {
		age               time.Duration
		product, weighted float64
	}{
		{0, 0.5, 0.700001}, {14 * day, 0.248293, 0.700001}, {-hour, 0.5, 0.700001},
	} {
		e := inDefault(mem("a", "redis cache", func(m *memory.Memory) { m.CreatedAt = epoch.Add(-tt.age) }))
		for profile, want := range map[string]float64{search.Product: tt.product, search.Weighted: tt.weighted} {
			hits := find(t, e, search.Request{Query: "redis cache", Profile: profile}).Hits
			if len(hits) != 1 || math.Abs(hits[0].Score-want) > 1e-6 {
				t.Errorf("%s, created %v ago: %+v, want a score of %v", profile, tt.age, hits, want)
			}
		}
	}
}

// TestWithoutDecay leaves the time out of every formula.
func TestWithoutDecay(t *testing.T) {
	e := inDefault(mem("a", "redis cache", func(m *memory.Memory) { m.CreatedAt = epoch.Add(-365 * day) }))
	for profile, want := range map[string]float64{search.Product: 0.5, search.Weighted: 0.9} {
		hits := find(t, e, search.Request{Query: "redis cache", Profile: profile, UseDecay: new(false)}).Hits
		if len(hits) != 1 || !near(hits[0].Score, want) {
			t.Errorf("%s: %+v, want a score of %v", profile, hits, want)
		}
	}
	if p := parts(find(t, e, search.Request{Query: "redis cache", UseDecay: new(false), Explain: true}).Hits[0]); !near(
		p["boost"], 0.95) {
		t.Errorf("balanced: %v", p)
	}
}

// TestHistoricalSearch: what happened after the time asked for is not known then; a clock that is ahead hides nothing.
func TestHistoricalSearch(t *testing.T) {
	e := inDefault(
		mem("a", "redis cache", func(m *memory.Memory) { m.SetAccesses(m.AccessCount(), epoch) }),
		mem("ahead", "redis port", func(m *memory.Memory) { m.CreatedAt = epoch.Add(hour) }),
	)
	for _, tt := range []struct {
		asOf time.Time
		want []string
	}{
		{time.Time{}, []string{"a 0.5", "ahead 0.25"}}, {epoch.Add(-time.Millisecond), []string{"a 0.5", "ahead 0.25"}},
		{epoch.Add(-9 * day), []string{"a 0.476"}},
	} {
		var got []string
		for _, h := range find(t, e, search.Request{Query: "redis cache", Profile: search.Product, AsOf: tt.asOf}).Hits {
			got = append(got, fmt.Sprintf("%s %.3g", h.Memory.ID, h.Score))
		}
		if diff := cmp.Diff(tt.want, got); diff != "" {
			t.Errorf("as of %v (-want +got):\n%s", tt.asOf, diff)
		}
	}
}

// TestCosineIsTheSimilarity: with vectors Product and Weighted take the cosine, also of memories that share no word
// with the query, by both arms. What is opposed to the query counts as nothing.
func TestCosineIsTheSimilarity(t *testing.T) {
	memories := []*memory.Memory{
		mem("same", "An espresso", func(m *memory.Memory) { m.Salience = 0.8 }),
		mem("half", "Espresso on the train", func(m *memory.Memory) { m.Salience = 1 }),
		mem("opposed", "Nobody likes it", func(m *memory.Memory) { m.Salience = 1 }),
	}
	withVectors(t, &opposing{}, newDir(t), memories, func(t *testing.T, e *search.Engine, _ *bytes.Buffer) {
		for _, arm := range []string{search.Fusion, search.Vector} {
			for _, tt := range []struct {
				profile string
				want    []string
			}{ // ten days since the creation; never accessed
				{search.Product, []string{"same 1.00 0.485", "half 0.71 0.430"}},
				{search.Weighted, []string{"same 1.00 0.760", "half 0.71 0.625"}},
			} {
				req := asks("coffee", arm)
				req.Profile = tt.profile
				resp := find(t, e, req)
				var got []string
				for _, h := range resp.Hits {
					got = append(got, fmt.Sprintf("%s %.2f %.3f", h.Memory.ID, parts(h)["cosine"], h.Score))
				}
				if diff := cmp.Diff(tt.want, got); diff != "" || !resp.VectorsUsed {
					t.Errorf("%s, %s, vectors used %v (-want +got):\n%s", tt.profile, arm, resp.VectorsUsed, diff)
				}
			}
		}
		req := asks("An espresso", search.Keyword)
		req.Profile = search.Product
		if p := parts(find(t, e, req).Hits[0]); p["share of words"] != 1 || p["cosine"] != 0 {
			t.Errorf("by words alone: %v", p)
		}
		req.Arm, req.Profile = search.Vector, search.Overlap
		if _, err := e.Search(t.Context(), req); err == nil {
			t.Error("overlap is measured by meaning")
		}
	})
}

// opposing is a fake for which whatever "nobody" does is opposed to coffee.
type opposing struct{ fake }

func (o *opposing) EmbedDocuments(ctx context.Context, texts []string) ([]embedding.Document, error) {
	docs, err := o.fake.EmbedDocuments(ctx, texts)
	for i, text := range texts {
		if strings.HasPrefix(text, "Nobody") && err == nil {
			opposite := make([]float32, len(subjects)+1)
			opposite[0] = -1
			docs[i].Vector, _ = vector.Quantize(opposite)
		}
	}
	return docs, err
}

// TestWeightedCandidates: only the 2·K most similar memories are scored, so that what is new and important does not
// push aside what was asked for.
func TestWeightedCandidates(t *testing.T) {
	memories := []*memory.Memory{mem("new", "redis", func(m *memory.Memory) {
		m.Salience = 1
		m.SetAccesses(0, epoch)
	})}
	for i := range 2 {
		memories = append(memories, mem(fmt.Sprint("old", i), "redis cache", func(m *memory.Memory) { m.Salience = 0 }))
	}
	e := inDefault(memories...)
	for k, want := range map[int]string{1: "old0", 2: "new"} { // .6 · 1 against .6 · 1/2 + .4
		got := ids(find(t, e, search.Request{Query: "redis cache", Profile: search.Weighted, K: k}).Hits)
		if len(got) != k || got[0] != want {
			t.Errorf("%d hits: %v, want %s first", k, got, want)
		}
	}
}

// TestSourcesShowAll: the formulas of the sources neither abstain nor leave out what repeats another.
func TestSourcesShowAll(t *testing.T) {
	var memories []*memory.Memory
	for i := range 60 {
		memories = append(memories, mem(fmt.Sprint("m", i), fmt.Sprintf("note %d", i)))
	}
	memories = append(memories, mem("a", "The deploy key rotates on Monday"),
		mem("b", "The deploy key rotates on Monday", func(m *memory.Memory) { m.Category = memory.Tasks }))
	e := inDefault(memories...)
	for _, profile := range []string{search.Product, search.Weighted, search.Overlap} {
		query := "which unheard words does the key of a question about submarines hold today"
		got := ids(find(t, e, search.Request{Query: query, Profile: profile, K: 5}).Hits)
		slices.Sort(got)
		if diff := cmp.Diff([]string{"a", "b"}, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", profile, diff)
		}
	}
}

// TestDefaultHits: a search that names no number of hits has the 5 of its source, and with Weighted the 10 of that one.
func TestDefaultHits(t *testing.T) {
	var memories []*memory.Memory
	for i := range 30 {
		memories = append(memories, mem(fmt.Sprint("m", i), fmt.Sprintf("The redis cache number %d of the fleet", i)))
	}
	e := inDefault(memories...)
	for profile, want := range map[string]int{"": 5, search.Balanced: 5, search.Product: 5, search.Weighted: 10} {
		// without decay all are equally good, so nothing ends the list early
		got := find(t, e, search.Request{Query: "redis cache fleet", Profile: profile}).Hits
		if len(got) != want {
			t.Errorf("profile %q: %d hits, want %d", profile, len(got), want)
		}
	}
}

// TestOverlap holds the examples of the formula's source: tokens are runs of at least three ASCII letters or digits and
// single Han characters, as sets, without stems; an underscore separates.
func TestOverlap(t *testing.T) {
	titled := func(title string) func(*memory.Memory) { return func(m *memory.Memory) { m.Title = title } }
	tagged := func(m *memory.Memory) { m.Category, m.Tags = "mcp_servers", []string{"mcp", "wiring"} }
	e := inDefault(
		mem("title", "nothing else", titled("mcp_wiring_test")),
		mem("both", "MCP wiring, mcp wiring", titled("Mcp wiring")),
		mem("body", "the mcp wiring broke"),
		mem("newer", "mcp wiring repaired", func(m *memory.Memory) { m.CreatedAt = epoch.Add(-day) }),
		mem("changed", "mcp wiring replaced", func(m *memory.Memory) { m.UpdatedAt = epoch.Add(-hour) }),
		mem("tags", "an unrelated line", tagged),
		mem("connect", "connect the server, go on with it"),
		mem("chinese", "用户偏好东方航空，尤其是早班机"),
		mem("described", "Ask Ines before noon", func(m *memory.Memory) { m.SetDescription("Harbour pilots, harbour hours") }),
	)
	for _, tt := range []struct {
		query string
		want  []string
	}{
		{"mcp wiring", []string{"both 6", "title 4", "changed 2", "newer 2", "body 2"}},
		{"mcp_wiring_test", []string{"both 6", "title 6", "changed 2", "newer 2", "body 2"}},
		{"mcp mcp mcp", []string{"both 3", "title 2", "changed 1", "newer 1", "body 1"}},
		{"connecting servers", nil}, {"go", nil}, {"connects", nil}, {"SERVER", []string{"connect 1"}},
		{"harbour pilots", []string{"described 4"}}, {"the", []string{"connect 1", "body 1"}}, {"with it", []string{"connect 1"}},
		{"东方的飞机", []string{"chinese 3"}}, {"航 空 ab", []string{"chinese 2"}}, {"、。", nil},
	} {
		var got []string
		for _, h := range find(t, e, search.Request{Query: tt.query, Profile: search.Overlap, Explain: true}).Hits {
			got = append(got, fmt.Sprintf("%s %v", h.Memory.ID, h.Score))
			if p := parts(h); p["title"]+p["content"] != h.Score {
				t.Errorf("%s: parts %v, score %v", h.Memory.ID, p, h.Score)
			}
		}
		if tt.query == "the" { // one is as new as the other
			slices.Sort(got)
			slices.Sort(tt.want)
		}
		if diff := cmp.Diff(tt.want, got); diff != "" {
			t.Errorf("%q (-want +got):\n%s", tt.query, diff)
		}
	}
}

// TestEqualRelevance: memories of equal relevance stand in the order of salience · decay, whatever their values, pins
// and accesses are, and however many there are.
func TestEqualRelevance(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var memories []*memory.Memory
		span := rapid.SampledFrom([]time.Duration{day, 9000 * day}).Draw(t, "span") // those of one day are neighbours
		for i := range rapid.IntRange(2, 40).Draw(t, "memories") {
			m := mem(fmt.Sprintf("m%02d", i), fmt.Sprintf("The harbor opens at %d", 10+i))
			m.Salience = rapid.Float64Range(0, 1).Draw(t, "salience")
			m.CreatedAt = epoch.Add(-time.Duration(rapid.Int64Range(0, int64(span)).Draw(t, "created")))
			var last time.Time
			if rapid.Bool().Draw(t, "used") {
				last = m.CreatedAt.Add(time.Duration(rapid.Int64Range(0, int64(90*day)).Draw(t, "access")))
			}
			m.Pinned = rapid.Bool().Draw(t, "pinned")
			m.SetAccesses(rapid.Int64Range(0, 99).Draw(t, "accesses"), last)
			memories = append(memories, m)
		}
		faint := func(m *memory.Memory) float64 {
			last := m.CreatedAt
			if !m.LastAccessed().IsZero() {
				last = m.LastAccessed()
			}
			return m.Salience * math.Exp(-0.05*max(0, math.Floor(epoch.Sub(last).Hours()/24)))
		}
		e := inDefault(memories...)
		resp, err := e.Search(context.Background(), search.Request{Query: "harbor opens", K: 10, Explain: true})
		if err != nil || len(resp.Hits) != min(10, len(memories)) {
			t.Fatalf("%d hits, %v", len(resp.Hits), err)
		}
		best := slices.MaxFunc(memories, func(a, b *memory.Memory) int {
			return int(math.Copysign(1, faint(a)-faint(b)))
		})
		if got := faint(resp.Hits[0].Memory); got < faint(best) {
			t.Errorf("first is one of %v, %s has %v", got, best.ID, faint(best))
		}
		for i := 1; i < len(resp.Hits); i++ {
			a, b := resp.Hits[i-1], resp.Hits[i]
			if parts(a)["relevance"] != parts(b)["relevance"] {
				t.Fatalf("relevance of %s and %s differ: nothing was tested", a.Memory.ID, b.Memory.ID)
			}
			if faint(a.Memory) < faint(b.Memory) || a.Score < b.Score {
				t.Errorf("%s (%v, score %v) stands before %s (%v, score %v)", a.Memory.ID, faint(a.Memory), a.Score, b.Memory.ID,
					faint(b.Memory), b.Score)
			}
		}
	})
}

// TestOldAndImportant is the example of the check "ordered by salience × decay": an old memory of salience 1 has
// 1.0 · e⁻² = 0.135 left, a new one of 0.2 all of its 0.2.
func TestOldAndImportant(t *testing.T) {
	e := inDefault(
		mem("old", "The harbor opens at 11", func(m *memory.Memory) { m.Salience, m.CreatedAt = 1, epoch.Add(-40*day) }),
		mem("new", "The harbor opens at 12", func(m *memory.Memory) { m.Salience, m.CreatedAt = 0.2, epoch }),
	)
	if diff := cmp.Diff([]string{"new", "old"}, ids(find(t, e, search.Request{Query: "harbor opens"}).Hits)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
