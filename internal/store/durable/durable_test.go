package durable_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/memsidecar/memsidecar/internal/store/durable"
)

// open gives a Dir and the directory it is on.
func open(tb testing.TB) (durable.FS, string) {
	tb.Helper()
	path := tb.TempDir()
	root, err := os.OpenRoot(path)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { root.Close() })
	return durable.Dir(root), path
}

func content(s string) func(io.Writer) error {
	return func(w io.Writer) error {
		_, err := io.WriteString(w, s)
		return err
	}
}

func names(t *testing.T, fsys durable.FS, dir string) []string {
	t.Helper()
	entries, err := fsys.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	list := []string{}
	for _, e := range entries {
		list = append(list, e.Name())
	}
	return list
}

func TestWriteFile(t *testing.T) {
	fsys, path := open(t)
	if err := fsys.MkdirAll("a/b"); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"first", "", "第二", string(bytes.Repeat([]byte("long "), 50_000))} {
		if err := durable.WriteFile(fsys, "a/b/f", content(want)); err != nil {
			t.Fatal(err)
		}
		got, err := durable.ReadFile(fsys, "a/b/f")
		if err != nil {
			t.Fatal(err)
		}
		if string(got) != want {
			t.Errorf("read %d bytes, want the %d written", len(got), len(want))
		}
	}
	if diff := cmp.Diff([]string{"f"}, names(t, fsys, "a/b")); diff != "" {
		t.Errorf("directory (-want +got):\n%s", diff)
	}
	for name, want := range map[string]fs.FileMode{"a/b/f": 0o600, "a": 0o700 | fs.ModeDir, "a/b": 0o700 | fs.ModeDir} {
		info, err := os.Lstat(filepath.Join(path, name))
		if err != nil {
			t.Fatal(err)
		}
		if info.Mode() != want {
			t.Errorf("mode of %s is %v, want %v", name, info.Mode(), want)
		}
	}
}

// failing fails one kind of step.
type failing struct {
	durable.FS
	step string
}

var errStep = errors.New("step failed")

func (f failing) fail(step string) error {
	if f.step == step {
		return errStep
	}
	return nil
}

func (f failing) OpenFile(name string, flag int, perm fs.FileMode) (durable.File, error) {
	if err := f.fail("open"); err != nil {
		return nil, err
	}
	file, err := f.FS.OpenFile(name, flag, perm)
	return failingFile{file, f}, err
}

func (f failing) Rename(o, n string) error {
	return unless(f.fail("rename"), func() error { return f.FS.Rename(o, n) })
}

func (f failing) SyncDir(n string) error {
	return unless(f.fail("syncdir"), func() error { return f.FS.SyncDir(n) })
}

type failingFile struct {
	durable.File
	fs failing
}

func (f failingFile) Write(p []byte) (int, error) {
	if err := f.fs.fail("write"); err != nil {
		n, _ := f.File.Write(p[:len(p)/2])
		return n, err
	}
	return f.File.Write(p)
}

func (f failingFile) Sync() error { return unless(f.fs.fail("sync"), f.File.Sync) }

func (f failingFile) Close() error { return errors.Join(f.File.Close(), f.fs.fail("close")) }

// unless runs next unless there is an error already.
func unless(err error, next func() error) error {
	if err != nil {
		return err
	}
	return next()
}

func TestWriteFileFails(t *testing.T) {
	for _, tt := range []struct {
		step string
		want string // what the file holds afterwards
	}{
		{"open", "old"},
		{"write", "old"},
		{"sync", "old"},
		{"close", "old"},
		{"rename", "old"},
		{"callback", "old"},
		{"syncdir", "new"}, // the documented exception
	} {
		t.Run(tt.step, func(t *testing.T) {
			fsys, _ := open(t)
			if err := durable.WriteFile(fsys, "f", content("old")); err != nil {
				t.Fatal(err)
			}
			err := durable.WriteFile(failing{fsys, tt.step}, "f", func(w io.Writer) error {
				if tt.step == "callback" {
					_, err := io.WriteString(w, "half")
					return errors.Join(err, errStep)
				}
				return content("new")(w)
			})
			if !errors.Is(err, errStep) {
				t.Errorf("got %v, want the error of the step", err)
			}
			got, err := durable.ReadFile(fsys, "f")
			if err != nil || string(got) != tt.want {
				t.Errorf("file holds %q (%v), want %q", got, err, tt.want)
			}
			if diff := cmp.Diff([]string{"f"}, names(t, fsys, ".")); diff != "" {
				t.Errorf("directory (-want +got):\n%s", diff)
			}
		})
	}
}

