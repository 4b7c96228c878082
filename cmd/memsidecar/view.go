package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/memsidecar/memsidecar/internal/client/view"
	"github.com/memsidecar/memsidecar/internal/memory"
	"github.com/memsidecar/memsidecar/internal/process/filelock"
	"github.com/memsidecar/memsidecar/internal/store/durable"
)

// viewCommand is "view".
func (a *app) viewCommand() *cobra.Command {
	var format string
	var watch bool
	var opts view.Options
	cmd := &cobra.Command{
		Use:   "view DIR",
		Short: "Sync memories with Markdown files in a directory",
		Long: `Sync the memories of a space with Markdown files in a directory, in a layout that an agent reads:
write changed memories to the files, and adopt edits of the files as one operation, which you can undo. With
--watch, sync until interrupted.

  claude, vibe   MEMORY.md is an index; each memory is one file TYPE_NAME.md with front matter
  nanobot        MEMORY.md has the memories under headings, HISTORY.md the daily logs
  openclaw       MEMORY.md has the memories, memory/DATE.md the daily logs
  context        memory.md has the memories, learnings.md the procedures

A memory that changed on both sides is kept in both versions. Suspicious edits stay pending: an emptied or truncated
file, or most entries removed at once. Fix the files, or decide with --accept or --reject. The sync state is in
DIR/.memsidecar; only its kept/ contains the text of memories.`,
		Example: `  memsidecar view ~/notes/memory --format claude
  memsidecar view ~/.nanobot/workspace/memory --format nanobot --watch`,
		Args: cobra.ExactArgs(1),
	}
	f := cmd.Flags()
	f.StringVar(&format, "format", "", "claude, nanobot, vibe, openclaw or context (default: layout of the directory)")
	f.BoolVar(&watch, "watch", false, "sync until interrupted")
	f.BoolVar(&opts.DryRun, "dry-run", false, "only show what would be adopted and written")
	f.BoolVar(&opts.Accept, "accept", false, "apply suspicious edits of the files")
	f.BoolVar(&opts.Reject, "reject", false, "overwrite suspicious edits of the files")
	cmd.MarkFlagsMutuallyExclusive("accept", "reject")
	cmd.MarkFlagsMutuallyExclusive("watch", "dry-run")
	cmd.MarkFlagsMutuallyExclusive("watch", "accept")
	cmd.MarkFlagsMutuallyExclusive("watch", "reject")
	cmd.RunE = a.withClient(func(_ context.Context, c *client, cmd *cobra.Command, args []string) error {
		v, err := a.openView(c, args[0], format, opts.DryRun)
		if err != nil {
			return err
		}
		defer v.close()
		if watch {
			return a.watchView(cmd.Context(), v)
		}
		shown := a.now()
		opts.Progress = func(done, all int) {
			if now := a.now(); now.Sub(shown) > time.Second {
				shown = now
				a.out.note("view: %d of %d files written …", done, all)
			}
		}
		r, err := v.syncer.SyncUntilQuiet(cmd.Context(), opts)
		if err != nil {
			return viewError(v.dir, err)
		}
		if err := a.printView(v, r, opts.DryRun); err != nil {
			return err
		}
		if len(r.Waiting) > 0 && !opts.DryRun {
			return failed(exitError)
		}
		return nil
	})
	return cmd
}

// openedView is a view directory, locked against other view commands.
type openedView struct {
	dir    string
	format view.Format
	root   *os.Root
	lock   *filelock.Lock
	syncer *view.Syncer
}

// close unlocks and closes the directory.
func (v *openedView) close() {
	_ = v.lock.Release() // the process ends
	_ = v.root.Close()
}

