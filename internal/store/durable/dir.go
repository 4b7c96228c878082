package durable

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
)

// Modes of new files and directories: only the owner may read memories.
const (
	fileMode = 0o600
	dirMode  = 0o700
)

// Dir is the FS below root. Close root after the last file.
func Dir(root *os.Root) FS {
	d := dir{root: root}
	// Without these, CheckAttached does not notice that the directory itself was moved.
	if path, err := filepath.Abs(root.Name()); err == nil {
		if info, err := root.Stat("."); err == nil {
			d.path, d.info = path, info
		}
	}
	return d
}

// dir is an FS below an os.Root, which keeps names from leading out of it. The root follows a directory that is moved,
// so its path and identity from the beginning are noted.
type dir struct {
	root *os.Root
	path string      // absolute, "" when it is unknown
	info fs.FileInfo // nil when path is ""
}

// OpenFile opens below the root only; os.Root refuses symbolic links that lead out.
func (d dir) OpenFile(name string, flag int, perm fs.FileMode) (File, error) {
	f, err := d.root.OpenFile(name, flag, perm)
	if err != nil {
		return nil, err
	}
	return file{f}, nil
}

func (d dir) Rename(oldname, newname string) error { return d.root.Rename(oldname, newname) }

func (d dir) Link(oldname, newname string) error { return d.root.Link(oldname, newname) }

func (d dir) Remove(name string) error { return d.root.Remove(name) }

func (d dir) MkdirAll(name string) error { return d.root.MkdirAll(name, dirMode) }

func (d dir) Lstat(name string) (fs.FileInfo, error) { return d.root.Lstat(name) }

// ReadDir returns the entries by name, so that a simulated file system and a real one are read in the same
// order.
func (d dir) ReadDir(name string) ([]fs.DirEntry, error) {
	f, err := d.root.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	entries, err := f.ReadDir(-1)
	if err != nil {
		return nil, err
	}
	slices.SortFunc(entries, func(a, b fs.DirEntry) int { return cmp.Compare(a.Name(), b.Name()) })
	return entries, nil
}

// CheckAttached compares inodes: a file that was unlinked or moved away still takes writes, and nobody would
// find them.
func (d dir) CheckAttached(name string, opened fs.FileInfo) error {
	if d.path != "" {
		if isAt(filepath.Join(d.path, filepath.FromSlash(name)), opened) {
			return nil // one system call; what it does not find is looked for step by step, to be named
		}
		// Stat, not Lstat: the path may be a symbolic link to the directory.
		now, err := os.Stat(d.path)
		if err := compareIdentity("the data directory "+d.path, now, err, d.info); err != nil {
			return err
		}
	}
	now, err := d.root.Lstat(name)
	return compareIdentity(name, now, err, opened)
}

// compareIdentity returns an ErrDetached when what now describes is not opened. err is the error of looking; one that
// does not say that the name is gone says nothing.
func compareIdentity(name string, now fs.FileInfo, err error, opened fs.FileInfo) error {
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return fmt.Errorf("%s was deleted or moved away: %w", name, ErrDetached)
	case err == nil && !os.SameFile(now, opened):
		return fmt.Errorf("%s was replaced by another one: %w", name, ErrDetached)
	}
	return nil
}

// file adds what a log needs to *os.File.
type file struct{ *os.File }

func (f file) Datasync() error { return datasync(f.File) }

// Allocate reserves blocks, so that a full disk is found here and not in the middle of a record.
func (f file) Allocate(size int64) error {
	if size < 0 {
		return &fs.PathError{Op: "allocate", Path: f.Name(), Err: fs.ErrInvalid}
	}
	if size == 0 {
		return nil
	}
	return allocate(f.File, size)
}

// writeZeros extends f to size by writing zeros, for file systems that cannot reserve space.
func writeZeros(f *os.File, size int64) error {
	info, err := f.Stat()
	if err != nil {
		return err
	}
	zeros := make([]byte, 64<<10)
	for at := info.Size(); at < size; {
		n, err := f.WriteAt(zeros[:min(int64(len(zeros)), size-at)], at)
		if err != nil {
			return err
		}
		at += int64(n)
	}
	return nil
}
