package daemon

import (
	"context"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/memsidecar/memsidecar/internal/memtest"
	"github.com/memsidecar/memsidecar/internal/service/transfer"
	"github.com/memsidecar/memsidecar/internal/store"
	"github.com/memsidecar/memsidecar/internal/store/durable"
)

// TestRescue: what a store holds whose journal was taken away is written beside it, or to the directory for temporary
// files when the data directory is gone, also when bodies of logs were in deleted files only.
func TestRescue(t *testing.T) {
	tests := []struct {
		name     string
		snapshot bool
		detach   func(data string) error
		in       string // the directory of the file, below that of the test
		files    []string
	}{
		{"journal deleted", false, func(data string) error { return os.RemoveAll(filepath.Join(data, "journal")) },
			"data", []string{"rescue-20260221T103000Z.jsonl"}},
		{"data directory deleted", false, os.RemoveAll, "tmp", []string{"memsidecar-rescue-20260221T103000Z.jsonl"}},
		{"data directory moved", false, func(data string) error { return os.Rename(data, data+"-away") }, "tmp",
			[]string{"memsidecar-rescue-20260221T103000Z.jsonl"}},
		{"everything deleted, logs were in a snapshot", true, os.RemoveAll, "tmp",
			[]string{"memsidecar-rescue-20260221T103000Z-default.jsonl", "memsidecar-rescue-20260221T103000Z-work.json"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			dir := t.TempDir()
			data, temp := filepath.Join(dir, "data"), filepath.Join(dir, "tmp")
			for _, d := range []string{data, temp} {
				if err := os.Mkdir(d, 0o700); err != nil {
					t.Fatal(err)
				}
			}
			t.Setenv("TMPDIR", temp)
			root, err := os.OpenRoot(data)
			if err != nil {
				t.Fatal(err)
			}
			defer root.Close()
			fsys := durable.Dir(root)
			open := func() *store.Store {
				st, err := store.Open(store.Config{FS: fsys, Now: new(memtest.Clock).Now,
					Logger: slog.New(slog.DiscardHandler)})
				if err != nil {
					t.Fatal(err)
				}
				return st
			}
			st := open()
			for i := range 20 {
				if err := write(t.Context(), st, memtest.Epoch, i); err != nil {
					t.Fatal(err)
				}
			}
			if tt.snapshot {
				if err := st.Close(context.Background()); err != nil {
					t.Fatal(err)
				}
				st = open()
			}
			present, err := root.Stat(".")
			if err != nil {
				t.Fatal(err)
			}
			if err := tt.detach(data); err != nil {
				t.Fatal(err)
			}
			export := transfer.New(st, fsys, nil, func() time.Time { return memtest.Epoch })
			files, err := rescue(t.Context(), export, st.Spaces(), data, present, memtest.Epoch)
			if tt.snapshot == (err == nil) {
				t.Errorf("rescue: %v", err)
			}
			var want []string
			for _, name := range tt.files {
				want = append(want, filepath.Join(dir, tt.in, name))
			}
			if strings.Join(files, "\n") != strings.Join(want, "\n") {
				t.Fatalf("wrote %q, want %q", files, want)
			}
			var all strings.Builder
			for _, name := range files {
				text, err := os.ReadFile(name)
				if err != nil {
					t.Fatal(err)
				}
				all.Write(text)
			}
			for _, id := range []string{`"m0"`, `"m1"`, `"m19"`} {
				if !strings.Contains(all.String(), id) {
					t.Errorf("memory %s is in no rescue file", id)
				}
			}
		})
	}
}
