package durable

import (
	"errors"
	"io/fs"
	"os"

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
