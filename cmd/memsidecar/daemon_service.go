package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"

	"github.com/spf13/cobra"
)

// Service managers.
const (
	systemd = "systemd"
	launchd = "launchd"
)

// serviceMark is in every service file of ours; a file without it was written by somebody else and is not changed.
const serviceMark = "Written by memsidecar daemon service install"

const serviceLong = `Run the daemon as a user service of systemd (Linux) or launchd (macOS). This is optional,
because commands and agents start the daemon themselves. A service manager adds log rotation, resource limits and
restarts.

With systemd, the socket exists from login on and the first connection starts the daemon. "memsidecar daemon stop"
and "memsidecar daemon start" also stop and start the socket.`

// serviceCommand groups the commands for systemd and launchd.
func (a *app) serviceCommand() *cobra.Command {
	cmd := &cobra.Command{Use: "service", Short: "Run the daemon as a systemd or launchd service", Long: serviceLong,
		Args: cobra.ArbitraryArgs, RunE: a.groupRun}
	var manager string
	var dryRun bool
	sub := func(use, short string, run func(ctx context.Context, s *service, dryRun bool) error) *cobra.Command {
		c := &cobra.Command{Use: use, Short: short, Args: cobra.NoArgs,
			RunE: func(cmd *cobra.Command, _ []string) error {
				s, err := a.service(manager)
				if err != nil {
					return err
				}
				return run(cmd.Context(), s, dryRun)
			}}
		c.Flags().StringVar(&manager, "manager", "", "systemd or launchd (default: depends on the system)")
		return c
	}
	install := sub("install", "Install and start the service", a.installService)
	uninstall := sub("uninstall", "Stop and uninstall the service", a.uninstallService)
	for _, c := range []*cobra.Command{install, uninstall} {
		c.Flags().BoolVar(&dryRun, "dry-run", false, "only show files and commands")
	}
	cmd.AddCommand(install, uninstall, sub("status", "Show the state of the service", a.serviceStatus))
	return cmd
}

// service is the daemon of one data directory as a service of one manager.
type service struct {
	app     *app
	in      *instance
	manager string
	name    string // of the unit, or the label
	files   []serviceFile
}

// serviceFile is one file of a service: a unit or a property list.
type serviceFile struct{ path, text string }

// service describes the service of the configured daemon; an empty manager is that of this system.
func (a *app) service(manager string) (*service, error) {
	if manager == "" {
		manager = systemd
		if runtime.GOOS == "darwin" {
			manager = launchd
		}
	}
	in, err := a.loadInstance()
	if err != nil {
		return nil, err
	}
	exe, err := programPath()
	if err != nil {
		return nil, err
	}
	args, err := in.serveArgs()
	if err != nil {
		return nil, err
	}
	s := &service{app: a, in: in, manager: manager, name: in.serviceName()}
	switch manager {
	case systemd:
		dir, err := systemdDir(a.env)
		if err != nil {
			return nil, err
		}
		s.files = systemdFiles(dir, s.name, in.cfg.Socket, append([]string{exe}, args...))
	case launchd:
		home := a.env("HOME")
		if !filepath.IsAbs(home) {
			return nil, usagef("HOME is not set to an absolute path")
		}
		s.name = "io.github." + s.name
		s.files = launchdFiles(filepath.Join(home, "Library/LaunchAgents"), s.name, in.logFile(),
			append([]string{exe}, args...))
	default:
		return nil, usagef("--manager is %q; it must be systemd or launchd", manager)
	}
	return s, nil
}

// serviceName is unique for each data directory.
func (in *instance) serviceName() string {
	return "memsidecar" + strings.TrimPrefix(filepath.Base(in.base), "daemon")
}

// installed reports whether all service files exist, and whether their content is current.
func (s *service) installed() (exists, current bool, err error) {
	exists, current = true, true
	for _, f := range s.files {
		data, err := os.ReadFile(f.path)
		switch {
		case errors.Is(err, fs.ErrNotExist):
			exists, current = false, false
			continue
		case err != nil:
			return false, false, fmt.Errorf("read service file: %w", err)
		case !bytes.Contains(data, []byte(serviceMark)):
			return false, false, &cliError{what: f.path + " was not written by memsidecar and is not changed",
				hint: "Move it away, then run the command again."}
		}
		current = current && string(data) == f.text
	}
	return exists, current, nil
}

// steps are the commands that install or uninstall the service. A leading "-" marks a command that may fail.
func (s *service) steps(install bool) [][]string {
	if s.manager == launchd {
		domain := fmt.Sprintf("gui/%d", os.Getuid())
		out := [][]string{{"-launchctl", "bootout", domain + "/" + s.name}}
		if install {
			out = append(out, []string{"launchctl", "bootstrap", domain, s.files[0].path})
		}
		return out
	}
	systemctl := func(args ...string) []string { return append([]string{"systemctl", "--user"}, args...) }
	if install {
		return [][]string{systemctl("daemon-reload"), systemctl("enable", "--now", s.name+".socket")}
	}
	return [][]string{{"-systemctl", "--user", "disable", "--now", s.name + ".socket"},
		{"-systemctl", "--user", "stop", s.name + ".service"}}
}

