package archiver_test

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/memsidecar/memsidecar/internal/archiver"
	"github.com/memsidecar/memsidecar/internal/memory"
	"github.com/memsidecar/memsidecar/internal/store"
	"github.com/memsidecar/memsidecar/internal/store/journal"
)

// TestEntriesOfOthers: the log of a shared space is archived with the entries of other machines, and no memory is made
// of these, because the machine that sent an entry makes them.
func TestEntriesOfOthers(t *testing.T) {
	b := newHarness(t)
	_, err := b.store.Update(t.Context(), store.Meta{Actor: journal.ActorClient}, func(tx *store.Tx) error {
		for content, extra := range map[string]map[string]json.RawMessage{
			"Never deploy on Fridays":  nil,
			"Always ask before a push": {memory.ExtraStore: []byte(`"0197f0e4"`)},
		} {
			if err := tx.AppendEntry(b.date(31), &memory.Entry{Time: "09:00:00", Type: memory.EntryCorrection,
				Content: content, Extra: extra}); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if report := b.run(archiver.Options{}); report.Count(archiver.Archive) != 1 {
		t.Fatalf("archived %d logs, want 1: %v", report.Count(archiver.Archive), actions(report))
	}
	var made []string
	for _, m := range b.store.Space("").Memories() {
		if !strings.HasPrefix(m.Title, "Log ") { // the summary of the log is of all
			made = append(made, m.Content)
		}
	}
	if want := []string{"Never deploy on Fridays"}; !slices.Equal(made, want) {
		t.Errorf("memories %q, want %q", made, want)
	}
}