func TestWriteFilePanicLeavesNoTemp(t *testing.T) {
	fsys, _ := open(t)
	func() {
		defer func() {
			if recover() == nil {
				t.Error("the panic was swallowed")
			}
		}()
		_ = durable.WriteFile(fsys, "f", func(io.Writer) error { panic("no") })
	}()
	if got := names(t, fsys, "."); len(got) != 0 {
		t.Errorf("left %v", got)
	}
}

func TestReadFileMissing(t *testing.T) {
	fsys, _ := open(t)
	if _, err := durable.ReadFile(fsys, "f"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("got %v, want ErrNotExist", err)
	}
}

func TestCleanTemp(t *testing.T) {
	fsys, path := open(t)
	const random = "ABCDEFGHIJKLMNOPQRSTUVWXY2"
	stale := []string{"d/memory.json.tmp-" + random, "d/x.tmp-y.tmp-" + random}
	kept := []string{
		".tmp-" + random, "a.tmp-" + random + ".json", "a.tmp-" + random + "A", "a.tmp-" + random[1:],
		"a.tmp-" + random[1:] + "1", "b.tmp-", "c.tmp", "memory.json", "sub.tmp-" + random,
	}
	if err := fsys.MkdirAll("d/sub.tmp-" + random); err != nil {
		t.Fatal(err)
	}
	for _, name := range append([]string{"d/.tmp-" + random}, stale...) {
		write(t, path, name)
	}
	for _, name := range kept[1 : len(kept)-1] {
		write(t, path, "d/"+name)
	}
	removed, err := durable.CleanTemp(fsys, "d")
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(stale, removed); diff != "" {
		t.Errorf("removed (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(kept, names(t, fsys, "d")); diff != "" {
		t.Errorf("kept (-want +got):\n%s", diff)
	}
	if removed, err := durable.CleanTemp(fsys, "missing"); err != nil || removed != nil {
		t.Errorf("missing directory: %v, %v", removed, err)
	}
}

func write(t *testing.T, dir, name string) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(dir, name), []byte("x"), 0o600); err != nil {
		t.Fatal(err)
	}
}

// TestCleanTempKnowsWriteFile stops WriteFile before the rename and keeps its temporary file.
func TestCleanTempKnowsWriteFile(t *testing.T) {
	fsys, path := open(t)
	err := durable.WriteFile(fsys, "f", func(io.Writer) error {
		temp := names(t, fsys, ".")[0]
		return os.Link(filepath.Join(path, temp), filepath.Join(path, "g"+temp[1:]))
	})
	if err != nil {
		t.Fatal(err)
	}
	removed, err := durable.CleanTemp(fsys, ".")
	if err != nil || len(removed) != 1 {
		t.Errorf("removed %v, %v; want one file", removed, err)
	}
	if diff := cmp.Diff([]string{"f"}, names(t, fsys, ".")); diff != "" {
		t.Errorf("directory (-want +got):\n%s", diff)
	}
}

