package store_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/memsidecar/memsidecar/internal/memory"
	"github.com/memsidecar/memsidecar/internal/store"
	"github.com/memsidecar/memsidecar/internal/store/durable/crashfs"
	"github.com/memsidecar/memsidecar/internal/store/journal"
)

// TestStartReplaysOnlyWhatTheSnapshotLacks: a space in which nothing has happened for months does not hold the
// snapshot back.
func TestStartReplaysOnlyWhatTheSnapshotLacks(t *testing.T) {
	r := &run{fs: crashfs.New()}
	add := func(space string, n int) {
		for i := range n {
			id := fmt.Sprintf("%s-%d-%d", space, r.st.LSN(), i)
			err := r.update(store.Meta{Space: space, Actor: journal.ActorClient}, func(tx *store.Tx) error {
				return tx.Put(&memory.Memory{ID: id, Category: memory.Facts, Content: id +
					strings.Repeat(" and so on", 20), Source: memory.SourceUser, Confidence: 1})
			})
			if err != nil {
				t.Fatal(err)
			}
		}
	}
	checkpoint := func() {
		if _, err := r.st.Checkpoint(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	if err := r.open(); err != nil {
		t.Fatal(err)
	}
	add("dormant", 3)
	checkpoint()
	for range 5 {
		add("busy", 200)
		checkpoint()
	}
	before := r.st.JournalStats().Bytes
	add("busy", 4)
	lacking := r.st.JournalStats().Bytes - before
	digest, err := r.st.Digest()
	if err != nil {
		t.Fatal(err)
	}

	r.fs = r.fs.Crash(crashfs.Lost, nil)
	if err := r.open(); err != nil {
		t.Fatal(err)
	}
	if replayed := r.st.JournalStats().Bytes; replayed != lacking {
		t.Errorf("replayed %d bytes; the newest snapshot lacks %d of %d", replayed, lacking, before)
	}
	if n := r.st.Space("dormant").Count(); n != 3 {
		t.Errorf("the dormant space has %d memories, want 3", n)
	}
	if got, err := r.st.Digest(); err != nil || got != digest {
		t.Errorf("digest %s, want %s: %v", got, digest, err)
	}
}

// TestStopWithoutSnapshot: a stop that leaves a large snapshot out is a clean one, and the next start has everything.
func TestStopWithoutSnapshot(t *testing.T) {
	r := &run{fs: crashfs.New()}
	if err := r.open(); err != nil {
		t.Fatal(err)
	}
	add := func(id string) {
		err := r.update(store.Meta{Actor: journal.ActorClient}, func(tx *store.Tx) error {
			return tx.Put(&memory.Memory{ID: id, Category: memory.Facts, Content: "fact " + id, Source: memory.SourceUser,
				Confidence: 1})
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	add("first")
	included, err := r.st.Checkpoint(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	add("second")
	digest, err := r.st.Digest()
	if err != nil {
		t.Fatal(err)
	}
	r.st.SetStopBytes(100)
	if err := r.st.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	r.fs = r.fs.Crash(crashfs.Lost, nil)
	if err := r.open(); err != nil {
		t.Fatal(err)
	}
	if got, err := r.st.Digest(); err != nil || got != digest || r.st.Snapshot().LSN != included {
		t.Errorf("snapshot up to %d, want %d; the state differs: %v, %v", r.st.Snapshot().LSN, included, got != digest, err)
	}
	if err := r.st.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	if r.fs = r.fs.Crash(crashfs.Lost, nil); r.open() != nil || r.st.Snapshot().LSN == included {
		t.Error("a stop took no small snapshot")
	}
	if err := r.st.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
}
