package main

import (
	"bufio"
	"context"
	"strings"

	"github.com/spf13/cobra"

	pb "github.com/memsidecar/memsidecar/gen/memsidecar/v1"
)

func (a *app) purgeCommand() *cobra.Command {
	req := &pb.MemoryServicePurgeRequest{}
	var yes bool
	cmd := &cobra.Command{
		Use:   "purge [ID…] [--text TEXT]…",
		Short: "Erase memories and texts for good, from the history too",
		Long: `Erase memories for good: every version of them, and the same text wherever else memsidecar keeps it: in other memories, logs, summaries, sessions, the
history, snapshots, published files, their backups and the quarantine, in all spaces. There is no undo. "memsidecar forget" is the command that can be
undone.

What stays is a salted hash that keeps reflection from learning the value again, and an entry in "memsidecar ops" that names ids only. Copies made by others
are not reached, nor are backups made before.

It first shows what would be erased, and asks. Without a terminal it demands --yes.`,
		Example: `  memsidecar purge 01a1b2c3
  echo "the text" | memsidecar purge --text - --yes`,
	}
	f := cmd.Flags()
	f.StringArrayVar(&req.Texts, "text", nil, "further text to erase wherever it occurs, of 4 characters or more; - reads it from standard input (repeatable)")
	f.BoolVar(&req.Transcripts, "transcripts", false, "also erase the messages of the sessions that the memories were learnt from")
	f.BoolVar(&req.DryRun, "dry-run", false, "only say what would be erased")
	f.BoolVar(&yes, "yes", false, "do not ask")
	f.StringVar(&req.Reason, "reason", "", "why, for the list of operations; must not hold the text")
	cmd.RunE = a.withClient(func(ctx context.Context, c *client, cmd *cobra.Command, args []string) error {
		req.Space, req.Ids = a.flags.space, args
		if len(args)+len(req.Texts) == 0 {
			return usageErrorOf(cmd, &cliError{what: "neither ids nor --text are given"})
		}
		ask := !yes && !req.DryRun
		if ask && (columns(a.stdout) == 0 || !terminal(a.stdin)) {
			return usagef("purge erases for good; look with --dry-run, then say --yes")
		}
		if err := a.readTexts(req.Texts); err != nil {
			return err
		}
		if ask {
			goOn, err := a.confirmPurge(ctx, c, req)
			if err != nil || !goOn {
				return err
			}
			var cancel context.CancelFunc
			ctx, cancel = a.deadline(cmd.Context()) // thinking takes time
			defer cancel()
		}
		resp, err := c.memory.Purge(ctx, req)
		if err != nil {
			return err
		}
		return a.out.result(resp, func() { a.printPurge(resp, req.GetDryRun()) })
	})
	return cmd
}

func (a *app) readTexts(texts []string) (err error) {
	for i := range texts {
		if texts[i], err = a.text(texts[i]); err != nil {
			return err
		}
	}
	return nil
}

// confirmPurge shows what would be erased and asks.
func (a *app) confirmPurge(ctx context.Context, c *client, req *pb.MemoryServicePurgeRequest) (bool, error) {
	req.DryRun = true
	resp, err := c.memory.Purge(ctx, req)
	req.DryRun = false
	if err != nil {
		return false, err
	}
	a.printPurge(resp, true)
	a.out.printf("Erase for good? There is no undo. [y/N] ")
	line, err := bufio.NewReader(a.stdin).ReadString('\n')
	if err != nil {
		return false, usagef("no answer")
	}
	if answer := strings.ToLower(strings.TrimSpace(line)); answer != "y" && answer != "yes" {
		a.out.printf("Nothing was erased.\n")
		return false, nil
	}
	return true, nil
}

func (a *app) printPurge(r *pb.MemoryServicePurgeResponse, dry bool) {
	if dry {
		a.out.printf("This would be erased:\n")
	} else {
		a.out.printf("Purged (operation %d). Erased were:\n", r.GetOperation())
	}
	var rows [][]string
	for _, p := range r.GetPlaces() {
		rows = append(rows, []string{itoa(p.GetCount()), purgeWords(p.GetKind(), p.GetCount())})
	}
	if len(rows) == 0 {
		a.out.printf("nothing\n")
	}
	for _, row := range rows {
		a.out.printf("%6s  %s\n", row[0], row[1])
	}
	for _, name := range r.GetLeft() {
		a.out.note("%s holds the text too and is not memsidecar's: it is left alone", printable(name))
	}
}

// purgeWords says a kind of place in words.
func purgeWords(kind string, n int64) string {
	one, many := strings.ReplaceAll(kind, "_", " "), ""
	switch kind {
	case "memory":
		many = "memories"
	case "log_entry":
		many = "log entries"
	case "summary":
		many = "summaries"
	case "archived":
		one, many = "record of an archived log", "records of archived logs"
	case "journal":
		one, many = "record of the journal", "records of the journal"
	case "snapshot":
		one, many = "file of the snapshots", "files of the snapshots"
	case "published":
		one, many = "published file or backup of one", "published files or backups of them"
	case "quarantine":
		one, many = "file in quarantine", "files in quarantine"
	case "index":
		one, many = "file of the index", "files of the index"
	default:
		many = one + "s"
	}
	if n == 1 {
		return one
	}
	return many
}
