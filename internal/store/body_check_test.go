package store_test

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/memsidecar/memsidecar/internal/memory"
	"github.com/memsidecar/memsidecar/internal/memtest"
	"github.com/memsidecar/memsidecar/internal/store"
)

// TestDamagedLogInSnapshot: a log whose body in the snapshot is damaged takes no entries, before and after anybody has
// read it, and is a finding of its own. Other logs and memories go on. After a repair it has all its entries again.
func TestDamagedLogInSnapshot(t *testing.T) {
	for _, readFirst := range []bool{false, true} {
		fs, want := stopped(t)
		corrupt(t, fs, newest(t, fs, "default.log-2026-02-21"))
		report, err := store.Check(fs)
		if err != nil || len(report.Findings) != 1 ||
			!strings.Contains(report.Findings[0].Detail, "the log of 2026-02-21 in space default") {
			t.Fatalf("check: %+v %v", report, err)
		}
		r := &run{fs: fs, step: 100}
		if err := r.open(); err != nil {
			t.Fatal(err)
		}
		if readFirst {
			if _, _, err := r.st.Space("").Log("2026-02-21"); !errors.Is(err, memory.ErrCorrupt) {
				t.Fatalf("read: %v", err)
			}
		}
		lsn := r.st.LSN()
		for range 2 {
			if err := r.log("2026-02-21", "late"); !errors.Is(err, memory.ErrCorrupt) ||
				!strings.Contains(err.Error(), "snapshots/default.log-2026-02-21") ||
				!strings.Contains(err.Error(), "daemon repair") {
				t.Errorf("append to the damaged log: %v", err)
			}
		}
		if r.st.LSN() != lsn {
			t.Error("a refused entry is in the journal")
		}
		if err := errors.Join(r.log("2026-02-22", "other"), r.add("", "m9", "goes on")); err != nil {
			t.Errorf("beside it: %v", err)
		}
		found, err := r.st.DamagedLogs()
		if err != nil || len(found) != 1 || !slices.Equal(found, report.Findings) {
			t.Errorf("found %+v, %v; check says %+v", found, err, report.Findings)
		}
		if readFirst {
			continue
		}
		r = repaired(t, "default.log-2026-02-21", want)
		if err := r.log("2026-02-21", "late"); err != nil {
			t.Errorf("append after repair: %v", err)
		}
	}
}

// repaired opens the store of the workload after its newest file of that name was damaged and repaired, and checks that
// it holds want.
func repaired(t *testing.T, file, want string) *run {
	t.Helper()
	fs, _ := stopped(t)
	corrupt(t, fs, newest(t, fs, file))
	if _, err := repair(fs); err != nil {
		t.Fatal(err)
	}
	memtest.CheckDir(t, fs)
	r := &run{fs: fs, step: 100}
	if err := r.open(); err != nil {
		t.Fatal(err)
	}
	if got := contents(r.st); got != want {
		t.Errorf("after repair\n%s\nwant\n%s", got, want)
	}
	return r
}

// say appends a message to the session of the workload.
func say(r *run, text string) error {
	return r.update(store.Meta{Key: "say-" + text}, func(tx *store.Tx) error {
		s := *tx.Session("s1")
		s.Messages, s.NextSeq = s.Messages+1, s.NextSeq+1
		tx.PutSession(&s)
		return tx.AppendMessage("s1", &memory.Message{Seq: s.NextSeq - 1, At: r.now(), Role: "user", Content: text})
	})
}

// TestDamagedSessionInSnapshot: a session whose body in the snapshot is damaged takes no messages, as a log takes no
// entries, before and after anybody has read it. Its header may change, and all else goes on.
func TestDamagedSessionInSnapshot(t *testing.T) {
	for _, readFirst := range []bool{false, true} {
		fs, want := stopped(t)
		corrupt(t, fs, newest(t, fs, "default.session-"))
		r := &run{fs: fs, step: 100}
		if err := r.open(); err != nil {
			t.Fatal(err)
		}
		if readFirst {
			if _, err := r.st.Space("").Messages("s1", 0); !errors.Is(err, memory.ErrCorrupt) {
				t.Fatalf("read: %v", err)
			}
		}
		lsn := r.st.LSN()
		for range 2 {
			if err := say(r, "late"); !errors.Is(err, memory.ErrCorrupt) ||
				!strings.Contains(err.Error(), "session s1 cannot be added to") ||
				!strings.Contains(err.Error(), "snapshots/default.session-") ||
				!strings.Contains(err.Error(), "daemon repair") {
				t.Errorf("append to the damaged session: %v", err)
			}
		}
		if r.st.LSN() != lsn {
			t.Error("a refused message is in the journal")
		}
		if err := errors.Join(r.log("2026-02-21", "other"), r.add("", "m9", "goes on")); err != nil {
			t.Errorf("beside it: %v", err)
		}
		if readFirst {
			continue
		}
		r = repaired(t, "default.session-", want)
		if err := say(r, "late"); err != nil {
			t.Errorf("append after repair: %v", err)
		}
	}
}
