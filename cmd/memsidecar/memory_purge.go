package main

import (
	"bufio"
	"cmp"
	"context"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	pb "github.com/memsidecar/memsidecar/gen/memsidecar/v1"
)

// purgeCommand is "memory purge": MemoryService.Purge, first as a dry run for the confirmation.
func (a *app) purgeCommand() *cobra.Command {
	req := &pb.MemoryServicePurgeRequest{}
	var yes bool
	cmd := &cobra.Command{
		Use:   "purge [ID…] [--text TEXT]…",
		Short: "Erase memories and texts for good, including their history",
		Long: `Erase memories for good: all their versions, and the same text in other memories, logs, summaries,
sessions, the history, snapshots, published files with their backups, and the quarantine, in all spaces. This cannot
be undone; "memsidecar forget" can.

A salted hash remains, so that reflection does not learn the value again, and an entry in "memsidecar ops" that
contains ids only. Backups that you made earlier, and copies made by other programs, are not changed.

The command shows what it would erase and asks for confirmation. Without a terminal it requires --yes.`,
		Example: `  memsidecar memory purge 0199a2c4-6e1b-7c33-9f0d-5b8e2d7a41f6 --dry-run
  echo "the text" | memsidecar memory purge --text - --yes`,
	}
	f := cmd.Flags()
	f.StringArrayVar(&req.Texts, "text", nil,
		"text to erase wherever it occurs, at least 4 characters; - reads standard input (repeatable)")
	f.BoolVar(&req.Transcripts, "transcripts", false,
		"also erase the messages of the sessions that the memories were learned from")
	f.BoolVar(&req.DryRun, "dry-run", false, "only show what would be erased")
	f.BoolVar(&yes, "yes", false, "do not ask for confirmation")
	f.StringVar(&req.Reason, "reason", "", "reason to record with the operation; must not contain the text")
	cmd.RunE = a.withClient(func(ctx context.Context, c *client, cmd *cobra.Command, args []string) error {
		if len(args)+len(req.Texts) == 0 {
			return usageErrorOf(cmd, &cliError{what: "give at least one id or --text"})
		}
		ids, err := a.memoryIDs(ctx, c, args)
		if err != nil {
			return err
		}
		req.Space, req.Ids = a.flags.space, ids
		ask := !yes && !req.DryRun
		if ask && (columns(a.stdout) == 0 || !terminal(a.stdin)) {
			return usagef("purge erases for good: check with --dry-run, then repeat with --yes")
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
			ctx, cancel = a.deadline(cmd.Context()) // the time at the prompt must not count
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

// readTexts replaces each "-" by a text from standard input.
func (a *app) readTexts(texts []string) (err error) {
	for i := range texts {
		if texts[i], err = a.text(texts[i]); err != nil {
			return err
		}
	}
	return nil
}

// confirmPurge shows what a purge would erase and asks for confirmation.
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
		return false, usagef("no answer on standard input; nothing was erased")
	}
	if answer := strings.ToLower(strings.TrimSpace(line)); answer != "y" && answer != "yes" {
		a.out.printf("Nothing was erased.\n")
		return false, nil
	}
	return true, nil
}

// printPurge prints how many places of each kind were erased, or would be.
func (a *app) printPurge(r *pb.MemoryServicePurgeResponse, dry bool) {
	if dry {
		a.out.printf("This would be erased:\n")
	} else {
		a.out.printf("Purged%s. Erased:\n", operation(r.GetResult()))
	}
	var rows [][]string
	for _, p := range r.GetPlaces() {
		rows = append(rows, []string{itoa(p.GetCount()), purgeWords(word(p.GetKind()), p.GetCount())})
	}
	if len(rows) == 0 {
		a.out.printf("nothing\n")
	}
	for _, row := range rows {
		a.out.printf("%6s  %s\n", row[0], row[1])
	}
	for _, p := range r.GetShared() {
		a.out.printf("%s\n", sharedPurge(p.GetSpace(), p.GetPosition(), p.GetConfirmed(), p.GetMissing()))
	}
	for _, name := range r.GetForeignFiles() {
		a.out.note("%s also contains the text but does not belong to memsidecar; it was not changed", printable(name))
	}
}

// sharedPurge says how far a purge has come in a shared space.
func sharedPurge(space string, position int64, confirmed, missing []string) string {
	names := func(hosts []string) string { return printable(strings.Join(hosts, ", ")) }
	switch {
	case position == 0:
		return fmt.Sprintf("Space %s: erased on this machine; the database and the other machines follow when the database "+
			"answers.", space)
	case len(missing) == 0:
		return fmt.Sprintf("Space %s: erased in the database and on every machine (%s).", space, names(confirmed))
	}
	return fmt.Sprintf("Space %s: erased in the database and on %s; not yet on %s, which erases it when it is next in "+
		"contact.", space, cmp.Or(names(confirmed), "no machine"), names(missing))
}

// purgeWords is the noun for a kind of place, singular or plural by n.
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
		one, many = "journal record", "journal records"
	case "snapshot":
		one, many = "snapshot file", "snapshot files"
	case "published":
		one, many = "published file or its backup", "published files or their backups"
	case "quarantine":
		one, many = "quarantined file", "quarantined files"
	case "index":
		one, many = "index file", "index files"
	default:
		many = one + "s"
	}
	if n == 1 {
		return one
	}
	return many
}
