package main

import (
	"log/slog"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/memsidecar/memsidecar/internal/client/hook"
	"github.com/memsidecar/memsidecar/internal/client/install"
	"github.com/memsidecar/memsidecar/internal/daemon/userdirs"
)

// hookProgramPath is where memsidecar-hook is written out: a name that no upgrade changes.
func (a *app) hookProgramPath() (string, error) {
	state, err := userdirs.State(a.env)
	return filepath.Join(state, "bin", "memsidecar-hook"), err
}

// writeHookProgram writes memsidecar-hook out and returns its path; "" when this program has none inside, or it cannot
// run where it is, as on a file system that is mounted without execution.
func (a *app) writeHookProgram(program string) string {
	path, err := a.hookProgramPath()
	if err != nil || hookProgram == "" {
		return ""
	}
	if err := install.WriteProgram(path, hookProgram); err != nil {
		a.out.note("hosts call memsidecar itself, which is slower: %v", err)
		return ""
	}
	h := hook.Hosts()[0]
	words := []string{path, "hook", "--host", h.Name, string(h.Bindings[0].Kind), hookProgramFlag, program}
	if problem := probe(path, install.ShellCommand(words)); problem != "" {
		a.out.note("hosts call memsidecar itself, which is slower: %s", problem)
		return ""
	}
	return path
}

// hookProgramFlag tells memsidecar-hook where memsidecar is.
const hookProgramFlag = "--program"

// removeHookProgram removes memsidecar-hook when no host calls it any more.
func (a *app) removeHookProgram() error {
	path, err := a.hookProgramPath()
	if err != nil {
		return err
	}
	for _, h := range hook.Hosts() {
		files, err := a.hostFiles(h, install.User, "")
		if err != nil {
			return err
		}
		for _, t := range targetsOf(files) {
			registered, err := t.Registered()
			if err != nil { // a file that cannot be read may name it
				return nil //nolint:nilerr // the file is reported by the host's own change
			}
			for _, commands := range registered {
				if strings.Contains(strings.Join(commands, "\n"), path) {
					return nil
				}
			}
		}
	}
	return install.RemoveProgram(path)
}

// refreshHookProgram replaces the memsidecar-hook of another version, once it was installed. An old one works, too.
func (a *app) refreshHookProgram(log *slog.Logger) {
	path, err := a.hookProgramPath()
	if err != nil || hookProgram == "" {
		return
	}
	if _, err := exec.LookPath(path); err != nil { // not installed
		return
	}
	if err := install.WriteProgram(path, hookProgram); err != nil {
		log.Warn("memsidecar-hook was not replaced by that of this version", "path", path, "err", err)
	}
}
