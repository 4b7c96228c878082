// Package together_test lets clients of several languages work on one store while its daemon is killed under them.
package together_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"

	memsidecar "github.com/memsidecar/memsidecar/clients/go"
	pb "github.com/memsidecar/memsidecar/clients/go/gen/memsidecar/v1"
)

const (
	adds  = 500 // by each client
	kills = 10
)

// TestKilled has a Python and a Node process add memories, 500 each, while the daemon is killed ten times. Every memory
// whose addition was acknowledged must be there, once, and the clients must not notice anything.
func TestKilled(t *testing.T) {
	python := os.Getenv("MEMSIDECAR_TEST_PYTHON")
	if python == "" {
		t.Skip("MEMSIDECAR_TEST_PYTHON does not name a Python with clients/python installed; \".ci/run clients\" makes one")
	}
	if _, err := os.Stat("../../typescript/dist/index.js"); err != nil {
		t.Skipf("clients/typescript is not built, \".ci/run clients\" does that: %v", err)
	}
	home(t)
	c, err := memsidecar.Connect(t.Context(), memsidecar.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = c.Close() }()

	var done atomic.Int64 // acknowledged by both
	var acknowledged [2][]string
	ctx, stop := context.WithCancelCause(t.Context()) // the first that fails stops the others
	var all sync.WaitGroup
	together := func(do func() error) {
		all.Go(func() {
			if err := do(); err != nil {
				stop(err)
			}
		})
	}
	for i, command := range [][]string{{python, "add.py"}, {"node", "add.mjs"}} {
		together(func() (err error) {
			acknowledged[i], err = add(ctx, &done, command[0], command[1], fmt.Sprint(adds))
			return err
		})
	}
	together(func() error { return killAll(ctx, c, &done) })
	all.Wait()
	if err := context.Cause(ctx); err != nil {
		t.Fatal(err)
	}
	stored := list(t, c)
	for _, ids := range acknowledged {
		if len(ids) != adds {
			t.Errorf("%d additions acknowledged, want %d", len(ids), adds)
		}
		for _, id := range ids {
			if !stored[id] {
				t.Errorf("%s was acknowledged and is not there", id)
			}
		}
	}
	if len(stored) != 2*adds {
		t.Errorf("%d memories are there, want %d", len(stored), 2*adds)
	}
}

// add runs a client and returns the ids that it printed.
func add(ctx context.Context, done *atomic.Int64, name string, args ...string) ([]string, error) {
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	var ids []string
	for lines := bufio.NewScanner(out); lines.Scan(); done.Add(1) {
		ids = append(ids, lines.Text())
	}
	if err := cmd.Wait(); err != nil {
		return ids, fmt.Errorf("%s after %d additions: %w", args[0], len(ids), err)
	}
	return ids, nil
}

// killAll kills the daemon ten times, evenly over the additions.
func killAll(ctx context.Context, c *memsidecar.Client, done *atomic.Int64) error {
	for i := range int64(kills) {
		for done.Load() < (i+1)*2*adds/(kills+1) {
			if ctx.Err() != nil {
				return ctx.Err()
			}
			// Each question to the daemon lets some time pass for the additions.
			if _, err := c.Admin.Info(ctx, &pb.AdminServiceInfoRequest{}); err != nil {
				return err
			}
		}
		info, err := c.Admin.Info(ctx, &pb.AdminServiceInfoRequest{})
		if err != nil {
			return err
		}
		daemon, err := os.FindProcess(int(info.GetPid()))
		if err == nil {
			err = daemon.Kill()
		}
		if err != nil && !errors.Is(err, os.ErrProcessDone) {
			return fmt.Errorf("kill the daemon: %w", err)
		}
	}
	return nil
}

func list(t *testing.T, c *memsidecar.Client) map[string]bool {
	t.Helper()
	ids := map[string]bool{}
	for token := ""; ; {
		page, err := c.Memory.List(t.Context(), &pb.MemoryServiceListRequest{PageSize: 1000, PageToken: token})
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range page.GetMemories() {
			ids[m.GetId()] = true
		}
		if token = page.GetNextPageToken(); token == "" {
			return ids
		}
	}
}

// home makes a user of its own with the program, and stops its daemon at the end.
func home(t *testing.T) {
	t.Helper()
	dir, err := os.MkdirTemp("/tmp", "msc") // short: a socket's path is limited
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	program := filepath.Join(dir, "bin", "memsidecar")
	build := exec.Command("go", "build", "-C", "../../..", "-o", program, "./cmd/memsidecar")
	build.Env = append(os.Environ(), "CGO_ENABLED=0") // as it is released
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	for name, value := range map[string]string{
		"HOME": dir, "XDG_RUNTIME_DIR": dir, "XDG_DATA_HOME": "", "XDG_STATE_HOME": "", "XDG_CONFIG_HOME": "",
		"MEMSIDECAR_SOCKET": "", "MEMSIDECAR_DATA": "", "MEMSIDECAR_PROGRAM": program,
	} {
		t.Setenv(name, value)
	}
	t.Cleanup(func() {
		if out, err := exec.Command(program, "daemon", "stop").CombinedOutput(); err != nil {
			t.Errorf("stop: %v\n%s", err, out)
		}
	})
}
