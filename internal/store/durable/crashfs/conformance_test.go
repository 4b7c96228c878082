package crashfs_test

import (
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"io/fs"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/memsidecar/memsidecar/internal/store/durable"
	"github.com/memsidecar/memsidecar/internal/store/durable/crashfs"
)

// both runs a script on a real directory and on the simulation and compares what it noted.
func both(t *testing.T, script func(n *notes)) {
	t.Helper()
	root, err := os.OpenRoot(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	defer root.Close()
	real := &notes{FS: durable.Dir(root)}
	script(real)
	real.close()
	simulated := &notes{FS: crashfs.New()}
	script(simulated)
	simulated.close()
	if diff := cmp.Diff(real.lines, simulated.lines); diff != "" {
		t.Errorf("behaviour (-real +simulated):\n%s", diff)
	}
}

// notes is an FS and what was noted about it.
type notes struct {
	durable.FS
	lines []string
	files []durable.File
}

func (n *notes) note(format string, args ...any) {
	n.lines = append(n.lines, fmt.Sprintf(format, args...))
}

// err notes the kind of an error.
func (n *notes) err(what string, err error) {
	kind := "ok"
	switch {
	case err == nil:
	case errors.Is(err, io.EOF):
		kind = "EOF"
	case errors.Is(err, fs.ErrNotExist):
		kind = "does not exist"
	case errors.Is(err, fs.ErrExist):
		kind = "exists"
	case errors.Is(err, fs.ErrClosed):
		kind = "closed"
	default:
		kind = "other error"
	}
	var pathErr *fs.PathError
	var linkErr *os.LinkError
	n.note("%s: %s path=%v link=%v", what, kind, errors.As(err, &pathErr), errors.As(err, &linkErr))
}

func (n *notes) open(name string, flag int) durable.File {
	f, err := n.OpenFile(name, flag, 0o600)
	n.err(fmt.Sprintf("open %s %#x", name, flag), err)
	if err != nil {
		return nil
	}
	n.files = append(n.files, f)
	return f
}

func (n *notes) write(f durable.File, s string) {
	k, err := f.Write([]byte(s))
	n.note("wrote %d", k)
	n.err("write", err)
}

func (n *notes) writeAt(f durable.File, s string, off int64) {
	k, err := f.WriteAt([]byte(s), off)
	n.note("wrote %d at %d", k, off)
	n.err("writeat", err)
}

func (n *notes) read(f durable.File, size int) {
	p := make([]byte, size)
	k, err := f.Read(p)
	n.note("read %q", p[:k])
	n.err("read", err)
}

func (n *notes) readAt(f durable.File, size int, off int64) {
	p := make([]byte, size)
	k, err := f.ReadAt(p, off)
	n.note("read %q at %d", p[:k], off)
	n.err("readat", err)
}

func (n *notes) file(name string) {
	data, err := durable.ReadFile(n, name)
	n.note("%s holds %d %.60q %08x", name, len(data), data, crc32.ChecksumIEEE(data))
	n.err("readfile", err)
	info, err := n.Lstat(name)
	n.err("lstat", err)
	if err == nil {
		size := info.Size()
		if info.IsDir() {
			size = 0 // means nothing
		}
		n.note("%s %d %v %v", info.Name(), size, info.Mode(), info.IsDir())
	}
}

func (n *notes) list(dir string) {
	entries, err := n.ReadDir(dir)
	n.err("readdir "+dir, err)
	for _, e := range entries {
		n.note("%s/%s %v %v", dir, e.Name(), e.IsDir(), e.Type())
	}
}

func (n *notes) close() {
	for _, f := range n.files {
		f.Close()
	}
}

func TestConformance(t *testing.T) {
	tests := []struct {
		name   string
		script func(n *notes)
	}{
		{"flags", flags},
		{"reading and writing", readingAndWriting},
		{"truncate and allocate", truncateAndAllocate},
		{"names", changingNames},
		{"exchange", exchange},
		{"directories", directories},
		{"handles outlive names", handlesOutliveNames},
		{"errors", refused},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) { both(t, tt.script) })
	}
}

