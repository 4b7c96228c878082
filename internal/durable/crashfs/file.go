package crashfs

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path"
	"syscall"
)

// file is an open file. It goes on working when its name is gone.
type file struct {
	fs     *FS
	node   *node
	name   string
	flag   int
	pos    int64
	closed bool
}

// access is what a call needs the file to be open for.
type access int

const (
	anyhow access = iota
	reading
	writing
)

// lock takes the lock of the FS and checks that the call may go on. The caller unlocks also on error.
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

func (h *file) Read(p []byte) (int, error) {
	err := h.lock(reading)
	defer h.fs.mu.Unlock()
	if err != nil {
		return 0, pathError("read", h.name, err)
	}
	n := h.node.view.readAt(p, h.pos)
	h.pos += int64(n)
	if n == 0 && len(p) > 0 {
		return 0, io.EOF
	}
	return n, nil
}

func (h *file) ReadAt(p []byte, off int64) (int, error) {
	err := h.lock(reading)
	defer h.fs.mu.Unlock()
	if err == nil && off < 0 {
		err = errors.New("negative offset")
	}
	if err != nil {
		return 0, pathError("readat", h.name, err)
	}
	n := h.node.view.readAt(p, off)
	if n < len(p) {
		return n, io.EOF
	}
	return n, nil
}

func (h *file) Write(p []byte) (int, error) {
	err := h.lock(writing)
	defer h.fs.mu.Unlock()
	if err != nil {
		return 0, pathError("write", h.name, err)
	}
	if h.flag&os.O_APPEND != 0 {
		h.pos = h.node.view.size
	}
	n, err := h.writeLocked(p, h.pos)
	h.pos += int64(n)
	return n, err
}

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
	case part:
		count /= 2
	}
	if end := f.fitLocked(n, off+count); end < off+count {
		count = max(0, end-off)
		if err == nil {
			err = syscall.ENOSPC
		}
	}
	if count > 0 {
		n.write(p[:count], off)
		n.stamp = len(f.trace)
		f.takeLocked(n, max(n.taken, off+count))
	}
	if err != nil {
		return int(count), pathError("write", h.name, err)
	}
	return int(count), nil
}

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
	h.fs.releaseLocked(h.node)
	return nil
}

func (h *file) Stat() (fs.FileInfo, error) {
	err := h.lock(anyhow)
	defer h.fs.mu.Unlock()
	if err != nil {
		return nil, pathError("stat", h.name, err)
	}
	return h.node.info(path.Base(h.name)), nil
}

func (h *file) Truncate(size int64) error {
	err := h.lock(anyhow)
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

func (f *FS) truncateLocked(n *node, name string, size int64) error {
	eff, err := f.beginLocked("truncate %s %d", name, size)
	if eff == whole {
		n.resize(size)
		n.stamp = len(f.trace)
		f.takeLocked(n, min(n.taken, size))
	}
	return err
}

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

func (h *file) allocateLocked(size int64) error {
	n, f := h.node, h.fs
	eff, err := f.beginLocked("allocate %s %d", h.name, size)
	switch {
	case eff == none:
		return err
	case eff == part:
		size = n.view.size + (size-n.view.size)/2
	}
	if f.fitLocked(n, size) < size {
		if err == nil {
			err = syscall.ENOSPC
		}
		return err
	}
	if size > n.view.size {
		n.resize(size)
		n.stamp = len(f.trace)
	}
	f.takeLocked(n, max(n.taken, size))
	return err
}

func (h *file) Sync() error { return h.sync("sync") }

func (h *file) Datasync() error { return h.sync("datasync") }

func (h *file) sync(op string) error {
	err := h.lock(anyhow)
	defer h.fs.mu.Unlock()
	if err != nil {
		return pathError(op, h.name, err)
	}
	eff, err := h.fs.beginLocked("%s %s", op, h.name)
	if err != nil {
		if eff != whole { // a failure, not a crash
			h.node.forget()
		}
		return pathError(op, h.name, err)
	}
	h.node.sync()
	return nil
}
