package main

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/memsidecar/memsidecar/internal/backup"
	"github.com/memsidecar/memsidecar/internal/daemon"
)

func (a *app) restoreBackupCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "restore FILE|-",
		Short: "Make a data directory of a backup",
		Long: `Make a data directory of a backup: the configured one, or that of --data. It must be empty or absent: nothing is ever overwritten.
No daemon is needed, and none may use the directory.

Everything is as it was when the backup was taken, the history and what is forgotten included. Operations get another origin from here on, so
that programs which followed the changes notice that the store went back.`,
		Example: "  memsidecar restore memsidecar-2026-02-21-1841.tar.gz --data ~/memories",
		Args:    cobra.ExactArgs(1),
		RunE:    func(cmd *cobra.Command, args []string) error { return a.restoreBackup(cmd.Context(), args[0]) },
	}
}

// isArchive reports whether an argument of restore is a backup and not the id of a memory.
func isArchive(arg string) bool {
	if arg == "-" || strings.HasSuffix(arg, ".tar.gz") || strings.HasSuffix(arg, ".tgz") {
		return true
	}
	info, err := os.Stat(arg)
	return err == nil && info.Mode().IsRegular()
}

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
			hint: "Choose an empty directory with --data, or stop the daemon and move that one away."}
	}
	if err != nil {
		return archiveError(file, err)
	}
	if a.out.json {
		return a.out.object(object{{"data_dir", cfg.Data}, {"lsn", info.LSN}, {"at", info.At}, {"store", info.Store}, {"epoch", info.Epoch},
			{"digest", info.Digest}})
	}
	a.out.printf("Restored %s into %s: as it was %s, up to position %d of the journal, digest %s.\n", file, cfg.Data,
		info.At.Local().Format(time.DateTime), info.LSN, info.Digest)
	return nil
}
