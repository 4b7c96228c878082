// Memsidecar owns an agent's long-term memory and serves it on a Unix socket. This program is the daemon
// (memsidecar serve) and the command line that talks to it.
//
// Each command stands in a file of its own and is thin: it turns flags into one request and the response into
// lines. Nothing is decided here that the daemon should decide.
package main

import (
	"context"
	"errors"
	"io"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/spf13/cobra"
)

func main() { os.Exit(run(context.Background(), os.Args[1:], os.Stdin, os.Stdout, os.Stderr)) }

// run is the whole program but for the process around it. The result is the exit code.
func run(ctx context.Context, args []string, stdin io.Reader, stdout, stderr io.Writer) int {
	ctx, stop := signal.NotifyContext(ctx, os.Interrupt, syscall.SIGTERM)
	defer stop()
	// From the first signal on the default is back: a second one ends the process at once.
	defer context.AfterFunc(ctx, stop)()

	a := newApp(stdin, stdout, stderr, os.Getenv)
	if len(args) > 0 && args[0] == "hook" {
		return runHook(ctx, a, args)
	}
	root := a.rootCommand()
	root.SetArgs(args)
	cmd, err := root.ExecuteContextC(ctx)
	if err == nil {
		return exitOK
	}
	if ctx.Err() != nil && errors.Is(asCLIError(err), context.Canceled) {
		return exitInterrupted
	}
	if !a.ran {
		err = usageErrorOf(cmd, err)
	}
	return a.out.fail(err)
}

// globals are the flags that every command has.
type globals struct {
	socket, data, space, config string
	json, noStart               bool
	timeout                     time.Duration
}

// app is what commands share: the streams, the environment and the global flags.
type app struct {
	stdin  io.Reader
	stdout io.Writer
	stderr io.Writer
	env    func(string) string
	now    func() time.Time
	flags  globals
	out    *output
	ran    bool // the command line was understood
}

func newApp(stdin io.Reader, stdout, stderr io.Writer, env func(string) string) *app {
	a := &app{stdin: stdin, stdout: stdout, stderr: stderr, env: env, now: time.Now}
	a.out = newOutput(stdout, stderr, env, a.now)
	return a
}

const rootLong = `Memsidecar owns an agent's long-term memory: it stores memories and daily logs durably, finds
them again, learns from sessions, and can list and undo every change.

A daemon holds the data and is started when a command needs it. Everything stays on this machine,
unless you name a language model elsewhere.`

const rootExample = `  memsidecar add "Prefers small commits" --category preferences
  memsidecar search "how do I like my commits"
  memsidecar ops && memsidecar undo 12
  memsidecar demo`

func (a *app) rootCommand() *cobra.Command {
	root := &cobra.Command{
		Use:           "memsidecar",
		Short:         "A local daemon for an agent's long-term memory",
		Long:          rootLong,
		Example:       rootExample,
		SilenceErrors: true,
		SilenceUsage:  true,
		Args:          cobra.ArbitraryArgs,
		RunE:          a.groupRun,
		PersistentPreRun: func(*cobra.Command, []string) {
			a.ran = true
			a.out.json = a.flags.json
		},
	}
	root.SetIn(a.stdin)
	root.SetOut(a.stdout)
	root.SetErr(a.stderr)
	root.CompletionOptions.HiddenDefaultCmd = false
	a.addGlobals(root)
	root.AddGroup(
		&cobra.Group{ID: "memories", Title: "Memories:"},
		&cobra.Group{ID: "sessions", Title: "Sessions and logs:"},
		&cobra.Group{ID: "changes", Title: "Changes:"},
		&cobra.Group{ID: "agents", Title: "Agents:"},
		&cobra.Group{ID: "daemon", Title: "The daemon:"},
		&cobra.Group{ID: "files", Title: "The files:"},
	)
	addGroup(root, "memories", a.addCommand(), a.getCommand(), a.listCommand(), a.updateCommand(), a.forgetCommand(),
		a.restoreCommand(), a.purgeCommand(), a.searchCommand(), a.recallCommand(), a.hintCommand(), a.skillCommand(), a.consolidateCommand(), a.saveCommand(), a.summaryCommand(), a.statsCommand())
	addGroup(root, "sessions", a.sessionCommand(), a.contextCommand(), a.reflectCommand(), a.hookCommand(), a.logCommand(), a.archiveCommand(), a.compressCommand())
	addGroup(root, "changes", a.opsCommand(), a.undoCommand(), a.historyCommand(), a.watchCommand(), a.editsCommand(), a.reviewCommand())
	addGroup(root, "daemon", a.serveCommand(), a.startCommand(), a.stopCommand(), a.restartCommand(), a.statusCommand(), a.socketCommand(),
		a.pauseCommand(), a.resumeCommand(), a.healthcheckCommand(), a.doctorCommand(), a.uiCommand(), a.configCommand(), a.llmCommand(), a.installCommand(), a.uninstallCommand(), a.serviceCommand())
	addGroup(root, "files", a.backupCommand(), a.exportCommand(), a.importCommand(), a.viewCommand(), a.checkpointCommand(), a.checkCommand(), a.dumpCommand(), a.repairCommand())
	addGroup(root, "agents", a.mcpCommand())
	root.AddCommand(a.demoCommand(), a.manCommand(), a.versionCommand())
	return root
}

func (a *app) addGlobals(root *cobra.Command) {
	f := root.PersistentFlags()
	f.SortFlags = false
	f.StringVar(&a.flags.data, "data", "", "directory of the memories (default: see \"memsidecar config\")")
	f.StringVar(&a.flags.socket, "socket", "", "socket of the daemon (default: the one that belongs to the directory)")
	f.StringVar(&a.flags.space, "space", "", "space to work in (default \"default\")")
	f.StringVar(&a.flags.config, "config", "", "configuration file")
	f.BoolVar(&a.flags.json, "json", false, "print JSON for programs")
	f.BoolVar(&a.flags.noStart, "no-start", false, "do not start the daemon when none answers")
	f.DurationVar(&a.flags.timeout, "timeout", 30*time.Second, "how long a call may take; 0 is without end")
}

func addGroup(root *cobra.Command, id string, cmds ...*cobra.Command) {
	for _, c := range cmds {
		c.GroupID = id
		root.AddCommand(c)
	}
}

// groupRun is the body of a command that only holds others: help without arguments, an error with an unknown one.
func (a *app) groupRun(cmd *cobra.Command, args []string) error {
	if len(args) > 0 {
		return usageErrorOf(cmd, &cliError{what: "unknown command " + quote(args[0]) + " for " + quote(cmd.CommandPath())})
	}
	return cmd.Help()
}
