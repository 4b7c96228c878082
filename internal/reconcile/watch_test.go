package reconcile_test

import (
	"context"
	"log/slog"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/memsidecar/memsidecar/internal/reconcile"
	"github.com/memsidecar/memsidecar/internal/store/journal"
)

// TestRunNotices lets the service notice edits made in the ways in which editors make them, by itself.
func TestRunNotices(t *testing.T) {
	w := onDisk(t)
	w.three()
	w.twoDays()
	w.edits = reconcile.New(reconcile.Config{
		Store: w.store, FS: w.fs, Memories: w.mem, Logs: w.logs, Now: w.clock.Now, Location: time.UTC, Logger: slog.New(slog.DiscardHandler), Dir: w.dir,
	})
	ctx, stop := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- w.edits.Run(ctx) }()
	t.Cleanup(func() {
		stop()
		must(t, <-done)
	})
	// The clock is ahead of the file system's, so a file that is changed twice within a tick, and has the same size,
	// passes for unchanged.
	for _, step := range []struct {
		name string
		edit func()
	}{
		{"in place", func() { w.replace(file, "8443", "19443") }},
		{"by another file that takes the name", func() {
			w.write("memory.json.tmp", strings.Replace(w.read(file), "19443", "443", 1))
			must(t, w.fs.Rename("memory.json.tmp", file))
		}},
		{"a log", func() { w.replace(logName, "moved the", "moved a") }},
		{"in a new space", func() {
			must(t, os.MkdirAll(w.dir+"/spaces/work", 0o700))
			w.write("spaces/work/memory.json", `{"version": 2, "memories": [{"content": "by hand"}]}`)
		}},
		{"in a log of a new space", func() {
			must(t, os.MkdirAll(w.dir+"/spaces/work/logs", 0o700))
			w.write("spaces/work/logs/2026-02-21.json", `{"date": "2026-02-21", "entries": [{"content": "by hand"}]}`)
		}},
	} {
		from := w.store.LSN()
		step.edit()
		wait, cancel := context.WithTimeout(t.Context(), 20*time.Second)
		seen := false
		for rec, err := range w.store.Watch(wait, from) {
			must(t, err)
			seen = rec.Actor == journal.ActorEdit
			break
		}
		cancel()
		if !seen {
			t.Fatalf("%s: the edit was not noticed", step.name)
		}
	}
}
