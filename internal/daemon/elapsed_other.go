//go:build unix && !linux

package daemon

import (
	"time"

	"golang.org/x/sys/unix"
)

// elapsed returns the time since a fixed moment. On macOS this clock includes suspend.
func elapsed() time.Duration {
	var t unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_MONOTONIC, &t); err != nil {
		return 0 // a constant makes the wall clock implausible, which is the safe side
	}
	return time.Duration(t.Nano())
}
