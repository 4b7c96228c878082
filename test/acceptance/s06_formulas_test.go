package acceptance_test

import (
	"encoding/json"
	"fmt"
	"math"
	"testing"
	"time"

	"github.com/memsidecar/memsidecar/internal/memtest/process"
)

// hit is a memory that a search found.
type hit struct {
	Score  float64
	Memory memory
}

// search asks for a question's memories by one of the formulas, by words alone, without counting as a use.
func search(t *testing.T, p process.Place, question, profile string, flags ...string) []hit {
	t.Helper()
	args := append([]string{"search", question, "--profile", profile, "--arm", "keyword", "--no-touch"}, flags...)
	return process.Ask[struct{ Hits []hit }](t, p, args...).Hits
}

// sameScore compares scores as a person does who calculates with a pocket calculator.
func sameScore(t *testing.T, what string, got, want float64) {
	t.Helper()
	if math.Abs(got-want) > 1e-6 {
		t.Errorf("%s: %.6f, want %.6f", what, got, want)
	}
}

// Scenario 6: the formulas of the descriptions, at many ages. An age counts whole days, and a date ahead is today.
func TestFormulas(t *testing.T) {
	p := process.New(t, program)
	var file memoryFile
	file.Version = 2
	type aged struct {
		word     string
		days     float64 // since the last access
		whole    float64 // as the formulas count them
		salience float64
		layout   string
	}
	ages := []aged{
		{"alder", 0, 0, 0.85, time.RFC3339}, {"birch", 0.5, 0, 0.3, time.RFC3339}, {"cedar", 1, 1, 1, time.RFC3339},
		{"elder", 14, 14, 0.5, time.RFC3339}, {"hazel", 29, 29, 0.9, time.RFC3339}, {"larch", 30, 30, 0.9, time.RFC3339},
		{"maple", 60, 60, 0.7, time.RFC3339}, {"poplar", 90, 90, 0.2, time.RFC3339}, {"rowan", 365, 365, 0.6, time.RFC3339},
		{"sorrel", -3, 0, 0.4, time.RFC3339},
		// Other programs write times without a zone: local, with parts of a second.
		{"willow", 14, 14, 0.8, "2006-01-02T15:04:05.000000"},
	}
	for _, a := range ages {
		at := time.Now().Add(-time.Duration(a.days*24*float64(time.Hour)) - time.Minute)
		if a.layout == time.RFC3339 {
			at = at.UTC()
		}
		// They have four words in common and four of their own, or they would be told for one another.
		file.Memories = append(file.Memories, memory{ID: a.word, Category: "facts", Salience: a.salience,
			Content: fmt.Sprintf("The %[1]s stands behind the boathouse: %[1]ser %[1]sen %[1]som", a.word), CreatedAt: at.Format(a.layout),
			LastAccessed: at.Format(a.layout), AccessCount: 1, Source: "user_explicit"})
	}
	text, err := json.Marshal(asPublished(file))
	if err != nil {
		t.Fatal(err)
	}
	write(t, p, "memory.json", string(text))
	p.Serve(t)

	// Relevance 1, for the memory holds all of the question; half, where it holds one of two words.
	for _, a := range ages {
		for question, relevance := range map[string]float64{a.word: 1, a.word + " chimney": 0.5} {
			what := fmt.Sprintf("%q at %v days", question, a.days)
			if hits := search(t, p, question, "product"); len(hits) > 0 && hits[0].Memory.ID == a.word {
				sameScore(t, what+", product", hits[0].Score, relevance*a.salience*math.Exp(-0.05*a.whole))
			} else {
				t.Errorf("%s: product finds %+v", what, hits)
			}
			if hits := search(t, p, question, "weighted"); len(hits) > 0 {
				for _, h := range hits {
					if h.Memory.ID == a.word {
						sameScore(t, what+", weighted", h.Score, 0.6*relevance+0.2*math.Exp(-a.whole/30)+0.2*a.salience)
					}
				}
			} else {
				t.Errorf("%s: weighted finds nothing", what)
			}
		}
	}

	// Equal relevance: the order is that of salience × decay. Fourteen days halve a memory.
	hits := search(t, p, "stands behind the boathouse", "balanced", "--limit", "20")
	if len(hits) != len(ages) {
		t.Fatalf("%d hits for what all have in common, want %d", len(hits), len(ages))
	}
	weight := map[string]float64{}
	for _, a := range ages {
		weight[a.word] = a.salience * math.Exp(-0.05*a.whole)
	}
	for i := range hits[1:] {
		if before, after := hits[i].Memory.ID, hits[i+1].Memory.ID; weight[before] < weight[after]-1e-9 {
			t.Errorf("%s (%.4f) stands before %s (%.4f)", before, weight[before], after, weight[after])
		}
	}
	// Without decay it is that of salience: the cedar has 1.
	hits = search(t, p, "stands behind the boathouse", "product", "--ignore-access-age")
	if len(hits) == 0 || hits[0].Memory.ID != "cedar" {
		t.Errorf("without decay the order is %+v", hits)
	}
}

