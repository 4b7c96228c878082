package peer

import (
	"errors"
	"fmt"
	"net"

	"golang.org/x/sys/unix"
)

// Of asks the kernel who made or accepted a Unix socket connection.
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
	var pid int
	var credErr, pidErr error
	ctlErr := raw.Control(func(fd uintptr) {
		cred, credErr = unix.GetsockoptXucred(int(fd), unix.SOL_LOCAL, unix.LOCAL_PEERCRED)
		pid, pidErr = unix.GetsockoptInt(int(fd), unix.SOL_LOCAL, unix.LOCAL_PEERPID)
	})
	if err := errors.Join(ctlErr, credErr, pidErr); err != nil {
		return Peer{}, err
	}
	return Peer{UID: cred.Uid, PID: int32(pid)}, nil
}
