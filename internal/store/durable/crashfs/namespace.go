package crashfs

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path"
	"slices"
	"strings"
	"syscall"

	"github.com/memsidecar/memsidecar/internal/store/durable"
)

// errEscapes is the error of os.Root for a name that leads out of the root.
var errEscapes = errors.New("path escapes from parent")

// walkLocked finds a node by its name, nil when the last element does not exist. dir and base are the directory and the
// name in it; the root has neither.
func (f *FS) walkLocked(name string) (n, dir *node, base string, err error) {
	if f.crashed {
		return nil, nil, "", ErrCrashed
	}
	if name == "" {
		return nil, nil, "", syscall.EINVAL
	}
	clean := path.Clean(name)
	if !fs.ValidPath(clean) {
		return nil, nil, "", errEscapes
	}
	if clean == "." {
		return f.root, nil, "", nil
	}
	dir = f.root
	parts := strings.Split(clean, "/")
	for _, part := range parts[:len(parts)-1] {
		next := dir.visibleNames[part]
		if next == nil {
			return nil, nil, "", syscall.ENOENT
		}
		if !next.isDir {
			return nil, nil, "", syscall.ENOTDIR
		}
		dir = next
	}
	base = parts[len(parts)-1]
	return dir.visibleNames[base], dir, base, nil
}

// findLocked finds a node that must exist.
func (f *FS) findLocked(name string) (n, dir *node, base string, err error) {
	n, dir, base, err = f.walkLocked(name)
	if err == nil && n == nil {
		err = syscall.ENOENT
	}
	return n, dir, base, err
}

// findDirLocked finds a directory that must exist.
func (f *FS) findDirLocked(name string) (*node, error) {
	n, _, _, err := f.findLocked(name)
	if err == nil && !n.isDir {
		err = syscall.ENOTDIR
	}
	return n, err
}

// OpenFile opens a file. Creating a file is an operation, and so is truncating it.
func (f *FS) OpenFile(name string, flag int, perm fs.FileMode) (durable.File, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	n, err := f.openLocked(name, flag, perm)
	if err != nil {
		return nil, pathError("open", name, err)
	}
	n.opens++
	if flag&(os.O_WRONLY|os.O_RDWR) != 0 {
		n.writers++
	}
	return &file{fs: f, node: n, name: name, flag: flag}, nil
}

// openLocked finds, creates or truncates the node of an open call.
func (f *FS) openLocked(name string, flag int, perm fs.FileMode) (*node, error) {
	n, dir, base, err := f.walkLocked(name)
	if err != nil {
		return nil, err
	}
	writable := flag&(os.O_WRONLY|os.O_RDWR) != 0
	switch {
	case n == nil && flag&os.O_CREATE == 0:
		return nil, syscall.ENOENT
	case n == nil:
		n = &node{mode: perm.Perm(), stamp: len(f.trace) + 1}
		return n, f.changeLocked(&change{[]nameSet{{dir, base, n}}}, "create %s", name)
	case flag&os.O_CREATE != 0 && flag&os.O_EXCL != 0:
		return nil, syscall.EEXIST
	case n.isDir && (writable || flag&os.O_CREATE != 0):
		return nil, syscall.EISDIR
	case writable && flag&os.O_TRUNC != 0:
		return n, f.truncateLocked(n, name, 0)
	}
	return n, nil
}

// Rename replaces newname by oldname.
func (f *FS) Rename(oldname, newname string) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if err := f.renameLocked(oldname, newname); err != nil {
		return &os.LinkError{Op: "rename", Old: oldname, New: newname, Err: err}
	}
	return nil
}

// renameLocked is a rename operation. It refuses what os.Root.Rename refuses, with the same errors.
func (f *FS) renameLocked(oldname, newname string) error {
	// Both directories must be there before the names in them matter.
	n, oldDir, oldBase, err := f.walkLocked(oldname)
	if err != nil {
		return err
	}
	to, newDir, newBase, err := f.walkLocked(newname)
	switch {
	case err != nil:
		return err
	case n == nil:
		return syscall.ENOENT
	case oldDir == nil || newDir == nil:
		return syscall.EBUSY
	case to != nil && to.isDir:
		return syscall.EEXIST // also for an empty directory and for itself, as os.Root does
	case n.isDir && strings.HasPrefix(path.Clean(newname), path.Clean(oldname)+"/"):
		return syscall.EINVAL
	case to == n: // two names of one file: both stay
		return nil
	case to != nil && n.isDir:
		return syscall.ENOTDIR
	}
	return f.changeLocked(&change{[]nameSet{{oldDir, oldBase, nil}, {newDir, newBase, n}}}, "rename %s %s", oldname,
		newname)
}

// Exchange swaps the names of two files or directories.
func (f *FS) Exchange(a, b string) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if err := f.exchangeLocked(a, b); err != nil {
		return &os.LinkError{Op: "exchange", Old: a, New: b, Err: err}
	}
	return nil
}

