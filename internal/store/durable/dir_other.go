//go:build !linux

package durable

import "os"

const oDirectory = 0

func datasync(f *os.File) error { return f.Sync() }

func allocate(f *os.File, size int64) error { return writeZeros(f, size) }

// isAt reports whether opened describes the file at path.
func isAt(path string, opened os.FileInfo) bool {
	now, err := os.Lstat(path)
	return err == nil && os.SameFile(now, opened)
}
