package peer

import (
	"errors"
	"fmt"
	"net"

	"golang.org/x/sys/unix"
)

// Of asks the kernel who made or accepted a Unix socket connection. FreeBSD tells the uid; the process is 0, for
// golang.org/x/sys does not show it.
func Of(conn net.Conn) (Peer, error) {
	c, ok := conn.(*net.UnixConn)
	if !ok {
		return Peer{}, fmt.Errorf("connection is a %T, not of a Unix socket", conn)
	}
	raw, err := c.SyscallConn()
	if err != nil {
		return Peer{}, err
	}
	var cred *unix.Xucred
	var credErr error
	ctlErr := raw.Control(func(fd uintptr) {
		cred, credErr = unix.GetsockoptXucred(int(fd), unix.SOL_LOCAL, unix.LOCAL_PEERCRED)
	})
	if err := errors.Join(ctlErr, credErr); err != nil {
		return Peer{}, err
	}
	return Peer{UID: cred.Uid}, nil
}
