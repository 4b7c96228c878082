package daemon

import (
	"context"
	"errors"

	"github.com/memsidecar/memsidecar/internal/memory"
	"github.com/memsidecar/memsidecar/internal/rpc"
	"github.com/memsidecar/memsidecar/internal/store"
	"github.com/memsidecar/memsidecar/internal/store/durable"
	"github.com/memsidecar/memsidecar/internal/store/purge"
)

// openPurges finishes an interrupted purge before any request is served.
func (d *daemon) openPurges(ctx context.Context) error {
	d.purges = purge.New(purge.Config{
		Store: d.store, FS: d.fs, Memories: d.memories, Logs: d.logs, SaveIndex: d.saveErased, Logger: d.log,
		PendingEdits: d.waitingEdits, Announce: d.share.Announce, Only: d.cfg.Fleet.URL != "", Stopping: d.stopping,
	})
	err := d.purges.Resume(ctx)
	if errors.Is(err, memory.ErrUnfinished) && durable.IsDiskFull(err) {
		// Reads are clean already, and a daemon that does not start would not help to free space.
		d.log.Error("purge not finished: disk full; the next start retries", "err", err)
		return nil
	}
	return err
}

// saveErased writes the index and the vectors of the remaining memories, and clears the cache of query vectors,
// because the queries may contain purged text.
func (d *daemon) saveErased() error {
	for _, m := range d.models {
		m.ClearCache()
	}
	return d.engine.SaveErased(d.fs)
}

// waitingEdits adopts pending edits and returns the names of files with edits that cannot be adopted.
func (d *daemon) waitingEdits(ctx context.Context) ([]string, error) {
	if _, err := d.edits.Scan(ctx, true); err != nil {
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

// findPurge reports an unfinished purge; no finding if there is none.
func (d *daemon) findPurge() []rpc.Finding {
	p, err := d.store.PendingPurge()
	switch {
	case p == nil:
		return nil
	case err == nil:
		return []rpc.Finding{{Name: "purge", Level: rpc.LevelWarn,
			Detail: rpc.Say("the purge of operation %d is in progress", p.Op()),
			Remedy: rpc.Say("wait; if no purge is running, free disk space and run `memsidecar daemon restart`")}}
	}
	return []rpc.Finding{{Name: "purge", Level: rpc.LevelFail, Detail: rpc.Say("%v", err),
		Remedy: rpc.Say("free disk space, then run `memsidecar daemon restart`")}}
}

// eraseReceived erases what was purged at another machine of a shared space.
func (d *daemon) eraseReceived(ctx context.Context, req store.PurgeRequest) ([]string, error) {
	texts, err := d.purges.Erase(ctx, req)
	if err != nil {
		return nil, err
	}
	// These caches may hold what was just erased.
	d.recall.ForgetTraces()
	d.sessions.ClearWorkingCache()
	d.counts.Release()
	return texts, nil
}
