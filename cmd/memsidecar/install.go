package main

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/memsidecar/memsidecar/internal/client/hook"
	"github.com/memsidecar/memsidecar/internal/client/install"
	"github.com/memsidecar/memsidecar/internal/daemon/userdirs"
)

const installLong = `Connect host programs of agents to memsidecar. Without a HOST, the hosts that are found on this
machine; with --all, every known one: %s.

Three parts are installed where the host has them:

  hooks         record sessions and show what fits a prompt
  mcp           an MCP server with tools to search and save
  instructions  a short skill that says when to search and when to save

Files are edited in place: comments, order and other entries are kept, and a file that was there before is saved as
FILE.memsidecar.bak. Installing again changes nothing. A file that cannot be read is not changed. No other setting of
a host is changed, including its own memory. "memsidecar uninstall" brings back every byte.

With --scope project, the configuration of the project in this directory is edited. It calls memsidecar by name, so
the files can be shared. --data, --socket, --space and --config are passed on.`

// installer holds the flags of install and uninstall.
type installer struct {
	app    *app
	hook   string // program that hooks call; "" for this one
	scope  string
	only   string
	dryRun bool
	all    bool

	remove bool // uninstall
}

// hostNames lists the known hosts for help and errors.
func hostNames() string {
	var names []string
	for _, h := range hook.Hosts() {
		names = append(names, h.Name)
	}
	return strings.Join(names, ", ")
}

// installCommand is "install".
func (a *app) installCommand() *cobra.Command {
	in := &installer{app: a}
	cmd := &cobra.Command{
		Use:   "install [HOST...]",
		Short: "Connect agents' host programs: hooks, MCP server, instructions",
		Long:  fmt.Sprintf(installLong, hostNames()),
		Example: "  memsidecar install --dry-run\n  memsidecar install claude-code\n  " +
			"memsidecar install gemini --scope project --only hooks\n  memsidecar install status",
		Args: cobra.ArbitraryArgs,
		RunE: in.run,
	}
	in.flags(cmd)
	cmd.AddCommand(a.installStatus())
	return cmd
}

// uninstallCommand is "uninstall".
func (a *app) uninstallCommand() *cobra.Command {
	in := &installer{app: a, remove: true}
	cmd := &cobra.Command{
		Use:   "uninstall [HOST...]",
		Short: "Remove what install put into host programs",
		Long: `Remove from the configuration of host programs what "memsidecar install" put in; without a HOST, from all.
The rest of each file stays byte for byte the same. Files and directories that only install made are removed.`,
		Example: "  memsidecar uninstall claude-code --dry-run\n  memsidecar uninstall --only mcp",
		Args:    cobra.ArbitraryArgs,
		RunE:    in.run,
	}
	in.flags(cmd)
	return cmd
}

// flags adds the flags of the command.
func (in *installer) flags(cmd *cobra.Command) {
	cmd.Flags().StringVar(&in.scope, "scope", "user", "user or project")
	cmd.Flags().StringVar(&in.only, "only", "", "only these parts, with commas: hooks, mcp, instructions")
	cmd.Flags().BoolVar(&in.dryRun, "dry-run", false, "only show the changes")
	if !in.remove {
		cmd.Flags().BoolVar(&in.all, "all", false, "every known host, found or not")
	}
}

// run plans the changes of all files, writes them unless --dry-run is given, and reports them. A host of which a file
// cannot be read is left out whole.
func (in *installer) run(_ *cobra.Command, args []string) error {
	parts, err := in.parts()
	if err != nil {
		return err
	}
	hosts, err := in.hosts(args)
	if err != nil {
		return err
	}
	if slices.Contains(parts, install.Hooks) && in.scope == string(install.User) && !in.remove {
		if err := in.findHookProgram(); err != nil {
			return err
		}
	}
	var changes []*install.Change
	var refused []error
	for _, h := range hosts {
		list, err := in.plan(h, parts, len(args) > 0)
		if err != nil {
			refused = append(refused, err)
			continue
		}
		changes = append(changes, list...)
	}
	backups := make([]string, len(changes))
	for i, c := range changes {
		if in.dryRun {
			break
		}
		if backups[i], err = c.Write(); err != nil {
			return err
		}
	}
	if !in.dryRun {
		refused = append(refused, in.app.removeHookProgram())
	}
	if len(changes) > 0 || errors.Join(refused...) == nil {
		if err := in.report(hosts, parts, changes, backups); err != nil {
			return err
		}
	}
	return errors.Join(refused...)
}

// findHookProgram writes memsidecar-hook out, or only says where it would be.
func (in *installer) findHookProgram() (err error) {
	if in.dryRun && hookProgram != "" {
		in.hook, err = in.app.hookProgramPath()
		return err
	}
	program, err := programPath()
	if err == nil {
		in.hook = in.app.writeHookProgram(program)
	}
	return err
}

