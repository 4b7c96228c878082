package realllm

import (
	"os/exec"
	"syscall"
)

// dieWithUs ends the process with the test's, however that ends.
func dieWithUs(cmd *exec.Cmd) { cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL} }
