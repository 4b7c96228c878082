package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"

	pb "github.com/memsidecar/memsidecar/gen/memsidecar/v1"
	"github.com/memsidecar/memsidecar/internal/daemon"
	"github.com/memsidecar/memsidecar/internal/memory"
	"github.com/memsidecar/memsidecar/internal/store/backup"
	"github.com/memsidecar/memsidecar/internal/store/durable"
)

// backupCommand groups the backup commands.
func (a *app) backupCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "backup",
		Short: "Create, verify and restore backups",
		Long: `Create, verify and restore backups. A backup is one archive of a whole data directory: memories,
logs, sessions, and the complete history.`,
		Example: `  memsidecar backup create
  memsidecar backup verify memsidecar-2026-02-21-1841.tar.gz
  memsidecar backup restore memsidecar-2026-02-21-1841.tar.gz --data ~/memories`,
		Args: cobra.ArbitraryArgs,
		RunE: a.groupRun,
	}
	cmd.AddCommand(a.backupCreate(), a.backupVerify(), a.backupRestore())
	return cmd
}

// backupCreate is "backup create": AdminService.Backup, then a restore into a temporary directory as the proof.
func (a *app) backupCreate() *cobra.Command {
	var noVerify bool
	cmd := &cobra.Command{
		Use:   "create [FILE|-]",
		Short: "Back up everything into one archive and verify it",
		Long: `Back up everything, including the history, into one archive: FILE, or - for standard output. The
default is memsidecar-DATE-POSITION.tar.gz in the current directory. The daemon keeps serving meanwhile. An existing
file is never overwritten.

The archive is then restored into a temporary directory and compared with the state that was backed up. It gets its
name only if they match. An archive on standard output is not verified; use "memsidecar backup verify" afterwards.

An archive contains the text of your memories and is not encrypted.`,
		Example: `  memsidecar backup create
  memsidecar backup create - | ssh nas 'cat > memories.tar.gz'`,
		Args: cobra.MaximumNArgs(1),
	}
	cmd.Flags().BoolVar(&noVerify, "no-verify", false, "do not verify the archive by restoring it")
	cmd.RunE = a.withClient(func(_ context.Context, c *client, cmd *cobra.Command, args []string) error {
		name := ""
		if len(args) > 0 {
			name = args[0]
		}
		if name == "-" {
			return a.backupToStdout(cmd.Context(), c)
		}
		return a.backupToFile(cmd.Context(), c, name, !noVerify)
	})
	return cmd
}

// backupToStdout streams the archive to standard output. It is not verified, because it cannot be read again.
func (a *app) backupToStdout(ctx context.Context, c *client) error {
	if a.out.width > 0 {
		return usagef("standard output is a terminal; give a file name or redirect the backup")
	}
	writesToStdout()
	position, err := receiveBackup(ctx, c, a.stdout)
	if err != nil {
		return err
	}
	a.out.note("the backup contains everything up to journal position %s", position)
	return nil
}

// backupToFile writes the archive to a partial file, verifies it, and renames it only if it is intact. An archive
// that could not be checked, for example because the temporary directory is full, is kept and reported.
func (a *app) backupToFile(ctx context.Context, c *client, name string, verify bool) error {
	base := name
	if base == "" {
		base = "memsidecar-" + a.now().Format(time.DateOnly)
	}
	t, err := a.create("backup", base)
	if err != nil {
		return err
	}
	defer t.discard()
	position, err := receiveBackup(ctx, c, t)
	if err == nil {
		err = t.sync()
	}
	if err != nil {
		return err
	}
	if name == "" {
		number, _, _ := strings.Cut(position, "-")
		name = fmt.Sprintf("%s-%s.tar.gz", base, number)
	}
	var info backup.Info
	var unverified error
	if verify {
		info, unverified = a.verifyFile(ctx, t)
		if errors.Is(unverified, memory.ErrCorrupt) || ctx.Err() != nil {
			return archiveError(t.partial, unverified)
		}
	}
	if err := t.commit(name); err != nil {
		return err
	}
	if unverified != nil {
		return &cliError{what: name + " was written but could not be verified: " + unverified.Error(),
			cause: unverified,
			hint:  "Run \"memsidecar backup verify " + name + "\"; it restores into TMPDIR."}
	}
	return a.printBackup(name, position, t.written, info)
}

// verifyFile restores the archive in t into a temporary directory and returns what it contains.
func (a *app) verifyFile(ctx context.Context, t *outputFile) (backup.Info, error) {
	if _, err := t.f.Seek(0, io.SeekStart); err != nil {
		return backup.Info{}, err
	}
	return backup.Verify(ctx, t.f, daemon.PublishedFiles(), "", a.now)
}

