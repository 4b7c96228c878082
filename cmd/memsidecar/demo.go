package main

import (
	"bytes"
	"context"
	_ "embed"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"

	pb "github.com/memsidecar/memsidecar/gen/memsidecar/v1"
	"github.com/memsidecar/memsidecar/internal/process"
	"github.com/memsidecar/memsidecar/internal/rpc/unixsock/socketpath"
)

// demoSession is a recorded session between a developer and an agent, in English and Chinese.
//
//go:embed testdata/session.jsonl
var demoSession []byte

// demoLimit is the time limit of the whole demonstration.
const demoLimit = time.Minute

// demoCommand is "demo".
func (a *app) demoCommand() *cobra.Command {
	var keep bool
	cmd := &cobra.Command{
		Use:   "demo",
		Short: "Run a short demonstration in a temporary directory",
		Long: `Run a short demonstration with a real daemon in a temporary directory. It replays a recorded session
and learns from it, searches in English and Chinese, checks that secrets were redacted, undoes a change, archives an
old log, and kills the daemon during writes without losing acknowledged data. Each step is verified; the exit code
is 1 if one fails. Your own memories are not touched.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			ctx, cancel := context.WithTimeout(cmd.Context(), demoLimit)
			defer cancel()
			d, err := a.newDemo()
			if err != nil {
				return err
			}
			err = d.run(ctx)
			return errors.Join(err, d.cleanUp(keep))
		},
	}
	cmd.Flags().BoolVar(&keep, "keep", false, "keep the temporary directory")
	return cmd
}

// demo is one run of the demonstration.
type demo struct {
	app     *app
	dir     string // contains all files; removed at the end
	data    string
	socket  string
	exe     string
	began   time.Time
	daemon  *exec.Cmd
	output  bytes.Buffer // output of all daemons
	c       *client
	results object

	learned map[string]string // content by id of the learned memories
	session string
}

// newDemo creates the temporary directory.
func (a *app) newDemo() (*demo, error) {
	exe, err := os.Executable()
	if err != nil {
		return nil, fmt.Errorf("find this program: %w", err)
	}
	dir, err := os.MkdirTemp("", "memsidecar-demo-")
	if err != nil {
		return nil, fmt.Errorf("create temporary directory: %w", err)
	}
	d := &demo{app: a, dir: dir, data: filepath.Join(dir, "data"), socket: filepath.Join(dir, "demo.sock"), exe: exe,
		began: a.now(), session: "demo-session"}
	if err := socketpath.Check(d.socket); err != nil {
		return nil, errors.Join(&cliError{what: err.Error(), hint: "Set TMPDIR to a shorter directory."},
			os.RemoveAll(dir))
	}
	return d, nil
}

// step is one step of the demonstration. do verifies the step and returns a sentence about it.
type step struct {
	name string
	why  string
	do   func(ctx context.Context) (string, error)
}

// run runs all steps and stops at the first that fails.
func (d *demo) run(ctx context.Context) error {
	d.say("memsidecar %s, everything in %s\n", programVersion(), d.dir)
	for _, s := range d.steps() {
		text, err := s.do(ctx)
		if err != nil {
			d.say("%s %s\n", d.app.out.colour(red, "✗"), s.name)
			return &cliError{what: "the demonstration failed at step \"" + s.name + "\": " + asCLIError(err).what,
				cause: err,
				hint:  strings.TrimSpace("Run it with --keep to inspect its files.\n" + d.tail())}
		}
		d.say("%s %s: %s\n", d.app.out.colour(green, "✓"), s.name, text)
		if s.why != "" {
			d.say("    %s\n", d.app.out.colour(dim, s.why))
		}
	}
	took := d.app.now().Sub(d.began)
	d.record("seconds", took.Seconds())
	d.say("All steps passed in %s.\n", short(took))
	if d.app.out.json {
		return d.app.out.object(d.results)
	}
	return nil
}

// say prints progress for people; --json prints only the results.
func (d *demo) say(format string, args ...any) {
	if !d.app.out.json {
		d.app.out.printf(format, args...)
	}
}

// record keeps a value for the JSON output.
func (d *demo) record(name string, value any) { d.results = append(d.results, member{name, value}) }

// start runs a daemon in the temporary directory and waits until it serves.
func (d *demo) start(ctx context.Context) (time.Duration, error) {
	began := d.app.now()
	cmd := exec.Command(d.exe, "daemon", "serve", "--data", d.data, "--socket", d.socket)
	cmd.Env = d.environment()
	cmd.Dir = d.dir
	cmd.Stdout, cmd.Stderr = &d.output, &d.output
	if err := cmd.Start(); err != nil {
		return 0, fmt.Errorf("start the daemon: %w", err)
	}
	d.daemon = cmd
	c, err := dial(d.socket)
	if err != nil {
		return 0, err
	}
	d.c = c
	for {
		if ok, _ := c.serving(ctx); ok {
			return d.app.now().Sub(began), nil
		}
		if process.Ended(cmd.Process.Pid) {
			return 0, errors.New("the daemon exited")
		}
		if !pause(ctx, 5*time.Millisecond) {
			return 0, errors.New("the daemon does not serve")
		}
		c.conn.ResetConnectBackoff()
	}
}

// environment is the environment of this process without memsidecar settings and with temporary XDG directories.
func (d *demo) environment() []string {
	var env []string
	for _, v := range os.Environ() {
		if !strings.HasPrefix(v, "MEMORY_") && !strings.HasPrefix(v, "MEMSIDECAR_") && !strings.HasPrefix(v, "XDG_") {
			env = append(env, v)
		}
	}
	for _, name := range []string{"XDG_CONFIG_HOME", "XDG_STATE_HOME", "XDG_DATA_HOME", "XDG_RUNTIME_DIR"} {
		env = append(env, name+"="+filepath.Join(d.dir, "home"))
	}
	return env
}

// stop asks the daemon to stop and waits until the process has ended.
func (d *demo) stop() error {
	return d.end(func(p *os.Process) error {
		ctx, cancel := context.WithTimeout(context.Background(), stopWait)
		defer cancel()
		if _, err := d.c.admin.Stop(ctx, &pb.AdminServiceStopRequest{}); err != nil {
			return p.Kill() // it does not serve
		}
		return nil
	})
}

// kill ends the daemon as a crash does.
func (d *demo) kill() error {
	err := d.end((*os.Process).Kill)
	if _, killed := errors.AsType[*exec.ExitError](err); killed {
		return nil
	}
	return err
}

// end has how end the daemon and waits until the process has ended. An error of how is one of a process that has ended.
func (d *demo) end(how func(*os.Process) error) error {
	if d.daemon == nil {
		return nil
	}
	cmd := d.daemon
	d.daemon = nil
	_ = how(cmd.Process)
	d.c.close()
	force := time.AfterFunc(stopWait, func() { _ = cmd.Process.Kill() })
	defer force.Stop()
	if err := cmd.Wait(); err != nil {
		return fmt.Errorf("stop the daemon: %w", err)
	}
	return nil
}

// tail stops the daemon and returns its last lines of output.
func (d *demo) tail() string {
	if d.daemon != nil {
		_ = d.stop()
	}
	lines := strings.Split(strings.TrimSpace(d.output.String()), "\n")
	return strings.Join(lines[max(0, len(lines)-5):], "\n")
}

// cleanUp stops the daemon and removes the directory unless keep is set.
func (d *demo) cleanUp(keep bool) error {
	err := d.stop()
	if keep {
		d.say("Kept %s; to inspect it: memsidecar --data %s list\n", d.dir, d.data)
		return err
	}
	if rmErr := os.RemoveAll(d.dir); rmErr != nil {
		return errors.Join(err, fmt.Errorf("remove the temporary directory: %w", rmErr))
	}
	return err
}
