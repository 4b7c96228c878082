package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"google.golang.org/protobuf/proto"

	"github.com/memsidecar/memsidecar/bench/process"
	memsidecarv1 "github.com/memsidecar/memsidecar/gen/memsidecar/v1"
)

// hookCalls is how many of each are timed.
const hookCalls = 60

// hooks times hooks from the start of their process to its end, in turn with a process that makes one call.
func (b *bench) hooks(ctx context.Context, d, _ *process.Server, size int, _ []string) error {
	home, err := os.MkdirTemp(b.dir, "home")
	if err != nil {
		return err
	}
	calls := hookCalls
	if b.rounds == 1 {
		calls = 5
	}
	h := &hookBench{bench: b, socket: d.Socket, home: home, size: max(size, 1)}
	if err := h.build(ctx); err != nil {
		return err
	}
	if err := h.hook(ctx, "session-start", `,"source":"startup"`); err != nil {
		return err
	}
	took := map[string]*sample{}
	for i := range calls {
		for _, s := range h.processes() {
			began := time.Now()
			if err := s.run(ctx, i); err != nil {
				return fmt.Errorf("%s: %w", s.name, err)
			}
			if took[s.name] == nil {
				took[s.name] = &sample{rounds: make([]sample, b.rounds)}
			}
			call := one(time.Since(began))
			took[s.name].merge(call)
			took[s.name].rounds[i*b.rounds/calls].merge(call)
		}
	}
	for _, s := range h.processes() {
		r := b.report.timed(s.name, size, 1, *took[s.name])
		if s.to == "" {
			continue
		}
		r.compare("p50 of "+s.to, p50s, *took[s.name], *took[s.to])
		if s.most > 0 {
			r.atMost(s.most)
		}
	}
	b.report.value("hooks that gave up after 40 ms", size, float64(h.gaveUp), "")
	return nil
}

// timedProcess is a process that is timed in turn with the others.
type timedProcess struct {
	name string
	run  func(ctx context.Context, i int) error
	to   string // the process that it is compared with
	most float64
}

// Names of the processes that others are compared with.
const (
	minimalName = "a process with one gRPC call"
	nodeName    = "node -e 0"
)

// processes lists what is timed: the hooks as they are installed, and those of memsidecar itself.
func (h *hookBench) processes() []timedProcess {
	slim := func(f func(*hookBench, context.Context, int) error) func(context.Context, int) error {
		return func(ctx context.Context, i int) error {
			with := *h
			with.slim = true
			err := f(&with, ctx, i)
			h.gaveUp = with.gaveUp
			return err
		}
	}
	out := []timedProcess{{name: minimalName, run: h.minimal}}
	to, most := minimalName, 1.0
	if h.node != "" {
		out = append(out, timedProcess{name: nodeName, run: func(ctx context.Context, _ int) error {
			return exec.CommandContext(ctx, h.node, "-e", "0").Run()
		}})
		to, most = nodeName, .15
	}
	return append(out,
		timedProcess{"hook: the end of a turn", slim((*hookBench).stop), to, most},
		timedProcess{"hook: a tool that failed, with a recall", slim((*hookBench).failure), to, most},
		timedProcess{"hook: a prompt, with a recall", slim((*hookBench).prompt), to, most},
		timedProcess{"hook: the start of a session", slim((*hookBench).start), to, most},
		timedProcess{"memsidecar recall, by memsidecar-hook", h.recallProcess, to, most},
		timedProcess{"memsidecar hook: the end of a turn", h.stop, minimalName, 0},
		timedProcess{"memsidecar hook: a tool that failed, with a recall", h.failure, minimalName, 0},
		timedProcess{"memsidecar hook: a prompt, with a recall", h.prompt, minimalName, 0})
}

// hookBench runs hook processes against a daemon.
type hookBench struct {
	*bench
	socket, home string
	small        string // memsidecar-hook
	node         string // "" where there is none
	slim         bool   // hooks are those of memsidecar-hook
	size         int
	gaveUp       int
}