func TestWriteZeros(t *testing.T) {
	f, err := os.Create(filepath.Join(t.TempDir(), "f"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if _, err := f.WriteString("head"); err != nil {
		t.Fatal(err)
	}
	for _, size := range []int64{2, 100_000} { // the first must not shorten
		if err := durable.WriteZeros(f, size); err != nil {
			t.Fatal(err)
		}
	}
	got, err := os.ReadFile(f.Name())
	if err != nil {
		t.Fatal(err)
	}
	want := append([]byte("head"), make([]byte, 100_000-4)...)
	if !bytes.Equal(got, want) {
		t.Errorf("got %d bytes, want head and zeros, %d in all", len(got), len(want))
	}
}

func TestNoWayOut(t *testing.T) {
	fsys, path := open(t)
	if err := os.Symlink(t.TempDir(), filepath.Join(path, "out")); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"../f", "/etc/passwd", "out/f", "a/../../f"} {
		if _, err := fsys.OpenFile(name, os.O_RDWR|os.O_CREATE, 0o600); err == nil {
			t.Errorf("opened %s", name)
		}
	}
	if info, err := fsys.Lstat("out"); err != nil || info.Mode().Type() != fs.ModeSymlink {
		t.Errorf("Lstat followed the link: %v, %v", info, err)
	}
}

func TestIsDiskFull(t *testing.T) {
	for err, want := range map[error]bool{
		fmt.Errorf("append: %w", &fs.PathError{Op: "write", Path: "f", Err: syscall.ENOSPC}): true,
		syscall.EDQUOT: true,
		syscall.EIO:    false,
		nil:            false,
	} {
		if got := durable.IsDiskFull(err); got != want {
			t.Errorf("IsDiskFull(%v) = %v", err, got)
		}
	}
}

func BenchmarkWriteFile(b *testing.B) {
	for _, size := range []int{1 << 10, 1 << 20} {
		b.Run(fmt.Sprintf("%dKiB", size>>10), func(b *testing.B) {
			fsys, _ := open(b)
			data := bytes.Repeat([]byte("m"), size)
			b.SetBytes(int64(size))
			for b.Loop() {
				if err := durable.WriteFile(fsys, "f", func(w io.Writer) error {
					_, err := w.Write(data)
					return err
				}); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func BenchmarkDatasync(b *testing.B) {
	fsys, _ := open(b)
	f, err := fsys.OpenFile("log", os.O_WRONLY|os.O_CREATE, 0o600)
	if err != nil {
		b.Fatal(err)
	}
	defer f.Close()
	if err := f.Allocate(64 << 20); err != nil {
		b.Fatal(err)
	}
	if err := f.Sync(); err != nil {
		b.Fatal(err)
	}
	line := bytes.Repeat([]byte("m"), 512)
	for b.Loop() {
		if _, err := f.Write(line); err != nil {
			b.Fatal(err)
		}
		if err := f.Datasync(); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkCheckAttached is what every group of the journal pays for the check: looking at a file may make its next
// sync slower, so each round writes and syncs.
func BenchmarkCheckAttached(b *testing.B) {
	for _, checked := range []bool{false, true} {
		b.Run(fmt.Sprintf("checked=%t", checked), func(b *testing.B) { benchmarkSync(b, checked) })
	}
}

func benchmarkSync(b *testing.B, checked bool) {
	root, err := os.OpenRoot(b.TempDir())
	if err != nil {
		b.Fatal(err)
	}
	defer root.Close()
	d := durable.Dir(root)
	if err := d.MkdirAll("journal"); err != nil {
		b.Fatal(err)
	}
	f, err := d.OpenFile("journal/1.jsonl", os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		b.Fatal(err)
	}
	defer f.Close()
	if err := f.Allocate(16 << 20); err != nil {
		b.Fatal(err)
	}
	info, err := f.Stat()
	if err != nil {
		b.Fatal(err)
	}
	line := make([]byte, 500)
	for at := int64(0); b.Loop(); at = (at + int64(len(line))) % (15 << 20) {
		if _, err := f.WriteAt(line, at); err != nil {
			b.Fatal(err)
		}
		if err := f.Datasync(); err != nil {
			b.Fatal(err)
		}
		if !checked {
			continue
		}
		if err := d.CheckAttached("journal/1.jsonl", info); err != nil {
			b.Fatal(err)
		}
	}
}
