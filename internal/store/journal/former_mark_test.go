package journal_test

import (
	"fmt"
	"math/rand/v2"
	"path"
	"strings"
	"testing"

	"github.com/memsidecar/memsidecar/internal/store/durable/crashfs"
	"github.com/memsidecar/memsidecar/internal/store/journal"
)

// TestFormerMark: the high-water mark at the place where earlier versions kept it counts until the one at the new place
// is durable, wherever an open crashes: a journal that is lost afterwards is never taken for an empty one.
func TestFormerMark(t *testing.T) {
	former := path.Base(journal.HighWaterFile)
	old := crashfs.New()
	fill(t, open(t, config(old, nil)), 5)
	mark := read(t, old, journal.HighWaterFile)
	remove(t, old, journal.HighWaterFile)
	if err := old.WriteRaw(former, mark); err != nil {
		t.Fatal(err)
	}
	if err := old.SyncDir("."); err != nil {
		t.Fatal(err)
	}
	lost := func(fs *crashfs.FS, place string) {
		t.Helper()
		for _, name := range segments(fs) {
			remove(t, fs, name)
		}
		if _, err := journal.Open(config(fs, nil)); err == nil ||
			!strings.Contains(err.Error(), "high-water.jsonl proves that operation 5 was acknowledged") {
			t.Errorf("%s: opened without segments: %v", place, err)
		}
	}
	lost(old.Clone(), "before")
	whole := old.Clone()
	open(t, config(whole, nil))
	if _, err := whole.Lstat(former); err == nil {
		t.Errorf("%s is still there", former)
	}
	for n := old.Ops() + 1; n <= whole.Ops(); n++ {
		for seed, mode := range []crashfs.CrashMode{crashfs.Lost, crashfs.Kept, crashfs.Torn, crashfs.Torn} {
			crashed := old.Clone()
			crashed.CrashAt(n)
			_, _ = journal.Open(config(crashed, nil)) // it crashes
			lost(crashed.Crash(mode, rand.New(rand.NewPCG(uint64(n), uint64(seed)))),
				fmt.Sprintf("crash at %d (%s), %v", n, whole.Trace()[n-1], mode))
		}
	}
}