// printBackup reports a written archive.
func (a *app) printBackup(name, position string, bytes int64, info backup.Info) error {
	if a.out.json {
		return a.out.object(object{{"file", name}, {"position", position}, {"bytes", bytes},
			{"verified", info.Digest != ""},
			{"digest", info.Digest}})
	}
	a.out.printf("Wrote %s: %s, up to journal position %s.\n", name, size(bytes), position)
	if info.Digest != "" {
		a.out.printf("%s Verified by restoring it: same state, digest %s.\n", a.out.colour(green, "✓"), info.Digest)
	}
	return nil
}

// receiveBackup streams the archive to w and returns the journal position that it covers.
func receiveBackup(ctx context.Context, c *client, w io.Writer) (position string, err error) {
	stream, err := c.admin.Backup(ctx, &pb.AdminServiceBackupRequest{})
	if err != nil {
		return "", err
	}
	last := false
	for {
		resp, err := stream.Recv()
		switch {
		case errors.Is(err, io.EOF) && last:
			return position, nil
		case errors.Is(err, io.EOF):
			return "", &cliError{what: "the daemon closed the backup stream before it was complete"}
		case err != nil:
			return "", streamEnded(ctx, "backup", err)
		}
		if _, err := w.Write(resp.GetChunk()); err != nil {
			return "", outputError("backup", err)
		}
		if len(resp.GetChunk()) == 0 {
			position, last = resp.GetPosition(), true
		}
	}
}

// streamEnded explains a stream that broke because the daemon stopped.
func streamEnded(ctx context.Context, what string, err error) error {
	if unreachable(err) && ctx.Err() == nil {
		return &cliError{what: "the daemon stopped during the " + what + ", which is incomplete", code: exitUnreachable,
			cause: err,
			hint:  "See \"memsidecar status\", then try again."}
	}
	return err
}

// backupVerify is "backup verify". It needs no daemon.
func (a *app) backupVerify() *cobra.Command {
	return &cobra.Command{
		Use:   "verify FILE",
		Short: "Verify a backup by restoring it",
		Long: "Restore a backup into a temporary directory, open it, and compare its state with the state that " +
			"was backed up.",
		Example: "  memsidecar backup verify memsidecar-2026-02-21-1841.tar.gz",
		Args:    cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			f, err := a.openArchive(args[0])
			if err != nil {
				return err
			}
			defer f.Close()
			info, err := backup.Verify(cmd.Context(), f, daemon.PublishedFiles(), "", a.now)
			if err != nil {
				return archiveError(args[0], err)
			}
			if a.out.json {
				return a.out.object(object{{"file", args[0]}, {"position", itoa(info.LSN)}, {"at", info.At},
					{"store", info.Store},
					{"digest", info.Digest}})
			}
			a.out.printf("%s %s is intact: taken %s, up to journal position %d, digest %s.\n", a.out.colour(green, "✓"),
				args[0],
				info.At.Local().Format(time.DateTime), info.LSN, info.Digest)
			return nil
		},
	}
}

// openArchive opens an archive, or standard input for "-".
func (a *app) openArchive(name string) (io.ReadCloser, error) {
	if name == "-" {
		return io.NopCloser(a.stdin), nil
	}
	f, err := os.Open(name)
	if err != nil {
		return nil, usagef("open backup: %v", err)
	}
	return f, nil
}

// archiveError turns an error of reading or restoring an archive into one with a hint.
func archiveError(name string, err error) error {
	if err == nil {
		return nil
	}
	e := &cliError{what: name + ": " + err.Error(), cause: err, code: exitError}
	if foreign, ok := errors.AsType[*backup.NotBackupError](err); ok {
		e.what, e.code = name+": "+foreign.Error(), exitUsage
		e.hint = "This file was not written by \"memsidecar backup create\". For other files use \"memsidecar import\"."
		return e
	}
	if damaged, ok := errors.AsType[*backup.DamagedError](err); ok {
		e.what, e.code, e.hint = name+": "+damaged.Error(), exitCorrupt,
			"Nothing was restored. Use another backup, or copy this one again."
		return e
	}
	switch {
	case errors.Is(err, memory.ErrLocked):
		return err
	case errors.Is(err, memory.ErrNewerVersion):
		e.hint = "Use the version of memsidecar that wrote it, or a newer one."
	case durable.IsDiskFull(err):
		e.hint = "Nothing was written. Free some disk space, or choose another directory."
	case errors.Is(err, context.Canceled):
		return err
	case errors.Is(err, fs.ErrPermission):
		e.hint = "Choose a directory that you own."
	}
	return e
}
