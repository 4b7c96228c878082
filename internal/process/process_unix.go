//go:build unix

package process

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"syscall"
)

// Ended reports whether a process has ended. A zombie has, where the system tells.
func Ended(pid int) bool {
	if errors.Is(syscall.Kill(pid, 0), syscall.ESRCH) {
		return true
	}
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return false // no /proc here
	}
	_, rest, found := bytes.Cut(stat, []byte(") "))
	return found && bytes.HasPrefix(rest, []byte("Z"))
}

// Detach has a command that is not started yet run in a session of its own, so that it outlives this process, its
// terminal and what is sent to its group.
func Detach(cmd *exec.Cmd) { cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true} }
