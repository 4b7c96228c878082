package main

import (
	"context"
	"os"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	pb "github.com/memsidecar/memsidecar/gen/memsidecar/v1"
)

// contextFlags are the flags of everything that shows a session's context.
type contextFlags struct {
	index bool
	*pb.ContextOptions
}

func addContextFlags(f *pflag.FlagSet) *contextFlags {
	c := &contextFlags{ContextOptions: &pb.ContextOptions{}}
	f.BoolVar(&c.index, "index", false, "a line for each memory instead of its text")
	f.Int32Var(&c.MaxTokens, "tokens", 0, "budget of the context in tokens, 50 to 8000 (default as configured)")
	f.StringVar(&c.Language, "language", "", "en or zh (default: that of the first message, else of the memories)")
	f.BoolVar(&c.Instructions, "instructions", false, "add the project's AGENTS.md and CLAUDE.md")
	f.BoolVar(&c.Bootstrap, "bootstrap", false, "add SOUL.md, USER.md, TOOLS.md and IDENTITY.md too")
	return c
}

func (c *contextFlags) options() *pb.ContextOptions {
	if c.index {
		c.Form = pb.ContextForm_CONTEXT_FORM_INDEX
	}
	return c.ContextOptions
}

func (a *app) contextCommand() *cobra.Command {
	req := &pb.SessionServiceStartRequest{}
	cmd := &cobra.Command{
		Use:   "context SESSION",
		Short: "Open a session and print what its agent should know from the beginning",
		Long: `Open a session and print what its agent should know from the beginning: the rolling summary, memories, the log of two days and, when
asked for, the project's own files, within a budget. It is made once for a session and is the same byte for byte whenever it is asked
for again, whatever has changed. What the agent wrote down for itself (memsidecar session working) stands behind it. The working
directory is this one unless --cwd names another.`,
		Example: `  memsidecar context 7f3c… --project --instructions
  memsidecar context 7f3c… --index --tokens 2000`,
		Args: cobra.ExactArgs(1),
	}
	f := cmd.Flags()
	options := addContextFlags(f)
	addStartFlags(f, req)
	cmd.RunE = a.withClient(func(ctx context.Context, c *client, _ *cobra.Command, args []string) (err error) {
		if req.Cwd == "" {
			if req.Cwd, err = os.Getwd(); err != nil {
				return err
			}
		}
		req.Space, req.SessionId, req.Context = a.flags.space, strings.Join(args, ""), options.options()
		resp, err := c.session.Start(ctx, req)
		if err != nil {
			return err
		}
		return a.out.result(resp, func() { a.out.printf("%s%s%s", resp.GetContext(), resp.GetWorking(), resp.GetRecall().GetBlock()) })
	})
	return cmd
}

// addStartFlags adds what is told of a session that is opened.
func addStartFlags(f *pflag.FlagSet, req *pb.SessionServiceStartRequest) {
	f.StringVar(&req.Host, "host", "", "agent or host program")
	f.StringVar(&req.Cwd, "cwd", "", "working directory of the agent")
	f.BoolVar(&req.ProjectSpace, "project", false, "work in a space of the directory's own project")
	f.Int32Var(&req.HostPid, "host-pid", 0, "process of the host")
	f.StringVar(&req.FirstMessage, "first-message", "", "the user's first message; what is recalled for it comes with the answer")
}
