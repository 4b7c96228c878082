package memtest

import (
	"syscall"
	"testing"
	"time"
)

// Fifo is false: the file system has no named pipes.
func Fifo(testing.TB, string) bool { return false }

// ProcessorTime is the time that all processors have spent on this process, which means something on a busy machine,
// too.
func ProcessorTime(t testing.TB) time.Duration {
	t.Helper()
	self, err := syscall.GetCurrentProcess()
	if err != nil {
		t.Fatal(err)
	}
	var created, exited, kernel, user syscall.Filetime
	if err := syscall.GetProcessTimes(self, &created, &exited, &kernel, &user); err != nil {
		t.Fatal(err)
	}
	spent := func(f syscall.Filetime) time.Duration { // in units of 100 ns; Nanoseconds would count from 1970
		return 100 * time.Duration(int64(f.HighDateTime)<<32|int64(f.LowDateTime))
	}
	return spent(kernel) + spent(user)
}
