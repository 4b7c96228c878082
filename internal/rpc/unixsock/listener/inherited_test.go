package listener_test

import (
	"os"
	"strconv"
	"testing"

	"github.com/memsidecar/memsidecar/internal/rpc/unixsock/listener"
)

// TestInheritedNothing: what is meant for another process, or is not said at all, is not taken. That a socket is taken
// over shows test/e2e, where there is a process to pass it to.
func TestInheritedNothing(t *testing.T) {
	own := strconv.Itoa(os.Getpid())
	for _, tt := range []struct{ name, pid, fds string }{
		{"not said", "", ""}, {"for the parent", strconv.Itoa(os.Getppid()), "1"}, {"none", own, "0"}, {"no number", own, "x"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			env := map[string]string{"LISTEN_PID": tt.pid, "LISTEN_FDS": tt.fds}
			if l, err := listener.Inherited(func(k string) string { return env[k] }, "/tmp/s"); l != nil || err != nil {
				t.Errorf("took %v, error %v", l, err)
			}
		})
	}
	env := map[string]string{"LISTEN_PID": own, "LISTEN_FDS": "2"}
	if _, err := listener.Inherited(func(k string) string { return env[k] }, "/tmp/s"); err == nil {
		t.Error("took one of two sockets")
	}
}
