package memorysvc_test

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"

	"github.com/memsidecar/memsidecar/internal/memory"
	"github.com/memsidecar/memsidecar/internal/memtest"
	"github.com/memsidecar/memsidecar/internal/service/memorysvc"
	"github.com/memsidecar/memsidecar/internal/store"
	"github.com/memsidecar/memsidecar/internal/store/durable/crashfs"
)

// TestListAsIfSorted lists a space that is large enough for rows, while it changes, and compares pages with those of
// sorting everything.
func TestListAsIfSorted(t *testing.T) {
	clock := new(memtest.Clock)
	st := memtest.Open(t, store.Config{FS: crashfs.New(), Now: clock.Now})
	s := memorysvc.New(st, clock.Now)
	r := rand.New(rand.NewPCG(5, 6))
	ids := []string{}
	change := func(n int) {
		t.Helper()
		_, err := st.Update(t.Context(), store.Meta{}, func(tx *store.Tx) error {
			for range n {
				id := fmt.Sprint("m", r.IntN(2500))
				if tx.Memory(id) != nil && r.IntN(8) == 0 {
					tx.Remove(id)
					continue
				}
				ids = append(ids, id)
				if err := tx.Put(randomMemory(r, id)); err != nil {
					return err
				}
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	change(2000)
	for i := range 60 {
		q := randomQuery(r, clock.Now())
		want := sorted(&q, st.Space(memory.DefaultSpace).Memories(), clock.Now())
		total := len(want)
		for range 3 {
			page, err := s.List(q)
			if err != nil {
				t.Fatal(err)
			}
			n := min(q.Size, len(want))
			if diff := gocmp.Diff(want[:n], idsOf(page.Memories)); diff != "" || page.Total != total {
				t.Fatalf("%+v: total %d, want %d (-want +got):\n%s", q, page.Total, total, diff)
			}
			want = want[n:]
			if q.Token = page.Next; q.Token == "" {
				break
			}
		}
		switch i % 4 {
		case 0:
			change(5)
		case 1:
			st.CountAccess("", []string{ids[r.IntN(len(ids))]}, clock.Now())
			if err := st.FlushAccesses(t.Context()); err != nil {
				t.Fatal(err)
			}
		case 2:
			clock.Advance(time.Minute)
		case 3:
			s.Release()
		}
	}
}

func randomMemory(r *rand.Rand, id string) *memory.Memory {
	m := memtest.Fact(id, "fact "+id)
	m.Category = []string{memory.Facts, memory.Tasks, memory.Preferences}[r.IntN(3)]
	m.Source = []string{memory.SourceUser, memory.SourceImport}[r.IntN(2)]
	m.Salience = float64(r.IntN(5)) / 4
	m.SetAccesses(int64(r.IntN(4)), m.LastAccessed())
	m.Pinned = r.IntN(6) == 0
	m.Tags = [][]string{nil, {"x"}, {"x", "y"}}[r.IntN(3)]
	m.Status = []memory.Status{memory.Active, memory.Active, memory.Retired}[r.IntN(3)]
	m.CreatedAt = memtest.Epoch.Add(-time.Duration(r.IntN(50)) * time.Hour)
	switch r.IntN(6) {
	case 0:
		m.SetExpiresAt(memtest.Epoch.Add(time.Duration(r.IntN(30)) * time.Minute))
	case 1:
		m.SetExpiresAt(time.Date(3000, 1, 1, 0, 0, 0, 0, time.UTC))
	}
	return m
}

func randomQuery(r *rand.Rand, now time.Time) memorysvc.Query {
	q := memorysvc.Query{
		Order: []memorysvc.Order{"", memorysvc.ByCreated, memorysvc.ByUpdated, memorysvc.BySalience,
			memorysvc.ByAccess}[r.IntN(5)], Ascending: r.IntN(2) == 0,
		Size: 1 + r.IntN(150),
	}
	f := &q.Filter
	switch r.IntN(9) {
	case 0:
		f.Categories = []string{memory.Tasks, memory.General}
	case 1:
		f.Tags = []string{"y"}
	case 2:
		f.Sources = []string{memory.SourceImport}
	case 3:
		f.Statuses = []memory.Status{memory.Retired}
	case 4:
		f.MinSalience = 0.5
	case 5:
		f.Pinned = new(r.IntN(2) == 0)
	case 6:
		f.CreatedFrom = memtest.Epoch.Add(-time.Duration(r.IntN(50)) * time.Hour)
		f.CreatedBefore = memtest.Epoch.Add(-time.Duration(r.IntN(50)) * time.Hour)
	case 7:
		f.UpdatedFrom = now.Add(-time.Duration(r.IntN(10)) * time.Minute)
	}
	return q
}

// sorted lists the ids of all matches in order.
func sorted(q *memorysvc.Query, all []*memory.Memory, now time.Time) []string {
	matches := slices.DeleteFunc(all, func(m *memory.Memory) bool { return !q.Filter.Matches(m, now) })
	slices.SortFunc(matches, func(a, b *memory.Memory) int {
		c := 0
		switch q.Order {
		case memorysvc.ByUpdated:
			c = a.UpdatedAt.Compare(b.UpdatedAt)
		case memorysvc.BySalience:
			c = cmp.Compare(a.Salience, b.Salience)
		case memorysvc.ByAccess:
			c = cmp.Compare(a.AccessCount(), b.AccessCount())
		default:
			c = a.CreatedAt.Compare(b.CreatedAt)
		}
		if c = cmp.Or(c, cmp.Compare(a.ID, b.ID)); q.Ascending {
			return c
		}
		return -c
	})
	return idsOf(matches)
}

func idsOf(all []*memory.Memory) []string {
	out := []string{}
	for _, m := range all {
		out = append(out, m.ID)
	}
	return out
}
