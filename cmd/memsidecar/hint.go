package main

import (
	"context"
	"encoding/json"
	"os"
	"strings"

	"github.com/spf13/cobra"

	pb "github.com/memsidecar/memsidecar/gen/memsidecar/v1"
	"github.com/memsidecar/memsidecar/internal/memory"
)

func (a *app) hintCommand() *cobra.Command {
	req := &pb.ProcedureServiceHintRequest{}
	cmd := &cobra.Command{
		Use:   "hint --tool NAME",
		Short: "Say what is known to fail about an action, before it is taken",
		Long: `Say what is known to fail about exactly the action that an agent is about to take, and what worked instead. Nothing is by far the most usual
answer; --json says why. No model is asked.

In a session a rule is shown once, until the session is reflected: then a rule that helped gains salience, and one after which the same failed again
loses some.`,
		Example: `  memsidecar hint --tool terminal --args '{"command":"npm install"}' --session 7f3c…
  memsidecar hint --tool fetch_url --args -`,
		Args: cobra.NoArgs,
	}
	f := cmd.Flags()
	f.StringVar(&req.Tool, "tool", "", "name of the tool, as the session's tool calls have it")
	f.StringVar(&req.Arguments, "args", "", "what the tool will be asked, usually JSON; - reads it from the standard input")
	f.StringVar(&req.SessionId, "session", "", "session of the host")
	_ = cmd.MarkFlagRequired("tool") // it was defined above
	cmd.RunE = a.withClient(func(ctx context.Context, c *client, _ *cobra.Command, _ []string) (err error) {
		if req.Arguments == "-" {
			if req.Arguments, err = a.text(req.GetArguments()); err != nil {
				return err
			}
		}
		req.Spaces = a.spaces()
		resp, err := c.procedure.Hint(ctx, req)
		if err != nil {
			return err
		}
		return a.out.result(resp, func() { a.out.printf("%s", resp.GetBlock()) })
	})
	return cmd
}

func (a *app) skillCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "skill",
		Short: "Workflows that worked: add, list",
		Args:  cobra.ArbitraryArgs,
		RunE:  a.groupRun,
	}
	cmd.AddCommand(a.skillAdd(), a.skillList())
	return cmd
}

func (a *app) skillAdd() *cobra.Command {
	req := &pb.ProcedureServiceRecordSkillRequest{}
	var steps []string
	var file string
	cmd := &cobra.Command{
		Use:   "add NAME",
		Short: "Keep a workflow that worked, as a procedural memory",
		Long: `Keep a workflow that worked, as a procedural memory with its steps. A step is a text, or "TOOL: ARGUMENTS" when its first word is a name followed by a
colon. --file reads the steps as JSON: [{"tool":…,"arguments":…,"note":…},…]. The same steps again are counted; other steps under the same name replace them, and the
old ones stay in the history.`,
		Example: `  memsidecar skill add "Release a version" --step "terminal: make test" --step "terminal: make release" --step "tell the channel #releases"
  memsidecar skill add 发布版本 --when 每周五 --file steps.json`,
		Args: cobra.ExactArgs(1),
	}
	f := cmd.Flags()
	f.StringVar(&req.When, "when", "", "when it is of use")
	f.StringArrayVar(&steps, "step", nil, "a step; once for each, in order")
	f.StringVar(&file, "file", "", "JSON file with the steps")
	f.StringVar(&req.SessionId, "session", "", "session in which it worked")
	f.StringVar(&req.IdempotencyKey, "key", "", "idempotency key")
	cmd.MarkFlagsMutuallyExclusive("step", "file")
	cmd.RunE = a.withClient(func(ctx context.Context, c *client, _ *cobra.Command, args []string) (err error) {
		req.Name, req.Space = strings.Join(args, ""), a.flags.space
		if req.Steps, err = skillSteps(steps, file); err != nil {
			return err
		}
		resp, err := c.procedure.RecordSkill(ctx, req)
		if err != nil {
			return err
		}
		return a.written(resp, resp.GetResult(), "Recorded", "Recorded already:")
	})
	return cmd
}

// skillSteps reads the steps of a skill from flags or a file.
func skillSteps(texts []string, file string) (out []*pb.SkillStep, err error) {
	if file != "" {
		data, err := os.ReadFile(file)
		if err != nil {
			return nil, &cliError{what: err.Error(), code: exitUsage, cause: err}
		}
		var steps []memory.Step
		if err := json.Unmarshal(data, &steps); err != nil {
			return nil, &cliError{what: file + " holds no list of steps: " + err.Error(), code: exitUsage, cause: err, hint: "\"memsidecar skill add --help\" shows the form."}
		}
		for _, s := range steps {
			out = append(out, &pb.SkillStep{Tool: s.Tool, Arguments: s.Arguments, Note: s.Note})
		}
		return out, nil
	}
	for _, text := range texts {
		tool, args, ok := strings.Cut(text, ": ")
		if ok && tool != "" && !strings.ContainsAny(tool, " \t") {
			out = append(out, &pb.SkillStep{Tool: tool, Arguments: strings.TrimSpace(args)})
		} else {
			out = append(out, &pb.SkillStep{Note: text})
		}
	}
	return out, nil
}

func (a *app) skillList() *cobra.Command {
	return &cobra.Command{
		Use:   "list",
		Short: "List the skills that are kept",
		Args:  cobra.NoArgs,
		RunE: a.withClient(func(ctx context.Context, c *client, _ *cobra.Command, _ []string) error {
			skills := &pb.MemoryServiceListResponse{}
			req := &pb.MemoryServiceListRequest{Space: a.flags.space, Filter: &pb.MemoryFilter{Categories: []string{memory.Procedural}}, PageSize: 1000}
			for {
				page, err := c.memory.List(ctx, req)
				if err != nil {
					return err
				}
				for _, m := range page.GetMemories() {
					if m.GetStructuredData().GetFields()["skill"] != nil {
						skills.Memories = append(skills.Memories, m)
					}
				}
				if req.PageToken = page.GetNextPageToken(); req.GetPageToken() == "" {
					break
				}
			}
			return a.out.result(skills, func() { a.printSkills(skills.GetMemories()) })
		}),
	}
}

func (a *app) printSkills(skills []*pb.Memory) {
	if len(skills) == 0 {
		a.out.printf("No skills yet%s. Keep one: memsidecar skill add NAME --step …\n", a.inSpace())
		return
	}
	var rows [][]string
	for _, m := range skills {
		steps := m.GetStructuredData().GetFields()["skill"].GetStructValue().GetFields()["steps"].GetListValue().GetValues()
		rows = append(rows, []string{m.GetId(), itoa(int64(len(steps))), itoa(m.GetContext().GetOccurrences()), oneLine(m.GetTitle())})
	}
	a.out.table([]string{"ID", "STEPS", "WORKED", "NAME"}, rows)
}
