package process

import (
	"errors"
	"fmt"
	"os"
	"runtime"
	"strconv"

	"golang.org/x/sys/unix"
)

// Aside keeps this process off half of its processors, and has start start servers that use no others. They keep
// theirs for as long as they run; restore gives this process all of its own back.
func Aside(start func() error) (restore func() error, err error) {
	var all unix.CPUSet
	if err := unix.SchedGetaffinity(0, &all); err != nil {
		return nil, fmt.Errorf("ask for the processors of this process: %w", err)
	}
	if all.Count() < 2 {
		return nil, ErrOneProcessor
	}
	own, servers := halves(&all)
	if err := settle(&own); err != nil {
		return nil, err
	}
	restore = func() error { return settle(&all) }
	// A process inherits the processors of the thread that starts it, and no goroutine but this one runs on a locked
	// thread.
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	err = unix.SchedSetaffinity(0, &servers)
	if err == nil {
		err = start()
	}
	if err := errors.Join(err, unix.SchedSetaffinity(0, &own)); err != nil {
		return nil, errors.Join(err, restore())
	}
	return restore, nil
}

// halves shares processors out; the second has one more when they are odd.
func halves(all *unix.CPUSet) (first, second unix.CPUSet) {
	n := all.Count() / 2
	for i := 0; first.Count()+second.Count() < all.Count(); i++ {
		switch {
		case !all.IsSet(i):
		case first.Count() < n:
			first.Set(i)
		default:
			second.Set(i)
		}
	}
	return first, second
}

// settle has all threads of this process run on cpus, and as many of them at once as there are cpus.
func settle(cpus *unix.CPUSet) error {
	for moved := true; moved; { // a thread that has not been moved yet may have started another
		moved = false
		threads, err := os.ReadDir("/proc/self/task")
		if err != nil {
			return err
		}
		for _, t := range threads {
			id, err := strconv.Atoi(t.Name())
			if err != nil {
				return err
			}
			m, err := move(id, cpus)
			if err != nil {
				return fmt.Errorf("choose processors for thread %d: %w", id, err)
			}
			moved = moved || m
		}
	}
	runtime.SetDefaultGOMAXPROCS()
	return nil
}

// move says whether a thread had to be moved; one that has ended needs no processor.
func move(thread int, cpus *unix.CPUSet) (bool, error) {
	var has unix.CPUSet
	err := unix.SchedGetaffinity(thread, &has)
	if err == nil && has != *cpus {
		err = unix.SchedSetaffinity(thread, cpus)
	}
	if errors.Is(err, unix.ESRCH) {
		return false, nil
	}
	return err == nil && has != *cpus, err
}
