package mcpserver_test

import (
	"regexp"
	"slices"
	"strings"
	"testing"

	pb "github.com/memsidecar/memsidecar/gen/memsidecar/v1"
	"github.com/memsidecar/memsidecar/internal/client/mcpserver"
	"github.com/memsidecar/memsidecar/internal/rpc/unixsock"
)

// named finds the tools at the end of a line of a start context: "Search …, with search_nodes."
var named = regexp.MustCompile(`(?m) with (.+)\.$`)

// TestStartNamesTools: a start context names only tools that the server of the set has.
func TestStartNamesTools(t *testing.T) {
	h := newTestDaemon(t)
	conn, err := unixsock.Dial(h.socket)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	for _, set := range append(mcpserver.Sets(), "default") {
		t.Run(set, func(t *testing.T) {
			started, err := pb.NewSessionServiceClient(conn).Start(t.Context(), &pb.SessionServiceStartRequest{
				SessionId: "named-" + set, Context: &pb.ContextOptions{Tools: set}})
			if err != nil {
				t.Fatal(err)
			}
			list, err := h.connectAgent(t, strings.TrimPrefix(set, "default")).ListTools(t.Context(), nil)
			if err != nil {
				t.Fatal(err)
			}
			var has []string
			for _, tool := range list.Tools {
				has = append(has, tool.Name)
			}
			lines := named.FindAllStringSubmatch(started.GetContext(), -1)
			if len(lines) == 0 {
				t.Fatalf("no tool is named: %s", started.GetContext())
			}
			for _, line := range lines {
				for name := range strings.SplitSeq(line[1], ", ") {
					if name, _, _ = strings.Cut(name, " "); !slices.Contains(has, name) {
						t.Errorf("%q is named; there are %v", name, has)
					}
				}
			}
		})
	}
}
