package main

import (
	"context"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	pb "github.com/memsidecar/memsidecar/gen/memsidecar/v1"
)

// reflectCommand is "session reflect": SessionService.Reflect.
func (a *app) reflectCommand() *cobra.Command {
	req := &pb.SessionServiceReflectRequest{}
	var file string
	cmd := &cobra.Command{
		Use:   "reflect [SESSION]",
		Short: "End a session and learn from it",
		Long: `End a session and turn it into memories, in one operation. A reflected session is not reflected again
unless it has new messages. With --file, reflect a transcript that was not recorded here; it has one JSON object per
line:

  {"role":"user","content":"Please use tabs"}
  {"role":"tool","tool":{"name":"fetch","arguments":"{}","error":"timeout","failed":true}}`,
		Example: `  memsidecar session reflect 7f3c… --dry-run
  memsidecar session reflect --file transcript.jsonl`,
		Args: cobra.MaximumNArgs(1),
	}
	f := cmd.Flags()
	f.StringVar(&file, "file", "", "transcript to read; - reads standard input")
	f.BoolVar(&req.DryRun, "dry-run", false, "only show what would be learned")
	f.BoolVar(&req.Async, "no-wait", false, "end the session and let the daemon reflect it in the background")
	addWriteFlags(f, &req.IdempotencyKey, nil)
	cmd.RunE = a.withClient(func(ctx context.Context, c *client, _ *cobra.Command, args []string) (err error) {
		if len(args) == 0 && file == "" {
			return usagef("give a session id (see \"memsidecar session list\") or a transcript with --file")
		}
		if file != "" && req.DryRun {
			return usagef("--dry-run needs a recorded session\nRecord the transcript first: memsidecar session "+
				"append SESSION --file %s", file)
		}
		if file != "" {
			if req.Messages, err = a.messages(file); err != nil {
				return err
			}
		}
		if req.SessionId, err = a.sessionID(ctx, c, strings.Join(args, "")); err != nil {
			return err
		}
		req.Space = a.flags.space
		resp, err := c.session.Reflect(ctx, req)
		if err != nil {
			return err
		}
		return a.out.result(resp, func() { a.printReflection(resp, req.DryRun) })
	})
	return cmd
}

// printReflection prints what was learned, and for a dry run the changes.
func (a *app) printReflection(r *pb.SessionServiceReflectResponse, dry bool) {
	if r.GetPending() {
		a.out.printf("The session has ended; the daemon reflects it in the background.\n")
		if r.GetFallbackReason() != "" {
			a.out.printf("%s\n", printable(r.GetFallbackReason()))
		}
		return
	}
	if r.GetFallbackReason() != "" {
		how := "Decided by rules"
		if slices.ContainsFunc(r.GetItems(), isReadOnly) {
			how = "Nothing is learnt"
		}
		a.out.printf("%s: %s\n", how, printable(r.GetFallbackReason()))
	}
	a.printReflected(r, dry)
	if r.GetSummary() != "" {
		a.out.printf("\n%s\n", printable(r.GetSummary()))
	}
	if dry {
		a.out.printf("\n")
		a.printDry(r.GetChanges())
	}
}

// printReflected prints the items as a table, those too that were known already.
func (a *app) printReflected(r *pb.SessionServiceReflectResponse, dry bool) {
	if id := r.GetResult().GetOperationId(); r.GetResult().GetReplayed() && id != "" {
		a.out.printf("Reflected before, in operation %s; \"memsidecar ops show %s\" shows what was learned.\n", id, id)
		return
	}
	learned := 0
	var rows [][]string
	for _, it := range r.GetItems() {
		if it.GetDecision() != pb.Decision_DECISION_NOOP && !isReadOnly(it) {
			learned++
		}
		rows = append(rows, a.reflectedRow(it))
	}
	end := ":"
	if len(rows) == 0 {
		end = "."
	}
	switch count := plural(int64(learned), "thing", "things"); {
	case learned == 0:
		a.out.printf("Nothing new learned%s%s\n", operation(r.GetResult()), end)
	case dry:
		a.out.printf("Would learn %s%s%s\n", count, operation(r.GetResult()), end)
	default:
		a.out.printf("Learned %s%s%s\n", count, operation(r.GetResult()), end)
	}
	if len(rows) > 0 {
		a.out.table([]string{"DECISION", "CATEGORY", "SALIENCE", "CONTENT"}, rows)
	}
}

// isReadOnly reports whether an item was refused because its space is only received.
func isReadOnly(it *pb.ReflectedItem) bool { return it.GetOutcome().GetReason() == "READ_ONLY_SPACE" }

// reflectedRow is the table row of one learned item.
func (a *app) reflectedRow(it *pb.ReflectedItem) []string {
	decision := strings.ToUpper(word(it.GetDecision()))
	m := it.GetMemory()
	content := oneLine(m.GetContent())
	salience := ""
	if m != nil {
		salience = number(m.GetSalience())
	}
	if it.GetTargetId() != "" {
		content = strings.TrimSpace(content + "  (" + it.GetTargetId() + ")")
	}
	reason := it.GetOutcome().GetReason()
	if reason == "" {
		reason = it.GetRule()
	}
	if reason != "" {
		content += "  [" + reasonText(reason) + "]"
	}
	return []string{decision, m.GetCategory(), salience, content}
}
