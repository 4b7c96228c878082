//go:build !linux

package daemon

import (
	"time"

	"golang.org/x/sys/unix"
)

// elapsed is the time since some fixed moment. On macOS this clock counts also while the machine sleeps.
func elapsed() time.Duration {
	var t unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_MONOTONIC, &t); err != nil {
		return 0 // a clock that stands still makes the wall clock doubtful, which is the safe side
	}
	return time.Duration(t.Nano())
}
