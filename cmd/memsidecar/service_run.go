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

// state is what the manager says of the service.
func (s *service) state(ctx context.Context) string {
	if s.manager == launchd {
		if exec.CommandContext(ctx, "launchctl", "print", fmt.Sprintf("gui/%d/%s", os.Getuid(), s.name)).Run() == nil {
			return "loaded"
		}
		return "not loaded"
	}
	ask := func(question, unit string) string {
		out, _ := exec.CommandContext(ctx, "systemctl", "--user", question, unit).Output() // the exit code says the same as the word
		return strings.TrimSpace(string(out))
	}
	socket, service := s.name+".socket", s.name+".service"
	enabled, listens, runs := ask("is-enabled", socket), ask("is-active", socket), ask("is-active", service)
	if enabled+listens+runs == "" {
		return "unknown: systemd does not answer for this user"
	}
	return fmt.Sprintf("%s %s, %s; %s %s", socket, cmp.Or(enabled, "unknown"), cmp.Or(listens, "unknown"), service, cmp.Or(runs, "unknown"))
}

func (s *service) tool() string {
	if s.manager == launchd {
		return "launchctl"
	}
	return "systemctl"
}

// available reports whether the service manager can be talked to.
func (s *service) available() error {
	if _, err := exec.LookPath(s.tool()); err != nil {
		return &cliError{what: "there is no " + s.tool() + " here", cause: err,
			hint: "Nothing needs it: commands and agents start the daemon themselves. \"memsidecar service install --dry-run\" shows the files."}
	}
	return nil
}

func (s *service) run(ctx context.Context, steps [][]string) error {
	for _, step := range steps {
		name, mayFail := strings.CutPrefix(step[0], "-")
		out, err := exec.CommandContext(ctx, name, step[1:]...).CombinedOutput()
		if err != nil && !mayFail {
			return &cliError{what: fmt.Sprintf("%s %s: %v", name, strings.Join(step[1:], " "), err), cause: err,
				hint: strings.TrimSpace(string(out)) + "\nThe files are written; \"memsidecar service status\" says how it stands."}
		}
	}
	return nil
}

// replaceFile writes a file whole, so that the service manager never reads half of it.
func replaceFile(path, text string) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return fmt.Errorf("write the service: %w", err)
	}
	if err := os.WriteFile(path+".tmp", []byte(text), 0o600); err != nil {
		return fmt.Errorf("write the service: %w", err)
	}
	if err := os.Rename(path+".tmp", path); err != nil {
		return fmt.Errorf("write the service: %w", err)
	}
	return nil
}
