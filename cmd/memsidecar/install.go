package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/memsidecar/memsidecar/internal/client/hook"
	"github.com/memsidecar/memsidecar/internal/client/install"
)

const installLong = `Register memsidecar's hooks in the configuration of a host program:
%s.

The file is edited in place: comments, order and other entries are kept, and the previous file is saved as
FILE.memsidecar.bak. Installing again changes nothing. An invalid file is not changed. No other setting of the host
is changed, including its own memory.

With --scope project, the configuration of the project in this directory is edited. Its hooks call memsidecar by
name, so the file can be shared. --data, --socket, --space and --config are passed to the hooks.`

// installer holds the flags of install and uninstall.
type installer struct {
	app    *app
	scope  string
	dryRun bool
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
		Use:   "install HOST",
		Short: "Register memsidecar's hooks in a host program",
		Long:  fmt.Sprintf(installLong, hostNames()),
		Example: "  memsidecar install claude-code --dry-run\n  memsidecar install gemini --scope project\n  " +
			"memsidecar install status",
		Args: cobra.ExactArgs(1),
		RunE: in.run((*install.Target).Install, "Installed"),
	}
	in.flags(cmd)
	cmd.AddCommand(a.installStatus())
	return cmd
}

// uninstallCommand is "uninstall".
func (a *app) uninstallCommand() *cobra.Command {
	in := &installer{app: a}
	cmd := &cobra.Command{
		Use:   "uninstall HOST",
		Short: "Remove memsidecar's hooks from a host program",
		Long: "Remove memsidecar's hooks from the configuration of a host program. The rest of the file stays " +
			"byte for byte the same.",
		Example: "  memsidecar uninstall claude-code --dry-run",
		Args:    cobra.ExactArgs(1),
		RunE:    in.run((*install.Target).Uninstall, "Uninstalled"),
	}
	in.flags(cmd)
	return cmd
}

// flags adds the flags that both commands have.
func (in *installer) flags(cmd *cobra.Command) {
	cmd.Flags().StringVar(&in.scope, "scope", "user", "user or project")
	cmd.Flags().BoolVar(&in.dryRun, "dry-run", false, "only show the changes")
}

// run plans the change of the configuration of a host, writes it unless --dry-run is given, and reports it.
func (in *installer) run(plan func(*install.Target) (*install.Change, error), done string) func(*cobra.Command,
	[]string) error {
	return func(_ *cobra.Command, args []string) error {
		h := hook.ByName(args[0])
		if h == nil {
			return usagef("unknown host %q; known hosts are %s", args[0], hostNames())
		}
		scope := install.Scope(in.scope)
		if scope != install.User && scope != install.Project {
			return usagef("--scope is %q; it must be user or project", in.scope)
		}
		t, err := in.app.target(h, scope)
		if err != nil {
			return noScope(h, err)
		}
		c, err := plan(t)
		if err != nil {
			return &cliError{what: err.Error(),
				hint:  "Nothing was changed. Fix the file, or add the hooks by hand as described in docs/hooks.md.",
				cause: err}
		}
		backup := ""
		if !in.dryRun {
			if backup, err = t.Write(c); err != nil {
				return err
			}
		}
		return in.report(t, c, backup, done)
	}
}

// noScope explains that a host has no configuration in this scope.
func noScope(h *hook.Host, err error) error {
	if !errors.Is(err, install.ErrNoScope) {
		return err
	}
	return &cliError{what: h.Title + " has no user-level file for hooks", code: exitUsage, cause: err,
		hint: "It reads the hooks of Claude Code: run \"memsidecar install claude-code\" for both, or use --scope " +
			"project."}
}

// target finds the configuration of a host.
func (a *app) target(h *hook.Host, scope install.Scope) (*install.Target, error) {
	dir, err := os.Getwd()
	if err != nil {
		return nil, err
	}
	program := "memsidecar"
	if scope == install.User {
		if program, err = programPath(); err != nil {
			return nil, err
		}
	}
	home := a.env("HOME")
	if !filepath.IsAbs(home) && scope == install.User {
		return nil, &cliError{what: "cannot find the configuration: HOME is not set to an absolute path",
			code: exitUsage}
	}
	return install.NewTarget(h, scope, install.Env{Home: home, Dir: dir, Getenv: a.env}, program, a.passedOn())
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

// report prints the diff, the backup, and further steps for the host.
func (in *installer) report(t *install.Target, c *install.Change, backup, done string) error {
	out := in.app.out
	if out.json {
		return out.object(object{
			{"host", t.Host.Name}, {"scope", string(t.Scope)}, {"path", c.Path}, {"changed", !c.Same() && !in.dryRun},
			{"dry_run", in.dryRun},
			{"backup", backup}, {"diff", c.Diff()},
		})
	}
	if c.Same() {
		out.printf("Nothing to do: %s is up to date.\n", c.Path)
		return nil
	}
	out.printf("%s\n", c.Path)
	for _, line := range c.Diff() {
		colour := map[byte]string{'-': red, '+': green}[line[0]]
		out.printf("%s\n", out.colour(colour, printable(line)))
	}
	switch {
	case in.dryRun:
		out.printf("Nothing was changed.\n")
		return nil
	case backup != "":
		out.printf("%s; the previous file is %s.\n", done, backup)
	default:
		out.printf("%s.\n", done)
	}
	if done == "Installed" && t.Scope == install.User && strings.HasPrefix(t.Program, os.TempDir()) {
		out.note("the hooks call %s in a temporary directory; install the program elsewhere, then install the hooks "+
			"again", t.Program)
	}
	if note := notes[t.Host.Name]; note != "" && done == "Installed" {
		out.printf("%s\n", note)
	}
	return nil
}

// notes are further steps and limits of a host, printed after an installation.
var notes = map[string]string{
	"claude-code": "New sessions call the hooks. VS Code and Cursor may read this file too; duplicate events are " +
		"recorded once.",
	"codex": "Codex runs hooks only after you trust them: start it and open /hooks. Versions before 0.139 also " +
		"need codex_hooks = true under [features].",
	"gemini": "New sessions call the hooks.",
	"cursor": "Cursor passes hook output to the agent at session start, but not at prompts; there the hooks " +
		"only record.",
	"copilot":  "Copilot CLI does not pass hook output to the agent; the hooks only record.",
	"vscode":   "VS Code passes hook output to the agent at session start and before a tool, but not at prompts.",
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
				a.out.printf("No hooks are registered. Run \"memsidecar install HOST\"; hosts: %s.\n", hostNames())
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
				rows = append(rows, []string{s.target.Host.Name, scope, string(s.kind), times, s.when(a), s.outcome})
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