// openView opens and locks a view directory; it creates the directory unless dry is set.
func (a *app) openView(c *client, dir, format string, dry bool) (*openedView, error) {
	path, err := filepath.Abs(dir)
	if err != nil {
		return nil, usagef("%s: %v", dir, err)
	}
	if err := notInData(path, c.info.GetDataDir()); err != nil {
		return nil, err
	}
	if _, err := os.Stat(path); errors.Is(err, fs.ErrNotExist) && dry {
		return nil, usagef("%s does not exist; without --dry-run it is created", dir)
	}
	if err := os.MkdirAll(path, 0o700); err != nil {
		return nil, usagef("%v", err)
	}
	root, err := os.OpenRoot(path)
	if err != nil {
		return nil, usagef("%v", err)
	}
	v := &openedView{dir: path, root: root}
	if err := v.prepare(a, c, format, dry); err != nil {
		v.close()
		return nil, err
	}
	return v, nil
}

// prepare finds the format and the space of the directory, locks it, and sets up the syncer.
func (v *openedView) prepare(a *app, c *client, format string, dry bool) error {
	fsys := durable.Dir(v.root)
	had, space, known, err := view.Remembered(fsys)
	if err != nil {
		return viewError(v.dir, err)
	}
	if v.format = had; format != "" || !known {
		if format == "" {
			return usagef("give the layout of the directory with --format: claude, nanobot, vibe, openclaw or context")
		}
		if v.format, err = view.ParseFormat(format); err != nil {
			return usagef("--format: %v", err)
		}
	}
	if a.flags.space == "" && known {
		a.flags.space = space
	}
	if !dry {
		if err := v.root.MkdirAll(view.Dir, 0o700); err != nil {
			return viewError(v.dir, err)
		}
		v.lock, err = filelock.Try(filepath.Join(v.dir, view.Dir, "lock"))
		switch {
		case errors.Is(err, filelock.ErrHeld):
			return &cliError{what: "another `memsidecar view` uses " + v.dir, code: exitLocked,
				hint: "Stop the other command first."}
		case err != nil:
			return viewError(v.dir, err)
		}
	}
	space = cmp.Or(a.flags.space, memory.DefaultSpace)
	v.syncer = view.New(view.Config{
		Store: &viewStore{c: c, space: space, limit: a.deadline}, FS: fsys, Format: v.format, Space: space, Now: a.now,
		Path:   v.dir,
		Logger: slog.New(slog.NewTextHandler(a.stderr, &slog.HandlerOptions{Level: slog.LevelWarn})),
	})
	return nil
}

// notInData rejects a directory inside the data directory.
func notInData(dir, data string) error {
	for p := dir; ; p = filepath.Dir(p) {
		if samePath(p, data) {
			return usagef("%s is inside the data directory %s; choose a directory outside of it", dir, data)
		}
		if p == filepath.Dir(p) {
			return nil
		}
	}
}

// viewError turns an error of a sync into one with a hint.
func viewError(dir string, err error) error {
	switch {
	case errors.Is(err, view.ErrOtherView):
		return &cliError{what: dir + ": " + err.Error(), code: exitUsage, cause: err,
			hint: "Choose another directory, or omit --format and --space."}
	case errors.Is(err, view.ErrGone):
		return &cliError{what: dir + ": " + err.Error(), cause: err,
			hint: "No memory was retired. Run the command again to write the files."}
	case errors.Is(err, fs.ErrPermission):
		return &cliError{what: "cannot write the view in " + dir + ": " + err.Error(), cause: err,
			hint: "You need write permission for the directory."}
	}
	return err
}

// watchView syncs until interrupted, and retries while no daemon is running.
func (a *app) watchView(ctx context.Context, v *openedView) error {
	if !a.out.json {
		a.out.note("watching %s (%s); stop with Ctrl-C", v.dir, v.format)
	}
	last, waiting := "", ""
	var failure error
	err := v.syncer.Run(ctx, view.Options{}, func(r view.Report, err error) {
		if err != nil {
			if what := asCLIError(viewError(v.dir, err)).what; what != last {
				last = what
				a.out.note("%s; retrying", what)
			}
			return
		}
		last = ""
		// Pending files are reported once, not on every sync.
		same := fmt.Sprint(r.Waiting) == waiting
		waiting = fmt.Sprint(r.Waiting)
		if same {
			r.Waiting = nil
		}
		if failure == nil && !r.Quiet() {
			failure = a.printView(v, r, false)
		}
	})
	if err != nil {
		return viewError(v.dir, err)
	}
	return failure
}

