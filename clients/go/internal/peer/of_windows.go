package peer

import (
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"unsafe"

	"golang.org/x/sys/windows"
)

// getPeerPID is SIO_AF_UNIX_GETPEERPID: _WSAIOR(IOC_VENDOR, 256).
const getPeerPID = 0x58000100

// Of asks the kernel which process made or accepted a Unix socket connection, and which user that process runs as.
// Windows has no uids: the peer of this process's own user has the uid that os.Getuid returns, and every other one is
// an error. The process is asked for after the connection was made, so one that has ended since is an error, too.
// Error: fs.ErrPermission.
func Of(conn net.Conn) (Peer, error) {
	c, ok := conn.(*net.UnixConn)
	if !ok {
		return Peer{}, fmt.Errorf("connection is a %T, not of a Unix socket", conn)
	}
	raw, err := c.SyscallConn()
	if err != nil {
		return Peer{}, err
	}
	var pid uint32
	var askErr error
	ctlErr := raw.Control(func(fd uintptr) {
		var got uint32
		askErr = windows.WSAIoctl(windows.Handle(fd), getPeerPID, nil, 0, (*byte)(unsafe.Pointer(&pid)),
			uint32(unsafe.Sizeof(pid)), &got, nil, 0)
	})
	if err := errors.Join(ctlErr, askErr); err != nil {
		return Peer{}, fmt.Errorf("ask for the process at the other end: %w", err)
	}
	same, err := isOwnUser(pid)
	if err != nil {
		return Peer{}, fmt.Errorf("ask for the user of process %d: %w", pid, err)
	}
	if !same {
		return Peer{}, fmt.Errorf("%w: process %d belongs to another user", fs.ErrPermission, pid)
	}
	return Peer{UID: uint32(os.Getuid()), PID: int32(pid)}, nil
}

// isOwnUser reports whether a process runs as the user of this one.
func isOwnUser(pid uint32) (bool, error) {
	process, err := windows.OpenProcess(windows.PROCESS_QUERY_LIMITED_INFORMATION, false, pid)
	if err != nil {
		return false, err
	}
	defer windows.CloseHandle(process) //nolint:errcheck // nothing was written
	var token windows.Token
	if err := windows.OpenProcessToken(process, windows.TOKEN_QUERY, &token); err != nil {
		return false, err
	}
	defer token.Close() //nolint:errcheck // nothing was written
	theirs, err := token.GetTokenUser()
	if err != nil {
		return false, err
	}
	ours, err := windows.GetCurrentProcessToken().GetTokenUser()
	if err != nil {
		return false, err
	}
	return theirs.User.Sid.Equals(ours.User.Sid), nil
}
