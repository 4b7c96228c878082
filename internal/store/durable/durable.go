// Package durable is the file system as the store needs it: every name is relative to one directory, and everything
// that must survive a crash is synced explicitly. Package durable/crashfs simulates it for tests.
//
// A file's data and its name are made durable apart: File.Sync for the data, FS.SyncDir for the name. POSIX promises
// neither order nor atomicity across them; see T. S. Pillai et al., "All file systems are not created equal", OSDI
// 2014.
//
// The package does not lock, retry or repair. After a failed sync or rename it is unknown what the disk holds (A.
// Rebello et al., "Can applications recover from fsync failures?", USENIX ATC 2020). The caller stops writing, and a
// restart reads what is there.
package durable

import (
	"errors"
	"io"
	"io/fs"
)

// FS is one directory tree. Names are slash-separated and relative to its root, which is "."; no name leads out of it.
// Implementations are safe for concurrent use.
type FS interface {
	// OpenFile opens name with the flags of package os.
	OpenFile(name string, flag int, perm fs.FileMode) (File, error)
	// Rename replaces newname by oldname. It is durable only after SyncDir of the directories concerned.
	Rename(oldname, newname string) error
	// Exchange makes each of two names that exist the name of what the other named, atomically. It is durable only
	// after SyncDir of the directories concerned. The error is errors.ErrUnsupported where the system or the file
	// system has no such thing; then nothing has changed.
	Exchange(a, b string) error
	// Link makes newname another name of the file oldname. It is durable only after SyncDir of newname's directory.
	Link(oldname, newname string) error
	// Remove removes a file or an empty directory.
	Remove(name string) error
	// MkdirAll makes a directory and its parents, with mode 0700. It is durable only after SyncDir of every
	// directory that got a new name.
	MkdirAll(name string) error
	// ReadDir lists a directory, sorted by name.
	ReadDir(name string) ([]fs.DirEntry, error)
	// Lstat describes a file without following a symbolic link.
	Lstat(name string) (fs.FileInfo, error)
	// BeingWritten reports whether any process has the file open for writing. It is false on systems that cannot tell.
	BeingWritten(name string) (bool, error)
	// Unshared reports whether name is the only name of a regular file that no process has open, so that nobody can see
	// its bytes change. It is false on systems and file systems that cannot tell.
	Unshared(name string) (bool, error)
	// SyncDir makes the names in directory name durable.
	SyncDir(name string) error
	// CheckAttached returns nil while name still leads to the file that opened describes, from the path under which
	// the FS was opened, else an ErrDetached that says what happened. What is written to a detached file is lost or
	// somewhere else, although every sync of it succeeds. It costs a few microseconds.
	CheckAttached(name string, opened fs.FileInfo) error
}

// ErrDetached means that an open file is not under its name any more: somebody removed, moved or replaced the file or
// a directory above it.
var ErrDetached = errors.New("the file is not under its name any more")

// File is an open file.
type File interface {
	io.Reader
	io.ReaderAt
	io.Writer
	io.WriterAt
	io.Closer
	Stat() (fs.FileInfo, error)
	Truncate(size int64) error
	// Sync makes contents and metadata durable.
	Sync() error
	// Datasync makes contents durable, and of the metadata what is needed to read them.
	Datasync() error
	// Allocate extends the file to at least size bytes. The new bytes read as zeros, and writing them later needs no
	// further space. It never shortens the file and changes no byte of it. After an error the file may be longer than
	// before. Not for files opened with os.O_APPEND.
	Allocate(size int64) error
}
