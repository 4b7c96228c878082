package archiver_test

import (
	"testing"

	"github.com/memsidecar/memsidecar/internal/archiver"
	"github.com/memsidecar/memsidecar/internal/journal"
	"github.com/memsidecar/memsidecar/internal/memory"
	"github.com/memsidecar/memsidecar/internal/store"
)

// TestAdoptedLogsHaveGrace: old logs of another tool are archived at once and deleted no sooner than a log of ours would be after that.
func TestAdoptedLogsHaveGrace(t *testing.T) {
	b := newBench(t)
	old := b.date(200)
	_, err := b.store.Update(t.Context(), store.Meta{Actor: journal.ActorAdopt}, func(tx *store.Tx) error {
		return tx.AppendEntry(old, &memory.Entry{Time: "09:00:00", Type: memory.EntryEvent, Content: "deployed the new scheduler"})
	})
	if err != nil {
		t.Fatal(err)
	}
	report := b.run(archiver.Options{})
	if report.Count(archiver.Archive) != 1 || report.Count(archiver.Postponed) != 1 || report.Count(archiver.Delete) != 0 {
		t.Errorf("at the first start: %v", actions(report))
	}
	b.now = noon.AddDate(0, 0, 29)
	if report := b.run(archiver.Options{}); report.Count(archiver.Delete) != 0 {
		t.Errorf("after 29 days: %v", actions(report))
	}
	b.now = noon.AddDate(0, 0, 30)
	if report := b.run(archiver.Options{}); report.Count(archiver.Delete) != 1 {
		t.Errorf("after 30 days: %v", actions(report))
	}
}
