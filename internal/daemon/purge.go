package daemon

import (
	"context"
	"errors"
	"fmt"

	"github.com/memsidecar/memsidecar/internal/durable"
	"github.com/memsidecar/memsidecar/internal/memory"
	"github.com/memsidecar/memsidecar/internal/purge"
	"github.com/memsidecar/memsidecar/internal/rpc"
)

// openPurges finishes a purge that was interrupted, before anybody is answered.
func (d *daemon) openPurges(ctx context.Context) error {
	d.purges = purge.New(purge.Config{
		Store: d.store, FS: d.fs, Memories: d.memories, Logs: d.logs, Save: d.saveErased, Logger: d.log,
		Waiting: d.waitingEdits, Stopping: d.stopping,
	})
	err := d.purges.Resume(ctx)
	if errors.Is(err, memory.ErrUnfinished) && durable.IsDiskFull(err) {
		// What is read is clean already. A daemon that does not start helps nobody to make space.
		d.log.Error("a purge could not be finished for want of space; the next start tries again", "err", err)
		return nil
	}
	return err
}

// saveErased writes the index and the vectors of what is left, and forgets what queries meant: they may have held what is erased.
func (d *daemon) saveErased() error {
	if d.embedder != nil {
		d.embedder.Forget()
	}
	return d.engine.Save(d.fs)
}

// waitingEdits takes over what can be, and names the files that are left as somebody edited them.
func (d *daemon) waitingEdits(ctx context.Context) ([]string, error) {
	if _, err := d.edits.Look(ctx, true); err != nil {
		return nil, err
	}
	edits, err := d.edits.List()
	var files []string
	for _, e := range edits {
		if e.InPlace {
			files = append(files, e.File)
		}
	}
	return files, err
}

// findPurge tells of a purge that is not finished, and nothing when there is none.
func (d *daemon) findPurge() []rpc.Finding {
	p, err := d.store.PendingPurge()
	switch {
	case p == nil:
		return nil
	case err == nil:
		return []rpc.Finding{{Name: "purge", Level: rpc.LevelWarn, Detail: fmt.Sprintf("the purge of operation %d is under way", p.Op()),
			Remedy: "wait; if none is running, make room on the disk and run `memsidecar restart`"}}
	}
	return []rpc.Finding{{Name: "purge", Level: rpc.LevelFail, Detail: err.Error(), Remedy: "make room on the disk, then run `memsidecar restart`"}}
}
