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

	"github.com/gofrs/flock"
	"github.com/spf13/cobra"

	"github.com/memsidecar/memsidecar/internal/durable"
	"github.com/memsidecar/memsidecar/internal/memory"
	"github.com/memsidecar/memsidecar/internal/view"
)

func (a *app) viewCommand() *cobra.Command {
	var format string
	var watch bool
	var opts view.Options
	cmd := &cobra.Command{
		Use:   "view DIR",
		Short: "Keep memories as Markdown files in a directory, both ways",
		Long: `Write the memories of a space as Markdown files into a directory, in a layout that an agent reads, and take over what was changed in the files
since the last time: each look is one operation by view, which "memsidecar undo" takes back. With --watch it goes on until interrupted.

  claude, vibe   MEMORY.md is an index; each memory is a file TYPE_NAME.md with front matter
  nanobot        MEMORY.md holds the memories under headings, HISTORY.md the daily logs
  openclaw       MEMORY.md holds the memories, memory/DATE.md the daily logs
  context        memory.md holds what is known, learnings.md how things are done

What was changed on both sides is kept twice. A file that was emptied or looks cut off, and most entries removed at once, wait: mend the
files, or decide with --accept or --discard. What the view remembers is in DIR/.memsidecar; it holds no text of memories but in kept/.`,
		Example: `  memsidecar view ~/notes/memory --format claude
  memsidecar view ~/.nanobot/workspace/memory --format nanobot --watch`,
		Args: cobra.ExactArgs(1),
	}
	f := cmd.Flags()
	f.StringVar(&format, "format", "", "claude, nanobot, vibe, openclaw or context (default: the one that the directory has)")
	f.BoolVar(&watch, "watch", false, "go on until interrupted")
	f.BoolVar(&opts.DryRun, "dry-run", false, "only say what would be taken over and written")
	f.BoolVar(&opts.Accept, "accept", false, "take over what looks like a mistake")
	f.BoolVar(&opts.Discard, "discard", false, "write files again that look like a mistake")
	cmd.MarkFlagsMutuallyExclusive("accept", "discard")
	cmd.MarkFlagsMutuallyExclusive("watch", "dry-run")
	cmd.MarkFlagsMutuallyExclusive("watch", "accept")
	cmd.MarkFlagsMutuallyExclusive("watch", "discard")
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
		r, err := v.syncer.Settle(cmd.Context(), opts)
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

// openedView is a directory that nobody else keeps in step meanwhile.
type openedView struct {
	dir    string
	format view.Format
	root   *os.Root
	lock   *flock.Flock
	syncer *view.Syncer
}

func (v *openedView) close() {
	if v.lock != nil {
		_ = v.lock.Unlock() // the process ends
	}
	_ = v.root.Close()
}

func (a *app) openView(c *client, dir, format string, dry bool) (*openedView, error) {
	path, err := filepath.Abs(dir)
	if err != nil {
		return nil, usagef("%s: %v", dir, err)
	}
	if err := notInData(path, c.info.GetDataDir()); err != nil {
		return nil, err
	}
	if _, err := os.Stat(path); errors.Is(err, fs.ErrNotExist) && dry {
		return nil, usagef("%s is not there; without --dry-run it is made", dir)
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

func (v *openedView) prepare(a *app, c *client, format string, dry bool) error {
	fsys := durable.Dir(v.root)
	had, space, known, err := view.Remembered(fsys)
	if err != nil {
		return viewError(v.dir, err)
	}
	if v.format = had; format != "" || !known {
		if format == "" {
			return usagef("say with --format what layout the directory is to have: claude, nanobot, vibe, openclaw or context")
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
		v.lock = flock.New(filepath.Join(v.dir, view.Dir, "lock"), flock.SetPermissions(0o600))
		if ok, err := v.lock.TryLock(); err != nil {
			return viewError(v.dir, err)
		} else if !ok {
			v.lock = nil
			return &cliError{what: "another `memsidecar view` has " + v.dir, code: exitLocked, hint: "Stop that one, or leave it to it."}
		}
	}
	space = cmp.Or(a.flags.space, memory.DefaultSpace)
	v.syncer = view.New(view.Config{
		Store: &viewStore{c: c, space: space, limit: a.deadline}, FS: fsys, Format: v.format, Space: space, Now: a.now, Path: v.dir,
		Logger: slog.New(slog.NewTextHandler(a.stderr, &slog.HandlerOptions{Level: slog.LevelWarn})),
	})
	return nil
}

// notInData refuses a directory inside the one of the daemon.
func notInData(dir, data string) error {
	for p := dir; ; p = filepath.Dir(p) {
		if samePath(p, data) {
			return usagef("%s is inside the daemon's own directory %s, where nothing else belongs; choose another one", dir, data)
		}
		if p == filepath.Dir(p) {
			return nil
		}
	}
}

func viewError(dir string, err error) error {
	switch {
	case errors.Is(err, view.ErrOtherView):
		return &cliError{what: dir + ": " + err.Error(), code: exitUsage, cause: err, hint: "Choose another directory, or leave out --format and --space."}
	case errors.Is(err, view.ErrGone):
		return &cliError{what: dir + ": " + err.Error(), cause: err, hint: "Nothing was forgotten because of that. Run it again to have the files written anew."}
	case errors.Is(err, fs.ErrPermission):
		return &cliError{what: "cannot keep a view in " + dir + ": " + err.Error(), cause: err, hint: "The directory must be your own to write in."}
	}
	return err
}

// watchView goes on until it is interrupted, also while no daemon runs.
func (a *app) watchView(ctx context.Context, v *openedView) error {
	if !a.out.json {
		a.out.note("watching %s (%s); end with Ctrl-C", v.dir, v.format)
	}
	last, waiting := "", ""
	var failure error
	err := v.syncer.Run(ctx, view.Options{}, func(r view.Report, err error) {
		if err != nil {
			if what := asCLIError(viewError(v.dir, err)).what; what != last {
				last = what
				a.out.note("%s; it is tried again", what)
			}
			return
		}
		last = ""
		// What waits is said once, not at every look.
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

func (a *app) printView(v *openedView, r view.Report, dry bool) error {
	if a.out.json {
		return a.out.object(viewJSON(v, r, dry))
	}
	a.printTaken(r)
	verb := "Wrote"
	if dry {
		verb = "Would write"
	}
	switch n := int64(len(r.Written)); {
	case n+int64(len(r.Removed)) == 0 && len(r.Taken) == 0 && len(r.Waiting) == 0:
		a.out.printf("%s is up to date: %s.\n", v.dir, plural(int64(r.Memories), "memory", "memories"))
	case n+int64(len(r.Removed)) > 0:
		a.out.printf("%s %s%s in %s (%s), of %s.\n", verb, plural(n, "file", "files"), removedFiles(len(r.Removed)), v.dir, v.format,
			plural(int64(r.Memories), "memory", "memories"))
		for _, name := range append(r.Written[:min(10, len(r.Written))], r.Removed[:min(10, len(r.Removed))]...) {
			a.out.printf("  %s\n", oneLine(name))
		}
	}
	for _, n := range r.Notes {
		a.out.printf("%s %s.\n", oneLine(n.File), oneLine(n.Why))
	}
	for _, name := range r.Kept {
		a.out.printf("Kept what stood there before: %s\n", filepath.Join(v.dir, name))
	}
	for _, w := range r.Waiting {
		a.out.printf("%s\n", a.out.colour(amber, oneLine(w.File)+" "+oneLine(w.Why)+"; it is left alone"))
	}
	if len(r.Waiting) > 0 {
		a.out.printf("Mend what waits, or decide: memsidecar view %s --accept, or --discard to have it written again.\n", v.dir)
	}
	return nil
}

func removedFiles(n int) string {
	if n == 0 {
		return ""
	}
	return " and removed " + plural(int64(n), "file", "files")
}

// marks of changes, as in a diff.
var viewMarks = map[view.Kind]string{view.Add: "+", view.Update: "~", view.Remove: "-"}

func (a *app) printTaken(r view.Report) {
	if len(r.Taken) == 0 {
		return
	}
	ops := make([]string, len(r.Operations))
	for i, op := range r.Operations {
		ops[i] = itoa(op)
	}
	where := ""
	if len(ops) > 0 {
		where = " (operation " + strings.Join(ops, ", ") + ")"
	}
	a.out.printf("Took over %s%s:\n", plural(int64(len(r.Taken)), "change", "changes"), where)
	for _, t := range r.Taken {
		what := ""
		switch {
		case t.Reason != "":
			what = "  " + a.out.colour(red, "refused: "+reasonText(t.Reason))
		case t.Both:
			what = "  changed on both sides: both are kept"
		case t.Log:
			what = "  daily log"
		}
		a.out.printf("  %s %s: %s%s\n", viewMarks[t.Kind], oneLine(t.File), t.Text, what)
	}
}

func viewJSON(v *openedView, r view.Report, dry bool) object {
	taken := []object{}
	for _, t := range r.Taken {
		taken = append(taken, object{
			{"file", t.File}, {"kind", string(t.Kind)}, {"id", t.ID}, {"log", t.Log}, {"both", t.Both}, {"reason", t.Reason},
		})
	}
	said := func(list []view.Waiting) []object {
		out := []object{}
		for _, w := range list {
			out = append(out, object{{"file", w.File}, {"why", w.Why}})
		}
		return out
	}
	return object{
		{"dir", v.dir}, {"format", string(v.format)}, {"dry_run", dry}, {"memories", r.Memories}, {"operations", append([]int64{}, r.Operations...)},
		{"taken", taken}, {"written", append([]string{}, r.Written...)}, {"removed", append([]string{}, r.Removed...)},
		{"waiting", said(r.Waiting)}, {"notes", said(r.Notes)}, {"kept", append([]string{}, r.Kept...)},
	}
}
