package main

import (
	"context"

	"github.com/spf13/cobra"

	pb "github.com/memsidecar/memsidecar/gen/memsidecar/v1"
)

// hintCommand is "recall hint": SearchService.Hint.
func (a *app) hintCommand() *cobra.Command {
	req := &pb.SearchServiceHintRequest{}
	cmd := &cobra.Command{
		Use:   "hint --tool NAME",
		Short: "Show known failures for a tool call before it runs",
		Long: `Show known failures for this exact tool call, and what worked instead. Usually there are none and the
output is empty; --json gives the reason. No language model is involved.

With --session, each rule is shown once per session. When the session is reflected, a rule that helped gains
salience, and a rule that did not loses salience.`,
		Example: `  memsidecar recall hint --tool terminal --args '{"command":"npm install"}' --session 7f3c…
  memsidecar recall hint --tool fetch_url --args -`,
		Args: cobra.NoArgs,
	}
	f := cmd.Flags()
	f.StringVar(&req.Tool, "tool", "", "tool name, as in the tool calls of the session")
	f.StringVar(&req.Arguments, "args", "", "tool arguments, usually JSON; - reads standard input")
	f.StringVar(&req.SessionId, "session", "", "session id of the host")
	_ = cmd.MarkFlagRequired("tool") // it was defined above
	cmd.RunE = a.withClient(func(ctx context.Context, c *client, _ *cobra.Command, _ []string) (err error) {
		if req.Arguments == "-" {
			if req.Arguments, err = a.text(req.GetArguments()); err != nil {
				return err
			}
		}
		req.Spaces = a.spaces()
		resp, err := c.search.Hint(ctx, req)
		if err != nil {
			return err
		}
		return a.out.result(resp, func() { a.out.printf("%s", resp.GetBlock()) })
	})
	return cmd
}
