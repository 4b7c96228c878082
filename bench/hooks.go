package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"google.golang.org/grpc"

	"github.com/memsidecar/memsidecar/bench/process"
	memsidecarv1 "github.com/memsidecar/memsidecar/gen/memsidecar/v1"
)

// childAppend makes this program one that appends a message to a session and ends: the least that telling the daemon
// of anything costs a program that is started for it.
const childAppend = "child-append"

// appendOnce makes the one call that a hook cannot avoid.
func appendOnce(socket, session string) error {
	conn, err := grpc.NewClient("unix://"+socket, grpc.WithTransportCredentials(process.Credentials()))
	if err != nil {
		return err
	}
	defer conn.Close()
	_, err = memsidecarv1.NewSessionServiceClient(conn).Append(context.Background(),
		&memsidecarv1.SessionServiceAppendRequest{
			SessionId: session, Messages: []*memsidecarv1.SessionMessage{{
				Role: memsidecarv1.Role_ROLE_USER, Content: "how do we deploy?",
			}},
		})
	return err
}

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
	if err := h.hook(ctx, "session-start", `,"source":"startup"`); err != nil {
		return err
	}
	var floor, failure, stop, prompt sample
	for i := range calls {
		for _, s := range []struct {
			to  *sample
			run func(context.Context, int) error
		}{{&floor, h.floor}, {&failure, h.failure}, {&stop, h.stop}, {&prompt, h.prompt}} {
			began := time.Now()
			if err := s.run(ctx, i); err != nil {
				return err
			}
			s.to.merge(one(time.Since(began)))
		}
	}
	b.report.timed("floor: start a process, append a message", size, 1, floor)
	for _, f := range []struct {
		name string
		sample
		most float64
	}{{"hook: the end of a turn", stop, 1.5}, {"hook: a tool that failed, with a recall", failure, 2},
		{"hook: a prompt, with a recall", prompt, 2}} {
		r := b.report.timed(f.name, size, 1, f.sample)
		r.compare(us(f.at(.5)), us(floor.at(.5)), "p50 of the floor")
		r.atMost(f.most)
	}
	b.report.value("hooks that gave up after 40 ms", size, float64(h.gaveUp), "")
	return nil
}

// hookBench runs hook processes against a daemon.
type hookBench struct {
	*bench
	socket, home string
	size         int
	gaveUp       int
}

// floor runs a process that appends one message.
func (h *hookBench) floor(ctx context.Context, _ int) error {
	return exec.CommandContext(ctx, h.self, childAppend, h.socket, "floor").Run()
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
	return h.hook(ctx, "prompt", fmt.Sprintf(`,"prompt":%q`, query(i%h.size)))
}

// transcript returns the path of the host's transcript.
func (h *hookBench) transcript() string { return filepath.Join(h.home, "t.jsonl") }

// hook runs a hook as a host does. One that did not do what it should fails the run: it would be measured too fast.
func (h *hookBench) hook(ctx context.Context, event, fields string) error {
	cmd := exec.CommandContext(ctx, h.bin, "hook", "--host", "claude-code", event, "--socket", h.socket, "--no-start")
	cmd.Env = []string{"HOME=" + h.home}
	cmd.Stdin = strings.NewReader(`{"session_id":"hooks","cwd":"/","transcript_path":"` + h.transcript() + `"` +
		fields + `}`)
	if err := cmd.Run(); err != nil {
		return err
	}
	mark, err := os.ReadFile(filepath.Join(h.home, ".local/state/memsidecar/hooks/fired/claude-code."+event))
	switch {
	case err != nil:
		return err
	case string(mark) == "gave up waiting\n":
		h.gaveUp++
	case string(mark) != "ok\n":
		return fmt.Errorf("the hook of %s: %s", event, mark)
	}
	return nil
}