// parts are those of --only, or all.
func (in *installer) parts() ([]install.Part, error) {
	scope := install.Scope(in.scope)
	if scope != install.User && scope != install.Project {
		return nil, usagef("--scope is %q; it must be user or project", in.scope)
	}
	if in.only == "" {
		return install.Parts(), nil
	}
	var out []install.Part
	for name := range strings.SplitSeq(in.only, ",") {
		part := install.Part(strings.TrimSpace(name))
		if !slices.Contains(install.Parts(), part) {
			return nil, usagef("--only has %q; the parts are hooks, mcp and instructions", name)
		}
		out = append(out, part)
	}
	return out, nil
}

// hosts are those that were named, else those that are found; to uninstall, all.
func (in *installer) hosts(args []string) (out []*hook.Host, err error) {
	for _, name := range args {
		h := hook.ByName(name)
		if h == nil {
			if near := closest(name, strings.Split(hostNames(), ", ")); len(near) > 0 {
				return nil, &cliError{what: "unknown host " + quote(name), code: exitUsage, hint: didYouMean("", near)}
			}
			return nil, usagef("unknown host %q; known hosts are %s", name, hostNames())
		}
		out = append(out, h)
	}
	if len(args) > 0 && in.all {
		return nil, usagef("--all takes no HOST")
	}
	if len(args) > 0 {
		return out, nil
	}
	env, err := in.app.installEnv()
	if err != nil {
		return nil, err
	}
	for _, h := range hook.Hosts() {
		if in.all || in.remove || install.Present(h, env, exec.LookPath) {
			out = append(out, h)
		}
	}
	if len(out) == 0 {
		return nil, &cliError{what: "no host program was found on this machine",
			hint: "Name one: memsidecar install HOST. Hosts: " + hostNames() + "."}
	}
	return out, nil
}

// plan returns the changes of one host's files that are not as they should be. A host that was named and has none of
// the parts in this scope is an error.
func (in *installer) plan(h *hook.Host, parts []install.Part, named bool) (out []*install.Change, err error) {
	files, err := in.app.hostFiles(h, install.Scope(in.scope), in.hook)
	if err != nil {
		return nil, err
	}
	held := false
	for _, f := range files {
		c, err := in.change(f, parts)
		if err != nil {
			return nil, &cliError{what: err.Error(), cause: err, hint: "Nothing of " + h.Title + " was changed. Fix " +
				"the file, or add the entries by hand as described in docs/hooks.md."}
		}
		held = held || len(f.Holds(parts)) > 0
		if !c.Same() {
			out = append(out, c)
		}
	}
	if !held && named {
		return nil, noScope(h)
	}
	return out, nil
}

// change is the change of one file.
func (in *installer) change(f *install.File, parts []install.Part) (*install.Change, error) {
	if in.remove {
		return f.Uninstall(parts)
	}
	return f.Install(parts)
}

// noScope explains that a host has no file for the parts in this scope.
func noScope(h *hook.Host) error {
	return &cliError{what: h.Title + " has no user-level file for this", code: exitUsage, cause: install.ErrNoScope,
		hint: "It reads the hooks of Claude Code: run \"memsidecar install claude-code\" for both, or use --scope " +
			"project."}
}

// installEnv says where configurations are found.
func (a *app) installEnv() (install.Env, error) {
	dir, err := os.Getwd()
	if err != nil {
		return install.Env{}, err
	}
	home := a.env("HOME")
	if !filepath.IsAbs(home) {
		return install.Env{}, &cliError{what: "cannot find the configuration: HOME is not set to an absolute path",
			code: exitUsage}
	}
	state, err := userdirs.State(a.env)
	if err != nil {
		return install.Env{}, err
	}
	return install.Env{Home: home, Dir: dir, State: state, Getenv: a.env}, nil
}

// hostFiles finds the configuration of a host. A user's hooks call hookProgram if it is not empty.
func (a *app) hostFiles(h *hook.Host, scope install.Scope, hookProgram string) ([]*install.File, error) {
	env, err := a.installEnv()
	if err != nil {
		return nil, err
	}
	env.Hook = hookProgram
	program := "memsidecar"
	if scope == install.User {
		if program, err = programPath(); err != nil {
			return nil, err
		}
	}
	return install.Files(h, scope, env, program, a.passedOn()), nil
}

// passedOn are the global flags that the installed hooks need.
func (a *app) passedOn() []string {
	var out []string
	for _, f := range []struct{ name, value string }{
		{"--data", a.flags.data}, {"--socket", a.flags.socket}, {"--config", a.flags.config},
		{"--space", a.flags.space},
	} {
		if f.value == "" {
			continue
		}
		if abs, err := filepath.Abs(f.value); err == nil && f.name != "--space" {
			f.value = abs
		}
		out = append(out, f.name, f.value)
	}
	return out
}

