package durable

import (
	"errors"
	"os"

	"golang.org/x/sys/unix"
)

func exchangeAt(inA *os.File, a string, inB *os.File, b string) error {
	return between(inA, inB, func(fdA, fdB int) error { return unix.Renameat2(fdA, a, fdB, b, unix.RENAME_EXCHANGE) })
}

// BeingWritten asks for a lease for reading, which nobody gets while the file is open for writing. The lease is given back
// at once. A file system without leases, or a file of somebody else's, tells nothing.
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
