package memorysvc_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/memsidecar/memsidecar/internal/memtest"
	"github.com/memsidecar/memsidecar/internal/service/memorysvc"
	"github.com/memsidecar/memsidecar/internal/store"
	"github.com/memsidecar/memsidecar/internal/store/durable/crashfs"
)

// BenchmarkList reads the first page of 100 of 100,000 memories.
func BenchmarkList(b *testing.B) {
	st := memtest.OpenStore(b, crashfs.New())
	for n := range 100 {
		_, err := st.Update(b.Context(), store.Meta{}, func(tx *store.Tx) error {
			for i := range 1000 {
				m := memtest.Fact(fmt.Sprintf("m%d-%d", n, i), fmt.Sprintf("fact %d of %d", i, n))
				m.CreatedAt = memtest.Epoch.Add(time.Duration(n*1000+i) * time.Second)
				if err := tx.Put(m); err != nil {
					return err
				}
			}
			return nil
		})
		if err != nil {
			b.Fatal(err)
		}
	}
	s := memorysvc.New(st, new(memtest.Clock).Now)
	for b.Loop() {
		if page, err := s.List(memorysvc.Query{}); err != nil || len(page.Memories) != 100 {
			b.Fatal(len(page.Memories), err)
		}
	}
}
