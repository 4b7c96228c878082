package daemon

import (
	"time"

	"golang.org/x/sys/unix"
)

// elapsed returns the time since boot, including suspend. Unlike the wall clock it cannot be set.
func elapsed() time.Duration {
	var t unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_BOOTTIME, &t); err != nil {
		return 0 // a constant makes the wall clock implausible, which is the safe side
	}
	return time.Duration(t.Nano())
}
