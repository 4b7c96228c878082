// Package durable is the file system as the store needs it: every name is relative to one directory, and
// everything that must survive a crash is synced on purpose. Package durable/crashfs simulates it for tests.
//
// It does not lock, retry or repair. After a failed sync or rename nobody knows what the disk holds: the caller
// stops writing and leaves it to a restart to find out.
package durable

import (
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
	// Exchange makes each of two names that exist the name of what the other named, atomically. It is durable only after SyncDir
	// of the directories concerned. The error is errors.ErrUnsupported where the system or the file system has no such thing;
	// then nothing has changed.
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
	// BeingWritten reports whether anybody has the file open for writing at this moment. On systems that cannot tell it is false.
	BeingWritten(name string) (bool, error)
	// SyncDir makes the names in directory name durable.
	SyncDir(name string) error
}

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
	// Allocate extends the file to at least size bytes, the new ones reading as zeros, so that writing them later
	// needs no further space. It never shortens the file and changes no byte of it. After an error the file may be
	// longer than it was. Not for files opened with os.O_APPEND.
	Allocate(size int64) error
}
