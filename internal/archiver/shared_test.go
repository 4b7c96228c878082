package archiver_test

import (
	"os"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/memsidecar/memsidecar/internal/archiver"
	"github.com/memsidecar/memsidecar/internal/memory"
	"github.com/memsidecar/memsidecar/internal/store"
	"github.com/memsidecar/memsidecar/internal/store/durable"
	"github.com/memsidecar/memsidecar/internal/store/durable/crashfs"
	"github.com/memsidecar/memsidecar/internal/store/journal"
)

// journalReads counts the bytes that are read from the journal.
type journalReads struct {
	durable.FS
	bytes atomic.Int64
}

func (r *journalReads) OpenFile(name string, flag int, perm os.FileMode) (durable.File, error) {
	f, err := r.FS.OpenFile(name, flag, perm)
	if err == nil && strings.HasPrefix(name, "journal/") {
		f = &countedFile{f, &r.bytes}
	}
	return f, err
}

// countedFile adds what is read from it to bytes.
type countedFile struct {
	durable.File
	bytes *atomic.Int64
}

func (f *countedFile) ReadAt(p []byte, at int64) (int, error) {
	n, err := f.File.ReadAt(p, at)
	f.bytes.Add(int64(n))
	return n, err
}

func (f *countedFile) Read(p []byte) (int, error) {
	n, err := f.File.Read(p)
	f.bytes.Add(int64(n))
	return n, err
}

// TestSharedOperationIsReadOnce: logs that came together share one long operation, which a run does not read for each
// of them.
func TestSharedOperationIsReadOnce(t *testing.T) {
	const logs = 40
	b := newHarness(t)
	reads := &journalReads{FS: crashfs.New()}
	b.store = b.open(reads)
	text := strings.Repeat("looked at the timetable service ", 100)
	_, err := b.store.Update(t.Context(), store.Meta{Actor: journal.ActorImport}, func(tx *store.Tx) error {
		for i := range logs {
			if err := tx.AppendEntry(b.date(31+i), &memory.Entry{Time: "09:00:00", Type: memory.EntryEvent,
				Content: text}); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	reads.bytes.Store(0)
	if report := b.run(archiver.Options{}); report.Count(archiver.Archive) != logs {
		t.Fatalf("archived %d of %d logs: %v", report.Count(archiver.Archive), logs, actions(report))
	}
	// Adoption, clock, imports and what was undone are each looked up once; finding the record reads it up to thrice.
	whole := int64(logs * len(text))
	if most := 16 * whole; reads.bytes.Load() > most {
		t.Errorf("read %d bytes of the journal, which holds %d of the operation", reads.bytes.Load(), whole)
	}
}
