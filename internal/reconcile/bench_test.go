package reconcile_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/memsidecar/memsidecar/internal/memtest"
	"github.com/memsidecar/memsidecar/internal/store"
	"github.com/memsidecar/memsidecar/internal/store/durable/crashfs"
)

// BenchmarkLook takes one change of a file of 10,000 memories over, made from the state of 100 operations ago.
func BenchmarkLook(b *testing.B) {
	w := &world{t: b, fs: crashfs.New(), clock: &memtest.Clock{}}
	must(b, w.open())
	w.update(func(tx *store.Tx) error {
		for i := range 10_000 {
			if err := tx.Put(memtest.Fact(fmt.Sprint("m", i), fmt.Sprintf("fact %d, which is about as long as facts are: the service listens on port %d", i, 8000+i))); err != nil {
				return err
			}
		}
		return nil
	})
	w.publish()
	text := w.read(file)
	for i := range 100 {
		w.add(fmt.Sprint("n", i), fmt.Sprint("arrived ", i))
	}
	w.publish()
	n := 0
	for b.Loop() {
		n++
		w.write(file, strings.Replace(text, "fact 0,", fmt.Sprintf("fact %d,", n), 1))
		w.look()
	}
	if ops, _ := w.ops(); len(ops) != n {
		b.Fatalf("%d operations in %d looks", len(ops), n)
	}
}
