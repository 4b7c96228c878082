// Package socketpath says where the daemon's Unix socket is, and which paths are possible and safe. It is apart from
// unixsock because a program that starts for one call needs the path without gRPC.
package socketpath

import (
	"errors"
	"fmt"
	"hash/crc32"
	"io/fs"
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

// Default returns the path used when none is configured: $XDG_RUNTIME_DIR/memsidecar/memsidecar.sock or, where
// that variable is not set, memsidecar.sock in a directory of the user's own below the temporary directory. That
// directory may be missing, but when it exists it must belong to the user, to nobody else and not be a symbolic link:
// else the error is ErrUnsafeDir, for clients too, which could otherwise be lured to a stranger's server.
func Default(getenv func(string) string) (string, error) {
	if dir := getenv("XDG_RUNTIME_DIR"); filepath.IsAbs(dir) {
		path := filepath.Join(dir, "memsidecar", socketName)
		return path, Check(path)
	}
	dir := filepath.Join("/tmp", fmt.Sprintf("memsidecar-%d", os.Getuid()))
	if err := checkPrivate(dir); err != nil {
		return "", err
	}
	return filepath.Join(dir, socketName), nil
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
	return fmt.Sprintf("/tmp/memsidecar-%d/%08x.sock", os.Getuid(), crc32.ChecksumIEEE([]byte(path)))
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

// CheckDir refuses a directory in which somebody else could put another socket in the place of ours.
func CheckDir(dir string) error {
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
