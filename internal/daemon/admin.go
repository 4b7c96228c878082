package daemon

import (
	"context"
	"errors"
	"fmt"
	"os"

	"github.com/memsidecar/memsidecar/internal/rpc"
	"github.com/memsidecar/memsidecar/internal/store"
)

// admin returns the functions behind AdminService.
func (d *daemon) admin() rpc.Admin {
	return rpc.Admin{
		Info: d.info, Doctor: d.doctor, Check: d.check, Publish: d.checkpoint, Pause: d.pauses.set, Stop: d.stop,
	}
}

// info returns the state of the daemon.
func (d *daemon) info() rpc.Info {
	info := rpc.Info{
		Version: d.version, DataDir: d.cfg.Data, Socket: d.cfg.Socket, PID: os.Getpid(), StartedAt: d.started,
		LSN: d.store.LSN(), Paused: d.pauses.Capture(), PausedHosts: d.pauses.Hosts(), Store: d.store.Origin(), Epoch: d.store.Epoch(),
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
