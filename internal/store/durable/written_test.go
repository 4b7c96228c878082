package durable_test

import (
	"io"
	"os"
	"path"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/memsidecar/memsidecar/internal/store/durable"
	"github.com/memsidecar/memsidecar/internal/store/durable/crashfs"
)

// TestCountWritten: what is written counts for the kind of file that it becomes, by whatever name it is written.
func TestCountWritten(t *testing.T) {
	fsys, written := durable.CountWritten(crashfs.New())
	for name, n := range map[string]int{
		"journal/0000000000000001.jsonl": 1, "snapshots/MANIFEST.json": 2, "index/published-memories.log": 4,
		"index/default.minilm.vectors": 512, "index/default.e5.vectors": 1024, "index/work.keyword": 2048,
		"logs/2026-02-21.json": 8, "spaces/work/logs/2026-02-21.json": 16, "memory.json": 32,
		"spaces/work/memory.json": 64, "paused": 128, "spaces/work/else": 256,
	} {
		if err := fsys.MkdirAll(path.Dir(name)); err != nil {
			t.Fatal(err)
		}
		err := durable.WriteFile(fsys, name, func(w io.Writer) error {
			_, err := w.Write(make([]byte, n))
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := fsys.MkdirAll("proof"); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"memory.json.bak", "memory.json.next", "proof/high-water.jsonl"} {
		f, err := fsys.OpenFile(name, os.O_RDWR|os.O_CREATE, 0o600)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := f.WriteAt(make([]byte, 512), 100); err != nil {
			t.Fatal(err)
		}
		if err := f.Close(); err != nil {
			t.Fatal(err)
		}
	}
	want := map[string]int64{"journal": 1, "snapshots": 2, "manifests": 4, "vectors": 512 + 1024,
		"keyword": 2048, "logs": 8 + 16, "memory.json": 32 + 64 + 1024,
		"high-water.jsonl": 512, "other": 128 + 256}
	if diff := cmp.Diff(want, written.Bytes()); diff != "" {
		t.Error(diff)
	}
}
