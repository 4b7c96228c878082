package process

import (
	"errors"
	"os/exec"
	"syscall"

	"golang.org/x/sys/windows"
)

// Ended reports whether a process has ended.
func Ended(pid int) bool {
	handle, err := windows.OpenProcess(windows.SYNCHRONIZE, false, uint32(pid))
	if err != nil {
		return errors.Is(err, windows.ERROR_INVALID_PARAMETER) // another error is of one that runs
	}
	defer windows.CloseHandle(handle) //nolint:errcheck // nothing was written
	event, err := windows.WaitForSingleObject(handle, 0)
	return err == nil && event == windows.WAIT_OBJECT_0
}

// Detach has a command that is not started yet run without the console of this process, so that it outlives this
// process and its console.
func Detach(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{
		HideWindow:    true,
		CreationFlags: windows.CREATE_NEW_PROCESS_GROUP | windows.DETACHED_PROCESS,
	}
}
