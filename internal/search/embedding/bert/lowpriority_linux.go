package bert

import (
	"runtime"
	"syscall"

	"golang.org/x/sys/unix"
)

const (
	// backgroundNice is the nice value of a thread that embeds in bulk. Beside threads of the usual priority it gets
	// some 10 % of a processor: a busy machine delays it, and does not starve it.
	backgroundNice = 10
	// backgroundSlice is how long such a thread may keep a processor from one that has just become ready, in
	// nanoseconds. Without it that is a millisecond or more. Linux has this since 6.12.
	backgroundSlice = 100_000
)

// runLowPriority calls f on a thread of low priority. The thread ends with the call: a process may not raise the
// priority again.
func runLowPriority(f func()) {
	done := make(chan struct{})
	go func() {
		defer close(done)
		runtime.LockOSThread() // without UnlockOSThread, the thread ends with the goroutine
		// On Linux the nice value belongs to a thread. An error leaves the priority, or the slice, as it is.
		_ = syscall.Setpriority(syscall.PRIO_PROCESS, syscall.Gettid(), backgroundNice)
		_ = unix.SchedSetAttr(0, &unix.SchedAttr{Nice: backgroundNice, Runtime: backgroundSlice}, 0)
		f()
	}()
	<-done
}