// installService stops the daemon that clients started, writes the service files and starts the service. The
// start lock is held meanwhile, so that no client starts another daemon in between.
func (a *app) installService(ctx context.Context, s *service, dryRun bool) error {
	exists, current, err := s.installed()
	if err != nil {
		return err
	}
	if strings.Contains(s.files[0].text, "/go-build") {
		return &cliError{what: "\"go run\" built this program in a temporary directory, so a service cannot start it " +
			"later", hint: "Install it first: go install ./cmd/memsidecar"}
	}
	if dryRun {
		return a.planned(s, "Would write", s.steps(true))
	}
	if err := s.available(); err != nil {
		return err
	}
	err = s.in.exclusively(ctx, func() error {
		if exists {
			if err := s.run(ctx, s.steps(false)); err != nil {
				return err
			}
		}
		if _, err := a.stop(ctx, s.in); err != nil { // a client-started daemon holds the directory
			return err
		}
		for _, f := range s.files {
			if err := replaceFile(f.path, f.text); err != nil {
				return err
			}
		}
		if err := s.in.setStopped(false); err != nil {
			return err
		}
		return s.run(ctx, s.steps(true))
	})
	if err != nil {
		return err
	}
	if a.out.json {
		return a.out.object(object{{"manager", s.manager}, {"name", s.name}, {"files", s.paths()},
			{"changed", !current}})
	}
	a.out.printf("Installed %s for %s, data in %s:\n", s.name, s.manager, s.in.cfg.Data)
	for _, f := range s.files {
		a.out.printf("  %s\n", f.path)
	}
	return nil
}

// uninstallService stops the service and removes its files. Without a service manager only the files are removed.
func (a *app) uninstallService(ctx context.Context, s *service, dryRun bool) error {
	if _, _, err := s.installed(); err != nil {
		return err
	}
	if dryRun {
		return a.planned(s, "Would remove", s.steps(false))
	}
	removed := 0
	if err := s.available(); err == nil { // without the manager only the files remain
		if err := s.run(ctx, s.steps(false)); err != nil {
			return err
		}
	}
	for _, f := range s.files {
		err := os.Remove(f.path)
		if err == nil {
			removed++
		} else if !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("remove service file: %w", err)
		}
	}
	if s.manager == systemd && removed > 0 && s.available() == nil {
		if err := s.run(ctx, [][]string{{"-systemctl", "--user", "daemon-reload"}}); err != nil {
			return err
		}
	}
	if a.out.json {
		return a.out.object(object{{"manager", s.manager}, {"name", s.name}, {"removed", removed}})
	}
	if removed == 0 {
		a.out.printf("%s was not installed for %s.\n", s.name, s.manager)
		return nil
	}
	a.out.printf("Removed %s from %s. The memories stay in %s, and commands start the daemon as before.\n", s.name,
		s.manager, s.in.cfg.Data)
	return nil
}

// serviceStatus reports whether the service is installed and whether a daemon is running.
func (a *app) serviceStatus(ctx context.Context, s *service, _ bool) error {
	exists, current, err := s.installed()
	if err != nil {
		return err
	}
	files := "not installed; run \"memsidecar daemon service install\""
	switch {
	case current:
		files = "installed"
	case exists:
		files = "installed for another program or socket; run \"memsidecar daemon service install\" to update it"
	}
	state := "unknown: " + s.tool() + " not found"
	if s.available() == nil {
		state = s.state(ctx)
	}
	answers := "no daemon answers at " + s.in.cfg.Socket
	if c, err := a.running(ctx, s.in.cfg); err == nil {
		answers = fmt.Sprintf("process %d answers", c.info.GetPid())
		c.close()
	} else if !errors.Is(err, errNotRunning) {
		return err
	}
	if a.out.json {
		return a.out.object(object{{"manager", s.manager}, {"name", s.name}, {"installed", exists},
			{"current", current}, {"state", state}, {"daemon", answers}, {"files", s.paths()}})
	}
	a.out.fields([][2]string{{"Service", s.name + " (" + s.manager + ")"}, {"Files", files}, {"State", state},
		{"Daemon", answers}})
	return nil
}

// planned prints files and commands for --dry-run.
func (a *app) planned(s *service, verb string, steps [][]string) error {
	var commands []string
	for _, step := range steps {
		commands = append(commands, strings.TrimPrefix(strings.Join(step, " "), "-"))
	}
	if a.out.json {
		files := []any{}
		for _, f := range s.files {
			files = append(files, object{{"path", f.path}, {"text", f.text}})
		}
		return a.out.object(object{{"manager", s.manager}, {"name", s.name}, {"files", files}, {"commands", commands}})
	}
	for _, f := range s.files {
		a.out.printf("%s %s:\n%s\n", verb, f.path, indentLines(f.text))
	}
	a.out.printf("Would run:\n%s", indentLines(strings.Join(commands, "\n")+"\n"))
	return nil
}

// indentLines indents every line by two spaces.
func indentLines(text string) string {
	return "  " + strings.ReplaceAll(strings.TrimRight(text, "\n"), "\n", "\n  ") + "\n"
}

// paths are the paths of the service files.
func (s *service) paths() []string {
	var out []string
	for _, f := range s.files {
		out = append(out, f.path)
	}
	return out
}
