package memsidecar

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
)

// ErrNoProgram means that the memsidecar program, which knows where the daemon listens and starts it, could not be run.
var ErrNoProgram = errors.New("the memsidecar program was not found")

// finder asks the memsidecar program where the daemon listens, because flags, environment and configuration may all have a
// say in that, and starting a daemon must not be done by two clients at once.
type finder struct {
	socket  string // given; then nothing is started
	program string
	start   bool
}

func newFinder(opts Options) *finder {
	return &finder{
		socket:  cmp.Or(opts.Socket, os.Getenv("MEMSIDECAR_SOCKET")),
		program: cmp.Or(opts.Program, os.Getenv("MEMSIDECAR_PROGRAM"), "memsidecar"),
		start:   !opts.NoStart,
	}
}

// find returns the socket of a daemon. A daemon that was stopped on purpose is not started: that is an error.
func (f *finder) find(ctx context.Context) (string, error) {
	if f.socket != "" {
		return f.socket, nil
	}
	args := []string{"socket", "--json"}
	if !f.start {
		args = append(args, "--no-start")
	}
	var stdout, stderr bytes.Buffer
	cmd := exec.CommandContext(ctx, f.program, args...)
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	if err := cmd.Run(); err != nil {
		if errors.Is(err, exec.ErrNotFound) || errors.Is(err, os.ErrNotExist) {
			return "", fmt.Errorf("%w: %w; install it, or set MEMSIDECAR_PROGRAM or Options.Socket", ErrNoProgram, err)
		}
		return "", unavailable(strings.TrimSpace(cmp.Or(stderr.String(), err.Error())))
	}
	var answer struct{ Socket string }
	if err := json.Unmarshal(stdout.Bytes(), &answer); err != nil || answer.Socket == "" {
		return "", fmt.Errorf("%w: %s does not say where the daemon listens; is it of another version?", ErrNoProgram, f.program)
	}
	return answer.Socket, nil
}

// restart starts the daemon again when nobody answers any more and starting is wanted. What goes wrong shows in the next try.
func (f *finder) restart(ctx context.Context) {
	if f.socket == "" && f.start {
		_, _ = f.find(ctx)
	}
}
