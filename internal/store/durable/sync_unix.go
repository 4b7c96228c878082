//go:build unix

package durable

import (
	"errors"
	"os"
)

// SyncDir makes the names in the directory at path durable. It is for files outside an FS, such as an export.
func SyncDir(path string) error {
	f, err := os.OpenFile(path, os.O_RDONLY|oDirectory, 0)
	if err != nil {
		return err
	}
	return errors.Join(f.Sync(), f.Close())
}

// SyncDir makes created, renamed and removed names durable; on Linux the sync of a file does not (fsync(2)).
func (d dir) SyncDir(name string) error {
	f, err := d.root.OpenFile(name, os.O_RDONLY|oDirectory, 0)
	if err != nil {
		return err
	}
	defer f.Close()
	return f.Sync()
}