// asPublished has the names of the file.
func asPublished(f memoryFile) map[string]any {
	var memories []any
	for _, m := range f.Memories {
		memories = append(memories, map[string]any{"id": m.ID, "category": m.Category, "content": m.Content,
			"salience": m.Salience, "created_at": m.CreatedAt, "last_accessed": m.LastAccessed,
			"access_count": m.AccessCount, "source": m.Source})
	}
	return map[string]any{"version": f.Version, "last_updated": time.Now().UTC().Format(time.RFC3339),
		"rolling_summary": f.RollingSummary, "memories": memories}
}

// TestOverlap: the oldest formula counts tokens: two for each in title or description, one for each in the text. A
// token is a run of at least three letters or digits, or one Chinese character. An underscore ends a run, and words are
// not brought to a stem.
func TestOverlap(t *testing.T) {
	p := process.New(t, program)
	p.Serve(t)
	p.Succeeds(t, "add", "The bridge is wired to the server", "--title", "mcp_wiring_test", "--id", "wiring")
	p.Succeeds(t, "add", "Go and connect the server", "--id", "connect")
	p.Succeeds(t, "add", "用户偏好东方航空", "--title", "航班", "--id", "flights")
	for _, tt := range []struct {
		question string
		want     map[string]float64
	}{
		{"mcp wiring", map[string]float64{"wiring": 4}},
		{"mcp_wiring_test", map[string]float64{"wiring": 6}},
		{"bridge wiring", map[string]float64{"wiring": 3}},
		{"the server", map[string]float64{"wiring": 2, "connect": 2}},
		{"connecting servers", nil}, // no stems
		{"go", nil},                 // too short
		{"东航的航班", map[string]float64{"flights": 2*2 + 2}},
	} {
		got := map[string]float64{}
		for _, h := range search(t, p, tt.question, "overlap") {
			got[h.Memory.ID] = h.Score
		}
		if fmt.Sprint(got) != fmt.Sprint(tt.want) && len(got)+len(tt.want) > 0 {
			t.Errorf("%q: %v, want %v", tt.question, got, tt.want)
		}
	}
	// Of two with one score the newer comes first.
	if hits := search(t, p, "the server", "overlap"); len(hits) != 2 || hits[0].Memory.ID != "connect" {
		t.Errorf("of equal scores %+v comes first", hits)
	}
}

// TestNeverAccessed: to the weighted formula a memory that was never used is a year old, whenever it was written.
func TestNeverAccessed(t *testing.T) {
	p := process.New(t, program)
	p.Serve(t)
	p.Succeeds(t, "add", "The ferry to Hven leaves at noon", "--salience", "0.5")
	hits := search(t, p, "ferry Hven", "weighted")
	if len(hits) != 1 {
		t.Fatalf("%d hits", len(hits))
	}
	sameScore(t, "never used", hits[0].Score, 0.6+0.2*math.Exp(-365.0/30)+0.1)
}
