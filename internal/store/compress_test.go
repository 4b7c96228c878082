package store

import (
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/memsidecar/memsidecar/internal/memory"
	"github.com/memsidecar/memsidecar/internal/store/durable/crashfs"
	"github.com/memsidecar/memsidecar/internal/store/journal"
)

// TestCompressesOnlyBehindASnapshot: a segment is compressed once a snapshot includes it, which a program refuses that
// cannot read compressed files, and never while a backup reads the files.
func TestCompressesOnlyBehindASnapshot(t *testing.T) {
	st, err := Open(Config{FS: crashfs.New(), Now: time.Now, Logger: slog.New(slog.DiscardHandler), SegmentSize: 4 << 10})
	if err != nil {
		t.Fatal(err)
	}
	for i := range 30 {
		_, err := st.Update(t.Context(), Meta{Actor: journal.ActorClient}, func(tx *Tx) error {
			return tx.Put(&memory.Memory{ID: fmt.Sprint("m", i), Category: memory.Facts, Source: memory.SourceUser,
				Content: strings.Repeat(fmt.Sprint("fact ", i, " "), 30)})
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	requireCompress := func(when string, want bool) {
		t.Helper()
		if did, err := st.compressJournal(); err != nil || did != want {
			t.Errorf("%s: compressed %v, %v", when, did, err)
		}
	}
	requireCompress("without a snapshot", false)
	if _, err := st.Checkpoint(t.Context()); err != nil {
		t.Fatal(err)
	}
	st.snapshots.current.MinReader = journal.CompressedMinor - 1
	requireCompress("behind a snapshot of an older program", false)
	st.snapshots.current.MinReader = journal.CurrentFormat().MinReader
	view, _, err := st.PinFiles(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	requireCompress("beside a backup", false)
	view.Close()
	requireCompress("behind a snapshot", true)
	if err := st.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
}
