package durable

import (
	"cmp"
	"io/fs"
	"os"
	"slices"
)

// Modes of what is made here: only the owner reads memory.
const (
	fileMode = 0o600
	dirMode  = 0o700
)

// Dir is the FS below root. Close root after the last file.
func Dir(root *os.Root) FS { return dir{root} }

type dir struct{ root *os.Root }

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

func (d dir) SyncDir(name string) error {
	f, err := d.root.OpenFile(name, os.O_RDONLY|oDirectory, 0)
	if err != nil {
		return err
	}
	defer f.Close()
	return f.Sync()
}

// file adds to *os.File what a log needs.
type file struct{ *os.File }

func (f file) Datasync() error { return datasync(f.File) }

func (f file) Allocate(size int64) error {
	if size < 0 {
		return &fs.PathError{Op: "allocate", Path: f.Name(), Err: fs.ErrInvalid}
	}
	if size == 0 {
		return nil
	}
	return allocate(f.File, size)
}

// writeZeros extends f to size by writing, for file systems that cannot reserve space.
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
