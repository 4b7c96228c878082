package listener

import "golang.org/x/sys/unix"

// restrictUnbound sets the mode that a socket will be bound with.
func restrictUnbound(fd uintptr) error { return unix.Fchmod(int(fd), 0o600) }
