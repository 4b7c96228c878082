package crashfs_test

import (
	"os"
	"path"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/memsidecar/memsidecar/internal/store/durable"
	"github.com/memsidecar/memsidecar/internal/store/durable/crashfs"
)

// TestModel does random operations on a real directory and on the simulation. Both must behave alike; a crash that
// keeps everything must leave what is seen; and what was synced must survive every crash.
func TestModel(t *testing.T) {
	base := t.TempDir()
	rapid.Check(t, func(rt *rapid.T) {
		dir, err := os.MkdirTemp(base, "")
		if err != nil {
			rt.Fatal(err)
		}
		root, err := os.OpenRoot(dir)
		if err != nil {
			rt.Fatal(err)
		}
		defer root.Close()
		real, fsys := &notes{FS: durable.Dir(root)}, crashfs.New()
		simulated := &notes{FS: fsys}
		defer real.close()
		m := model{real: real, simulated: simulated}
		m.do(func(n *notes) { n.err("mkdir", n.MkdirAll("d")) })
		for range rapid.IntRange(1, 25).Draw(rt, "steps") {
			m.step(rt)
		}
		if diff := cmp.Diff(real.lines, simulated.lines); diff != "" {
			rt.Fatalf("behaviour (-real +simulated):\n%s", diff)
		}
		seen := dump(t, fsys)
		if diff := cmp.Diff(seen, dump(t, fsys.Crash(crashfs.Kept, nil))); diff != "" {
			rt.Fatalf("kept (-seen +after crash):\n%s", diff)
		}
		m.syncAll(rt, fsys)
		crashes(fsys, func(name string, after *crashfs.FS) {
			if diff := cmp.Diff(seen, dump(t, after)); diff != "" {
				rt.Fatalf("all synced, %s (-seen +after crash):\n%s", name, diff)
			}
		})
	})
}

// model is the two file systems that do the same.
type model struct{ real, simulated *notes }

func (m model) do(op func(n *notes)) {
	op(m.real)
	op(m.simulated)
}

var modelNames = []string{"a", "b", "d/a", "d/b", "d"}

func (m model) step(rt *rapid.T) {
	name := rapid.SampledFrom(modelNames).Draw(rt, "name")
	other := rapid.SampledFrom(modelNames).Draw(rt, "other")
	size := rapid.SampledFrom([]int64{0, 1, 511, 4096, 5000, 9000}).Draw(rt, "size")
	text := string(slices.Repeat([]byte{byte(rapid.IntRange('a', 'z').Draw(rt, "letter"))}, int(size)))
	off := rapid.Int64Range(0, 9000).Draw(rt, "offset")
	switch rapid.SampledFrom([]string{
		"write", "write", "write", "append", "truncate", "allocate", "sync", "syncdir", "rename", "exchange", "link",
		"remove", "replace",
	}).Draw(rt, "operation") {
	case "write":
		m.edit(name, os.O_CREATE, func(n *notes, f durable.File) { n.writeAt(f, text, off) })
	case "append":
		m.edit(name, os.O_APPEND, func(n *notes, f durable.File) { n.write(f, text) })
	case "truncate":
		m.edit(name, 0, func(n *notes, f durable.File) { n.err("truncate", f.Truncate(off)) })
	case "allocate":
		m.edit(name, 0, func(n *notes, f durable.File) { n.err("allocate", f.Allocate(off)) })
	case "sync":
		m.edit(name, 0, func(n *notes, f durable.File) { n.err("sync", f.Sync()) })
	case "syncdir":
		m.do(func(n *notes) { n.err("syncdir", n.SyncDir(path.Dir(name))) })
	case "rename":
		m.do(func(n *notes) { n.err("rename "+name+" "+other, n.Rename(name, other)) })
	case "exchange":
		m.do(func(n *notes) { n.err("exchange "+name+" "+other, n.Exchange(name, other)) })
	case "link":
		m.do(func(n *notes) { n.err("link "+name+" "+other, n.Link(name, other)) })
	case "remove":
		m.do(func(n *notes) { n.err("remove "+name, n.Remove(name)) })
	case "replace":
		m.edit(name, os.O_CREATE|os.O_TRUNC, func(n *notes, f durable.File) { n.write(f, text) })
	}
	m.do(func(n *notes) {
		for _, name := range modelNames {
			n.file(name)
		}
		n.list(".")
	})
}

func (m model) edit(name string, flag int, op func(n *notes, f durable.File)) {
	m.do(func(n *notes) {
		if f := n.open(name, os.O_RDWR|flag); f != nil {
			op(n, f)
		}
	})
}

// syncAll syncs every file and then every directory.
func (m model) syncAll(rt *rapid.T, fsys *crashfs.FS) {
	for _, name := range fsys.Names() {
		f, err := fsys.OpenFile(name, os.O_RDONLY, 0)
		if err == nil {
			err = f.Sync()
		}
		if err == nil {
			err = fsys.SyncDir(path.Dir(name))
		}
		if err != nil {
			rt.Fatal(err)
		}
	}
	for _, name := range append([]string{"."}, modelNames...) { // an exchange may have given the directory another name
		if info, err := fsys.Lstat(name); err == nil && info.IsDir() {
			if err := fsys.SyncDir(name); err != nil {
				rt.Fatal(err)
			}
		}
	}
}