// printView prints the result of one sync.
func (a *app) printView(v *openedView, r view.Report, dry bool) error {
	if a.out.json {
		return a.out.object(viewJSON(v, r, dry))
	}
	a.printAdopted(r)
	verb := "Wrote"
	if dry {
		verb = "Would write"
	}
	switch n := int64(len(r.Written)); {
	case n+int64(len(r.Removed)) == 0 && len(r.Adopted) == 0 && len(r.Waiting) == 0:
		a.out.printf("%s is up to date: %s.\n", v.dir, plural(int64(r.Memories), "memory", "memories"))
	case n+int64(len(r.Removed)) > 0:
		a.out.printf("%s %s%s in %s (%s), of %s.\n", verb, plural(n, "file", "files"), removedFiles(len(r.Removed)),
			v.dir, v.format,
			plural(int64(r.Memories), "memory", "memories"))
		for _, name := range append(r.Written[:min(10, len(r.Written))], r.Removed[:min(10, len(r.Removed))]...) {
			a.out.printf("  %s\n", oneLine(name))
		}
	}
	for _, n := range r.Notes {
		a.out.printf("%s %s.\n", oneLine(n.File), oneLine(n.Why))
	}
	for _, name := range r.Kept {
		a.out.printf("Saved the previous version: %s\n", filepath.Join(v.dir, name))
	}
	for _, w := range r.Waiting {
		a.out.printf("%s\n", a.out.colour(amber, oneLine(w.File)+" "+oneLine(w.Why)+"; not changed"))
	}
	if len(r.Waiting) > 0 {
		a.out.printf("Fix the files, or decide: memsidecar view %s --accept, or --reject to overwrite them.\n", v.dir)
	}
	return nil
}

// removedFiles is " and removed N files", or empty.
func removedFiles(n int) string {
	if n == 0 {
		return ""
	}
	return " and removed " + plural(int64(n), "file", "files")
}

// viewMarks are the marks of changes, as in a diff.
var viewMarks = map[view.Kind]string{view.Add: "+", view.Update: "~", view.Remove: "-"}

// printAdopted prints the changes that were adopted from the files.
func (a *app) printAdopted(r view.Report) {
	if len(r.Adopted) == 0 {
		return
	}
	where := ""
	if len(r.Operations) > 0 {
		where = " (operation " + strings.Join(r.Operations, ", ") + ")"
	}
	a.out.printf("Adopted %s%s:\n", plural(int64(len(r.Adopted)), "change", "changes"), where)
	for _, t := range r.Adopted {
		what := ""
		switch {
		case t.Reason != "":
			what = "  " + a.out.colour(red, "rejected: "+reasonText(t.Reason))
		case t.Both:
			what = "  changed on both sides; both versions are kept"
		case t.Log:
			what = "  daily log"
		}
		a.out.printf("  %s %s: %s%s\n", viewMarks[t.Kind], oneLine(t.File), t.Text, what)
	}
}

// viewJSON is the result of one sync for --json.
func viewJSON(v *openedView, r view.Report, dry bool) object {
	taken := []object{}
	for _, t := range r.Adopted {
		taken = append(taken, object{
			{"file", t.File}, {"kind", string(t.Kind)}, {"id", t.ID}, {"log", t.Log}, {"both", t.Both},
			{"reason", t.Reason},
		})
	}
	problems := func(list []view.Waiting) []object {
		out := []object{}
		for _, w := range list {
			out = append(out, object{{"file", w.File}, {"why", w.Why}})
		}
		return out
	}
	return object{
		{"dir", v.dir}, {"format", string(v.format)}, {"dry_run", dry}, {"memories", r.Memories},
		{"operations", append([]string{}, r.Operations...)},
		{"taken", taken}, {"written", append([]string{}, r.Written...)}, {"removed", append([]string{}, r.Removed...)},
		{"waiting", problems(r.Waiting)}, {"notes", problems(r.Notes)}, {"kept", append([]string{}, r.Kept...)},
	}
}
