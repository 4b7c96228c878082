package main

import (
	"context"

	"github.com/spf13/cobra"

	pb "github.com/memsidecar/memsidecar/gen/memsidecar/v1"
)

// doctorCommand is "doctor": AdminService.Doctor, and the state of the hooks, which only this process can see.
func (a *app) doctorCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "doctor",
		Short: "Find problems and suggest fixes",
		Long: `Find problems and suggest fixes: storage, published files, clock, language model, embeddings, hooks.
The exit code is 1 if a check fails.`,
		Args: cobra.NoArgs,
		RunE: a.withClient(func(ctx context.Context, c *client, _ *cobra.Command, _ []string) error {
			resp, err := c.admin.Doctor(ctx, &pb.AdminServiceDoctorRequest{})
			if err != nil {
				return err
			}
			resp.Findings = append(resp.Findings, a.hookFindings()...)
			anyFailed := false
			for _, f := range resp.GetFindings() {
				anyFailed = anyFailed || f.GetLevel() == pb.FindingLevel_FINDING_LEVEL_FAIL
			}
			if err := a.out.result(resp, func() { a.printFindings(resp.GetFindings()) }); err != nil {
				return err
			}
			if anyFailed {
				return failed(exitError)
			}
			return nil
		}),
	}
}

// printFindings prints findings with a mark for their level, and their remedies.
func (a *app) printFindings(findings []*pb.Finding) {
	for _, f := range findings {
		sign := a.out.colour(green, "✓")
		switch f.GetLevel() {
		case pb.FindingLevel_FINDING_LEVEL_WARN:
			sign = a.out.colour(amber, "!")
		case pb.FindingLevel_FINDING_LEVEL_FAIL:
			sign = a.out.colour(red, "✗")
		}
		a.out.printf("%s %s: %s\n", sign, f.GetName(), printable(f.GetDetail()))
		if f.GetRemedy() != "" {
			a.out.printf("    %s\n", printable(f.GetRemedy()))
		}
	}
}
