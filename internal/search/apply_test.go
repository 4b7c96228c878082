package search_test

import (
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/memsidecar/memsidecar/internal/memory"
	"github.com/memsidecar/memsidecar/internal/search"
	"github.com/memsidecar/memsidecar/internal/store/journal"
)

var vocabulary = []string{"redis", "cache", "deploy", "get_user", "数据库", "迁移", "E0308", "coffee", "the", "not",
	"2026-02-21", "🚀", "node.js", "café"}

func drawText(t *rapid.T, label string) string {
	var s strings.Builder
	for _, w := range rapid.SliceOfN(rapid.SampledFrom(vocabulary), 0, 12).Draw(t, label) {
		s.WriteString(w + " ")
	}
	return s.String()
}

// TestApplyEqualsRebuild: an index that followed any history equals the index of what is left.
func TestApplyEqualsRebuild(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		e := search.New(search.Config{Now: func() time.Time { return epoch }})
		state := map[string]*memory.Memory{}
		apply := func(lsn int, c journal.Change) { e.Apply(record(int64(lsn), "", c)) }
		apply(0, journal.Change{Access: &journal.AccessChange{ID: "nobody"}})
		for lsn := range rapid.IntRange(1, 60).Draw(t, "steps") {
			id := fmt.Sprint("m", rapid.IntRange(0, 8).Draw(t, "id"))
			before := state[id]
			switch rapid.IntRange(0, 5).Draw(t, "op") {
			case 0:
				delete(state, id)
				apply(lsn+1, journal.Change{Memory: &journal.MemoryChange{ID: id, Before: before}})
			case 1:
				apply(lsn+1, journal.Change{Access: &journal.AccessChange{ID: id, Count: 2, At: epoch}})
				if before != nil {
					m := before.Clone()
					m.SetAccesses(m.AccessCount()+2, epoch)
					state[id] = m
				}
			default:
				m := mem(id, drawText(t, "content"))
				m.Title = drawText(t, "title")
				if rapid.Bool().Draw(t, "tagged") {
					m.Tags = []string{drawText(t, "tag")}
				}
				state[id] = m
				apply(lsn+1, journal.Change{Memory: &journal.MemoryChange{ID: id, Before: before, After: m}})
			}
		}
		fresh := search.New(search.Config{Now: func() time.Time { return epoch }})
		fresh.Apply(record(1, "", journal.Change{Access: &journal.AccessChange{ID: "nobody"}}))
		for _, m := range state {
			fresh.Apply(record(1, "", journal.Change{Memory: &journal.MemoryChange{ID: m.ID, After: m}}))
		}
		if diff := cmp.Diff(fresh.Postings(""), e.Postings("")); diff != "" {
			t.Fatalf("postings (-rebuilt +applied):\n%s", diff)
		}
		for _, profile := range []string{search.Balanced, search.Product, search.Overlap, search.Recent} {
			req := search.Request{Query: drawText(t, "query"), Profile: profile, Explain: true}
			want, err := fresh.Search(t.Context(), req)
			if err != nil {
				t.Fatal(err)
			}
			got, err := e.Search(t.Context(), req)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Fatalf("%s %q (-rebuilt +applied):\n%s", profile, req.Query, diff)
			}
		}
	})
}

func TestTouch(t *testing.T) {
	original := mem("a", "redis cache", func(m *memory.Memory) { m.SetAccesses(3, m.LastAccessed()) })
	e := inDefault(original)
	e.Apply(record(2, "", journal.Change{Access: &journal.AccessChange{ID: "a", Count: 2, At: epoch}}))
	e.Apply(record(3, "", journal.Change{Access: &journal.AccessChange{ID: "a", Count: 1, At: epoch.Add(-day)}}))
	got := find(t, e, search.Request{Query: "redis"}).Hits[0].Memory
	if got.AccessCount() != 6 || !got.LastAccessed().Equal(epoch) {
		t.Errorf("count %d, last access %v", got.AccessCount(), got.LastAccessed())
	}
	if original.AccessCount() != 3 || !original.LastAccessed().IsZero() {
		t.Error("the shared memory was changed")
	}
}

// TestConcurrent is for the race detector, and holds Apply to its promise: what it has taken is found.
func TestConcurrent(t *testing.T) {
	e := inDefault(synthetic(200)...)
	fsys := newDir(t)
	var wg sync.WaitGroup
	for w := range 3 {
		wg.Go(func() {
			for i := range 100 {
				id := fmt.Sprintf("w%d-%d", w, i%10)
				m := mem(id, fmt.Sprintf("marker_w%dn%d of the writer", w, i))
				e.Apply(record(int64(1000+i), "", journal.Change{Memory: &journal.MemoryChange{ID: id, After: m}}))
				resp, err := e.Search(t.Context(), search.Request{Query: fmt.Sprintf("marker_w%dn%d", w, i), K: 1})
				if err != nil || len(resp.Hits) != 1 || resp.Hits[0].Memory.ID != id {
					t.Errorf("%s: found %v, %v", id, resp, err)
					return
				}
			}
		})
	}
	wg.Go(func() {
		for range 5 {
			if err := e.Save(fsys); err != nil {
				t.Error(err)
			}
			if _, err := e.Similar(t.Context(), "", "marker of the writer", 3); err != nil {
				t.Error(err)
			}
		}
	})
	wg.Wait()
}
