package memorysvc_test

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/memsidecar/memsidecar/internal/memtest"
	"github.com/memsidecar/memsidecar/internal/service/memorysvc"
	"github.com/memsidecar/memsidecar/internal/store"
	"github.com/memsidecar/memsidecar/internal/store/durable/crashfs"
)

// TestStatsAsIfCounted: whatever changes, what is counted is the same as for somebody who counts for the first time.
func TestStatsAsIfCounted(t *testing.T) {
	clock := new(memtest.Clock)
	st := memtest.Open(t, store.Config{FS: crashfs.New(), Now: clock.Now, PackFrom: 2})
	s := memorysvc.New(st, clock.Now)
	r := rand.New(rand.NewPCG(7, 8))
	for range 300 {
		space := fmt.Sprint("space", r.IntN(5))
		clock.Advance(time.Minute)
		var err error
		switch r.IntN(8) {
		case 0:
			_, err = st.Checkpoint(t.Context())
		case 1:
			if _, _, changed := st.Space(space).Look(nil); changed > 0 {
				err = st.Drop(t.Context(), space, changed)
			}
		case 2:
			st.CountAccess(space, []string{"m1", "m2"}, clock.Now())
			err = st.FlushAccesses(t.Context())
		default:
			_, err = st.Update(t.Context(), store.Meta{Space: space}, func(tx *store.Tx) error {
				id := fmt.Sprint("m", r.IntN(4))
				if tx.Memory(id) != nil && r.IntN(4) == 0 {
					tx.Remove(id)
					return nil
				}
				return tx.Put(randomMemory(r, id))
			})
		}
		if err != nil {
			t.Fatal(err)
		}
		got, err := s.Stats(nil)
		if err != nil {
			t.Fatal(err)
		}
		want, err := memorysvc.New(st, clock.Now).Stats(nil)
		if diff := gocmp.Diff(want, got, cmpopts.EquateApprox(1e-9, 0)); diff != "" || err != nil {
			t.Fatalf("%v (-want +got):\n%s", err, diff)
		}
		total := int64(0)
		for _, name := range st.Spaces() {
			total += int64(st.Space(name).Count())
		}
		if got.Total != total {
			t.Fatalf("%d memories, counted %d", total, got.Total)
		}
		if r.IntN(20) == 0 {
			s.Release()
		}
	}
}
