package e2e_test

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

var mcpCreates = flag.Int("mcp.creates", 25, "entities that each of eight processes creates in the lost-update test")

// agent runs the program as an agent's host does, with the official client.
func (p place) agent(t *testing.T, args ...string) *mcp.ClientSession {
	t.Helper()
	cmd := p.Command(append([]string{"mcp"}, args...)...)
	cmd.Args = slices.DeleteFunc(cmd.Args, func(arg string) bool { return arg == "--no-start" })
	cmd.Env = append(cmd.Env, "XDG_RUNTIME_DIR="+p.Home(), "XDG_CONFIG_HOME="+p.Home())
	cmd.Stderr = os.Stderr
	session, err := mcp.NewClient(&mcp.Implementation{Name: "e2e", Version: "1"}, nil).Connect(t.Context(),
		&mcp.CommandTransport{Command: cmd}, nil)
	if err != nil {
		t.Fatal(err)
	}
	return session
}

// callTool calls a tool and decodes its structured result.
func callTool[T any](ctx context.Context, s *mcp.ClientSession, tool string, args any) (out T, err error) {
	res, err := s.CallTool(ctx, &mcp.CallToolParams{Name: tool, Arguments: args})
	if err == nil {
		err = res.GetError()
	}
	if err != nil {
		return out, fmt.Errorf("%s: %w", tool, err)
	}
	data, err := json.Marshal(res.StructuredContent)
	if err == nil {
		err = json.Unmarshal(data, &out)
	}
	return out, err
}

type graphEntity struct {
	Name         string   `json:"name"`
	EntityType   string   `json:"entityType"`
	Observations []string `json:"observations"`
}

type graphResult struct {
	Entities  []graphEntity `json:"entities"`
	Relations []any         `json:"relations"`
}

// span is when a call was on its way.
type span struct{ from, to time.Time }

// TestLostUpdate lets eight processes, each a server for an agent of its own as hosts run them, create entities in
// one store at the same time, and all add observations to one entity: nothing that was acknowledged may be missing.
// It says how much the calls overlapped, for without overlap it shows nothing. The first of the processes starts the
// daemon.
func TestLostUpdate(t *testing.T) {
	const processes = 8
	p := newPlace(t)
	t.Cleanup(func() { _ = p.Command("daemon", "stop").Run() })
	agents := make([]*mcp.ClientSession, processes)
	for i := range agents {
		agents[i] = p.agent(t, "--compat", "server-memory")
		defer agents[i].Close()
	}
	if _, err := callTool[graphResult](t.Context(), agents[0], "create_entities",
		map[string]any{"entities": []graphEntity{{"shared", "thing", []string{}}}}); err != nil {
		t.Fatal(err)
	}

	spans := make([][]span, processes)
	var wg sync.WaitGroup
	for i, a := range agents {
		wg.Go(func() {
			for n := range *mcpCreates {
				from := time.Now()
				out, err := callTool[graphResult](t.Context(), a, "create_entities", map[string]any{
					"entities": []graphEntity{
						{fmt.Sprintf("entity %d/%d", i, n), "thing",
							[]string{fmt.Sprintf("made by process %d as its number %d", i, n)}}},
				})
				if err != nil || len(out.Entities) != 1 {
					t.Errorf("process %d, entity %d: created %d, error %v", i, n, len(out.Entities), err)
					return
				}
				spans[i] = append(spans[i], span{from, time.Now()})
				if n%5 == 0 {
					if _, err := callTool[map[string]any](t.Context(), a, "add_observations",
						map[string]any{"observations": []any{
							map[string]any{"entityName": "shared",
								"contents": []string{fmt.Sprintf("seen by process %d at %d", i, n)}},
						}}); err != nil {
						t.Errorf("process %d, observation %d: %v", i, n, err)
					}
				}
			}
		})
	}
	wg.Wait()

	graph, err := callTool[graphResult](t.Context(), agents[0], "read_graph", map[string]any{})
	if err != nil {
		t.Fatal(err)
	}
	names := map[string]bool{}
	observations := 0
	for _, e := range graph.Entities {
		names[e.Name] = true
		if e.Name == "shared" {
			observations = len(e.Observations)
		}
	}
	for i := range processes {
		for n := range *mcpCreates {
			if name := fmt.Sprintf("entity %d/%d", i, n); !names[name] {
				t.Errorf("%s was acknowledged and is gone", name)
			}
		}
	}
	want := processes * *mcpCreates
	if len(graph.Entities) != want+1 || observations != processes*((*mcpCreates+4)/5) {
		t.Errorf("%d entities and %d observations of one survive, want %d and %d", len(graph.Entities), observations,
			want+1, processes*((*mcpCreates+4)/5))
	}
	most, share := overlap(spans)
	t.Logf("%d processes × %d creates: %d of %d survive; %.0f %% of the calls ran beside one of another process, at "+
		"most %d at once",
		processes, *mcpCreates, len(graph.Entities)-1, want, 100*share, most)
	if most < 2 {
		t.Error("no two calls of different processes overlapped: this has shown nothing")
	}
}

// overlap says how many calls were on their way at once at most, and which share of them overlapped with a call of
// another process.
func overlap(spans [][]span) (most int, share float64) {
	beside, all := 0, 0
	for i, mine := range spans {
		for _, s := range mine {
			here, met := 1, false
			for j, others := range spans {
				if i == j {
					continue
				}
				if slices.ContainsFunc(others, func(o span) bool {
					return o.from.Before(s.from) && o.to.After(s.from)
				}) {
					here++
				}
				met = met || slices.ContainsFunc(others, func(o span) bool {
					return o.from.Before(s.to) && o.to.After(s.from)
				})
			}
			all++
			if met {
				beside++
			}
			most = max(most, here)
		}
	}
	return most, float64(beside) / float64(max(all, 1))
}
