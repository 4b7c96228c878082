//go:build linux || darwin

package durable

import "os"

// withDescriptors calls op with the descriptors of two directories.
func withDescriptors(a, b *os.File, op func(fdA, fdB int) error) error {
	connA, err := a.SyscallConn()
	if err != nil {
		return err
	}
	connB, err := b.SyscallConn()
	if err != nil {
		return err
	}
	var opErr error
	err = connA.Control(func(fdA uintptr) {
		if ctlErr := connB.Control(func(fdB uintptr) { opErr = op(int(fdA), int(fdB)) }); ctlErr != nil {
			opErr = ctlErr
		}
	})
	if err != nil {
		return err
	}
	return opErr
}
