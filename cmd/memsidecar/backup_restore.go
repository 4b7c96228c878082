package main

import (
	"context"
	"errors"
	"path/filepath"
	"time"

	"github.com/spf13/cobra"

	"github.com/memsidecar/memsidecar/internal/daemon"
	"github.com/memsidecar/memsidecar/internal/store/backup"
)

// backupRestore is "backup restore". It needs no daemon, and takes the lock of the data directory.
func (a *app) backupRestore() *cobra.Command {
	return &cobra.Command{
		Use:   "restore FILE|-",
		Short: "Restore a backup into a new data directory",
		Long: `Restore a backup into a new data directory: the configured one, or --data. The directory must be
empty or absent; the command never overwrites data. No daemon may use the directory.

The restored state is that of the backup, including the history and the forgotten values. The store gets a new
epoch, so that programs which watch operations notice the restore.`,
		Example: "  memsidecar backup restore memsidecar-2026-02-21-1841.tar.gz --data ~/memories",
		Args:    cobra.ExactArgs(1),
		RunE:    func(cmd *cobra.Command, args []string) error { return a.restoreBackup(cmd.Context(), args[0]) },
	}
}

// restoreBackup restores an archive into the configured data directory, which must be empty or absent.
func (a *app) restoreBackup(ctx context.Context, file string) error {
	cfg, err := a.load()
	if err != nil {
		return err
	}
	f, err := a.openArchive(file)
	if err != nil {
		return err
	}
	defer f.Close()
	name := file
	if abs, err := filepath.Abs(name); err == nil && name != "-" {
		name = abs
	}
	info, err := daemon.Restore(ctx, cfg.Data, f, name, a.now())
	if full, ok := errors.AsType[*backup.NotEmptyError](err); ok {
		return &cliError{what: cfg.Data + ": " + full.Error(), cause: err,
			hint: "Choose an empty directory with --data, or stop the daemon and move this one away."}
	}
	if err != nil {
		return archiveError(file, err)
	}
	if a.out.json {
		return a.out.object(object{{"data_dir", cfg.Data}, {"position", itoa(info.LSN)}, {"at", info.At},
			{"store", info.Store},
			{"epoch", info.Epoch},
			{"digest", info.Digest}})
	}
	a.out.printf("Restored %s into %s: state of %s, up to journal position %d, digest %s.\n", file, cfg.Data,
		info.At.Local().Format(time.DateTime), info.LSN, info.Digest)
	return nil
}
