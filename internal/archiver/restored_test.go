package archiver_test

import (
	"bytes"
	"testing"
	"time"

	"github.com/memsidecar/memsidecar/internal/archiver"
	"github.com/memsidecar/memsidecar/internal/backup"
	"github.com/memsidecar/memsidecar/internal/durable/crashfs"
	"github.com/memsidecar/memsidecar/internal/memory"
)

// TestRestoredLogsHaveGrace: who restores an old backup to see its logs once more does not find them deleted at the first start.
func TestRestoredLogsHaveGrace(t *testing.T) {
	b := newBench(t)
	b.now = noon.AddDate(0, 0, -100)
	from := crashfs.New()
	b.store = b.open(from)
	b.log(b.date(110), memory.Entry{Time: "09:00:00", Type: memory.EntryEvent, Content: "deployed the new scheduler"})
	var archive bytes.Buffer
	if _, err := (&backup.Source{Store: b.store, FS: from, Now: b.clock}).Write(t.Context(), &archive); err != nil {
		t.Fatal(err)
	}
	to := crashfs.New()
	if _, err := backup.Restore(t.Context(), to, &archive, backup.Options{Fresh: "fresh", Now: noon, Remedy: "again"}); err != nil {
		t.Fatal(err)
	}
	b.store = b.open(to)
	for days, want := range []int{0: 0, 29: 0, 30: 1} {
		if days != 0 && days < 29 {
			continue
		}
		b.now = noon.Add(time.Duration(days) * 24 * time.Hour)
		if report := b.run(archiver.Options{}); report.Count(archiver.Delete) != want {
			t.Errorf("after %d days: %v", days, actions(report))
		}
	}
}
