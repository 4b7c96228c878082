package store_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/memsidecar/memsidecar/internal/memory"
	"github.com/memsidecar/memsidecar/internal/memtest"
	"github.com/memsidecar/memsidecar/internal/store"
	"github.com/memsidecar/memsidecar/internal/store/durable/crashfs"
)

// fillUp adds memories until the disk is full and returns how many were acknowledged.
func fillUp(t *testing.T, st *store.Store) int {
	t.Helper()
	for n := 0; ; n++ {
		_, err := st.Update(t.Context(), store.Meta{Key: fmt.Sprint("key-", n)}, func(tx *store.Tx) error {
			return tx.Put(memtest.Fact(fmt.Sprint("m", n), strings.Repeat("x", 1000)))
		})
		if errors.Is(err, memory.ErrDiskFull) {
			return n
		}
		if err != nil {
			t.Fatal(err)
		}
	}
}

// TestDiskFull: a write without space changes nothing and reads go on; forgetting is still possible; a snapshot and a
// trim that fail lose nothing; when there is space again, everything goes on, and what was refused can be sent again
// under its key.
func TestDiskFull(t *testing.T) {
	fs := crashfs.New()
	clock := new(memtest.Clock)
	cfg := store.Config{FS: fs, Now: clock.Now, SegmentSize: 128 << 10, HistoryDays: 1}
	st := memtest.Open(t, cfg)
	for i := range 200 {
		if _, err := st.Update(t.Context(), store.Meta{}, func(tx *store.Tx) error {
			return tx.Put(memtest.Fact(fmt.Sprint("old", i), strings.Repeat("y", 1000)))
		}); err != nil {
			t.Fatal(err)
		}
	}
	fs.SetFree(0)
	n := fillUp(t, st)
	if st.Err() != nil {
		t.Fatalf("a full disk made the store read-only: %v", st.Err())
	}
	full, err := st.Digest()
	if err != nil {
		t.Fatal(err)
	}
	if st.Space("").Count() != 200+n {
		t.Fatalf("%d memories are seen, %d were acknowledged", st.Space("").Count(), 200+n)
	}
	if _, err := st.Checkpoint(t.Context()); !errors.Is(err, memory.ErrDiskFull) && err == nil {
		t.Fatal("a snapshot was written on a full disk")
	}
	clock.Advance(72 * time.Hour)
	if err := st.Trim(t.Context()); err != nil {
		t.Fatal(err)
	}
	if digest, _ := st.Digest(); digest != full {
		t.Fatal("a refused write, a failed snapshot or a trim changed something")
	}
	if rec, err := st.Operation(t.Context(), 1); err != nil || rec.Op != 1 {
		t.Fatalf("history that is in no snapshot was trimmed: %v", err)
	}
	forget := func(tx *store.Tx) error {
		m := tx.Memory("old0").Clone()
		m.Status = memory.Retired
		tx.Forget(m.Content)
		return tx.Put(m)
	}
	if _, err := st.Update(t.Context(), store.Meta{}, forget); !errors.Is(err, memory.ErrDiskFull) {
		t.Errorf("a write that is not essential used the reserve: %v", err)
	}
	if _, err := st.Update(t.Context(), store.Meta{Essential: true}, forget); err != nil {
		t.Errorf("forgetting on a full disk: %v", err)
	}
	after := memtest.Open(t, store.Config{FS: fs.Crash(crashfs.Lost, nil), Now: clock.Now})
	if m, err := after.Space("").Get("old0"); err != nil || m.Status != memory.Retired {
		t.Errorf("what was forgotten on a full disk came back in a crash: %v %v", m, err)
	}

	fs.SetFree(-1)
	res, err := st.Update(t.Context(), store.Meta{Key: fmt.Sprint("key-", n)}, func(tx *store.Tx) error {
		return tx.Put(memtest.Fact("late", "at last"))
	})
	if err != nil || res.Replayed {
		t.Fatalf("the refused write, sent again: %+v %v", res, err)
	}
	for range 2 {
		if _, err := st.Update(t.Context(), store.Meta{}, func(tx *store.Tx) error {
			return tx.Put(memtest.Fact("late", "later"))
		}); err != nil {
			t.Fatal(err)
		}
		if _, err := st.Checkpoint(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	if err := st.Trim(t.Context()); err != nil {
		t.Fatal(err)
	}
	memtest.CheckDir(t, fs)
}

// TestFullFromTheStart: a disk that has no space for the first segment is named as full, and no half-made store is in
// the way later.
func TestFullFromTheStart(t *testing.T) {
	r := &run{fs: crashfs.New()}
	r.fs.SetFree(100)
	if err := r.open(); err == nil {
		t.Fatal("it opened")
	}
	r.fs.SetFree(-1)
	if err := r.open(); err != nil {
		t.Fatal(err)
	}
	if err := r.add("", "m", "works"); err != nil {
		t.Fatal(err)
	}
}

// TestCloseOnFullDisk: the snapshot cannot be written, and nothing is lost by it.
func TestCloseOnFullDisk(t *testing.T) {
	fs := crashfs.New()
	st := memtest.Open(t, store.Config{FS: fs, SegmentSize: small})
	fs.SetFree(0)
	n := fillUp(t, st)
	if err := st.Close(context.Background()); err == nil {
		t.Error("closed without a word")
	}
	again := memtest.OpenStore(t, fs)
	if again.Space("").Count() != n {
		t.Fatalf("%d memories, %d were acknowledged", again.Space("").Count(), n)
	}
}