func flags(n *notes) {
	n.open("f", os.O_RDONLY)
	n.open("f", os.O_RDWR)
	f := n.open("f", os.O_RDWR|os.O_CREATE|os.O_EXCL)
	n.write(f, "hello")
	n.open("f", os.O_RDWR|os.O_CREATE|os.O_EXCL)
	n.file("f")
	f = n.open("f", os.O_WRONLY|os.O_APPEND)
	n.write(f, " world")
	n.writeAt(f, "x", 0)
	n.read(f, 3)
	n.file("f")
	f = n.open("f", os.O_WRONLY|os.O_CREATE)
	n.write(f, "J")
	n.file("f")
	f = n.open("f", os.O_RDONLY)
	n.write(f, "no")
	n.writeAt(f, "no", 0)
	n.err("truncate", f.Truncate(1))
	n.err("allocate", f.Allocate(100))
	n.err("sync", f.Sync())
	n.open("f", os.O_WRONLY|os.O_TRUNC)
	n.file("f")
	n.open("g", os.O_RDONLY|os.O_CREATE)
	n.file("g")
}

func readingAndWriting(n *notes) {
	f := n.open("f", os.O_RDWR|os.O_CREATE)
	n.read(f, 4)
	n.read(f, 0)
	n.write(f, "")
	n.write(f, strings.Repeat("0123456789", 1000))
	n.read(f, 1)
	n.readAt(f, 12, 4090)
	n.readAt(f, 20, 9990)
	n.readAt(f, 5, 10_000)
	n.readAt(f, 5, 20_000)
	n.readAt(f, 5, -1)
	n.writeAt(f, "across", 4093)
	n.readAt(f, 12, 4090)
	n.writeAt(f, "far", 30_000)
	n.writeAt(f, "no", -1)
	n.readAt(f, 6, 29_997)
	n.write(f, "pos") // at 10000 still
	n.readAt(f, 6, 9_998)
	n.file("f")
	n.err("sync", f.Sync())
	n.err("datasync", f.Datasync())
	r := n.open("f", os.O_RDONLY)
	n.read(r, 4)
	n.read(r, 4)
	n.err("close", r.Close())
	n.err("close again", r.Close())
	n.read(r, 4)
	n.err("sync", r.Sync())
	_, err := r.Stat()
	n.err("stat", err)
}

func truncateAndAllocate(n *notes) {
	f := n.open("f", os.O_RDWR|os.O_CREATE)
	n.write(f, strings.Repeat("a", 9000))
	for _, size := range []int64{5000, 4096, 100, 9000, -1, 0, 10} {
		n.err("truncate", f.Truncate(size))
		n.file("f")
		n.readAt(f, 20, 90)
	}
	n.writeAt(f, "head", 0)
	for _, size := range []int64{0, 2, 10_000, 50, -1} {
		n.err("allocate", f.Allocate(size))
		n.file("f")
	}
	n.writeAt(f, "tail", 9_998)
	n.file("f")
	info, err := f.Stat()
	n.err("stat", err)
	n.note("%s %d", info.Name(), info.Size())
}

func changingNames(n *notes) {
	for _, name := range []string{"a", "b", "c"} {
		n.write(n.open(name, os.O_WRONLY|os.O_CREATE), name)
	}
	n.err("rename", n.Rename("a", "b"))
	n.file("a")
	n.file("b")
	n.err("rename missing", n.Rename("a", "b"))
	n.err("rename to missing directory", n.Rename("b", "d/b"))
	n.err("rename to itself", n.Rename("b", "b"))
	n.err("link", n.Link("b", "d"))
	n.err("link to existing", n.Link("b", "c"))
	n.err("link missing", n.Link("x", "y"))
	n.write(n.open("d", os.O_WRONLY|os.O_APPEND), "+")
	n.file("b")
	n.err("rename of two names of one file", n.Rename("b", "d"))
	n.list(".")
	n.err("remove", n.Remove("b"))
	n.err("remove again", n.Remove("b"))
	n.file("d")
	n.list(".")
}

