package process_test

import (
	"os"
	"os/exec"
	"testing"
	"time"

	"github.com/memsidecar/memsidecar/internal/process"
)

// TestChild is the child of TestEnded: it waits for the end of its input.
func TestChild(t *testing.T) {
	if os.Getenv("PROCESS_TEST_CHILD") == "" {
		t.Skip("this is the child of another test")
	}
	_, _ = os.Stdin.Read(make([]byte, 1))
}

// A process has not ended while it runs, and has when it has, also before its parent has asked for its exit code.
func TestEnded(t *testing.T) {
	cmd := exec.Command(os.Args[0], "-test.run", "^TestChild$")
	cmd.Env = append(os.Environ(), "PROCESS_TEST_CHILD=1")
	process.Detach(cmd)
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	if process.Ended(os.Getpid()) || process.Ended(cmd.Process.Pid) {
		t.Error("a process that runs has ended")
	}
	if err := in.Close(); err != nil {
		t.Fatal(err)
	}
	for _, err := os.Stat("/proc/self/stat"); err == nil && !process.Ended(cmd.Process.Pid); {
		time.Sleep(time.Millisecond)
	}
	if err := cmd.Wait(); err != nil {
		t.Fatal(err)
	}
	if !process.Ended(cmd.Process.Pid) {
		t.Error("a process that has ended runs")
	}
}