// build builds the programs that memsidecar is compared with.
func (h *hookBench) build(ctx context.Context) (err error) {
	h.node, _ = exec.LookPath("node")
	h.small, err = process.Build(ctx, h.dir, "cmd/memsidecar-hook", h.log)
	return err
}

// minimal appends a message to a session.
func (h *hookBench) minimal(ctx context.Context, i int) error {
	request, err := proto.Marshal(&memsidecarv1.SessionServiceAppendRequest{
		SessionId: "floor", Messages: []*memsidecarv1.SessionMessage{{
			Role: memsidecarv1.Role_ROLE_USER, Content: fmt.Sprintf("how do we deploy %d?", i),
		}},
	})
	if err != nil {
		return err
	}
	cmd := exec.CommandContext(ctx, h.least, h.socket, "/memsidecar.v1.SessionService/Append")
	cmd.Stdin = bytes.NewReader(request)
	return cmd.Run()
}

// recallProcess recalls for a prompt as a script of a host does.
func (h *hookBench) recallProcess(ctx context.Context, i int) error {
	cmd := exec.CommandContext(ctx, h.small, "recall", newQuery(h.next.take(), h.size), "--or-nothing", "--socket", h.socket, "--no-start",
		"--program", h.bin)
	cmd.Env = []string{"HOME=" + h.home}
	return cmd.Run()
}

// start is the hook of another session's start.
func (h *hookBench) start(ctx context.Context, i int) error {
	return h.hookOf(ctx, fmt.Sprintf("hooks-%d", i), "session-start", `,"source":"startup"`)
}

// failure runs the hook of a tool that failed.
func (h *hookBench) failure(ctx context.Context, i int) error {
	return h.hook(ctx, "tool-failure", fmt.Sprintf(`,"tool_name":"Bash","tool_use_id":"%d","error":"no rule"`, i))
}

// stop is the end of a turn whose transcript has a question and an answer more.
func (h *hookBench) stop(ctx context.Context, i int) error {
	f, err := os.OpenFile(h.transcript(), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(f, `{"type":"user","message":{"content":"question %d"}}`+"\n"+
		`{"type":"assistant","message":{"content":"answer %d"}}`+"\n", i, i)
	if err := errors.Join(err, f.Close()); err != nil {
		return err
	}
	return h.hook(ctx, "stop", "")
}

// prompt runs the hook of a prompt.
func (h *hookBench) prompt(ctx context.Context, i int) error {
	return h.hook(ctx, "prompt", fmt.Sprintf(`,"prompt":%q`, newQuery(h.next.take(), h.size)))
}

// transcript returns the path of the host's transcript.
func (h *hookBench) transcript() string { return filepath.Join(h.home, "t.jsonl") }

// hook runs a hook as a host does. One that did not do what it should fails the run: it would be measured too fast.
func (h *hookBench) hook(ctx context.Context, event, fields string) error {
	return h.hookOf(ctx, "hooks", event, fields)
}

// hookOf is hook for a session.
func (h *hookBench) hookOf(ctx context.Context, session, event, fields string) error {
	args := []string{h.bin, "hook", "--host", "claude-code", event, "--socket", h.socket, "--no-start"}
	if h.slim {
		args = append(append([]string{h.small}, args[1:]...), "--program", h.bin)
	}
	cmd := exec.CommandContext(ctx, args[0], args[1:]...)
	cmd.Env = []string{"HOME=" + h.home}
	transcript := ""
	if session == "hooks" { // the others would all read the same one
		transcript = h.transcript()
	}
	cmd.Stdin = strings.NewReader(`{"session_id":"` + session + `","cwd":"/","transcript_path":"` + transcript + `"` +
		fields + `}`)
	if err := cmd.Run(); err != nil {
		return err
	}
	mark, err := os.ReadFile(filepath.Join(h.home, ".local/state/memsidecar/hooks/fired/claude-code."+event))
	switch {
	case err == nil && len(mark) == 0: // another that gave up writes it just now
		h.gaveUp++
	case err != nil:
		return err
	case string(mark) == "timed out\n":
		h.gaveUp++
	case string(mark) != "ok\n":
		return fmt.Errorf("the hook of %s: %s", event, mark)
	}
	return nil
}
