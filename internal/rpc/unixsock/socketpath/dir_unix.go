//go:build unix

package socketpath

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
)

// fallbackDir is the directory of the socket without a runtime directory.
func fallbackDir(func(string) string) string {
	return filepath.Join("/tmp", fmt.Sprintf("memsidecar-%d", os.Getuid()))
}

// MakeDir makes a directory for sockets that only the user can enter, and those above it. One that exists stays as it
// is.
func MakeDir(dir string) error { return os.MkdirAll(dir, 0o700) }

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
