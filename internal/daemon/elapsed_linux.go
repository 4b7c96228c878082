package daemon

import (
	"time"

	"golang.org/x/sys/unix"
)

// elapsed is the time since the machine was started, counting also while it slept. Nobody can set it.
func elapsed() time.Duration {
	var t unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_BOOTTIME, &t); err != nil {
		return 0 // a clock that stands still makes the wall clock doubtful, which is the safe side
	}
	return time.Duration(t.Nano())
}
