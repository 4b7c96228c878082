package archiver_test

import (
	"bytes"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/memsidecar/memsidecar/internal/archiver"
	"github.com/memsidecar/memsidecar/internal/store"
	"github.com/memsidecar/memsidecar/internal/store/backup"
	"github.com/memsidecar/memsidecar/internal/store/durable/crashfs"
	"github.com/memsidecar/memsidecar/internal/store/journal"
)

// compressUnasked is the daily job.
func (b *harness) compressUnasked() archiver.CompressReport {
	b.Helper()
	a := archiver.New(archiver.Config{Store: b.store, Location: b.loc, Logger: slog.New(slog.DiscardHandler)})
	r, err := a.Compress(b.Context(), archiver.CompressOptions{Scheduled: true})
	if err != nil {
		b.Fatal(err)
	}
	return r
}

// TestImportedMemoriesHaveGrace: old memories that were imported are not merged by themselves for 30 days, those
// beside them are, and whoever asks for it has it at once.
func TestImportedMemoriesHaveGrace(t *testing.T) {
	fill := func(b *harness) {
		_, err := b.store.Update(t.Context(), store.Meta{Actor: journal.ActorImport}, func(tx *store.Tx) error {
			for _, m := range harbour() {
				if err := tx.Put(m); err != nil {
					return err
				}
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
		for i, text := range []string{"The lighthouse keeper counts the ships at dawn",
			"The lighthouse keeper counts the ships at dusk", "The lighthouse keeper counts the ships at noon"} {
			b.put(old("light"+string(rune('a'+i)), text))
		}
	}
	b := newHarness(t)
	fill(b)
	r := b.compressUnasked()
	if r.Merged() != 1 {
		t.Errorf("at once: %+v", r)
	}
	for _, g := range r.Groups {
		if ours := strings.HasPrefix(g.Originals[0], "light"); ours != (g.Reason == "") {
			t.Errorf("group of %s: %q", g.Originals[0], g.Reason)
		}
	}
	for _, tt := range []struct{ days, merged int }{{29, 0}, {30, 1}} {
		b.now = noon.AddDate(0, 0, tt.days)
		if r := b.compressUnasked(); r.Merged() != tt.merged {
			t.Errorf("after %d days: %+v", tt.days, r)
		}
	}
	b = newHarness(t)
	fill(b)
	if r := b.compress(archiver.CompressOptions{}); r.Merged() != 2 {
		t.Errorf("asked for: %+v", r)
	}
}

// TestRestoredMemoriesHaveGrace: neither are those of a backup, which tells nothing of how long ago it was restored.
func TestRestoredMemoriesHaveGrace(t *testing.T) {
	b := newHarness(t)
	from := crashfs.New()
	b.store = b.open(from)
	b.put(harbour()...)
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
	for _, tt := range []struct{ days, merged int }{{0, 0}, {29, 0}, {30, 1}} {
		b.now = noon.Add(time.Duration(tt.days) * 24 * time.Hour)
		if r := b.compressUnasked(); r.Merged() != tt.merged || (r.Postponed == "") != (tt.merged > 0) {
			t.Errorf("after %d days: %+v", tt.days, r)
		}
	}
}
