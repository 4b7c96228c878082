package bert

import (
	"syscall"
	"testing"
)

func TestRunLowPriority(t *testing.T) {
	nice := func() int {
		raw, err := syscall.Getpriority(syscall.PRIO_PROCESS, syscall.Gettid())
		if err != nil {
			t.Fatal(err)
		}
		return 20 - raw // what the system call returns is never negative
	}
	before, during := nice(), 0
	runLowPriority(func() { during = nice() })
	if during < backgroundNice || nice() != before {
		t.Errorf("nice value %d, then %d, then %d", before, during, nice())
	}
}
