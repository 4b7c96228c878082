package backup_test

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/memsidecar/memsidecar/internal/dailylog"
	"github.com/memsidecar/memsidecar/internal/jsonstore"
	"github.com/memsidecar/memsidecar/internal/memory"
	"github.com/memsidecar/memsidecar/internal/memtest"
	"github.com/memsidecar/memsidecar/internal/store"
	"github.com/memsidecar/memsidecar/internal/store/backup"
	"github.com/memsidecar/memsidecar/internal/store/durable"
	"github.com/memsidecar/memsidecar/internal/store/durable/crashfs"
	"github.com/memsidecar/memsidecar/internal/store/journal"
)

// published is what the daemon publishes.
var published = backup.Layout{jsonstore.BackupFiles{}, dailylog.BackupFiles{}}

// newFilledStore makes a store with something of everything in it, some of it in a snapshot and some behind it.
func newFilledStore(t *testing.T) (*store.Store, durable.FS) {
	t.Helper()
	fs := crashfs.New()
	st := memtest.Open(t, store.Config{FS: fs, SegmentSize: 8 << 10})
	update := func(space string, fn func(tx *store.Tx) error) {
		t.Helper()
		if _, err := st.Update(t.Context(), store.Meta{Space: space, Actor: journal.ActorClient}, fn); err != nil {
			t.Fatal(err)
		}
	}
	for i := range 40 {
		update("", func(tx *store.Tx) error {
			return tx.Put(memtest.Fact(fmt.Sprint("m", i), strings.Repeat("代码注释用英文写 ", 20)))
		})
		if i == 20 {
			if _, err := st.Checkpoint(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
	}
	update("", func(tx *store.Tx) error { tx.Forget("never again"); tx.SetSummary("Mei"); return nil })
	update("work", func(tx *store.Tx) error {
		tx.LogArchived(memory.Archived{Date: "2026-01-20", Entries: 3, Summary: "moved the service"})
		return tx.AppendEntry("2026-02-21",
			&memory.Entry{At: memtest.Epoch, Time: "10:30:00", Type: "event", Content: "shipped"})
	})
	update("work", func(tx *store.Tx) error {
		tx.PutSession(&memory.Session{ID: "s", State: memory.SessionOpen, StartedAt: memtest.Epoch, Messages: 1,
			NextSeq: 2})
		return tx.AppendMessage("s", &memory.Message{Seq: 1, At: memtest.Epoch, Role: "user", Content: "hello"})
	})
	write(t, fs, "quarantine/kept.bin", "bytes")
	write(t, fs, "memory.json", `{"version":2,"memories":[],"theirs":{"a":1}}`)
	return st, fs
}

func options(fresh string) backup.Options {
	return backup.Options{Published: published, EpochSuffix: fresh, Now: memtest.Epoch, Remedy: "again"}
}

func write(t *testing.T, fs durable.FS, name, text string) {
	t.Helper()
	if dir, _, ok := strings.Cut(name, "/"); ok {
		if err := fs.MkdirAll(dir); err != nil {
			t.Fatal(err)
		}
	}
	if err := durable.WriteFile(fs, name, func(w io.Writer) error {
		_, err := io.WriteString(w, text)
		return err
	}); err != nil {
		t.Fatal(err)
	}
}

// archiveOf backs the store up.
func archiveOf(t *testing.T, st *store.Store, fs durable.FS) ([]byte, backup.Info) {
	t.Helper()
	var b bytes.Buffer
	source := &backup.Source{Store: st, FS: fs, Published: published, Now: new(memtest.Clock).Now}
	info, err := source.Write(t.Context(), &b)
	if err != nil {
		t.Fatal(err)
	}
	return b.Bytes(), info
}

func TestRestoredStoreIsTheSameAndGoesOnElsewhere(t *testing.T) {
	st, from := newFilledStore(t)
	want, err := st.Digest()
	if err != nil {
		t.Fatal(err)
	}
	memtest.CompressSegments(t, from.(*crashfs.FS))
	archive, info := archiveOf(t, st, from)
	if info.LSN != st.LSN() || info.Digest != want {
		t.Fatalf("the backup holds %d %s, the store %d %s", info.LSN, info.Digest, st.LSN(), want)
	}
	to := crashfs.New()
	restored, err := backup.Restore(t.Context(), to, bytes.NewReader(archive), options("fresh"))
	if err != nil {
		t.Fatal(err)
	}
	if err := backup.CheckState(to, restored); err != nil {
		t.Fatal(err)
	}
	other := memtest.OpenStore(t, to)
	if other.Origin() != st.Origin() || other.Epoch() == st.Epoch() {
		t.Errorf("origin %s and epoch %s after %s and %s", other.Origin(), other.Epoch(), st.Origin(), st.Epoch())
	}
	res, err := other.Update(t.Context(), store.Meta{}, func(tx *store.Tx) error {
		if !tx.IsForgotten("never again") {
			t.Error("what was forgotten is not any more")
		}
		return tx.Put(memtest.Fact("new", "after the restore"))
	})
	if err != nil {
		t.Fatal(err)
	}
	rec, err := other.Operation(t.Context(), res.Op)
	if err != nil || rec.Origin != other.Epoch() {
		t.Errorf("operation %d has origin %s, not %s: %v", res.Op, rec.Origin, other.Epoch(), err)
	}
	if first, err := other.Operation(t.Context(), 1); err != nil || first.Origin != st.Epoch() {
		t.Errorf("the history did not come along: %v", err)
	}
	for name, text := range map[string]string{"quarantine/kept.bin": "bytes", "memory.json": `"theirs": {"a":1}`,
		"spaces/work/logs/archive.json": `"summary": "moved the service"`} {
		if data, err := durable.ReadFile(to, name); err != nil || !strings.Contains(string(data), text) {
			t.Errorf("%s holds %q: %v", name, data, err)
		}
	}
	// The epoch outlives a restart, a new segment, and another restore.
	if err := other.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	again := memtest.Open(t, store.Config{FS: to, SegmentSize: 8 << 10})
	if again.Epoch() != other.Epoch() || !again.Restored().Equal(memtest.Epoch) {
		t.Errorf("epoch %s after a restart, %s before", again.Epoch(), other.Epoch())
	}
	memtest.CheckDir(t, to)
	second, _ := archiveOf(t, again, to)
	third := crashfs.New()
	if info, err = backup.Restore(t.Context(), third, bytes.NewReader(second), options("later")); err != nil {
		t.Fatal(err)
	}
	if err := backup.CheckState(third, info); err != nil {
		t.Error(err)
	}
}

func TestEmptyStore(t *testing.T) {
	fs := crashfs.New()
	st := memtest.OpenStore(t, fs)
	archive, _ := archiveOf(t, st, fs)
	to := crashfs.New()
	info, err := backup.Restore(t.Context(), to, bytes.NewReader(archive), options("fresh"))
	if err != nil {
		t.Fatal(err)
	}
	if err := backup.CheckState(to, info); err != nil {
		t.Fatal(err)
	}
	if other := memtest.OpenStore(t, to); other.Origin() != st.Origin() {
		t.Errorf("store %s, not %s", other.Origin(), st.Origin())
	}
}

// TestCrashOfRestore crashes a restore at every operation: what is left is nothing, or refused by name, or whole; and
// it can be run again.
func TestCrashOfRestore(t *testing.T) {
	st, from := newFilledStore(t)
	archive, info := archiveOf(t, st, from)
	whole := crashfs.New()
	if _, err := backup.Restore(t.Context(), whole, bytes.NewReader(archive), options("fresh")); err != nil {
		t.Fatal(err)
	}
	ops := whole.Ops()
	counts := map[string]int{}
	for n := 1; n <= ops; n++ {
		if n != ops && memtest.SkipSample(n, 5) {
			continue
		}
		crashed := crashfs.New()
		crashed.CrashAt(n)
		if _, err := backup.Restore(t.Context(), crashed, bytes.NewReader(archive), options("fresh")); err == nil {
			t.Fatalf("operation %d: no crash", n)
		}
		for seed, variant := range []crashfs.CrashMode{crashfs.Lost, crashfs.Kept, crashfs.Torn, crashfs.Torn,
			crashfs.Torn} {
			left := crashed.Crash(variant, rand.New(rand.NewPCG(uint64(n), uint64(seed))))
			where := fmt.Sprintf("crash at %d (%s), %v %d", n, whole.Trace()[n-1], variant, seed)
			counts[requireWholeOrAbsent(t, left, info, where)]++
			if backup.CheckEmpty(left, published) != nil {
				continue // it is whole
			}
			if _, err := backup.Restore(t.Context(), left, bytes.NewReader(archive), options("fresh")); err != nil {
				t.Fatalf("crash at %d, %v: the restore cannot be run again: %v", n, variant, err)
			}
			if err := backup.CheckState(left, info); err != nil {
				t.Fatalf("crash at %d, %v, run again: %v", n, variant, err)
			}
		}
	}
	t.Logf("%d operations, each crashed in 5 variants: %v", ops, counts)
	for _, kind := range []string{"empty", "refused", "whole"} {
		if counts[kind] == 0 {
			t.Errorf("no crash left the directory %s", kind)
		}
	}
}

// requireWholeOrAbsent says how a directory was left, and fails when it is half.
func requireWholeOrAbsent(t *testing.T, fs *crashfs.FS, info backup.Info, where string) string {
	t.Helper()
	_, err := store.Check(fs)
	if errors.Is(err, memory.ErrIncomplete) {
		if !strings.Contains(err.Error(), "again") {
			t.Fatalf("%s: the refusal does not say what to do: %v", where, err)
		}
		return "refused"
	}
	entries, err := fs.ReadDir(".")
	if err != nil {
		t.Fatal(err)
	}
	if len(entries) == 0 || len(entries) == 1 && strings.HasPrefix(entries[0].Name(), store.RestoringFile) {
		return "empty"
	}
	if err := backup.CheckState(fs, info); err != nil {
		t.Fatalf("%s: half a restore is taken for a whole one: %v", where, err)
	}
	return "whole"
}

// TestFailureOfRestore fails every operation once: the error is reported and nothing is left, or the directory is
// refused.
func TestFailureOfRestore(t *testing.T) {
	st, from := newFilledStore(t)
	archive, info := archiveOf(t, st, from)
	whole := crashfs.New()
	if _, err := backup.Restore(t.Context(), whole, bytes.NewReader(archive), options("fresh")); err != nil {
		t.Fatal(err)
	}
	broken := errors.New("broken")
	for n := 1; n <= whole.Ops(); n++ {
		fs := crashfs.New()
		fs.FailAt(n, broken)
		if _, err := backup.Restore(t.Context(), fs, bytes.NewReader(archive), options("fresh")); err == nil {
			t.Errorf("operation %d (%s) failed and nobody said so", n, whole.Trace()[n-1])
		}
		requireWholeOrAbsent(t, fs, info, fmt.Sprintf("failure of %d (%s)", n, whole.Trace()[n-1]))
	}
}

func TestWritesGoOnDuringABackup(t *testing.T) {
	st, from := newFilledStore(t)
	want, _ := st.Digest()
	lsn := st.LSN()
	var b bytes.Buffer
	n := 0
	// Every piece that is written lets the store go on: new memories, and snapshots that would remove the old files.
	slow := writerFunc(func(p []byte) (int, error) {
		n++
		_, err := st.Update(t.Context(), store.Meta{Space: "work"}, func(tx *store.Tx) error {
			return tx.Put(memtest.Fact(fmt.Sprint("during", n), "text"))
		})
		if err == nil {
			_, err = st.Checkpoint(t.Context())
		}
		if err != nil {
			t.Fatal(err)
		}
		return b.Write(p)
	})
	source := &backup.Source{Store: st, FS: from, Published: published, Now: new(memtest.Clock).Now}
	info, err := source.Write(t.Context(), slow)
	if err != nil {
		t.Fatal(err)
	}
	if info.LSN != lsn || info.Digest != want || n < 2 {
		t.Errorf("the backup holds %d %s, the store had %d %s when it began; %d pieces", info.LSN, info.Digest, lsn,
			want, n)
	}
	if got, err := backup.Verify(t.Context(), &b, published, t.TempDir(), time.Now); err != nil || got.Digest != want {
		t.Errorf("verified %v: %v", got, err)
	}
	memtest.CheckDir(t, from)
}

type writerFunc func([]byte) (int, error)

func (f writerFunc) Write(p []byte) (int, error) { return f(p) }

func TestBadArchives(t *testing.T) {
	st, from := newFilledStore(t)
	good, info := archiveOf(t, st, from)
	type edit func(h *tar.Header, data []byte) (*tar.Header, []byte)
	for _, tt := range []struct {
		name string
		edit edit
		want string
	}{
		{"path that leads out", rename("paused", "../paused"), "does not belong"},
		{"absolute path", rename("snapshots/MANIFEST.json", "/etc/passwd"), "does not belong"},
		{"file of another kind", rename("quarantine/kept.bin", "LOCK"), "does not belong"},
		{"own mark", rename("quarantine/kept.bin", store.RestoringFile), "does not belong"},
		{"hidden file", rename("quarantine/kept.bin", "quarantine/.ssh"), "does not belong"},
		{"below quarantine", rename("quarantine/kept.bin", "quarantine/a/b"), "does not belong"},
		{"there twice", rename("quarantine/kept.bin", "memory.json"), "twice"},
		{"another name", rename("quarantine/kept.bin", "quarantine/other.bin"), "is not what its manifest says"},
		{"a link", func(h *tar.Header, data []byte) (*tar.Header, []byte) {
			if h.Name == "quarantine/kept.bin" {
				return &tar.Header{Name: h.Name, Typeflag: tar.TypeSymlink, Linkname: "/etc/passwd"}, nil
			}
			return h, data
		}, "does not belong"},
		{"another content", func(h *tar.Header, data []byte) (*tar.Header, []byte) {
			if h.Name == "quarantine/kept.bin" {
				data = []byte("other")
			}
			return h, data
		}, "is not what its manifest says"},
		{"more than said", func(h *tar.Header, data []byte) (*tar.Header, []byte) {
			if h.Name == "quarantine/kept.bin" {
				data = make([]byte, 1<<20)
			}
			return h, data
		}, "more than its header says"},
		{"manifest changed", func(h *tar.Header, data []byte) (*tar.Header, []byte) {
			return h, bytes.Replace(data, []byte(`"digest":"`), []byte(`"digest":"0`), 1)
		}, "manifest is not whole"},
		{"newer format", func(h *tar.Header, data []byte) (*tar.Header, []byte) {
			return h, bytes.Replace(data, []byte(`"version":1,"minor":1`), []byte(`"version":1,"minor":9,"min_reader":9`), 1)
		}, "needs a reader of 1.9"},
		{"without a manifest", func(h *tar.Header, data []byte) (*tar.Header, []byte) {
			if h.Name == "manifest.json" {
				return nil, nil
			}
			return h, data
		}, "ends before its manifest"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			write(t, from, "paused", "x")
			good, _ := archiveOf(t, st, from)
			requireRefused(t, rewriteArchive(t, good, tt.edit), tt.want)
		})
	}
	unharmed := 0
	for at := 0; at < len(good); at += 1 + len(good)/40 {
		requireRefused(t, good[:at], "")
		flipped := bytes.Clone(good)
		flipped[at] ^= 4
		fs := crashfs.New()
		if _, err := backup.Restore(t.Context(), fs, bytes.NewReader(flipped), options("fresh")); err != nil {
			requireRefused(t, flipped, "")
			// some bits mean nothing: the time in the header of gzip, what fills a byte up
		} else if err := backup.CheckState(fs, info); err != nil {
			t.Errorf("restored with a wrong bit at %d: %v", at, err)
		} else {
			unharmed++
		}
	}
	if unharmed > 4 {
		t.Errorf("%d wrong bits did no harm", unharmed)
	}
	requireRefused(t, append(bytes.Clone(good), "more"...), "")
}

func rename(from, to string) func(*tar.Header, []byte) (*tar.Header, []byte) {
	return func(h *tar.Header, data []byte) (*tar.Header, []byte) {
		if h.Name == from {
			c := *h
			c.Name, c.PAXRecords = to, nil
			return &c, data
		}
		return h, data
	}
}

// requireRefused requires that an archive is not restored, and that nothing is left of the attempt.
func requireRefused(t *testing.T, archive []byte, want string) {
	t.Helper()
	fs := crashfs.New()
	_, err := backup.Restore(t.Context(), fs, bytes.NewReader(archive), options("fresh"))
	if err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("restored with %v, want %q", err, want)
	}
	if entries, _ := fs.ReadDir("."); len(entries) > 0 {
		t.Errorf("%v: left %v", err, entries)
	}
}

// rewriteArchive passes every member through edit; nil leaves it out.
func rewriteArchive(t *testing.T, archive []byte, edit func(*tar.Header, []byte) (*tar.Header, []byte)) []byte {
	t.Helper()
	zip, err := gzip.NewReader(bytes.NewReader(archive))
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	to := gzip.NewWriter(&out)
	w := tar.NewWriter(to)
	for r := tar.NewReader(zip); ; {
		h, err := r.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		data, err := io.ReadAll(r)
		if err != nil {
			t.Fatal(err)
		}
		if h, data = edit(h, data); h == nil {
			continue
		}
		h.Size = int64(len(data))
		if err := w.WriteHeader(h); err != nil {
			t.Fatal(err)
		}
		if _, err := w.Write(data); err != nil {
			t.Fatal(err)
		}
	}
	if err := errors.Join(w.Close(), to.Close()); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}
