package main

import (
	"context"
	"strings"

	"github.com/spf13/cobra"

	pb "github.com/memsidecar/memsidecar/gen/memsidecar/v1"
)

func (a *app) reflectCommand() *cobra.Command {
	req := &pb.SessionServiceReflectRequest{}
	var file string
	var noWait bool
	cmd := &cobra.Command{
		Use:   "reflect [SESSION]",
		Short: "End a session and learn from it",
		Long: `End a session and turn it into memories, all in one operation. A session that was reflected is not reflected again unless
it went on. With --file, a transcript that was not recorded here is read instead: a JSON object a line, such as

  {"role":"user","content":"Please use tabs"}
  {"role":"tool","tool":{"name":"fetch","arguments":"{}","error":"timeout","failed":true}}`,
		Example: `  memsidecar reflect 7f3c… --dry-run
  memsidecar reflect --file transcript.jsonl`,
		Args: cobra.MaximumNArgs(1),
	}
	f := cmd.Flags()
	f.StringVar(&file, "file", "", "transcript to read; - is standard input")
	f.BoolVar(&req.DryRun, "dry-run", false, "only say what would be learnt")
	f.BoolVar(&noWait, "no-wait", false, "end the session and reflect it in the background")
	f.StringVar(&req.IdempotencyKey, "key", "", "idempotency key")
	cmd.RunE = a.withClient(func(ctx context.Context, c *client, _ *cobra.Command, args []string) (err error) {
		if len(args) == 0 && file == "" {
			return usagef("name a session (see \"memsidecar session list\") or give a transcript with --file")
		}
		if file != "" && req.DryRun {
			return usagef("--dry-run needs a recorded session\nRecord the transcript first: memsidecar session append SESSION --file %s", file)
		}
		if file != "" {
			if req.Messages, err = a.messages(file); err != nil {
				return err
			}
		}
		req.Space, req.SessionId = a.flags.space, strings.Join(args, "")
		if noWait {
			req.Wait = new(false)
		}
		resp, err := c.session.Reflect(ctx, req)
		if err != nil {
			return err
		}
		return a.out.result(resp, func() { a.printReflection(resp, req.DryRun) })
	})
	return cmd
}

func (a *app) printReflection(r *pb.SessionServiceReflectResponse, dry bool) {
	if r.GetPending() {
		a.out.printf("The session has ended; it is reflected in the background.\n")
		if r.GetNote() != "" {
			a.out.printf("%s\n", printable(r.GetNote()))
		}
		return
	}
	if r.GetNote() != "" {
		a.out.printf("Rules decided: %s\n", printable(r.GetNote()))
	}
	if len(r.GetItems()) == 0 {
		a.out.printf("Nothing new to learn%s.\n", operation(r.GetResult()))
	} else {
		verb := "Learnt"
		if dry {
			verb = "Would learn"
		}
		a.out.printf("%s %s%s:\n", verb, plural(int64(len(r.GetItems())), "thing", "things"), operation(r.GetResult()))
		var rows [][]string
		for _, it := range r.GetItems() {
			rows = append(rows, a.reflectedRow(it))
		}
		a.out.table([]string{"DECISION", "CATEGORY", "SALIENCE", "CONTENT"}, rows)
	}
	if r.GetSummary() != "" {
		a.out.printf("\n%s\n", printable(r.GetSummary()))
	}
	if dry {
		a.out.printf("\n")
		a.printDry(r.GetChanges())
	}
}

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
