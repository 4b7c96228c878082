package durable

import (
	"fmt"
	"path/filepath"

	"golang.org/x/sys/windows"
)

// CheckFilesystem refuses a directory on a network drive, where a lock may not exclude another machine and a sync may
// return before the data is anywhere safe. Error: memory.ErrUnsupportedFS.
func CheckFilesystem(dir string) error {
	path, err := filepath.Abs(dir)
	if err != nil {
		return fmt.Errorf("look up file system of %s: %w", dir, err)
	}
	root, err := windows.UTF16PtrFromString(filepath.VolumeName(path) + `\`)
	if err != nil {
		return fmt.Errorf("look up file system of %s: %w", dir, err)
	}
	if windows.GetDriveType(root) == windows.DRIVE_REMOTE {
		return unsupported(dir, "a network drive")
	}
	return nil
}
