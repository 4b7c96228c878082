package filelock

import (
	"errors"

	"golang.org/x/sys/windows"
)

const noFollow = windows.O_FILE_FLAG_OPEN_REPARSE_POINT

// lockedByte is the offset of the byte that is locked, in units of 4 GiB. Windows keeps others from reading and writing
// what is locked, so it is a byte that no file has.
const lockedByte = 1 << 30

// lock locks the open file behind a handle by LockFileEx.
func lock(fd uintptr) error {
	err := windows.LockFileEx(windows.Handle(fd), windows.LOCKFILE_EXCLUSIVE_LOCK|windows.LOCKFILE_FAIL_IMMEDIATELY, 0, 1, 0,
		&windows.Overlapped{OffsetHigh: lockedByte})
	if errors.Is(err, windows.ERROR_LOCK_VIOLATION) || errors.Is(err, windows.ERROR_IO_PENDING) {
		return ErrHeld
	}
	return err
}
