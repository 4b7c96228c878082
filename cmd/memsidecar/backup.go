package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"time"

	"github.com/spf13/cobra"

	pb "github.com/memsidecar/memsidecar/gen/memsidecar/v1"
	"github.com/memsidecar/memsidecar/internal/backup"
	"github.com/memsidecar/memsidecar/internal/durable"
	"github.com/memsidecar/memsidecar/internal/memory"
)

func (a *app) backupCommand() *cobra.Command {
	var noVerify bool
	cmd := &cobra.Command{
		Use:   "backup [FILE|-]",
		Short: "Write everything into one file, and prove that it can be restored",
		Long: `Write everything, the history included, into one archive: FILE, by default memsidecar-DATE-POSITION.tar.gz in the current directory,
or - for standard output. The daemon goes on working meanwhile. A file that is there already is never overwritten.

The archive is then restored into a temporary directory and opened there, and its state must be the one that was backed up; only then
does it get its name. Not on standard output: look at it with "memsidecar backup verify".

An archive holds the text of your memories and is not encrypted. "memsidecar restore" makes a data directory of it.`,
		Example: `  memsidecar backup
  memsidecar backup - | ssh nas 'cat > memories.tar.gz'`,
		Args: cobra.MaximumNArgs(1),
	}
	cmd.Flags().BoolVar(&noVerify, "no-verify", false, "do not restore it to see whether it is good")
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
	cmd.AddCommand(a.verifyCommand(), a.restoreBackupCommand())
	return cmd
}

func (a *app) backupToStdout(ctx context.Context, c *client) error {
	if a.out.width > 0 {
		return usagef("a backup is not for a terminal; name a file, or send it to another program")
	}
	writesToStdout()
	lsn, err := receiveBackup(ctx, c, a.stdout)
	if err != nil {
		return err
	}
	a.out.note("the backup holds everything up to position %d of the journal", lsn)
	return nil
}

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
	lsn, err := receiveBackup(ctx, c, t)
	if err == nil {
		err = t.sync()
	}
	if err != nil {
		return err
	}
	if name == "" {
		name = fmt.Sprintf("%s-%d.tar.gz", base, lsn)
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
		return &cliError{what: name + " was written, but it could not be verified: " + unverified.Error(), cause: unverified,
			hint: "Look at it with \"memsidecar backup verify " + name + "\"; TMPDIR says where it is restored to for that."}
	}
	return a.printBackup(name, lsn, t.written, info)
}

func (a *app) verifyFile(ctx context.Context, t *target) (backup.Info, error) {
	if _, err := t.f.Seek(0, io.SeekStart); err != nil {
		return backup.Info{}, err
	}
	return backup.Verify(ctx, t.f, "", a.now)
}

func (a *app) printBackup(name string, lsn, bytes int64, info backup.Info) error {
	if a.out.json {
		return a.out.object(object{{"file", name}, {"lsn", lsn}, {"bytes", bytes}, {"verified", info.Digest != ""}, {"digest", info.Digest}})
	}
	a.out.printf("Wrote %s: %s, everything up to position %d of the journal.\n", name, size(bytes), lsn)
	if info.Digest != "" {
		a.out.printf("%s Restored it elsewhere and found the same state, digest %s.\n", a.out.colour(green, "✓"), info.Digest)
	}
	return nil
}

// receiveBackup writes the archive to w.
func receiveBackup(ctx context.Context, c *client, w io.Writer) (lsn int64, err error) {
	stream, err := c.admin.Backup(ctx, &pb.AdminServiceBackupRequest{})
	if err != nil {
		return 0, err
	}
	last := false
	for {
		resp, err := stream.Recv()
		switch {
		case errors.Is(err, io.EOF) && last:
			return lsn, nil
		case errors.Is(err, io.EOF):
			return 0, &cliError{what: "the daemon ended the backup before it was complete"}
		case err != nil:
			return 0, streamEnded(ctx, "backup", err)
		}
		if _, err := w.Write(resp.GetChunk()); err != nil {
			return 0, outputError("backup", err)
		}
		if len(resp.GetChunk()) == 0 {
			lsn, last = resp.GetLsn(), true
		}
	}
}

// streamEnded says that the daemon went away in the middle.
func streamEnded(ctx context.Context, what string, err error) error {
	if unreachable(err) && ctx.Err() == nil {
		return &cliError{what: "the daemon has ended in the middle of the " + what + "; it is not complete", code: exitUnreachable, cause: err,
			hint: "See \"memsidecar status\", then try again."}
	}
	return err
}

func (a *app) verifyCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "verify FILE",
		Short: "Prove that a backup can be restored",
		Long:  "Restore a backup into a temporary directory, open it there, compare its state with the one that was backed up, and remove it again.",
		Args:  cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			f, err := a.openArchive(args[0])
			if err != nil {
				return err
			}
			defer f.Close()
			info, err := backup.Verify(cmd.Context(), f, "", a.now)
			if err != nil {
				return archiveError(args[0], err)
			}
			if a.out.json {
				return a.out.object(object{{"file", args[0]}, {"lsn", info.LSN}, {"at", info.At}, {"store", info.Store}, {"digest", info.Digest}})
			}
			a.out.printf("%s %s is good: taken %s, everything up to position %d of the journal, digest %s.\n", a.out.colour(green, "✓"), args[0],
				info.At.Local().Format(time.DateTime), info.LSN, info.Digest)
			return nil
		},
	}
}

func (a *app) openArchive(name string) (io.ReadCloser, error) {
	if name == "-" {
		return io.NopCloser(a.stdin), nil
	}
	f, err := os.Open(name)
	if err != nil {
		return nil, usagef("the backup cannot be opened: %v", err)
	}
	return f, nil
}

// archiveError says what is wrong with an archive, or with where it goes, and what to do.
func archiveError(name string, err error) error {
	if err == nil {
		return nil
	}
	e := &cliError{what: name + ": " + err.Error(), cause: err, code: exitError}
	if foreign, ok := errors.AsType[*backup.ForeignError](err); ok {
		e.what, e.code, e.hint = name+": "+foreign.Error(), exitUsage, "A backup is what \"memsidecar backup\" wrote; other files go through \"memsidecar import\"."
		return e
	}
	if damaged, ok := errors.AsType[*backup.DamagedError](err); ok {
		e.what, e.code, e.hint = name+": "+damaged.Error(), exitCorrupt, "Nothing of it was kept. Use another backup, or copy this one again from where it came."
		return e
	}
	switch {
	case errors.Is(err, memory.ErrLocked):
		return err
	case errors.Is(err, memory.ErrNewerVersion):
		e.hint = "Use the memsidecar that wrote it, or a newer one."
	case durable.IsDiskFull(err):
		e.hint = "Nothing of it was kept. Free some space, or choose another directory."
	case errors.Is(err, context.Canceled):
		return err
	case errors.Is(err, fs.ErrPermission):
		e.hint = "Choose a directory that is yours."
	}
	return e
}
