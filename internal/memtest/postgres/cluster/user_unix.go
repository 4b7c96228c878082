//go:build unix

package cluster

import (
	"os"
	"syscall"
)

// unprivileged is another user for the server, which refuses to run as root; nil when the test does not.
func unprivileged() *syscall.SysProcAttr {
	if os.Getuid() != 0 {
		return nil
	}
	return &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: nobody, Gid: nobody}}
}
