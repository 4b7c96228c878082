package realllm

import "syscall"

// Windows cannot pause a process by a signal, so that Pause fails the test.
const (
	pause  = syscall.Signal(-1)
	resume = syscall.Signal(-1)
)
