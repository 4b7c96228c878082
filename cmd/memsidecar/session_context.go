package main

import (
	"context"
	"os"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	pb "github.com/memsidecar/memsidecar/gen/memsidecar/v1"
)

// contextFlags are the flags that shape the start context of a session.
type contextFlags struct {
	index    bool
	language string
	*pb.ContextOptions
}

// addContextFlags adds the flags of the start context.
func addContextFlags(f *pflag.FlagSet) *contextFlags {
	c := &contextFlags{ContextOptions: &pb.ContextOptions{}}
	f.BoolVar(&c.index, "index", false, "one line per memory instead of its text")
	f.Int32Var(&c.TokenBudget, "tokens", 0, "token budget of the context, 50 to 8000 (default: as configured)")
	f.StringVar(&c.language, "language", "", "en or zh (default: language of the first message, else of the memories)")
	f.BoolVar(&c.Instructions, "instructions", false, "include AGENTS.md of the project, or CLAUDE.md when there is none")
	f.BoolVar(&c.Bootstrap, "bootstrap", false, "also include SOUL.md, USER.md, TOOLS.md and IDENTITY.md")
	f.StringVar(&c.Tools, "tools", "", "set of memory tools that the agent has, such as default: say how to use them")
	return c
}

// options are the options that the flags select.
func (c *contextFlags) options() (opts *pb.ContextOptions, err error) {
	if c.index {
		c.Form = pb.ContextForm_CONTEXT_FORM_INDEX
	}
	c.Language, err = parseWord[pb.Language]("language", c.language)
	return c.ContextOptions, err
}

// contextCommand is "session context": SessionService.Start with a context.
func (a *app) contextCommand() *cobra.Command {
	req := &pb.SessionServiceStartRequest{}
	cmd := &cobra.Command{
		Use:   "context SESSION",
		Short: "Start a session and print its start context",
		Long: `Start a session and print its start context: the rolling summary, memories, the logs of two days and,
on request, the instruction files of the project, within a token budget. The context is built once per session;
every later call prints the same bytes. The working memory of the session (memsidecar session working) follows it.
The working directory is the current one unless --cwd is given.`,
		Example: `  memsidecar session context 7f3c… --project --instructions
  memsidecar session context 7f3c… --index --tokens 2000`,
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
		if req.Context, err = options.options(); err != nil {
			return err
		}
		if req.SessionId, err = a.sessionID(ctx, c, strings.Join(args, "")); err != nil {
			return err
		}
		req.Space = a.flags.space
		resp, err := c.session.Start(ctx, req)
		if err != nil {
			return err
		}
		return a.out.result(resp, func() {
			a.out.printf("%s%s%s", resp.GetContext(), resp.GetWorkingBlock(), resp.GetRecall().GetBlock())
		})
	})
	return cmd
}

// addStartFlags adds the flags that describe a session when it starts.
func addStartFlags(f *pflag.FlagSet, req *pb.SessionServiceStartRequest) {
	f.StringVar(&req.Host, "host", "", "host program of the agent")
	f.StringVar(&req.Cwd, "cwd", "", "working directory of the agent")
	f.BoolVar(&req.ProjectSpace, "project", false, "use the space of the project in the working directory")
	f.Int32Var(&req.HostPid, "host-pid", 0, "process id of the host")
	f.StringVar(&req.FirstMessage, "first-message", "",
		"the user's first message; memories recalled for it follow the context")
}
