package main

import (
	"bufio"
	"context"
	"log/slog"
	"os"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/spf13/cobra"
	"google.golang.org/grpc"

	"github.com/memsidecar/memsidecar/internal/client/mcpserver"
)

const mcpLong = `Run the MCP server (Model Context Protocol) on standard input and output. Agents start it:
configure the command "memsidecar" with the argument "mcp". The server starts the daemon when it needs it.

The tools search, save, read, list, update and forget memories, undo operations, and reflect a session. The context
of the session and the daily logs are resources. --space selects the space.

With --compat, the tools have the names and arguments of another memory system, so that prompts written for it work
with this store:
  server-memory  create_entities, create_relations, add_observations, delete_entities, delete_observations,
                 delete_relations, read_graph, search_nodes, open_nodes
  remember       remember, with the actions save, recall and forget
  memory-tools   MemorySearch, MemorySave, MemoryDelete, MemoryList
  search-fetch   search, fetch (connectors of ChatGPT)`

// mcpCommand is "mcp".
func (a *app) mcpCommand() *cobra.Command {
	var set string
	cmd := &cobra.Command{
		Use:     "mcp",
		Hidden:  true, // hosts run it
		Short:   "Run the MCP server on standard input and output",
		Long:    mcpLong,
		Example: "  memsidecar mcp --space work\n  memsidecar mcp --compat server-memory",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if strings.Contains(a.flags.space, ",") {
				return usagef("--space has several spaces; the MCP server uses one")
			}
			cfg, err := a.load()
			if err != nil {
				return err
			}
			cwd, err := os.Getwd()
			if err != nil {
				cwd = "" // the directory was removed: there is no project
			}
			server, err := mcpserver.New(mcpserver.Config{
				Connect: func(ctx context.Context) (*grpc.ClientConn, error) {
					c, err := a.connect(ctx, cfg)
					if err != nil {
						return nil, asCLIError(err)
					}
					return c.conn, nil
				},
				// Hosts show or store standard error, so it gets warnings only and no memory text.
				Logger:  slog.New(slog.NewTextHandler(a.stderr, &slog.HandlerOptions{Level: slog.LevelWarn})),
				Now:     a.now,
				Version: programVersion(), Space: a.flags.space, Set: set, Cwd: cwd, HostPID: os.Getppid(),
				Timeout: a.flags.timeout,
			})
			if err != nil {
				return usagef("--compat: %v", err)
			}
			out := &lockedWriter{w: a.stdout}
			return server.Run(cmd.Context(),
				&mcp.IOTransport{Reader: &mcpLines{in: bufio.NewReader(a.stdin), out: out}, Writer: out})
		},
	}
	cmd.Flags().StringVar(&set, "compat", "", "tool set of another memory system: "+
		strings.Join(mcpserver.Sets(), ", "))
	return cmd
}
