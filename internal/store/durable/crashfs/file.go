package crashfs

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path"
	"syscall"
)

// file is an open file. It keeps working when its name is removed.
type file struct {
	fs     *FS
	node   *node
	name   string
	flag   int
	pos    int64
	closed bool
}

// access is the mode in which a call needs the file to be open.
type access int

const (
	anyMode access = iota
	reading
	writing
)

// lock takes the lock of the FS and checks that the call is allowed. The caller unlocks, also after an error.
func (h *file) lock(need access) error {
	h.fs.mu.Lock()
	switch {
	case h.fs.crashed:
		return ErrCrashed
	case h.closed:
		return fs.ErrClosed
	case need == reading && h.flag&os.O_WRONLY != 0,
		need == writing && h.flag&(os.O_WRONLY|os.O_RDWR) == 0:
		return syscall.EBADF
	case need == reading && h.node.isDir:
		return syscall.EISDIR
	}
	return nil
}

// Read sees what was written, synced or not, as a running process does.
func (h *file) Read(p []byte) (int, error) {
	err := h.lock(reading)
	defer h.fs.mu.Unlock()
	if err != nil {
		return 0, pathError("read", h.name, err)
	}
	n := h.node.visible.readAt(p, h.pos)
	h.pos += int64(n)
	if n == 0 && len(p) > 0 {
		return 0, io.EOF
	}
	return n, nil
}

// ReadAt follows io.ReaderAt: fewer bytes than asked for come with io.EOF.
func (h *file) ReadAt(p []byte, off int64) (int, error) {
	err := h.lock(reading)
	defer h.fs.mu.Unlock()
	if err == nil && off < 0 {
		err = errors.New("negative offset")
	}
	if err != nil {
		return 0, pathError("readat", h.name, err)
	}
	n := h.node.visible.readAt(p, off)
	if n < len(p) {
		return n, io.EOF
	}
	return n, nil
}

// Write writes at the file position, or at the end of a file opened with os.O_APPEND.
func (h *file) Write(p []byte) (int, error) {
	err := h.lock(writing)
	defer h.fs.mu.Unlock()
	if err != nil {
		return 0, pathError("write", h.name, err)
	}
	if h.flag&os.O_APPEND != 0 {
		h.pos = h.node.visible.size
	}
	n, err := h.writeLocked(p, h.pos)
	h.pos += int64(n)
	return n, err
}

// WriteAt refuses a file opened for appending, as the os package does.
func (h *file) WriteAt(p []byte, off int64) (int, error) {
	err := h.lock(writing)
	defer h.fs.mu.Unlock()
	if h.flag&os.O_APPEND != 0 {
		return 0, errors.New("invalid use of WriteAt on file opened with O_APPEND")
	}
	if err == nil && off < 0 {
		err = errors.New("negative offset")
	}
	if err != nil {
		return 0, pathError("writeat", h.name, err)
	}
	return h.writeLocked(p, off)
}

// writeLocked is a write operation. It may write less than p on a partial failure or a full disk.
func (h *file) writeLocked(p []byte, off int64) (int, error) {
	if len(p) == 0 {
		return 0, nil
	}
	n, f := h.node, h.fs
	eff, err := f.beginLocked("write %s %d+%d", h.name, off, len(p))
	count := int64(len(p))
	switch eff {
	case none:
		count = 0
	case partly:
		count /= 2
	}
	// A full disk takes what fits, as write(2) does, and fails only with the rest.
	if end := f.spaceForLocked(n, off+count); end < off+count {
		count = max(0, end-off)
		if err == nil {
			err = syscall.ENOSPC
		}
	}
	if count > 0 {
		n.write(p[:count], off)
		n.stamp = len(f.trace)
		f.setSpaceLocked(n, max(n.space, off+count))
	}
	if err != nil {
		return int(count), pathError("write", h.name, err)
	}
	return int(count), nil
}

// Close closes the file. It works after a crash too, so that tests can clean up.
func (h *file) Close() error {
	h.fs.mu.Lock()
	defer h.fs.mu.Unlock()
	if h.closed {
		return pathError("close", h.name, fs.ErrClosed)
	}
	h.closed = true
	h.node.opens--
	if h.flag&(os.O_WRONLY|os.O_RDWR) != 0 {
		h.node.writers--
	}
	h.fs.releaseSpaceLocked(h.node)
	return nil
}

// Stat describes the open file, even when its name is gone.
func (h *file) Stat() (fs.FileInfo, error) {
	err := h.lock(anyMode)
	defer h.fs.mu.Unlock()
	if err != nil {
		return nil, pathError("stat", h.name, err)
	}
	return h.node.info(path.Base(h.name)), nil
}

// Truncate is a change like a write: it may be lost in a crash until the file is synced.
func (h *file) Truncate(size int64) error {
	err := h.lock(anyMode)
	defer h.fs.mu.Unlock()
	if err == nil && (size < 0 || h.flag&(os.O_WRONLY|os.O_RDWR) == 0) {
		err = syscall.EINVAL
	}
	if err == nil {
		err = h.fs.truncateLocked(h.node, h.name, size)
	}
	if err != nil {
		return pathError("truncate", h.name, err)
	}
	return nil
}

// truncateLocked is a truncate operation.
func (f *FS) truncateLocked(n *node, name string, size int64) error {
	eff, err := f.beginLocked("truncate %s %d", name, size)
	if eff == whole {
		n.resize(size)
		n.stamp = len(f.trace)
		f.setSpaceLocked(n, min(n.space, size))
	}
	return err
}

// Allocate extends the file, and takes the space for it, as one operation.
func (h *file) Allocate(size int64) error {
	err := h.lock(writing)
	defer h.fs.mu.Unlock()
	if err == nil && size < 0 {
		err = fs.ErrInvalid
	}
	if err == nil && size > 0 {
		err = h.allocateLocked(size)
	}
	if err != nil {
		return pathError("allocate", h.name, err)
	}
	return nil
}

// allocateLocked is an allocate operation.
func (h *file) allocateLocked(size int64) error {
	n, f := h.node, h.fs
	eff, err := f.beginLocked("allocate %s %d", h.name, size)
	switch {
	case eff == none:
		return err
	case eff == partly:
		size = n.visible.size + (size-n.visible.size)/2
	}
	if f.spaceForLocked(n, size) < size {
		if err == nil {
			err = syscall.ENOSPC
		}
		return err
	}
	if size > n.visible.size {
		n.resize(size)
		n.stamp = len(f.trace)
	}
	f.setSpaceLocked(n, max(n.space, size))
	return err
}

func (h *file) Sync() error { return h.sync("sync") }

// Datasync is Sync: the simulation has no metadata that it could omit.
func (h *file) Datasync() error { return h.sync("datasync") }

// sync is a sync operation, named op in the trace.
func (h *file) sync(op string) error {
	err := h.lock(anyMode)
	defer h.fs.mu.Unlock()
	if err != nil {
		return pathError(op, h.name, err)
	}
	eff, err := h.fs.beginLocked("%s %s", op, h.name)
	if err != nil {
		if eff != whole { // a failure; after a crash the sync may or may not have happened
			h.node.dropDirty()
		}
		return pathError(op, h.name, err)
	}
	h.node.sync()
	return nil
}
