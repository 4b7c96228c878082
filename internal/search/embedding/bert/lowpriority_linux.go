package bert

import (
	"runtime"
	"syscall"
)

// backgroundNice is the nice value of a thread that embeds in bulk. Beside threads of the usual priority it gets some
// 10 % of a processor: a busy machine delays it, and does not starve it.
const backgroundNice = 10

// runLowPriority calls f on a thread of low priority. The thread ends with the call: a process may not raise the
// priority again.
func runLowPriority(f func()) {
	done := make(chan struct{})
	go func() {
		defer close(done)
		runtime.LockOSThread() // without UnlockOSThread, the thread ends with the goroutine
		// On Linux the nice value belongs to a thread. An error leaves the priority as it is.
		_ = syscall.Setpriority(syscall.PRIO_PROCESS, syscall.Gettid(), backgroundNice)
		f()
	}()
	<-done
}
