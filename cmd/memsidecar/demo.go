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
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"github.com/memsidecar/memsidecar/internal/unixsock"
)

// demoSession is a recorded session between a developer and an agent, in English and Chinese.
//
//go:embed testdata/session.jsonl
var demoSession []byte

// demoLimit is how long the whole demonstration may take.
const demoLimit = time.Minute

func (a *app) demoCommand() *cobra.Command {
	var keep bool
	cmd := &cobra.Command{
		Use:   "demo",
		Short: "Show in a few seconds what memsidecar does, with a real daemon in a temporary directory",
		Long: `Show what memsidecar does, with a real daemon in a temporary directory: a recorded session is replayed and learnt from,
memories are found in English and Chinese, a secret is nowhere to be found, a change is taken back, an old log is archived, and
the daemon is killed in the middle of writes without losing anything acknowledged. Each step is verified; the exit
code is not 0 if one is not as said. Your own memories are not touched.`,
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
	cmd.Flags().BoolVar(&keep, "keep", false, "keep the directory")
	return cmd
}

// demo is one run of the demonstration.
type demo struct {
	app     *app
	dir     string // holds everything, and is removed
	data    string
	socket  string
	exe     string
	began   time.Time
	daemon  *exec.Cmd
	output  bytes.Buffer // of all daemons
	c       *client
	figures object

	learnt  map[string]string // content by id of what the reflection learnt
	session string
}

func (a *app) newDemo() (*demo, error) {
	exe, err := os.Executable()
	if err != nil {
		return nil, fmt.Errorf("find this program: %w", err)
	}
	dir, err := os.MkdirTemp("", "memsidecar-demo-")
	if err != nil {
		return nil, fmt.Errorf("make a temporary directory: %w", err)
	}
	d := &demo{app: a, dir: dir, data: filepath.Join(dir, "data"), socket: filepath.Join(dir, "demo.sock"), exe: exe, began: a.now(), session: "demo-session"}
	if err := unixsock.CheckPath(d.socket); err != nil {
		return nil, errors.Join(&cliError{what: err.Error(), hint: "Set TMPDIR to a shorter directory."}, os.RemoveAll(dir))
	}
	return d, nil
}

// step is one thing shown. It returns what was seen, in a sentence.
type step struct {
	name string
	why  string
	do   func(ctx context.Context) (string, error)
}

func (d *demo) run(ctx context.Context) error {
	d.say("memsidecar %s, everything in %s\n", programVersion(), d.dir)
	for _, s := range d.steps() {
		text, err := s.do(ctx)
		if err != nil {
			d.say("%s %s\n", d.app.out.colour(red, "✗"), s.name)
			return &cliError{what: "the demonstration failed at \"" + s.name + "\": " + asCLIError(err).what, cause: err,
				hint: strings.TrimSpace("Run it with --keep to look at its files.\n" + d.tail())}
		}
		d.say("%s %s: %s\n", d.app.out.colour(green, "✓"), s.name, text)
		if s.why != "" {
			d.say("    %s\n", d.app.out.colour(dim, s.why))
		}
	}
	took := d.app.now().Sub(d.began)
	d.figure("seconds", took.Seconds())
	d.say("All as said, in %s.\n", short(took))
	if d.app.out.json {
		return d.app.out.object(d.figures)
	}
	return nil
}

// say narrates; programs only get the figures.
func (d *demo) say(format string, args ...any) {
	if !d.app.out.json {
		d.app.out.printf(format, args...)
	}
}

func (d *demo) figure(name string, value any) { d.figures = append(d.figures, member{name, value}) }

// start runs a daemon on the demonstration's directory and waits until it serves.
func (d *demo) start(ctx context.Context) (time.Duration, error) {
	began := d.app.now()
	cmd := exec.Command(d.exe, "serve", "--data", d.data, "--socket", d.socket)
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
		if gone(cmd.Process.Pid) {
			return 0, errors.New("the daemon ended")
		}
		if !pause(ctx, 5*time.Millisecond) {
			return 0, errors.New("the daemon does not serve")
		}
		c.conn.ResetConnectBackoff()
	}
}

// environment is that of this process without any setting of memsidecar, and with directories of its own.
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

// end sends a signal to the daemon and waits until it is gone.
func (d *demo) end(sig syscall.Signal) error {
	if d.daemon == nil {
		return nil
	}
	cmd := d.daemon
	d.daemon = nil
	d.c.close()
	_ = cmd.Process.Signal(sig) // it may be gone already
	force := time.AfterFunc(stopWait, func() { _ = cmd.Process.Kill() })
	defer force.Stop()
	if err := cmd.Wait(); err != nil && sig != syscall.SIGKILL {
		return fmt.Errorf("stop the daemon: %w", err)
	}
	return nil
}

// tail is the last lines that the daemon printed. The daemon must have ended.
func (d *demo) tail() string {
	if d.daemon != nil {
		_ = d.end(syscall.SIGTERM)
	}
	lines := strings.Split(strings.TrimSpace(d.output.String()), "\n")
	return strings.Join(lines[max(0, len(lines)-5):], "\n")
}

func (d *demo) cleanUp(keep bool) error {
	err := d.end(syscall.SIGTERM)
	if keep {
		d.say("Kept in %s; look at it with: memsidecar --data %s list\n", d.dir, d.data)
		return err
	}
	if rmErr := os.RemoveAll(d.dir); rmErr != nil {
		return errors.Join(err, fmt.Errorf("remove the temporary directory: %w", rmErr))
	}
	return err
}
