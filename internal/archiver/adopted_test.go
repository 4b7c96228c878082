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

// TestImportedLogsHaveGrace: so do old logs that were imported, archived or not, long after the store began.
func TestImportedLogsHaveGrace(t *testing.T) {
	for _, archived := range []bool{false, true} {
		b := newBench(t)
		b.log(b.date(1), memory.Entry{Time: "09:00:00", Type: memory.EntryEvent, Content: "something of our own"})
		old := b.date(200)
		_, err := b.store.Update(t.Context(), store.Meta{Actor: journal.ActorImport}, func(tx *store.Tx) error {
			if archived {
				tx.SetDay(&memory.Day{Date: old, Summary: "deployed", Archived: true})
			}
			return tx.AppendEntry(old, &memory.Entry{Time: "09:00:00", Type: memory.EntryEvent, Content: "deployed the new scheduler"})
		})
		if err != nil {
			t.Fatal(err)
		}
		for _, days := range []int{0, 29} {
			b.now = noon.AddDate(0, 0, days)
			if report := b.run(archiver.Options{}); report.Count(archiver.Delete) != 0 {
				t.Errorf("archived %v, after %d days: %v", archived, days, actions(report))
			}
		}
		b.now = noon.AddDate(0, 0, 30)
		if report := b.run(archiver.Options{}); report.Count(archiver.Delete) != 1 {
			t.Errorf("archived %v, after 30 days: %v", archived, actions(report))
		}
	}
}
