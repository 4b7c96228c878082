package cluster

import "syscall"

// unprivileged is nil: the server runs as the test's user.
func unprivileged() *syscall.SysProcAttr { return nil }
