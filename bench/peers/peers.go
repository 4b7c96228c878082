// Peers runs the same calls of the Model Context Protocol against memsidecar and against the protocol's reference
// memory server, and prints what each costs and what each loses. Both are driven over standard input and output by
// the same client, on fresh stores, in the same run:
//
//	npm install --prefix DIR @modelcontextprotocol/server-memory@2026.8.31
//	go run ./bench/peers --server-memory DIR/node_modules/@modelcontextprotocol/server-memory/dist/index.js
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"text/tabwriter"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/memsidecar/memsidecar/bench/process"
)

const (
	agents      = 4   // processes that write to one store at the same time
	agentWrites = 100 // entities that each of them creates
	killRounds  = 20
	calls       = 200 // calls of each measured latency

	// idle is the pause before latencies are measured: memsidecar embeds new memories in the background.
	idle = 30 * time.Second
)

// peer is a memory server that speaks the reference server's tools.
type peer struct {
	name  string
	start func(dir string) *exec.Cmd // serves one agent on the store in dir
	kill  func(dir string, agent *exec.Cmd) error
	stop  func(dir string) // ends what outlives the agents
}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, os.Args[1:], os.Stdout, os.Stderr); err != nil {
		fmt.Fprintln(os.Stderr, "peers:", err)
		os.Exit(1)
	}
}

// run measures every peer one after the other, since two at once would share the processors and the disk.
func run(ctx context.Context, args []string, stdout, stderr io.Writer) error {
	flags := flag.NewFlagSet("peers", flag.ContinueOnError)
	flags.SetOutput(stderr)
	script := flags.String("server-memory", "", "path of the reference server's dist/index.js (required)")
	size := flags.Int("size", 1000, "entities in the store when latencies are measured")
	if err := flags.Parse(args); err != nil {
		return err
	}
	if *script == "" {
		flags.Usage()
		return errors.New("--server-memory is required")
	}
	dir, err := os.MkdirTemp("", "peers")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(dir) }()
	if err := os.Mkdir(filepath.Join(dir, "home"), 0o700); err != nil {
		return err
	}
	bin, err := process.Build(ctx, dir, "cmd/memsidecar", stderr)
	if err != nil {
		return err
	}
	w := tabwriter.NewWriter(stdout, 0, 8, 2, ' ', 0)
	fmt.Fprintf(w, "\tcreate p50\tp99\tsearch p50\tp99\tlost of %d by %d agents\tlost in %d kills\tunreadable after\n",
		agents*agentWrites, agents, killRounds)
	for _, p := range []peer{memsidecar(bin, dir), reference(*script)} {
		row, err := measure(ctx, p, dir, *size)
		if err != nil {
			return fmt.Errorf("%s: %w", p.name, err)
		}
		fmt.Fprintf(w, "%s\t%s\n", p.name, row)
	}
	return w.Flush()
}

// memsidecar is the daemon behind its MCP server, in the compatibility mode that has the reference server's
// tools. Its home is a directory of its own, so that no installed daemon or configuration takes part.
func memsidecar(bin, dir string) peer {
	home := filepath.Join(dir, "home")
	env := append(os.Environ(), "XDG_RUNTIME_DIR="+home, "HOME="+home, "XDG_CONFIG_HOME="+home)
	return peer{
		name: "memsidecar",
		start: func(data string) *exec.Cmd {
			cmd := exec.Command(bin, "mcp", "--compat", "server-memory", "--data", data)
			cmd.Env, cmd.Stderr = env, os.Stderr
			return cmd
		},
		// The agent's process holds nothing; the daemon does, and its pid is in its lock file.
		kill: func(data string, _ *exec.Cmd) error {
			raw, err := os.ReadFile(filepath.Join(data, "LOCK"))
			if err != nil {
				return err
			}
			pid, err := strconv.Atoi(strings.TrimSpace(string(raw)))
			if err != nil {
				return err
			}
			daemon, err := os.FindProcess(pid)
			if err != nil {
				return err
			}
			return daemon.Kill()
		},
		stop: func(data string) {
			raw, err := os.ReadFile(filepath.Join(data, "LOCK"))
			if err != nil {
				return
			}
			if pid, err := strconv.Atoi(strings.TrimSpace(string(raw))); err == nil {
				if daemon, err := os.FindProcess(pid); err == nil {
					_ = daemon.Signal(syscall.SIGTERM)
				}
			}
		},
	}
}

