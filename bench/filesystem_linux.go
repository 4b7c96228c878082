package main

import (
	"fmt"

	"golang.org/x/sys/unix"
)

// filesystem says what kind of file system a directory is on.
func filesystem(dir string) string {
	var st unix.Statfs_t
	switch err := unix.Statfs(dir, &st); {
	case err != nil:
		return "unknown file system"
	case st.Type == unix.TMPFS_MAGIC:
		return "tmpfs, WHERE SYNCING COSTS NOTHING: choose another --dir"
	}
	return fmt.Sprintf("file system 0x%x", st.Type)
}
