//go:build unix

package memtest

import (
	"syscall"
	"testing"
	"time"
)

// Fifo makes a named pipe, which blocks who opens it. It is false on a system whose file system has none.
func Fifo(t testing.TB, path string) bool {
	t.Helper()
	if err := syscall.Mkfifo(path, 0o600); err != nil {
		t.Fatal(err)
	}
	return true
}

// ProcessorTime is the time that all processors have spent on this process, which means something on a busy machine,
// too.
func ProcessorTime(t testing.TB) time.Duration {
	t.Helper()
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		t.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