// reference is the Model Context Protocol's own memory server, which keeps its graph in one JSONL file and in
// the agent's process, so that killing the agent kills the store.
func reference(script string) peer {
	return peer{
		name: "server-memory",
		start: func(data string) *exec.Cmd {
			cmd := exec.Command("node", script)
			cmd.Env = append(os.Environ(), "MEMORY_FILE_PATH="+filepath.Join(data, "memory.jsonl"))
			return cmd
		},
		kill: func(_ string, agent *exec.Cmd) error { return agent.Process.Kill() },
		stop: func(string) {},
	}
}

// measure returns the cells of one peer's row.
func measure(ctx context.Context, p peer, dir string, size int) (string, error) {
	store := func(name string) (string, error) {
		d := filepath.Join(dir, "stores", p.name, name)
		return d, os.MkdirAll(d, 0o700)
	}
	data, err := store("latency")
	if err != nil {
		return "", err
	}
	create, search, err := latencies(ctx, p, data, size)
	p.stop(data)
	if err != nil {
		return "", fmt.Errorf("latencies: %w", err)
	}
	if data, err = store("concurrent"); err != nil {
		return "", err
	}
	lost, err := concurrent(ctx, p, data)
	p.stop(data)
	if err != nil {
		return "", fmt.Errorf("concurrent agents: %w", err)
	}
	killed, unreadable := 0, 0
	for i := range killRounds {
		if data, err = store(fmt.Sprintf("kill%d", i)); err != nil {
			return "", err
		}
		missing, broken, err := crash(ctx, p, data)
		p.stop(data)
		if err != nil {
			return "", fmt.Errorf("kill: %w", err)
		}
		killed += missing
		if broken {
			unreadable++
		}
	}
	return fmt.Sprintf("%.2f ms\t%.2f ms\t%.2f ms\t%.2f ms\t%d\t%d\t%d of %d", ms(create, .5), ms(create, .99),
		ms(search, .5), ms(search, .99), lost, killed, unreadable, killRounds), nil
}

// ms returns a quantile of sorted durations in milliseconds.
func ms(sorted []time.Duration, q float64) float64 {
	return float64(sorted[int(q*float64(len(sorted)-1))].Microseconds()) / 1000
}

// connect starts an agent's MCP server and completes the handshake over its standard input and output.
func connect(ctx context.Context, cmd *exec.Cmd) (*mcp.ClientSession, error) {
	return mcp.NewClient(&mcp.Implementation{Name: "peers", Version: "1"}, nil).
		Connect(ctx, &mcp.CommandTransport{Command: cmd}, nil)
}

// call returns the structured result of a tool.
func call(ctx context.Context, s *mcp.ClientSession, tool string, args any) (map[string]any, error) {
	res, err := s.CallTool(ctx, &mcp.CallToolParams{Name: tool, Arguments: args})
	if err != nil {
		return nil, err
	}
	if res.IsError {
		return nil, fmt.Errorf("%s: %v", tool, res.Content)
	}
	out, _ := res.StructuredContent.(map[string]any)
	return out, nil
}

// entities makes n entities whose observations share no words but common ones.
func entities(prefix string, from, n int) map[string]any {
	list := make([]map[string]any, n)
	for i := range list {
		k := from + i
		list[i] = map[string]any{"name": fmt.Sprintf("%s %d", prefix, k), "entityType": "note",
			"observations": []string{
				fmt.Sprintf("The service %s%d listens on port %d in rack %d.", prefix, k, 1024+k, k%40)}}
	}
	return map[string]any{"entities": list}
}

