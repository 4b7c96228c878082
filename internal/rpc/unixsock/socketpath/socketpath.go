// Package socketpath says where the daemon's Unix socket is, and which paths are possible and safe. It is apart from
// unixsock because a program that starts for one call needs the path without gRPC.
package socketpath

import (
	"errors"
	"fmt"
	"hash/crc32"
	"os"
	"path/filepath"
	"strings"
	"syscall"
)

// Errors of this package.
var (
	ErrTooLong     = errors.New("socket path is too long for the operating system")
	ErrUnsafeDir   = errors.New("socket directory could be changed by other users")
	ErrNotAbsolute = errors.New("socket path must be absolute")
	// An abstract socket has no owner, no mode and no lock beside it, so anybody could take its place.
	ErrAbstract = errors.New("abstract sockets are not supported; use the path of a file")
)

// Max is the longest path of a socket in bytes: 107 on Linux, 103 on macOS.
const Max = len(syscall.RawSockaddrUnix{}.Path) - 1

const socketName = "memsidecar.sock"

// Default returns the path used when none is configured: $XDG_RUNTIME_DIR/memsidecar/memsidecar.sock or, where that
// variable is not set, memsidecar.sock in a directory of the user's own: below the temporary directory, on Windows
// below the profile. That directory may be missing, but when it exists it must belong to the user, to nobody else and
// not be a symbolic link: else the error is ErrUnsafeDir, for clients too, which could otherwise be lured to a
// stranger's server.
func Default(getenv func(string) string) (string, error) {
	if dir := getenv("XDG_RUNTIME_DIR"); filepath.IsAbs(dir) {
		path := filepath.Join(dir, "memsidecar", socketName)
		return path, Check(path)
	}
	dir := fallbackDir(getenv)
	if err := checkPrivate(dir); err != nil {
		return "", err
	}
	path := filepath.Join(dir, socketName)
	return path, Check(path)
}

// Of returns the path in an address: a path itself, or one behind unix: or unix://, as gRPC and systemd write it.
// Error: ErrAbstract.
func Of(address string) (string, error) {
	if strings.HasPrefix(address, "@") || strings.HasPrefix(address, "\x00") ||
		strings.HasPrefix(address, "unix-abstract:") || strings.HasPrefix(address, "unix:@") {
		return "", fmt.Errorf("%w: %q", ErrAbstract, address)
	}
	if path, ok := strings.CutPrefix(address, "unix://"); ok {
		return path, nil
	}
	return strings.TrimPrefix(address, "unix:"), nil
}

// Check reports whether a socket can have this path. Errors: ErrNotAbsolute, ErrTooLong.
func Check(path string) error {
	if !filepath.IsAbs(path) {
		return fmt.Errorf("%w: %q", ErrNotAbsolute, path)
	}
	if len(path) > Max {
		return fmt.Errorf("%w: %q has %d bytes, the limit is %d; use a shorter one, such as %q", ErrTooLong, path,
			len(path), Max, shorter(path))
	}
	return nil
}

// shorter proposes a path that is short, the same for the same path, and in a directory of the user's own.
func shorter(path string) string {
	return filepath.Join(fallbackDir(os.Getenv), fmt.Sprintf("%08x.sock", crc32.ChecksumIEEE([]byte(path))))
}
