package e2e_test

import (
	"fmt"
	"math"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/memsidecar/memsidecar/internal/memtest/process"
)

// scored is what a search says of its hits.
type scored struct {
	Hits []struct {
		Score  float64
		Memory struct {
			ID          string
			AccessCount int `json:"access_count"`
		}
	}
}

// one searches by words alone with a ranking profile, which must find one memory.
func (p place) one(t *testing.T, profile, text string) (score float64, id string) {
	t.Helper()
	got := process.Ask[scored](t, p.Place, "search", text, "--profile", profile, "--arm", "keyword")
	if len(got.Hits) != 1 {
		t.Fatalf("%d hits for %q, want 1", len(got.Hits), text)
	}
	return got.Hits[0].Score, got.Hits[0].Memory.ID
}

// TestScoreBeforeAccess: finding a memory counts as an access of it, and the score that is shown is the one from
// before.
func TestScoreBeforeAccess(t *testing.T) {
	d := newPlace(t).serve(t)
	d.Succeeds(t, "add", "The lighthouse keeper is called Marten.", "--salience", "0.5")

	// Never accessed counts as 365 days: .6 × 1 + .2 × exp(−365/30) + .2 × .5.
	score, id := d.one(t, "weighted", "lighthouse keeper")
	if want := 0.6 + 0.2*math.Exp(-365.0/30) + 0.1; math.Abs(score-want) > 1e-6 {
		t.Errorf("the first search shows %v, want %v", score, want)
	}
	got := process.Ask[struct {
		Memories []struct {
			AccessCount int `json:"access_count"`
		}
	}](t, d.Place, "get", id)
	if len(got.Memories) != 1 || got.Memories[0].AccessCount != 1 {
		t.Fatalf("after the search: %+v, want one access", got)
	}
	if score, _ := d.one(t, "weighted", "lighthouse keeper"); math.Abs(score-0.9) > 1e-6 {
		t.Errorf("the second search shows %v, want .6 + .2 + .1", score)
	}
}

// TestScoreOfTimesWithoutZone: a time without a zone in memory.json is local, and its age is counted in whole days.
func TestScoreOfTimesWithoutZone(t *testing.T) {
	for _, days := range []int{1, 14, 60} {
		t.Run(fmt.Sprintf("%d days", days), func(t *testing.T) {
			p := newPlace(t)
			created := time.Now().AddDate(0, 0, -days).Add(-2 * time.Hour).Format("2006-01-02T15:04:05.000000")
			if err := os.MkdirAll(p.Data, 0o700); err != nil {
				t.Fatal(err)
			}
			file := fmt.Sprintf(`{"version": 2, "last_updated": %[1]q, "memories": [{"id": "a1b2c3d4e5f6", "category": "facts",
				"content": "The lighthouse keeper is called Marten.", "salience": 0.8, "created_at": %[1]q,
				"last_accessed": %[1]q, "access_count": 2, "source": "auto_reflection"}]}`, created)
			if err := os.WriteFile(filepath.Join(p.Data, "memory.json"), []byte(file), 0o600); err != nil {
				t.Fatal(err)
			}
			d := p.serve(t)
			score, id := d.one(t, "product", "lighthouse keeper")
			if want := 0.8 * math.Exp(-0.05*float64(days)); math.Abs(score-want) > 1e-6 || id != "a1b2c3d4e5f6" {
				t.Errorf("%s: %v, want a1b2c3d4e5f6: .8 × exp(−.05 × %d) = %v", id, score, days, want)
			}
		})
	}
}