// latencies fills a store and times single calls, sorted. Every created entity is new, since a duplicate is
// answered without a write, and an empty answer to a search is an error, since it would be faster than a
// right one.
func latencies(ctx context.Context, p peer, data string, size int) (create, search []time.Duration, err error) {
	s, err := connect(ctx, p.start(data))
	if err != nil {
		return nil, nil, err
	}
	defer s.Close()
	for at := 0; at < size; at += 100 {
		if _, err := call(ctx, s, "create_entities", entities("service", at, min(100, size-at))); err != nil {
			return nil, nil, err
		}
	}
	time.Sleep(idle)
	for i := range calls {
		began := time.Now()
		if _, err := call(ctx, s, "create_entities", entities("later", i, 1)); err != nil {
			return nil, nil, err
		}
		create = append(create, time.Since(began))
	}
	for i := range calls {
		began := time.Now()
		out, err := call(ctx, s, "search_nodes", map[string]any{"query": fmt.Sprintf("service%d", i*7%size)})
		if err != nil {
			return nil, nil, err
		}
		search = append(search, time.Since(began))
		if list, _ := out["entities"].([]any); len(list) == 0 {
			return nil, nil, fmt.Errorf("search %d found nothing", i)
		}
	}
	slices.Sort(create)
	slices.Sort(search)
	return create, search, nil
}

// concurrent returns how many acknowledged entities are missing after several agents wrote to one store.
func concurrent(ctx context.Context, p peer, data string) (int, error) {
	var (
		wg   sync.WaitGroup
		errs = make([]error, agents)
	)
	for a := range agents {
		s, err := connect(ctx, p.start(data))
		if err != nil {
			return 0, err
		}
		defer s.Close()
		wg.Go(func() {
			for i := range agentWrites {
				if _, err := call(ctx, s, "create_entities", entities(fmt.Sprintf("agent%d", a), i, 1)); err != nil {
					errs[a] = err
					return
				}
			}
		})
	}
	wg.Wait()
	names, err := stored(ctx, p, data)
	if err != nil {
		return 0, err
	}
	return agents*agentWrites - len(names), errors.Join(errs...)
}

// crash kills the server while it writes and returns how many acknowledged entities are missing afterwards, and whether
// the store could not be read at all.
func crash(ctx context.Context, p peer, data string) (missing int, unreadable bool, err error) {
	cmd := p.start(data)
	s, err := connect(ctx, cmd)
	if err != nil {
		return 0, false, err
	}
	if _, err := call(ctx, s, "create_entities", entities("before", 0, 300)); err != nil {
		return 0, false, err
	}
	acknowledged := 300
	killed := make(chan error, 1)
	time.AfterFunc(time.Duration(20+rand.IntN(200))*time.Millisecond, func() { killed <- p.kill(data, cmd) })
	for i := 0; ; i++ {
		if _, err := call(ctx, s, "create_entities", entities("during", i, 1)); err != nil {
			break // the server is gone
		}
		acknowledged++
		if len(killed) > 0 {
			break
		}
	}
	if err := <-killed; err != nil {
		return 0, false, err
	}
	_ = s.Close()
	names, err := stored(ctx, p, data)
	if err != nil {
		return acknowledged, true, nil
	}
	return max(0, acknowledged-len(names)), false, nil
}

// stored returns the names of all entities that a new server finds.
func stored(ctx context.Context, p peer, data string) (map[string]bool, error) {
	s, err := connect(ctx, p.start(data))
	if err != nil {
		return nil, err
	}
	defer s.Close()
	out, err := call(ctx, s, "read_graph", map[string]any{})
	if err != nil {
		return nil, err
	}
	names := map[string]bool{}
	list, _ := out["entities"].([]any)
	for _, e := range list {
		if m, ok := e.(map[string]any); ok {
			names[fmt.Sprint(m["name"])] = true
		}
	}
	return names, nil
}
