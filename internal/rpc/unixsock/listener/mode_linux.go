package listener

import "golang.org/x/sys/unix"

// restrictUnbound sets the mode that a socket will be bound with.
func restrictUnbound(fd int) error { return unix.Fchmod(fd, 0o600) }
