package store_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/memsidecar/memsidecar/internal/memory"
	"github.com/memsidecar/memsidecar/internal/memtest"
	"github.com/memsidecar/memsidecar/internal/store"
	"github.com/memsidecar/memsidecar/internal/store/durable"
	"github.com/memsidecar/memsidecar/internal/store/durable/crashfs"
	"github.com/memsidecar/memsidecar/internal/store/journal"
)

const (
	manifestFile = "snapshots/MANIFEST.json"
	previousFile = "snapshots/MANIFEST.prev.json"
)

// repair repairs a directory that has no published files.
func repair(fs *crashfs.FS) ([]string, error) {
	done, err := store.Repair(fs, memtest.Epoch)
	if err != nil {
		return done, err
	}
	return done, store.EndRepair(fs)
}

// stopped is a data directory with two snapshots and a clean stop, and its contents.
func stopped(t *testing.T) (*crashfs.FS, string) {
	t.Helper()
	r := &run{fs: crashfs.New()}
	if err := errors.Join(r.open(), r.steps(), r.open()); err != nil {
		t.Fatal(err)
	}
	return r.fs.Crash(crashfs.Lost, nil), contents(r.st)
}

// corrupt flips a byte in the middle of a file.
func corrupt(t *testing.T, fs *crashfs.FS, name string) {
	t.Helper()
	data, err := durable.ReadFile(fs, name)
	if err != nil {
		t.Fatal(err)
	}
	at := len(data) / 2
	if err := fs.Corrupt(name, int64(at), []byte{data[at] ^ 0x20}); err != nil {
		t.Fatal(err)
	}
}

// newest is the file of the newest snapshot whose name contains part.
func newest(t *testing.T, fs *crashfs.FS, part string) string {
	t.Helper()
	manifest, err := durable.ReadFile(fs, manifestFile)
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range fs.Names() {
		base, ok := strings.CutPrefix(name, "snapshots/")
		if !ok || !strings.Contains(base, part) {
			continue
		}
		if strings.Contains(string(manifest), base) || !strings.Contains(part, "space") {
			return name
		}
	}
	t.Fatalf("no file %q among %q", part, fs.Names())
	return ""
}

// TestRepairOfSnapshots: a damaged snapshot is refused by name and gives way to the one before, or to the journal,
// without losing anything.
func TestRepairOfSnapshots(t *testing.T) {
	for _, tt := range []struct {
		name    string
		damage  func(t *testing.T, fs *crashfs.FS)
		opens   bool // the damage is found only when the file is read
		reports string
	}{
		{"manifest", func(t *testing.T, fs *crashfs.FS) { corrupt(t, fs, manifestFile) }, false, "the previous one"},
		{"space file", func(t *testing.T, fs *crashfs.FS) { corrupt(t, fs, newest(t, fs, ".space.")) }, false,
			"the previous one"},
		{"space file missing", func(t *testing.T, fs *crashfs.FS) {
			if err := fs.Remove(newest(t, fs, ".space.")); err != nil {
				t.Fatal(err)
			}
		}, false, "the previous one"},
		{"log file", func(t *testing.T, fs *crashfs.FS) { corrupt(t, fs, newest(t, fs, "default.log-2026-02-21")) },
			true, "read from the journal"},
		{"no previous one", func(t *testing.T, fs *crashfs.FS) {
			corrupt(t, fs, manifestFile)
			if err := fs.Remove(previousFile); err != nil {
				t.Fatal(err)
			}
		}, false, "read from the journal"},
		{"both manifests", func(t *testing.T, fs *crashfs.FS) {
			corrupt(t, fs, manifestFile)
			corrupt(t, fs, previousFile)
		}, false, "read from the journal"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			fs, want := stopped(t)
			tt.damage(t, fs)
			r := &run{fs: fs.Clone()}
			err := r.open()
			if tt.opens != (err == nil) || err != nil && !errors.Is(err, memory.ErrCorrupt) {
				t.Fatalf("open: %v", err)
			}
			report, err := store.Check(fs)
			if err != nil || len(report.Findings) == 0 {
				t.Fatalf("check: %+v %v", report, err)
			}
			done, err := repair(fs)
			if err != nil || len(done) == 0 || !strings.Contains(strings.Join(done, "\n"), tt.reports) {
				t.Fatalf("repair: %q %v", done, err)
			}
			memtest.CheckDir(t, fs)
			r = &run{fs: fs}
			if err := r.open(); err != nil {
				t.Fatal(err)
			}
			if got := contents(r.st); got != want {
				t.Fatalf("after repair\n%s\nwant\n%s", got, want)
			}
			if again, err := repair(fs); err != nil || len(again) > 0 {
				t.Errorf("a second repair: %q %v", again, err)
			}
		})
	}
}

// TestDamageUnderTheSnapshot: history that the snapshot includes is checked too, and repair keeps the state and the
// rest of the history.
func TestDamageUnderTheSnapshot(t *testing.T) {
	fs, want := stopped(t)
	const file = "journal/0000000000000001.jsonl"
	corrupt(t, fs, file)
	report, err := store.Check(fs)
	if err != nil || len(report.Findings) == 0 || report.Findings[0].File != file || report.Findings[0].Line < 2 {
		t.Fatalf("check: %+v %v", report, err)
	}
	done, err := repair(fs)
	if err != nil || len(done) == 0 || !strings.Contains(done[0], "lost") {
		t.Fatalf("repair: %q %v", done, err)
	}
	memtest.CheckDir(t, fs)
	r := &run{fs: fs}
	if err := r.open(); err != nil {
		t.Fatal(err)
	}
	if got := contents(r.st); got != want {
		t.Fatalf("after repair\n%s\nwant\n%s", got, want)
	}
	lost := 0
	for rec, err := range r.st.Operations(t.Context(), 1, r.st.LSN()) {
		if err != nil {
			t.Fatal(err)
		}
		if rec.Actor == journal.ActorRepair {
			lost++
		}
	}
	if lost == 0 {
		t.Error("no filler stands where the record was")
	}
}

// TestDumpAndCheckAgree: dump writes every record that check counts.
func TestDumpAndCheckAgree(t *testing.T) {
	fs, _ := stopped(t)
	var b strings.Builder
	if err := store.Dump(fs, &b, 1); err != nil {
		t.Fatal(err)
	}
	report := memtest.CheckDir(t, fs)
	last := ""
	for line := range strings.Lines(b.String()) {
		last = line
	}
	if !strings.HasPrefix(b.String(), `{"lsn":1,`) || !strings.HasPrefix(last, fmt.Sprintf(`{"lsn":%d,`, report.LSN)) {
		t.Fatalf("dump ends with %.60s, check with %d", last, report.LSN)
	}
}

// TestForeignSnapshot: the journal of another store is not taken for the continuation of this one's snapshot.
func TestForeignSnapshot(t *testing.T) {
	ours, _ := stopped(t)
	theirs, _ := stopped(t)
	for _, name := range theirs.Names() {
		if strings.HasPrefix(name, "journal/") {
			data, err := durable.ReadFile(theirs, name)
			if err == nil {
				err = ours.WriteRaw(name, data)
			}
			if err != nil {
				t.Fatal(err)
			}
		}
	}
	r := &run{fs: ours}
	if err := r.open(); !errors.Is(err, memory.ErrCorrupt) || !strings.Contains(err.Error(), "belongs to store") {
		t.Fatalf("open: %v", err)
	}
	if report, err := store.Check(ours); err != nil || len(report.Findings) == 0 {
		t.Fatalf("check: %+v %v", report, err)
	}
}
