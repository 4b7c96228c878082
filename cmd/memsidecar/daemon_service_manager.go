package main

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// state describes the service as its manager reports it.
func (s *service) state(ctx context.Context) string {
	if s.manager == launchd {
		if exec.CommandContext(ctx, "launchctl", "print", fmt.Sprintf("gui/%d/%s", os.Getuid(), s.name)).Run() == nil {
			return "loaded"
		}
		return "not loaded"
	}
	query := func(verb, unit string) string {
		// the exit code repeats the output
		out, _ := exec.CommandContext(ctx, "systemctl", "--user", verb, unit).Output()
		return strings.TrimSpace(string(out))
	}
	socket, service := s.name+".socket", s.name+".service"
	enabled, listens, runs := query("is-enabled", socket), query("is-active", socket), query("is-active", service)
	if enabled+listens+runs == "" {
		return "unknown: systemd has no user session"
	}
	return fmt.Sprintf("%s %s, %s; %s %s", socket, cmp.Or(enabled, "unknown"), cmp.Or(listens, "unknown"), service,
		cmp.Or(runs, "unknown"))
}

// tool is the command of the service manager.
func (s *service) tool() string {
	if s.manager == launchd {
		return "launchctl"
	}
	return "systemctl"
}

// available returns an error if the service manager is not installed.
func (s *service) available() error {
	if _, err := exec.LookPath(s.tool()); err != nil {
		return &cliError{what: s.tool() + " was not found", cause: err,
			hint: "A service is optional: commands and agents start the daemon. \"memsidecar daemon service install " +
				"--dry-run\" shows the files."}
	}
	return nil
}

// run runs commands of the service manager in order and stops at the first that fails.
func (s *service) run(ctx context.Context, steps [][]string) error {
	for _, step := range steps {
		name, mayFail := strings.CutPrefix(step[0], "-")
		out, err := exec.CommandContext(ctx, name, step[1:]...).CombinedOutput()
		if err != nil && !mayFail {
			return &cliError{what: fmt.Sprintf("%s %s: %v", name, strings.Join(step[1:], " "), err), cause: err,
				hint: strings.TrimSpace(string(out)) +
					"\nThe files were written; see \"memsidecar daemon service status\"."}
		}
	}
	return nil
}

// replaceFile replaces a file atomically, so that the service manager never reads a partial one.
func replaceFile(path, text string) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return fmt.Errorf("write service file: %w", err)
	}
	if err := os.WriteFile(path+".tmp", []byte(text), 0o600); err != nil {
		return fmt.Errorf("write service file: %w", err)
	}
	if err := os.Rename(path+".tmp", path); err != nil {
		return fmt.Errorf("write service file: %w", err)
	}
	return nil
}
