// Package unixsock makes, protects and finds the Unix socket that memsidecar is served on. It knows nothing of
// what is said over it.
//
// Three walls stand around the socket: its directory and mode keep other users from opening it, every connection
// is asked for the uid of its other end by the kernel before a byte is read, and a client asks the same of the server.
package unixsock

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"syscall"
)

// Errors of this package.
var (
	ErrPathTooLong = errors.New("socket path is too long for the operating system")
	ErrUnsafeDir   = errors.New("socket directory could be changed by other users")
	ErrNotSocket   = errors.New("path exists and is not a socket")
	ErrInvalidPath = errors.New("socket path must be absolute")
)

// MaxPath is the longest path of a socket in bytes: 107 on Linux, 103 on macOS.
const MaxPath = len(syscall.RawSockaddrUnix{}.Path) - 1

const socketName = "memsidecar.sock"

// DefaultPath returns the path used when none is configured: $XDG_RUNTIME_DIR/memsidecar/memsidecar.sock or,
// where that variable is not set, memsidecar.sock in a directory of the user's own below the temporary directory.
// That directory may be missing, but when it exists it must belong to the user, to nobody else and not be a symbolic link:
// else the error is ErrUnsafeDir, for clients too, which could otherwise be lured to a stranger's server.
func DefaultPath(getenv func(string) string) (string, error) {
	if dir := getenv("XDG_RUNTIME_DIR"); filepath.IsAbs(dir) {
		path := filepath.Join(dir, "memsidecar", socketName)
		return path, CheckPath(path)
	}
	dir := filepath.Join("/tmp", fmt.Sprintf("memsidecar-%d", os.Getuid()))
	if err := checkPrivate(dir); err != nil {
		return "", err
	}
	return filepath.Join(dir, socketName), nil
}

// CheckPath reports whether a socket can have this path. Errors: ErrInvalidPath, ErrPathTooLong.
func CheckPath(path string) error {
	if !filepath.IsAbs(path) {
		return fmt.Errorf("%w: %q", ErrInvalidPath, path)
	}
	if len(path) > MaxPath {
		return fmt.Errorf("%w: %q has %d bytes, the limit is %d; choose a shorter one", ErrPathTooLong, path, len(path), MaxPath)
	}
	return nil
}

// Listen makes the socket with mode 0600, and its directory with mode 0700 when that is missing. Closing the listener removes
// the socket.
//
// A socket that is there already is taken for the leftover of a daemon that died and is removed: the caller must hold the
// lock of the data directory that this path belongs to. Errors: ErrPathTooLong, ErrInvalidPath, ErrNotSocket, ErrUnsafeDir.
func Listen(ctx context.Context, path string) (*net.UnixListener, error) {
	if err := CheckPath(path); err != nil {
		return nil, err
	}
	dir := filepath.Dir(path)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("make socket directory: %w", err)
	}
	if err := checkDir(dir); err != nil {
		return nil, err
	}
	if err := removeStale(path); err != nil {
		return nil, err
	}
	// The mode is set on the socket before it gets its name, so there is no moment at which others could connect.
	// The umask would do too, but it belongs to the whole process.
	config := net.ListenConfig{Control: func(_, _ string, conn syscall.RawConn) error {
		var err error
		if ctlErr := conn.Control(func(fd uintptr) { err = restrictUnbound(int(fd)) }); ctlErr != nil {
			return ctlErr
		}
		return err
	}}
	listener, err := config.Listen(ctx, "unix", path)
	if err != nil {
		return nil, fmt.Errorf("listen on %q: %w", path, err)
	}
	if err := os.Chmod(path, 0o600); err != nil {
		return nil, errors.Join(fmt.Errorf("restrict socket: %w", err), listener.Close())
	}
	return listener.(*net.UnixListener), nil
}

func removeStale(path string) error {
	info, err := os.Lstat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil
	case err != nil:
		return fmt.Errorf("look at socket: %w", err)
	case info.Mode().Type() != fs.ModeSocket:
		return fmt.Errorf("%w: %q", ErrNotSocket, path)
	}
	if err := os.Remove(path); err != nil {
		return fmt.Errorf("remove stale socket: %w", err)
	}
	return nil
}

// checkPrivate accepts a directory that is missing, or is the user's own and nobody else's.
func checkPrivate(dir string) error {
	info, err := os.Lstat(dir)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil
	case err != nil:
		return fmt.Errorf("look at socket directory: %w", err)
	case !info.IsDir():
		return fmt.Errorf("%w: %q is not a directory", ErrUnsafeDir, dir)
	case owner(info) != uint32(os.Getuid()):
		return fmt.Errorf("%w: %q belongs to uid %d", ErrUnsafeDir, dir, owner(info))
	case info.Mode().Perm()&0o077 != 0:
		return fmt.Errorf("%w: %q has mode %04o, it must be 0700", ErrUnsafeDir, dir, info.Mode().Perm())
	}
	return nil
}

// checkDir refuses a directory in which somebody else could put another socket in the place of ours.
func checkDir(dir string) error {
	link, err := os.Lstat(dir)
	if err != nil {
		return fmt.Errorf("look at socket directory: %w", err)
	}
	info, err := os.Stat(dir)
	if err != nil {
		return fmt.Errorf("look at socket directory: %w", err)
	}
	for _, i := range []fs.FileInfo{link, info} {
		if uid := owner(i); uid != uint32(os.Getuid()) && uid != 0 {
			return fmt.Errorf("%w: %q belongs to uid %d", ErrUnsafeDir, dir, uid)
		}
	}
	if info.Mode().Perm()&0o022 != 0 && info.Mode()&fs.ModeSticky == 0 {
		return fmt.Errorf("%w: %q has mode %04o", ErrUnsafeDir, dir, info.Mode().Perm())
	}
	return nil
}

func owner(info fs.FileInfo) uint32 { return info.Sys().(*syscall.Stat_t).Uid }
