package main

import (
	"context"

	"github.com/spf13/cobra"

	pb "github.com/memsidecar/memsidecar/gen/memsidecar/v1"
)

func (a *app) doctorCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "doctor",
		Short: "Look for anything that needs attention, and say what to do",
		Args:  cobra.NoArgs,
		RunE: a.withClient(func(ctx context.Context, c *client, _ *cobra.Command, _ []string) error {
			resp, err := c.admin.Doctor(ctx, &pb.AdminServiceDoctorRequest{})
			if err != nil {
				return err
			}
			resp.Findings = append(resp.Findings, a.hookFindings()...)
			bad := false
			for _, f := range resp.GetFindings() {
				bad = bad || f.GetLevel() == pb.FindingLevel_FINDING_LEVEL_FAIL
			}
			if err := a.out.result(resp, func() { a.printFindings(resp.GetFindings()) }); err != nil {
				return err
			}
			if bad {
				return failed(exitError)
			}
			return nil
		}),
	}
}

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
