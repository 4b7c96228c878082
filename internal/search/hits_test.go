package search_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/memsidecar/memsidecar/internal/memory"
	"github.com/memsidecar/memsidecar/internal/search"
)

// TestStopAfter: who asks decides how many hits there are.
func TestEnough(t *testing.T) {
	memories := uniform(300, commonWords, 0.5)
	for _, m := range memories { // what is found beside it adds nothing, so that the size of the pool does not matter
		m.SetContext(&memory.Context{LearnedFrom: "session_" + m.ID})
	}
	e := loaded(t, memories)
	all, err := e.Search(t.Context(), search.Request{Query: "apricot basalt", K: 20})
	if err != nil || len(all.Hits) != 20 {
		t.Fatalf("%d hits, %v", len(all.Hits), err)
	}
	for _, want := range []int{1, 5, 10} {
		var told []search.Hit
		got, err := e.Search(t.Context(), search.Request{Query: "apricot basalt", K: 5,
			StopAfter: func(h *search.Hit) bool {
				told = append(told, *h)
				return len(told) == want
			}})
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(all.Hits[:want], got.Hits); diff != "" {
			t.Errorf("%d are enough (-want +got):\n%s", want, diff)
		}
		if diff := cmp.Diff(got.Hits, told); diff != "" {
			t.Errorf("hits and what was told of them (-hits +told):\n%s", diff)
		}
	}
}

// TestWantTerms: hits say which terms they hold when that is wanted.
func TestTerms(t *testing.T) {
	e := loaded(t, uniform(300, commonWords, 0.5))
	got, err := e.Search(t.Context(), search.Request{Query: "apricot basalt unheard", K: 20,
		WantTerms: func(m *memory.Memory) bool { return m.Salience > 0.5 }})
	if err != nil || len(got.Hits) == 0 {
		t.Fatalf("%d hits, %v", len(got.Hits), err)
	}
	told := 0
	for _, h := range got.Hits {
		want := []string{}
		for _, w := range []string{"apricot", "basalt"} {
			if h.Memory.Salience > 0.5 && slices.Contains(strings.Fields(h.Memory.Content), w) {
				want = append(want, w)
			}
		}
		slices.Sort(h.Terms)
		if !slices.Equal(h.Terms, want) {
			t.Errorf("%q, salience %v: terms %v, want %v", h.Memory.Content, h.Memory.Salience, h.Terms, want)
		}
		told += len(h.Terms)
	}
	if told == 0 {
		t.Error("no hit told its terms: nothing was tested")
	}
}
