package archiver_test

import (
	"bytes"
	"testing"
	"time"

	"github.com/memsidecar/memsidecar/internal/archiver"
	"github.com/memsidecar/memsidecar/internal/dailylog"
	"github.com/memsidecar/memsidecar/internal/jsonstore"
	"github.com/memsidecar/memsidecar/internal/memory"
	"github.com/memsidecar/memsidecar/internal/store/backup"
	"github.com/memsidecar/memsidecar/internal/store/durable/crashfs"
)

// publishedFiles is what backups hold besides the store.
var publishedFiles = backup.Layout{jsonstore.BackupFiles{}, dailylog.BackupFiles{}}

// TestRestoredLogsHaveGrace: who restores an old backup to see its logs once more does not find them deleted at the
// first start.
func TestRestoredLogsHaveGrace(t *testing.T) {
	b := newHarness(t)
	b.now = noon.AddDate(0, 0, -100)
	from := crashfs.New()
	b.store = b.open(from)
	b.log(b.date(110), memory.Entry{Time: "09:00:00", Type: memory.EntryEvent, Content: "deployed the new scheduler"})
	var archive bytes.Buffer
	if _, err := (&backup.Source{Store: b.store, FS: from, Published: publishedFiles, Now: b.clock}).Write(t.Context(),
		&archive); err != nil {
		t.Fatal(err)
	}
	to := crashfs.New()
	if _, err := backup.Restore(t.Context(), to, &archive,
		backup.Options{Published: publishedFiles, EpochSuffix: "fresh", Now: noon, Remedy: "again"}); err != nil {
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
