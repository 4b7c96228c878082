//go:build darwin || freebsd

package durable

import (
	"fmt"

	"golang.org/x/sys/unix"
)

// CheckFilesystem refuses a directory on a file system that the system does not call local, where a lock may not
// exclude another machine and a sync may return before the data is anywhere safe. dir must exist.
// Error: memory.ErrUnsupportedFS, naming the kind.
func CheckFilesystem(dir string) error {
	var st unix.Statfs_t
	if err := unix.Statfs(dir, &st); err != nil {
		return fmt.Errorf("look up file system of %s: %w", dir, err)
	}
	if st.Flags&unix.MNT_LOCAL == 0 {
		return unsupported(dir, unix.ByteSliceToString(st.Fstypename[:]))
	}
	return nil
}
