package durable

import (
	"errors"
	"io/fs"
	"os"

	"golang.org/x/sys/unix"
)

// oDirectory makes opening anything but a directory fail.
const oDirectory = unix.O_DIRECTORY

// datasync leaves out times, which spares a journal commit when an allocated file is overwritten.
func datasync(f *os.File) error {
	return control(f, "fdatasync", unix.Fdatasync)
}

func allocate(f *os.File, size int64) error {
	err := control(f, "fallocate", func(fd int) error { return unix.Fallocate(fd, 0, 0, size) })
	if errors.Is(err, unix.EOPNOTSUPP) || errors.Is(err, unix.ENOSYS) {
		return writeZeros(f, size)
	}
	return err
}

// control calls op with the descriptor of f, again while it is interrupted by a signal.
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
