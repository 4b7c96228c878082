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

// skillCommand groups the commands on skills.
func (a *app) skillCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "skill",
		Short: "Record and list skills: workflows that worked",
		Args:  cobra.ArbitraryArgs,
		RunE:  a.groupRun,
	}
	cmd.AddCommand(a.skillAdd(), a.skillList())
	return cmd
}

// skillAdd is "memory skill add": SessionService.RecordSkill.
func (a *app) skillAdd() *cobra.Command {
	req := &pb.SessionServiceRecordSkillRequest{}
	var steps []string
	var file string
	cmd := &cobra.Command{
		Use:   "add NAME",
		Short: "Record a workflow that worked as a procedural memory",
		Long: `Record a workflow that worked as a procedural memory with its steps. A step is "TOOL: ARGUMENTS", or
any other text. --file reads the steps as JSON: [{"tool":…,"arguments":…,"note":…},…]. Recording the same steps
again increments a counter; other steps under the same name replace the old ones, which remain in the history.`,
		Example: `  memsidecar memory skill add "Release a version" --step "terminal: make test" --step "announce it in #releases"
  memsidecar memory skill add 发布版本 --when 每周五 --file steps.json`,
		Args: cobra.ExactArgs(1),
	}
	f := cmd.Flags()
	f.StringVar(&req.When, "when", "", "situation in which the skill applies")
	f.StringArrayVar(&steps, "step", nil, "step, in order (repeatable)")
	f.StringVar(&file, "file", "", "JSON file with the steps")
	f.StringVar(&req.SessionId, "session", "", "session in which the workflow succeeded")
	addWriteFlags(f, &req.IdempotencyKey, &req.Reason)
	cmd.MarkFlagsMutuallyExclusive("step", "file")
	cmd.RunE = a.withClient(func(ctx context.Context, c *client, _ *cobra.Command, args []string) (err error) {
		req.Name, req.Space = strings.Join(args, ""), a.flags.space
		if req.Steps, err = skillSteps(steps, file); err != nil {
			return err
		}
		resp, err := c.session.RecordSkill(ctx, req)
		if err != nil {
			return err
		}
		return a.written(resp, resp.GetResult(), "Recorded", "Already recorded:")
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
			return nil, &cliError{what: file + " is not a list of steps: " + err.Error(), code: exitUsage, cause: err,
				hint: "See \"memsidecar memory skill add --help\" for the format."}
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

// skillList is "memory skill list". A skill is a procedural memory with steps in its structured data.
func (a *app) skillList() *cobra.Command {
	return &cobra.Command{
		Use:   "list",
		Short: "List recorded skills",
		Args:  cobra.NoArgs,
		RunE: a.withClient(func(ctx context.Context, c *client, _ *cobra.Command, _ []string) error {
			skills := &pb.MemoryServiceListResponse{}
			req := &pb.MemoryServiceListRequest{Space: a.flags.space,
				Filter: &pb.MemoryFilter{Categories: []string{memory.Procedural}}, PageSize: 1000}
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

// printSkills prints skills as a table.
func (a *app) printSkills(skills []*pb.Memory) {
	if len(skills) == 0 {
		a.out.printf("No skills yet%s. Record one: memsidecar memory skill add NAME --step …\n", a.inSpace())
		return
	}
	var rows [][]string
	for _, m := range skills {
		steps := m.GetStructuredData().GetFields()["skill"].GetStructValue().GetFields()["steps"].GetListValue().GetValues()
		rows = append(rows, []string{shortID(m.GetId()), itoa(int64(len(steps))), itoa(m.GetContext().GetOccurrences()),
			oneLine(m.GetTitle())})
	}
	a.out.table([]string{"ID", "STEPS", "WORKED", "NAME"}, rows)
}