// report prints what was changed, and further steps for the hosts.
func (in *installer) report(hosts []*hook.Host, parts []install.Part, changes []*install.Change,
	backups []string) error {
	out := in.app.out
	if out.json {
		list := []object{}
		for i, c := range changes {
			list = append(list, object{{"host", c.Host().Name}, {"parts", c.Holds(parts)}, {"scope", in.scope},
				{"path", c.Path}, {"changed", !in.dryRun}, {"backup", backups[i]}, {"diff", c.Diff()}})
		}
		return out.object(object{{"dry_run", in.dryRun}, {"files", list}})
	}
	if len(changes) == 0 {
		var names []string
		for _, h := range hosts {
			names = append(names, h.Name)
		}
		out.printf("Nothing to do: %s up to date.\n", strings.Join(names, ", "))
		return nil
	}
	for i, c := range changes {
		in.reportFile(c, parts, backups[i])
	}
	if in.dryRun {
		out.printf("Nothing was changed.\n")
		return nil
	}
	if self, err := programPath(); err == nil && !in.remove && in.scope == "user" && strings.HasPrefix(self, os.TempDir()) {
		out.note("the hosts call %s in a temporary directory; install the program elsewhere, then run this again", self)
	}
	for _, h := range hosts {
		if note := notes[h.Name]; note != "" && !in.remove && slices.Contains(parts, install.Hooks) {
			out.printf("%s\n", note)
		}
	}
	return nil
}

// reportFile prints the change of one file: the diff only before it is made.
func (in *installer) reportFile(c *install.Change, parts []install.Part, backup string) {
	out := in.app.out
	done := "Installed"
	if in.remove {
		done = "Removed"
	}
	if in.dryRun {
		out.printf("%s\n", c.Path)
		for _, line := range c.Diff() {
			colour := map[byte]string{'-': red, '+': green}[line[0]]
			out.printf("%s\n", out.colour(colour, printable(line)))
		}
		return
	}
	var names []string
	for _, p := range c.Holds(parts) {
		names = append(names, string(p))
	}
	out.printf("%s %s of %s: %s\n", done, strings.Join(names, " and "), c.Host().Name, c.Path)
	if backup != "" {
		out.printf("  the previous file is %s\n", backup)
	}
}

// notes are further steps and limits of a host, printed after an installation.
var notes = map[string]string{
	"claude-code": "New sessions call the hooks. VS Code and Cursor may read this file too; duplicate events are " +
		"recorded once.",
	"codex": "Codex runs hooks only after you trust them: start it and open /hooks. Versions before 0.139 also " +
		"need codex_hooks = true under [features].",
	"gemini": "New sessions call the hooks.",
	"cursor": "Cursor passes hook output to the agent at session start and around tools; some versions drop it at " +
		"prompts. Its rules are files of a project: --scope project adds one that is always read.",
	"copilot":  "New sessions call the hooks. Versions before 1.0.102 pass less of their output to the agent.",
	"vscode":   "VS Code passes hook output to the agent at session start and around tools, but not at prompts.",
	"opencode": "OpenCode loads the plugin when it starts.",
}

// installStatus is "install status".
func (a *app) installStatus() *cobra.Command {
	return &cobra.Command{
		Use:   "status",
		Short: "Show where hooks are registered and when each was last called",
		Args:  cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			states, err := a.hookStates()
			if err != nil {
				return err
			}
			if a.out.json {
				list := []object{}
				for _, s := range states {
					list = append(list, s.object())
				}
				return a.out.object(object{{"hooks", list}})
			}
			if len(states) == 0 {
				a.out.printf("Nothing is installed. Run \"memsidecar install\"; hosts: %s.\n", hostNames())
				return nil
			}
			var rows [][]string
			for _, s := range states {
				scope, times := string(s.target.Scope), itoa(int64(s.times))
				if s.elsewhere {
					scope, times = "elsewhere", "?"
				}
				if s.untrusted() {
					times += " " + string(s.trust)
				}
				rows = append(rows, []string{s.target.Host.Name, scope, s.event(), times, s.when(a), s.outcome})
			}
			a.out.table([]string{"HOST", "SCOPE", "EVENT", "REGISTERED", "LAST CALLED", "OUTCOME"}, rows)
			a.printProblems(states)
			return nil
		},
	}
}

// printProblems prints once for each configuration what is wrong with the program that it calls.
func (a *app) printProblems(states []*hookState) {
	told := map[string]bool{}
	for _, s := range states {
		line := fmt.Sprintf("%s %s: %s. Run \"memsidecar install %s%s\".\n", a.out.colour(amber, "!"), s.target.Host.Name,
			s.problem, s.target.Host.Name, scopeFlag(s.target.Scope))
		if s.problem != "" && !told[line] {
			told[line] = true
			a.out.printf("%s", line)
		}
	}
}
