package durable

import (
	"errors"
	"io/fs"
	"os"
	"syscall"

	"golang.org/x/sys/unix"
)

// oDirectory makes opening anything but a directory fail.
const oDirectory = unix.O_DIRECTORY

// datasync omits timestamps, which saves a commit of the file system's own journal when allocated bytes are
// overwritten.
func datasync(f *os.File) error {
	return control(f, "fdatasync", unix.Fdatasync)
}

// allocate reserves space by fallocate(2), or by writing zeros where the file system has no such call.
func allocate(f *os.File, size int64) error {
	err := control(f, "fallocate", func(fd int) error { return unix.Fallocate(fd, 0, 0, size) })
	if errors.Is(err, unix.EOPNOTSUPP) || errors.Is(err, unix.ENOSYS) {
		return writeZeros(f, size)
	}
	return err
}

// control calls op with the descriptor of f, and again while a signal interrupts it.
func control(f *os.File, name string, op func(fd int) error) error {
	conn, err := f.SyscallConn()
	if err != nil {
		return err
	}
	var opErr error
	err = conn.Control(func(fd uintptr) {
		for {
			opErr = op(int(fd))
			if !errors.Is(opErr, unix.EINTR) {
				return
			}
		}
	})
	if err == nil {
		err = opErr
	}
	if err != nil {
		return &fs.PathError{Op: name, Path: f.Name(), Err: err}
	}
	return nil
}

// isAt reports whether opened describes the file at path. It asks for the inode's number only: on a kernel with
// timestamps of several grains (6.13 and later) a stat that asks for times makes the next write change the inode, and
// the next fdatasync waits a third longer for it.
func isAt(path string, opened fs.FileInfo) bool {
	was, ok := opened.Sys().(*syscall.Stat_t)
	if !ok {
		return false
	}
	var now unix.Statx_t
	err := unix.Statx(unix.AT_FDCWD, path, unix.AT_SYMLINK_NOFOLLOW|unix.AT_STATX_DONT_SYNC, unix.STATX_INO, &now)
	return err == nil && now.Mask&unix.STATX_INO != 0 && now.Ino == was.Ino &&
		unix.Mkdev(now.Dev_major, now.Dev_minor) == was.Dev
}
