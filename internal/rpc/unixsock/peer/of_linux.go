package peer

import (
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
	var cred *unix.Ucred
	ctlErr := raw.Control(func(fd uintptr) {
		cred, err = unix.GetsockoptUcred(int(fd), unix.SOL_SOCKET, unix.SO_PEERCRED)
	})
	if ctlErr != nil {
		return Peer{}, ctlErr
	}
	if err != nil {
		return Peer{}, err
	}
	return Peer{UID: cred.Uid, PID: cred.Pid}, nil
}
