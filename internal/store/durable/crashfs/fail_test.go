package crashfs_test

import (
	"errors"
	"os"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/memsidecar/memsidecar/internal/store/durable"
	"github.com/memsidecar/memsidecar/internal/store/durable/crashfs"
)

func TestFail(t *testing.T) {
	fsys := crashfs.New()
	f := create(t, fsys, "f", "")
	n := fsys.Ops()
	fsys.FailAt(n+1, syscall.ENOSPC)
	fsys.FailPartial(n+3, syscall.ENOSPC)
	fsys.FailPartial(n+4, syscall.EDQUOT)
	fsys.FailAt(n+5, syscall.EIO)
	fsys.FailAt(n+6, syscall.EIO)
	for i, want := range []int{0, 4, 2} {
		got, err := f.Write([]byte("abcd"))
		if got != want || durable.IsDiskFull(err) != (want < 4) {
			t.Errorf("write %d: %d, %v; want %d", i, got, err, want)
		}
	}
	if err := f.Allocate(20); !durable.IsDiskFull(err) {
		t.Errorf("allocate: %v", err)
	}
	if err := f.Truncate(0); !errors.Is(err, syscall.EIO) {
		t.Errorf("truncate: %v", err)
	}
	if err := fsys.Rename("f", "g"); !errors.Is(err, syscall.EIO) {
		t.Errorf("rename: %v", err)
	}
	if got, want := read(t, fsys, "f"), "abcdab"+strings.Repeat("\x00", 7); got != want {
		t.Errorf("file holds %q, want %q", got, want)
	}
	must(t, fsys.Rename("f", "g"))
}

func TestSpace(t *testing.T) {
	fsys := crashfs.New()
	must(t, fsys.WriteRaw("old", make([]byte, 100)))
	fsys.SetFree(50)
	f := create(t, fsys, "f", "")
	if err := f.Allocate(51); !durable.IsDiskFull(err) {
		t.Fatalf("allocated more than there is: %v", err)
	}
	must(t, f.Allocate(40))
	g := create(t, fsys, "g", "0123456789")
	if n, err := g.Write([]byte("x")); n != 0 || !durable.IsDiskFull(err) {
		t.Errorf("wrote %d, %v on a full disk", n, err)
	}
	if n, err := f.WriteAt(make([]byte, 45), 0); n != 40 || !durable.IsDiskFull(err) {
		t.Errorf("wrote %d, %v; want what was allocated", n, err)
	}
	old := create(t, fsys, "old", "")
	must(t, fsys.Remove("old"))
	if _, err := g.Write([]byte("x")); !durable.IsDiskFull(err) {
		t.Errorf("space of an open file was given back: %v", err)
	}
	// In a clone nothing is open.
	_, err := create(t, fsys.Clone(), "h", "").Write(make([]byte, 100))
	must(t, err, old.Close())
	_, err = g.Write(make([]byte, 60))
	must(t, err, f.Truncate(0))
	_, err = g.Write(make([]byte, 80))
	must(t, err)
	if _, err := g.Write([]byte("x")); !durable.IsDiskFull(err) {
		t.Errorf("150 bytes are used, yet: %v", err)
	}
	// A clone and a restart have the same space.
	must(t, g.Sync(), fsys.SyncDir("."))
	for name, other := range map[string]*crashfs.FS{"clone": fsys.Clone(), "restart": fsys.Crash(crashfs.Lost, nil)} {
		h, err := other.OpenFile("g", os.O_WRONLY|os.O_APPEND, 0)
		must(t, err)
		if _, err := h.Write([]byte("x")); !durable.IsDiskFull(err) {
			t.Errorf("%s has more space: %v", name, err)
		}
		must(t, other.Remove("f"), h.Truncate(149))
		_, err = h.Write([]byte("x"))
		must(t, err)
	}
	fsys.SetFree(-1)
	_, err = g.Write(make([]byte, 1000))
	must(t, err)
}

func TestCloneIsIndependent(t *testing.T) {
	fsys := crashfs.New()
	must(t, fsys.WriteRaw("a/f", []byte("one")), fsys.Link("a/f", "g"), fsys.Rename("a/f", "b"))
	create(t, fsys, "g", "two")
	clone := fsys.Clone()
	create(t, clone, "g", "three")
	must(t, clone.Remove("b"))
	if got := read(t, fsys, "b"); got != "two" {
		t.Errorf("original holds %q", got)
	}
	if got := read(t, fsys.Clone(), "b"); got != "two" {
		t.Errorf("links are not shared in a clone: %q", got)
	}
	if clone.Ops() != fsys.Ops()+2 { // write, remove
		t.Errorf("clone counts %d, original %d", clone.Ops(), fsys.Ops())
	}
	for seed := range uint64(20) {
		x, y := fsys.Crash(crashfs.Torn, seeded(seed)), fsys.Clone().Crash(crashfs.Torn, seeded(seed))
		if diff := cmp.Diff(dump(t, x), dump(t, y)); diff != "" {
			t.Errorf("seed %d: a clone crashes otherwise (-original +clone):\n%s", seed, diff)
		}
	}
}

func dump(t *testing.T, fsys *crashfs.FS) map[string]string {
	files := map[string]string{}
	for _, name := range fsys.Names() {
		files[name] = read(t, fsys, name)
	}
	return files
}

func TestRawAndCorrupt(t *testing.T) {
	fsys := crashfs.New()
	must(t, fsys.WriteRaw("a/b/f", []byte("hello")), fsys.WriteRaw("a/b/f", []byte("help")))
	must(t, fsys.Corrupt("a/b/f", 1, []byte("E")))
	crashes(fsys, func(name string, after *crashfs.FS) {
		if got := read(t, after, "a/b/f"); got != "hElp" {
			t.Errorf("%s: %q", name, got)
		}
	})
	if fsys.Ops() != 0 {
		t.Errorf("counted %d operations", fsys.Ops())
	}
	for name, err := range map[string]error{
		"beyond the end": fsys.Corrupt("a/b/f", 3, []byte("xx")),
		"missing":        fsys.Corrupt("a/none", 0, nil),
		"directory":      fsys.WriteRaw("a/b", nil),
		"below a file":   fsys.WriteRaw("a/b/f/g", nil),
	} {
		if err == nil {
			t.Errorf("%s: no error", name)
		}
	}
}
