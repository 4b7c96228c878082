package daemon

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"

	"github.com/memsidecar/memsidecar/internal/rpc"
	"github.com/memsidecar/memsidecar/internal/store"
	"github.com/memsidecar/memsidecar/internal/store/durable"
)

// pausedFile exists while capture is paused, so that the pause survives a restart.
const pausedFile = "paused"

// readPaused reports whether capture was paused before this start.
func readPaused(fsys durable.FS) bool {
	_, err := fsys.Lstat(pausedFile)
	return err == nil
}

// admin returns the functions behind AdminService.
func (d *daemon) admin() rpc.Admin {
	return rpc.Admin{
		Info: d.info, Doctor: d.doctor, Check: d.check, Publish: d.checkpoint, Pause: d.pause, Stop: d.stop,
	}
}

// info returns the state of the daemon.
func (d *daemon) info() rpc.Info {
	info := rpc.Info{
		Version: d.version, DataDir: d.cfg.Data, Socket: d.cfg.Socket, PID: os.Getpid(), StartedAt: d.started,
		LSN: d.store.LSN(), Paused: d.paused.Load(), Store: d.store.Origin(), Epoch: d.store.Epoch(),
		Jobs: d.scheduler.Status(), ClockDoubt: d.store.LastClockWarning(),
	}
	if err := d.store.Err(); err != nil {
		info.ReadOnly = err.Error()
	}
	return info
}

// check verifies the whole data directory.
func (d *daemon) check(context.Context) (problems []string, lsn int64, err error) {
	report, err := store.Check(d.fs)
	for _, f := range report.Findings {
		problems = append(problems, fmt.Sprintf("%s line %d: %s", f.File, f.Line, f.Detail))
	}
	return problems, d.store.LSN(), err
}

// checkpoint writes the snapshot, the published files and the search index. Durable on return.
func (d *daemon) checkpoint(ctx context.Context) (int64, error) {
	if err := d.store.FlushAccesses(ctx); err != nil {
		return 0, err
	}
	d.takeEdits(ctx, 0)
	lsn, err := d.store.Checkpoint(ctx)
	return lsn, errors.Join(err, d.memories.PublishAll(ctx), d.logs.PublishAll(ctx), d.engine.Save(d.fs))
}

// pause starts or ends a pause of capture. Durable on return.
func (d *daemon) pause(paused bool) error {
	var err error
	if paused {
		err = durable.WriteFile(d.fs, pausedFile, func(w io.Writer) error {
			_, err := io.WriteString(w, "Capture is paused. `memsidecar daemon resume` ends the pause.\n")
			return err
		})
	} else if err = d.fs.Remove(pausedFile); err == nil || errors.Is(err, fs.ErrNotExist) {
		err = d.fs.SyncDir(".")
	}
	if err != nil {
		return fmt.Errorf("pause or resume capture: %w", err)
	}
	d.paused.Store(paused)
	return nil
}
