package daemon

import (
	"time"

	"golang.org/x/sys/windows"
)

// elapsed returns the time since boot, including suspend. Unlike the wall clock it cannot be set.
func elapsed() time.Duration { return windows.DurationSinceBoot() }
