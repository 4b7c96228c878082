//go:build unix

package listener

import (
	"errors"
	"fmt"
	"net"
	"os"
	"strconv"
	"syscall"
)

// firstInherited is the number of the first file that a service manager passes on.
const firstInherited = 3

// Inherited returns the socket that a service manager listens on for this process, nil when there is none: systemd says
// so in LISTEN_PID and LISTEN_FDS. The socket stays when the listener is closed: the service manager goes on listening,
// and starts the process again for the next connection. Error: ErrInherited when it is not a listening Unix socket at
// path.
func Inherited(getenv func(string) string, path string) (*net.UnixListener, error) {
	if getenv("LISTEN_PID") != strconv.Itoa(os.Getpid()) {
		return nil, nil
	}
	n, err := strconv.Atoi(getenv("LISTEN_FDS"))
	if err != nil || n < 1 {
		return nil, nil
	}
	if n > 1 {
		return nil, fmt.Errorf("%w: %d sockets; there must be one", ErrInherited, n)
	}
	syscall.CloseOnExec(firstInherited)
	return inherit(os.NewFile(firstInherited, "socket of the service manager"), path)
}

// inherit takes over a socket that the service manager opened. A socket at another path would leave clients
// at the configured one without an answer, so it is refused.
func inherit(f *os.File, path string) (*net.UnixListener, error) {
	defer f.Close() // the listener has a copy
	listener, err := net.FileListener(f)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrInherited, err)
	}
	unix, ok := listener.(*net.UnixListener)
	if !ok || unix.Addr().String() != path {
		return nil, errors.Join(fmt.Errorf("%w: it is %s, not %s", ErrInherited, listener.Addr(), path), listener.Close())
	}
	return unix, nil
}
