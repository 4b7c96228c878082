package main

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/memsidecar/memsidecar/internal/hook"
	"github.com/memsidecar/memsidecar/internal/install"
)

const installLong = `Register memsidecar's hooks in the configuration of an agent's host program: %s.

The file is edited in place: comments, order and other entries stay as they are, and what was there is kept as FILE.memsidecar.bak. Doing it
again changes nothing. A file that cannot be read is refused. No setting of the host is changed, also not that of a memory of its own.

With --scope project the configuration of the project in this directory is edited, and hooks call memsidecar by its name alone, so that the
file can be shared. --data, --socket, --space and --config are passed on to the hooks.`

// installer is what install and uninstall have in common.
type installer struct {
	app    *app
	scope  string
	dryRun bool
}

func hostNames() string {
	var names []string
	for _, h := range hook.Hosts() {
		names = append(names, h.Name)
	}
	return strings.Join(names, ", ")
}

func (a *app) installCommand() *cobra.Command {
	in := &installer{app: a}
	cmd := &cobra.Command{
		Use:     "install HOST",
		Short:   "Register memsidecar's hooks with an agent's host program",
		Long:    fmt.Sprintf(installLong, hostNames()),
		Example: "  memsidecar install claude-code --dry-run\n  memsidecar install gemini --scope project\n  memsidecar install status",
		Args:    cobra.ExactArgs(1),
		RunE:    in.run((*install.Target).Install, "Installed"),
	}
	in.flags(cmd)
	cmd.AddCommand(a.installStatus())
	return cmd
}

func (a *app) uninstallCommand() *cobra.Command {
	in := &installer{app: a}
	cmd := &cobra.Command{
		Use:   "uninstall HOST",
		Short: "Take memsidecar's hooks out of a host's configuration",
		Long:  "Take memsidecar's hooks out of a host's configuration. What is left is byte for byte what it was without them.",
		Args:  cobra.ExactArgs(1),
		RunE:  in.run((*install.Target).Uninstall, "Uninstalled"),
	}
	in.flags(cmd)
	return cmd
}

func (in *installer) flags(cmd *cobra.Command) {
	cmd.Flags().StringVar(&in.scope, "scope", "user", "user or project")
	cmd.Flags().BoolVar(&in.dryRun, "dry-run", false, "only show what would be changed")
}

func (in *installer) run(plan func(*install.Target) (*install.Change, error), done string) func(*cobra.Command, []string) error {
	return func(_ *cobra.Command, args []string) error {
		h := hook.ByName(args[0])
		if h == nil {
			return usagef("there is no host %q; there are %s", args[0], hostNames())
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
			return &cliError{what: err.Error(), hint: "Nothing was changed. Mend the file, or add the hooks by hand: docs/hooks.md says how they look.", cause: err}
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

func noScope(h *hook.Host, err error) error {
	if !errors.Is(err, install.ErrNoScope) {
		return err
	}
	return &cliError{what: h.Title + " has no file of its own for the hooks of a user", code: exitUsage, cause: err,
		hint: "It reads those of Claude Code: \"memsidecar install claude-code\" serves both. Or take --scope project."}
}

// target finds the configuration of a host.
func (a *app) target(h *hook.Host, scope install.Scope) (*install.Target, error) {
	dir, err := os.Getwd()
	if err != nil {
		return nil, err
	}
	program := "memsidecar"
	if scope == install.User {
		if program, err = os.Executable(); err != nil {
			return nil, fmt.Errorf("find this program: %w", err)
		}
	}
	home := a.env("HOME")
	if !filepath.IsAbs(home) && scope == install.User {
		return nil, &cliError{what: "cannot find your configuration: HOME is not set to an absolute path", code: exitUsage}
	}
	return install.NewTarget(h, scope, install.Env{Home: home, Dir: dir, Getenv: a.env}, program, a.passedOn())
}

// passedOn are the global flags that hooks need too.
func (a *app) passedOn() []string {
	var out []string
	for _, f := range []struct{ name, value string }{
		{"--data", a.flags.data}, {"--socket", a.flags.socket}, {"--config", a.flags.config}, {"--space", a.flags.space},
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

func (in *installer) report(t *install.Target, c *install.Change, backup, done string) error {
	out := in.app.out
	if out.json {
		return out.object(object{
			{"host", t.Host.Name}, {"scope", string(t.Scope)}, {"path", c.Path}, {"changed", !c.Same() && !in.dryRun}, {"dry_run", in.dryRun},
			{"backup", backup}, {"diff", c.Diff()},
		})
	}
	if c.Same() {
		out.printf("Nothing to do: %s is as it should be.\n", c.Path)
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
		out.printf("%s; what was there is kept as %s.\n", done, backup)
	default:
		out.printf("%s.\n", done)
	}
	if done == "Installed" && t.Scope == install.User && strings.HasPrefix(t.Program, os.TempDir()) {
		out.note("the hooks call %s, which lies in a temporary directory: install the program, and then the hooks again", t.Program)
	}
	if note := notes[t.Host.Name]; note != "" && done == "Installed" {
		out.printf("%s\n", note)
	}
	return nil
}

// notes are what else a person has to do or to know.
var notes = map[string]string{
	"claude-code": "New sessions call the hooks. VS Code and Cursor can read this file too; an event that comes twice is recorded once.",
	"codex":       "Codex runs hooks only once you trust them: start it and open /hooks. In versions before 0.139 they also need codex_hooks = true under [features].",
	"gemini":      "New sessions call the hooks.",
	"cursor":      "Cursor gives its agent what a hook says at the start of a session, not at a prompt: there it records only.",
	"copilot":     "Copilot CLI gives its agent nothing of what a hook says: the hooks record only.",
	"vscode":      "VS Code gives its agent what a hook says at the start of a session and before a tool, not at a prompt.",
	"opencode":    "OpenCode loads the plugin when it starts.",
}

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
				a.out.printf("No hooks are registered. \"memsidecar install HOST\" does; the hosts are %s.\n", hostNames())
				return nil
			}
			var rows [][]string
			for _, s := range states {
				scope, times := string(s.target.Scope), itoa(int64(s.times))
				if s.elsewhere {
					scope, times = "elsewhere", "?"
				}
				rows = append(rows, []string{s.target.Host.Name, scope, string(s.kind), times, s.when(a), s.outcome})
			}
			a.out.table([]string{"HOST", "SCOPE", "EVENT", "REGISTERED", "LAST CALLED", "OUTCOME"}, rows)
			return nil
		},
	}
}

// spawnable reports whether a program that hooks call is there.
func spawnable(program string) error {
	_, err := exec.LookPath(program)
	return err
}