func exchange(n *notes) {
	n.err("mkdir", n.MkdirAll("x/y"))
	n.write(n.open("a", os.O_WRONLY|os.O_CREATE), "a")
	b := n.open("b", os.O_RDWR|os.O_CREATE)
	n.write(b, "b")
	n.write(n.open("x/c", os.O_WRONLY|os.O_CREATE), "c")
	n.err("exchange", n.Exchange("a", "b"))
	n.write(b, "+") // the handle stays with the file
	n.file("a")
	n.file("b")
	n.err("between directories", n.Exchange("a", "x/c"))
	n.file("a")
	n.file("x/c")
	n.err("with itself", n.Exchange("a", "a"))
	n.err("link", n.Link("a", "d"))
	n.err("two names of one file", n.Exchange("a", "d"))
	n.err("missing", n.Exchange("a", "none"))
	n.err("missing first", n.Exchange("none", "a"))
	n.err("missing directory", n.Exchange("a", "none/c"))
	n.err("below a file", n.Exchange("a", "b/c"))
	n.err("file and directory", n.Exchange("a", "x/y"))
	n.list(".")
	n.list("x")
	n.list("a")
	n.err("two directories", n.Exchange("a", "x"))
	n.list("a")
	n.err("with a directory above", n.Exchange("a", "a/y"))
	n.err("with a directory below", n.Exchange("a/y", "a"))
	for _, name := range []string{"", ".", "..", "../b", "/b"} {
		n.err("out of the root: "+name, n.Exchange("b", name))
	}
	n.list(".")
}

func directories(n *notes) {
	n.list(".")
	n.err("mkdir", n.MkdirAll("x/y/z"))
	n.err("mkdir again", n.MkdirAll("x/y"))
	n.err("mkdir root", n.MkdirAll("."))
	n.open("x/y/f", os.O_WRONLY|os.O_CREATE)
	n.err("mkdir on file", n.MkdirAll("x/y/f"))
	n.err("mkdir below file", n.MkdirAll("x/y/f/g"))
	n.open("x/y/f/g", os.O_RDONLY)
	n.open("x/none/f", os.O_WRONLY|os.O_CREATE)
	n.open("x", os.O_RDWR)
	n.read(n.open("x", os.O_RDONLY), 1)
	n.err("remove full", n.Remove("x/y"))
	n.err("remove empty", n.Remove("x/y/z"))
	n.err("link directory", n.Link("x", "w"))
	n.err("rename directory", n.Rename("x/y", "v"))
	n.list("x")
	n.list("v")
	n.list("v/f")
	n.list("none")
	n.err("rename into itself", n.Rename("v", "v/w"))
	n.err("rename file on directory", n.Rename("v/f", "x"))
	n.err("rename directory on file", n.Rename("x", "v/f"))
	n.err("rename on full directory", n.Rename("x", "v"))
	n.err("rename between directories", n.Rename("v/f", "x/f"))
	n.err("rename on empty directory", n.Rename("x", "v"))
	n.list(".")
	n.list("v")
	n.err("syncdir", n.SyncDir("v"))
	n.err("syncdir root", n.SyncDir("."))
	n.err("syncdir missing", n.SyncDir("none"))
	n.err("syncdir file", n.SyncDir("x/f"))
	n.file("v")
}

func handlesOutliveNames(n *notes) {
	f := n.open("f", os.O_RDWR|os.O_CREATE)
	n.write(f, "one")
	n.err("rename", n.Rename("f", "g"))
	n.write(f, "two")
	n.file("g")
	n.err("remove", n.Remove("g"))
	n.write(f, "three")
	n.readAt(f, 11, 0)
	n.err("sync", f.Sync())
	n.write(n.open("g", os.O_WRONLY|os.O_CREATE), "other")
	n.readAt(f, 11, 0)
	n.file("g")
}

func refused(n *notes) {
	n.err("mkdir", n.MkdirAll("a"))
	for _, name := range []string{"", "..", "../f", "/f", "a/../../f", "none/f"} {
		n.open(name, os.O_RDWR|os.O_CREATE)
		n.err("remove "+name, n.Remove(name))
		_, err := n.Lstat(name)
		n.err("lstat "+name, err)
	}
	n.err("remove root", n.Remove("."))
	n.open("f", os.O_RDWR|os.O_CREATE)
	n.err("rename out", n.Rename("f", "../f"))
	n.err("link out", n.Link("f", "../f"))
	n.err("mkdir out", n.MkdirAll("../d"))
	n.list(".")
}
