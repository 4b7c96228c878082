package durable

import (
	"errors"
	"os"
	"syscall"

	"golang.org/x/sys/unix"
)

// BeingWritten tries to take a read lease (fcntl(2), F_SETLEASE), which the kernel refuses while the file is open for
// writing. It releases the lease at once. On a file system without leases, or for a file of another user, the result is
// false.
func (d dir) BeingWritten(name string) (bool, error) {
	f, err := d.root.OpenFile(name, os.O_RDONLY|unix.O_NONBLOCK, 0)
	if err != nil {
		return false, err
	}
	defer f.Close()
	err = control(f, "lease", func(fd int) error {
		if _, err := unix.FcntlInt(uintptr(fd), unix.F_SETLEASE, unix.F_RDLCK); err != nil {
			return err
		}
		_, err := unix.FcntlInt(uintptr(fd), unix.F_SETLEASE, unix.F_UNLCK)
		return err
	})
	return errors.Is(err, unix.EAGAIN), nil
}

// Unshared tries to take a write lease, which the kernel refuses while the file is open anywhere else, also when it is
// only mapped. It releases the lease at once.
func (d dir) Unshared(name string) (bool, error) {
	f, err := d.root.OpenFile(name, os.O_RDONLY|unix.O_NONBLOCK, 0)
	if err != nil {
		return false, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return false, err
	}
	if stat, ok := info.Sys().(*syscall.Stat_t); !ok || stat.Nlink != 1 || !info.Mode().IsRegular() {
		return false, nil
	}
	err = control(f, "lease", func(fd int) error {
		if _, err := unix.FcntlInt(uintptr(fd), unix.F_SETLEASE, unix.F_WRLCK); err != nil {
			return err
		}
		_, err := unix.FcntlInt(uintptr(fd), unix.F_SETLEASE, unix.F_UNLCK)
		return err
	})
	return err == nil, nil
}
