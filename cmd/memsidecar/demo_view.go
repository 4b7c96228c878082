package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"

	pb "github.com/memsidecar/memsidecar/gen/memsidecar/v1"
	"github.com/memsidecar/memsidecar/internal/client/view"
	"github.com/memsidecar/memsidecar/internal/memory"
	"github.com/memsidecar/memsidecar/internal/store/durable"
)

// stepView syncs the memories with Markdown files, edits a file by hand, and undoes the edit.
func (d *demo) stepView(ctx context.Context) (string, error) {
	dir := filepath.Join(d.dir, "view")
	if err := os.Mkdir(dir, 0o700); err != nil {
		return "", err
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return "", err
	}
	defer root.Close()
	v := view.New(view.Config{
		Store: &viewStore{c: d.c, space: memory.DefaultSpace, limit: d.app.deadline}, FS: durable.Dir(root),
		Format: view.Nanobot,
		Space:  memory.DefaultSpace, Now: d.app.now, Logger: slog.New(slog.DiscardHandler),
	})
	first, err := v.SyncUntilQuiet(ctx, view.Options{})
	if err != nil {
		return "", err
	}
	file := filepath.Join(dir, "MEMORY.md")
	was, err := os.ReadFile(file)
	if err != nil {
		return "", err
	}
	line, edited := "", "small commits, of one idea each,"
	for l := range strings.Lines(string(was)) {
		if strings.Contains(l, "small commits") {
			line = strings.TrimSpace(l)
		}
	}
	if line == "" {
		return "", errors.New("the view does not contain the learned memory")
	}
	if err := os.WriteFile(file, []byte(strings.Replace(string(was), "small commits", edited, 1)), 0o600); err != nil {
		return "", err
	}
	second, err := v.SyncUntilQuiet(ctx, view.Options{})
	if err != nil {
		return "", err
	}
	if err := d.waitEmbedded(ctx); err != nil {
		return "", err
	}
	if got, err := d.find(ctx, "how big should commits be"); err != nil || !strings.Contains(got, edited) ||
		len(second.Operations) != 1 {
		return "", errors.Join(err, fmt.Errorf("after an edit of the view the search found %q", got))
	}
	op := second.Operations[0]
	if _, err := d.c.ops.Undo(ctx, &pb.OperationServiceUndoRequest{Id: op}); err != nil {
		return "", err
	}
	if _, err := v.SyncUntilQuiet(ctx, view.Options{}); err != nil {
		return "", err
	}
	if now, err := os.ReadFile(file); err != nil || !strings.Contains(string(now), line) ||
		strings.Contains(string(now), edited) {
		return "", errors.Join(err, errors.New("the view does not show the undo"))
	}
	d.record("view_files", len(first.Written))
	return fmt.Sprintf("%s of Markdown with %s\n    %s\n    edited by hand: operation %s, found by a search, then "+
		"undone", plural(int64(len(first.Written)), "file", "files"),
		plural(int64(first.Memories), "memory", "memories"), oneLine(line), op), nil
}