// exchangeLocked is an exchange operation, with the errors of renameat2(2).
func (f *FS) exchangeLocked(a, b string) error {
	n, dirA, baseA, err := f.walkLocked(a)
	if err != nil {
		return err
	}
	m, dirB, baseB, err := f.walkLocked(b)
	switch {
	case err != nil:
		return err
	case dirA == nil || dirB == nil:
		return syscall.EBUSY
	case n == nil || m == nil:
		return syscall.ENOENT
	case strings.HasPrefix(path.Clean(a)+"/", path.Clean(b)+"/") != strings.HasPrefix(path.Clean(b)+"/", path.Clean(a)+
		"/"):
		return syscall.EINVAL // one is below the other
	case n == m: // one name, or two of one file
		return nil
	}
	return f.changeLocked(&change{[]nameSet{{dirA, baseA, m}, {dirB, baseB, n}}}, "exchange %s %s", a, b)
}

// BeingWritten reports whether a file is open for writing.
func (f *FS) BeingWritten(name string) (bool, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	n, _, _, err := f.findLocked(name)
	if err != nil {
		return false, pathError("lease", name, err)
	}
	return n.writers > 0, nil
}

// Unshared reports whether a regular file has one name and is not open.
func (f *FS) Unshared(name string) (bool, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	n, _, _, err := f.findLocked(name)
	if err != nil {
		return false, pathError("lease", name, err)
	}
	return !n.isDir && n.opens == 0 && n.links == 1, nil
}

// Link makes newname another name of the file oldname.
func (f *FS) Link(oldname, newname string) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if err := f.linkLocked(oldname, newname); err != nil {
		return &os.LinkError{Op: "link", Old: oldname, New: newname, Err: err}
	}
	return nil
}

// linkLocked is a link operation.
func (f *FS) linkLocked(oldname, newname string) error {
	n, _, _, err := f.walkLocked(oldname)
	if err != nil {
		return err
	}
	to, dir, base, err := f.walkLocked(newname)
	switch {
	case err != nil:
		return err
	case n == nil:
		return syscall.ENOENT
	case to != nil:
		return syscall.EEXIST
	case n.isDir:
		return syscall.EPERM
	}
	return f.changeLocked(&change{[]nameSet{{dir, base, n}}}, "link %s %s", oldname, newname)
}

// Remove removes a file or an empty directory.
func (f *FS) Remove(name string) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if err := f.removeLocked(name); err != nil {
		return pathError("remove", name, err)
	}
	return nil
}

// removeLocked is a remove operation.
func (f *FS) removeLocked(name string) error {
	n, dir, base, err := f.findLocked(name)
	switch {
	case err != nil:
		return err
	case dir == nil:
		return syscall.EINVAL
	case n.isDir && len(n.visibleNames) > 0:
		return syscall.ENOTEMPTY
	}
	return f.changeLocked(&change{[]nameSet{{dir, base, nil}}}, "remove %s", name)
}

// MkdirAll makes a directory and its parents.
func (f *FS) MkdirAll(name string) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if err := f.mkdirAllLocked(name); err != nil {
		return pathError("mkdir", name, err)
	}
	return nil
}

// mkdirAllLocked creates missing directories from the top down, one operation each.
func (f *FS) mkdirAllLocked(name string) error {
	n, dir, base, err := f.walkLocked(name)
	if errors.Is(err, syscall.ENOENT) {
		if err := f.mkdirAllLocked(path.Dir(path.Clean(name))); err != nil {
			return err
		}
		n, dir, base, err = f.walkLocked(name)
	}
	switch {
	case err != nil:
		return err
	case n != nil && n.isDir:
		return nil
	case n != nil:
		return syscall.EEXIST
	}
	return f.changeLocked(&change{[]nameSet{{dir, base, f.newDir()}}}, "mkdir %s", name)
}

// ReadDir lists a directory, sorted by name.
func (f *FS) ReadDir(name string) ([]fs.DirEntry, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	d, err := f.findDirLocked(name)
	if err != nil {
		return nil, pathError("readdir", name, err)
	}
	var entries []fs.DirEntry
	for _, base := range slices.Sorted(maps.Keys(d.visibleNames)) {
		entries = append(entries, fs.FileInfoToDirEntry(d.visibleNames[base].info(base)))
	}
	return entries, nil
}

// Lstat describes a file. Its time is the number of the operation that changed it last, in seconds since 1970.
func (f *FS) Lstat(name string) (fs.FileInfo, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	n, _, _, err := f.findLocked(name)
	if err != nil {
		return nil, pathError("lstat", name, err)
	}
	return n.info(path.Base(name)), nil
}

// CheckAttached is not an operation that can crash or fail.
func (f *FS) CheckAttached(name string, opened fs.FileInfo) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	n, _, _, err := f.findLocked(name)
	if was, ok := opened.(info); ok && (err != nil || n != was.node) {
		return fmt.Errorf("%s was deleted, moved away or replaced: %w", name, durable.ErrDetached)
	}
	return nil
}

// SyncDir puts the names in a directory on disk.
func (f *FS) SyncDir(name string) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	d, err := f.findDirLocked(name)
	if err != nil {
		return pathError("sync", name, err)
	}
	eff, err := f.beginLocked("syncdir %s", name)
	if err != nil {
		if eff != whole {
			d.syncFailed = true
		}
		return pathError("sync", name, err)
	}
	if !d.syncFailed {
		d.flush(len(d.pending))
	}
	return nil
}
