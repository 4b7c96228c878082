//go:build unix

package filelock

import (
	"errors"

	"golang.org/x/sys/unix"
)

const noFollow = unix.O_NOFOLLOW

// lock locks the open file behind a descriptor by flock(2), whose locks stop nobody from reading or writing.
func lock(fd uintptr) error {
	for {
		err := unix.Flock(int(fd), unix.LOCK_EX|unix.LOCK_NB)
		switch {
		case errors.Is(err, unix.EWOULDBLOCK):
			return ErrHeld
		case !errors.Is(err, unix.EINTR):
			return err
		}
	}
}
