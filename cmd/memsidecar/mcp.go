package main

import (
	"context"
	"io"
	"log/slog"
	"os"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/spf13/cobra"
	"google.golang.org/grpc"

	"github.com/memsidecar/memsidecar/internal/mcpserver"
)

const mcpLong = `Serve an agent over the Model Context Protocol, on standard input and output. Agents start this program
themselves; in their configuration it is the command "memsidecar" with the argument "mcp". The daemon is started when it is needed.

The tools search, save, read, list, change and forget memories, take changes back, and learn from a session; the
session's context and the daily logs are resources. With --space they work in that space.

With --compat the tools have the names and arguments that another memory has, so that prompts written for it go on
working with this store:
  server-memory  create_entities, create_relations, add_observations, delete_entities, delete_observations,
                 delete_relations, read_graph, search_nodes, open_nodes
  remember       remember, with the actions save, recall and forget
  memory-tools   MemorySearch, MemorySave, MemoryDelete, MemoryList`

func (a *app) mcpCommand() *cobra.Command {
	var set string
	cmd := &cobra.Command{
		Use:   "mcp",
		Short: "Serve an agent over the Model Context Protocol",
		Long:  mcpLong,
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if strings.Contains(a.flags.space, ",") {
				return usagef("--space names several spaces; an agent works in one")
			}
			cfg, err := a.load()
			if err != nil {
				return err
			}
			cwd, err := os.Getwd()
			if err != nil {
				cwd = "" // removed under our feet: then there is no project
			}
			server, err := mcpserver.New(mcpserver.Config{
				Connect: func(ctx context.Context) (*grpc.ClientConn, error) {
					c, err := a.connect(ctx, cfg)
					if err != nil {
						return nil, asCLIError(err)
					}
					return c.conn, nil
				},
				// An agent's host shows or keeps what stands on standard error: trouble only, and no texts.
				Logger:  slog.New(slog.NewTextHandler(a.stderr, &slog.HandlerOptions{Level: slog.LevelWarn})),
				Now:     a.now,
				Version: programVersion(), Space: a.flags.space, Set: set, Cwd: cwd, HostPID: os.Getppid(), Timeout: a.flags.timeout,
			})
			if err != nil {
				return usagef("--compat: %v", err)
			}
			return server.Run(cmd.Context(), &mcp.IOTransport{Reader: io.NopCloser(a.stdin), Writer: unclosed{a.stdout}})
		},
	}
	cmd.Flags().StringVar(&set, "compat", "", "serve the tools of another memory: "+strings.Join(mcpserver.Sets(), ", "))
	return cmd
}

// unclosed is a writer that is not the transport's to close.
type unclosed struct{ io.Writer }

func (unclosed) Close() error { return nil }
