package memsidecar

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// ErrNoProgram means that the memsidecar program could not be run. The client needs it to find and start the daemon.
var ErrNoProgram = errors.New("the memsidecar program was not found")

// finder finds the daemon's socket. It asks the memsidecar program, which reads flags, environment and configuration,
// and which lets only one of several clients start the daemon.
type finder struct {
	socket  string // if it is not empty, the program is not asked and nothing is started
	program string
	start   bool // start a daemon if none runs
}

// newFinder applies the environment to the options.
func newFinder(opts Options) *finder {
	return &finder{
		socket:  cmp.Or(opts.Socket, os.Getenv("MEMSIDECAR_SOCKET")),
		program: cmp.Or(opts.Program, os.Getenv("MEMSIDECAR_PROGRAM"), "memsidecar"), start: !opts.NoStart,
	}
}

// find returns the path of the daemon's socket. It does not start a daemon that was stopped with
// `memsidecar daemon stop`;
// that is an error with code Unavailable.
func (f *finder) find(ctx context.Context) (string, error) {
	if f.socket != "" {
		return socketPath(f.socket)
	}
	args := []string{"daemon", "socket"}
	if !f.start {
		args = append(args, "--no-start")
	}
	var stdout, stderr bytes.Buffer
	cmd := exec.CommandContext(ctx, f.program, args...)
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	if err := cmd.Run(); err != nil {
		if errors.Is(err, exec.ErrNotFound) || errors.Is(err, os.ErrNotExist) {
			return "", fmt.Errorf(
				"%w: %w; install it, or set MEMSIDECAR_PROGRAM or Options.Socket", ErrNoProgram, err,
			)
		}
		return "", unavailable(strings.TrimSpace(cmp.Or(stderr.String(), err.Error())))
	}
	path := strings.TrimSuffix(stdout.String(), "\n")
	if !filepath.IsAbs(path) {
		return "", fmt.Errorf(
			"%w: %s did not print a socket; check that it has the same version", ErrNoProgram, f.program,
		)
	}
	return path, nil
}

// socketPath returns the path of a socket that is given as a path, or with unix: or unix:// before it. An abstract
// socket has no owner that could be checked, so the daemon never listens on one.
func socketPath(address string) (string, error) {
	if strings.HasPrefix(address, "@") || strings.HasPrefix(address, "\x00") ||
		strings.HasPrefix(address, "unix-abstract:") || strings.HasPrefix(address, "unix:@") {
		return "", fmt.Errorf("socket %q: abstract sockets are not supported; use the path of the daemon's socket", address)
	}
	if path, ok := strings.CutPrefix(address, "unix://"); ok {
		return path, nil
	}
	return strings.TrimPrefix(address, "unix:"), nil
}

// restart starts the daemon if the options allow it. An error is ignored: the next attempt of the call reports it.
func (f *finder) restart(ctx context.Context) {
	if f.socket == "" && f.start {
		_, _ = f.find(ctx)
	}
}
