package main

import (
	"cmp"
	"context"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	pb "github.com/memsidecar/memsidecar/gen/memsidecar/v1"
	"github.com/memsidecar/memsidecar/internal/client/hook"
)

// pauseCommand is "daemon pause": AdminService.Pause.
func (a *app) pauseCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "pause [HOST]",
		Short: "Pause recording, or one host altogether",
		Long: `Pause recording: session messages and reflections are refused, from everybody.

With HOST, only that agent or host program is paused: it gets no memories, and nothing from it is recorded. What is said
during the pause is not recorded later either. Names that go on with the kind or version of a program belong to HOST:
"codex" is also the MCP client "codex-mcp-client 1.2". A pause lasts until ` + "`memsidecar daemon resume`" + `, also when
the daemon is restarted.`,
		Example: "  memsidecar daemon pause claude-code\n  memsidecar daemon pause",
		Args:    cobra.MaximumNArgs(1),
		RunE: a.withClient(func(ctx context.Context, c *client, _ *cobra.Command, args []string) error {
			host := strings.Join(args, "")
			if len(args) > 0 && strings.TrimSpace(host) == "" {
				return usagef("the name of the host is empty")
			}
			resp, err := c.admin.Pause(ctx, &pb.AdminServicePauseRequest{Host: host})
			if err != nil {
				return err
			}
			if host != "" && hook.ByName(host) == nil {
				a.out.note("%q is none of the hosts that `memsidecar install` knows; programs that give this name are paused",
					host)
			}
			return a.out.result(resp, func() {
				if host != "" {
					a.out.printf("%s is paused until `memsidecar daemon resume %s`: it gets no memories, and nothing of it is "+
						"recorded.\n", printable(host), printable(host))
					return
				}
				a.out.printf("Recording is paused until `memsidecar daemon resume`.\n")
			})
		}),
	}
}

// resumeCommand is "daemon resume": AdminService.Resume.
func (a *app) resumeCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "resume [HOST]",
		Short: "Resume recording, or a paused host",
		Args:  cobra.MaximumNArgs(1),
		RunE: a.withClient(func(ctx context.Context, c *client, _ *cobra.Command, args []string) error {
			host := strings.Join(args, "")
			if len(args) > 0 && strings.TrimSpace(host) == "" {
				return usagef("the name of the host is empty")
			}
			isPaused := func(h string) bool { return strings.EqualFold(h, strings.TrimSpace(host)) }
			if paused := c.info.GetPausedHosts(); host != "" && !slices.ContainsFunc(paused, isPaused) {
				return usagef("%s is not paused; paused hosts: %s", printable(host),
					cmp.Or(printable(strings.Join(paused, ", ")), "none"))
			}
			resp, err := c.admin.Resume(ctx, &pb.AdminServiceResumeRequest{Host: host})
			if err != nil {
				return err
			}
			return a.out.result(resp, func() {
				if host != "" {
					a.out.printf("%s resumed.\n", printable(host))
					return
				}
				a.out.printf("Recording resumed.\n")
			})
		}),
	}
}
