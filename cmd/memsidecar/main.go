// Memsidecar owns an agent's long-term memory and serves it on a Unix socket. This program contains the daemon
// (memsidecar daemon serve) and the command line that talks to it.
//
// Files are named after the noun of their command: memory_add.go, daemon_start.go. A command is thin: it builds one
// request from flags and prints the response. Decisions belong to the daemon.
package main

import (
	"context"
	"errors"
	"io"
	"os"
	"os/signal"
	"runtime"
	"slices"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"github.com/memsidecar/memsidecar/internal/daemon"
)

// main runs the program and exits with its code.
func main() { os.Exit(run(context.Background(), os.Args[1:], os.Stdin, os.Stdout, os.Stderr)) }

// run is the program without its process, for tests. It returns the exit code.
func run(ctx context.Context, args []string, stdin io.Reader, stdout, stderr io.Writer) int {
	ctx, stop := signal.NotifyContext(ctx, os.Interrupt, syscall.SIGTERM)
	defer stop()
	// After the first signal the default handler is back, so a second signal ends the process at once.
	defer context.AfterFunc(ctx, stop)()

	a := newApp(stdin, stdout, stderr, variable)
	if isHook(args) {
		return runHook(ctx, a, args)
	}
	root := a.rootCommand()
	a.out.json = slices.Contains(args, "--json") // also for errors of the command line
	if len(args) > 1 && args[0] == "help" {
		if cmd, left, err := root.Find(args[1:]); err == nil && len(left) > 0 && cmd.HasSubCommands() {
			return a.out.fail(unknownCommand(cmd, left[0]))
		}
	}
	if len(args) > 0 && (args[0] == "help" || args[0] == "version") { // other programs have such commands
		flag := map[string]string{"help": "--help", "version": "--version"}[args[0]]
		args = append(args[1:len(args):len(args)], flag)
	}
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

// variable returns a variable of the process's environment. On Windows, HOME is the user's profile if it is not set.
func variable(name string) string {
	value := os.Getenv(name)
	if name == "HOME" && value == "" && runtime.GOOS == "windows" {
		return os.Getenv("USERPROFILE")
	}
	return value
}

// globals are the flags that every command accepts.
type globals struct {
	socket, data, space, config string
	json, noStart               bool
	set                         []string // KEY=VALUE
	timeout                     time.Duration
}

// app holds what all commands share: streams, environment and global flags.
type app struct {
	stdin  io.Reader
	stdout io.Writer
	stderr io.Writer
	env    func(string) string
	dir    func() (string, error) // working directory
	parent int                    // process that called this one
	inside *delegate              // the daemon in which the command runs; nil in a process of its own
	now    func() time.Time
	flags  globals
	config *daemon.Config // for all of a command; nil reads it at each load
	out    *output
	ran    bool // the command line was parsed; errors from here on are not usage errors
}

// newApp returns an app without parsed flags.
func newApp(stdin io.Reader, stdout, stderr io.Writer, env func(string) string) *app {
	a := &app{stdin: stdin, stdout: stdout, stderr: stderr, env: env, dir: os.Getwd, parent: os.Getppid(),
		now: time.Now}
	a.out = newOutput(stdout, stderr, env, a.now)
	return a
}

const rootLong = `Memsidecar is a local daemon for the long-term memory of AI agents. It stores memories and daily
logs durably, searches them, learns from sessions, and lists and undoes every change.

Commands start the daemon when they need it. All data stays on this machine unless you configure a remote language
model or share a space.`

const rootExample = `  memsidecar add "Prefers small commits" --category preferences
  memsidecar search "how do I like my commits"
  memsidecar ops
  memsidecar undo 12
  memsidecar demo`

// rootCommand builds the tree of all commands.
func (a *app) rootCommand() *cobra.Command {
	var version bool
	root := &cobra.Command{
		Use:           "memsidecar",
		Short:         "Long-term memory for AI agents, in a local daemon",
		Long:          rootLong,
		Example:       rootExample,
		SilenceErrors: true,
		SilenceUsage:  true,
		Args:          cobra.ArbitraryArgs,
		RunE: func(cmd *cobra.Command, args []string) error {
			if version && len(args) == 0 {
				return a.printVersion()
			}
			return a.groupRun(cmd, args)
		},
		PersistentPreRun: a.parsed,
	}
	root.SetIn(a.stdin)
	root.SetOut(a.stdout)
	root.SetErr(a.stderr)
	root.CompletionOptions.HiddenDefaultCmd = true // "completion SHELL" is typed once
	a.addGlobals(root)
	root.Flags().BoolVarP(&version, "version", "v", false, "print the version of this program")
	root.SetHelpCommand(&cobra.Command{Use: "no-help", Hidden: true}) // run turns "help X" into "X --help"
	root.AddGroup(
		&cobra.Group{ID: "memories", Title: "Memories:"},
		&cobra.Group{ID: "sessions", Title: "Sessions and logs:"},
		&cobra.Group{ID: "changes", Title: "Changes:"},
		&cobra.Group{ID: "agents", Title: "Agents:"},
		&cobra.Group{ID: "daemon", Title: "Daemon:"},
		&cobra.Group{ID: "files", Title: "Files:"},
	)
	addGroup(root, "memories", a.addCommand(), a.getCommand(), a.listCommand(), a.searchCommand(), a.updateCommand(),
		a.forgetCommand(), a.restoreCommand(), a.memoryCommand())
	addGroup(root, "sessions", a.sessionCommand(), a.logCommand())
	addGroup(root, "changes", a.opsCommand(), a.undoCommand(), a.historyCommand(), a.editsCommand(), a.reviewCommand())
	addGroup(root, "agents", a.installCommand(), a.uninstallCommand(), a.mcpCommand(), a.recallCommand(),
		a.hookCommand(nil))
	addGroup(root, "daemon", a.daemonCommand(), a.statusCommand(), a.doctorCommand(), a.checkCommand(),
		a.configCommand(), a.uiCommand(), a.shareCommand())
	addGroup(root, "files", a.backupCommand(), a.exportCommand(), a.importCommand(), a.viewCommand())
	serve := a.serveCommand() // also where those look for it who run a server
	serve.Hidden = true
	root.AddCommand(a.demoCommand(), a.manCommand(), serve)
	a.addCompletions(root)
	root.InitDefaultCompletionCmd()
	for _, c := range root.Commands() {
		if c.Name() == "completion" { // cobra's own prints its help for a shell that it does not know
			c.Args, c.RunE = cobra.ArbitraryArgs, a.groupRun
		}
	}
	return root
}

// parsed notes that the command line is right.
func (a *app) parsed(*cobra.Command, []string) {
	a.ran = true
	a.out.json = a.flags.json
}

// addGlobals adds the flags that every command has.
func (a *app) addGlobals(root *cobra.Command) {
	f := root.PersistentFlags()
	f.SortFlags = false
	f.StringVar(&a.flags.data, "data", "", "data directory (default: see \"memsidecar config\")")
	f.StringVar(&a.flags.socket, "socket", "", "Unix socket of the daemon (default: derived from the data directory)")
	f.StringVar(&a.flags.space, "space", "", "memory space (default \"default\")")
	f.StringVar(&a.flags.config, "config", "", "configuration file")
	f.BoolVar(&a.flags.json, "json", false, "print JSON")
	f.BoolVar(&a.flags.noStart, "no-start", false, "do not start a daemon if none is running")
	f.DurationVar(&a.flags.timeout, "timeout", 30*time.Second, "request timeout; 0 disables it")
}

// addSet adds --set to a command that reads the settings of a daemon.
func (a *app) addSet(cmd *cobra.Command) {
	cmd.Flags().StringArrayVar(&a.flags.set, "set", nil, "a setting as `KEY=VALUE`; may be repeated")
}

// addGroup adds commands under one heading of the help.
func addGroup(root *cobra.Command, id string, cmds ...*cobra.Command) {
	for _, c := range cmds {
		c.GroupID = id
		root.AddCommand(c)
	}
}

// groupRun runs a command that only groups others: it prints help, or rejects an unknown subcommand.
func (a *app) groupRun(cmd *cobra.Command, args []string) error {
	if len(args) > 0 {
		return unknownCommand(cmd, args[0])
	}
	return cmd.Help()
}
