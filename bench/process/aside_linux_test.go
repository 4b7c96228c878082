package process

import (
	"errors"
	"os"
	"os/exec"
	"strconv"
	"testing"

	"golang.org/x/sys/unix"
)

// TestAside looks at the processors of a child and of all threads of this process.
func TestAside(t *testing.T) {
	before := processors(t, 0)
	if before.Count() < 2 {
		t.Skip("this process may use one processor only, so there are no two halves")
	}
	own, servers := halves(&before)
	child := exec.Command("cat")
	stdin, err := child.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	restore, err := Aside(child.Start)
	if err != nil {
		t.Fatal(err)
	}
	if got := processors(t, child.Process.Pid); got != servers {
		t.Errorf("the child has the processors %v, want %v", got[0], servers[0])
	}
	threadsHave(t, own)
	if err := errors.Join(stdin.Close(), child.Wait(), restore()); err != nil {
		t.Fatal(err)
	}
	threadsHave(t, before)
}

// TestAsideWithoutServers has the start fail, which must cost nobody a processor.
func TestAsideWithoutServers(t *testing.T) {
	before := processors(t, 0)
	want := errors.New("no server")
	if before.Count() < 2 {
		want = ErrOneProcessor
	}
	if _, err := Aside(func() error { return want }); !errors.Is(err, want) {
		t.Errorf("Aside: %v, want %v", err, want)
	}
	threadsHave(t, before)
}

// processors are those of a thread; 0 is the one that asks.
func processors(t *testing.T, thread int) (has unix.CPUSet) {
	t.Helper()
	if err := unix.SchedGetaffinity(thread, &has); err != nil {
		t.Fatal(err)
	}
	return has
}

func threadsHave(t *testing.T, want unix.CPUSet) {
	t.Helper()
	threads, err := os.ReadDir("/proc/self/task")
	if err != nil {
		t.Fatal(err)
	}
	for _, thread := range threads {
		id, err := strconv.Atoi(thread.Name())
		if err != nil {
			t.Fatal(err)
		}
		if got := processors(t, id); got != want {
			t.Errorf("thread %d has the processors %v, want %v", id, got[0], want[0])
		}
	}
}

func TestHalves(t *testing.T) {
	var all unix.CPUSet
	for _, c := range []int{1, 3, 64, 70, 200} {
		all.Set(c)
	}
	first, second := halves(&all)
	for c := range 300 {
		if first.IsSet(c) && second.IsSet(c) || (first.IsSet(c) || second.IsSet(c)) != all.IsSet(c) {
			t.Errorf("processor %d: in the first %v, in the second %v, in all %v", c, first.IsSet(c), second.IsSet(c),
				all.IsSet(c))
		}
	}
	if first.Count() != 2 || second.Count() != 3 {
		t.Errorf("%d and %d processors, want 2 and 3", first.Count(), second.Count())
	}
}
