//go:build unix

package realllm

import "syscall"

const (
	pause  = syscall.SIGSTOP
	resume = syscall.SIGCONT
)
