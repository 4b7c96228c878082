//go:build unix

package main

import (
	"bytes"
	"errors"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"sync/atomic"
	"syscall"
	"time"
)

// Time limits since the start of the process. Those of memsidecar itself are in cmd/memsidecar/hook.go.
const (
	// for a daemon that does not answer at all
	aliveLimit = 40 * time.Millisecond
	// for the answer, and for a host that does not close standard input. The daemon gives up earlier.
	answerLimit = 110 * time.Millisecond
	// for the answer to an event that may be slow, as the daemon says
	slowLimit = 2200 * time.Millisecond
	// for the answer to a recall that somebody waits for
	recallLimit = 30 * time.Second
	// for another program to take over
	lastLimit = 50 * time.Millisecond
	maxInput  = 32 << 20
)

// exitNotFound is what a shell exits with when there is no such program.
const exitNotFound = 127

// limits are the times since the start of the process after which a daemon is given up on: one that says nothing, one
// that does not answer, and one that said that the answer may take long.
type limits struct{ alive, answer, slow time.Duration }

// call is one run of this program.
type call struct {
	program string // memsidecar
	args    []string
	input   []byte // what was read of standard input
	began   time.Time
	limits  limits
	limit   atomic.Int64 // of a hook, in nanoseconds since began
	ending  atomic.Bool  // an answer was begun, or another program answers
	child   atomic.Pointer[os.Process]
}

// isHook reports whether the command is a hook, whose exit code must be 0.
func (c *call) isHook() bool { return len(c.args) > 0 && c.args[0] == "hook" }

// run has the daemon run the command, or the program if there is no answer.
func (c *call) run() {
	conn, err := dial(socketOf(c.args))
	if err != nil {
		c.replace()
	}
	if c.isHook() {
		if c.input, err = io.ReadAll(io.LimitReader(os.Stdin, maxInput)); err != nil {
			c.expire()
		}
	}
	dir, err := os.Getwd()
	if err != nil {
		c.fallBack(0)
	}
	conn.deadline = func(alive, slow bool) time.Time {
		switch {
		case !alive:
			return c.began.Add(c.limits.alive)
		case !slow:
			return c.began.Add(c.limits.answer)
		}
		c.limit.Store(int64(c.limits.slow))
		return c.began.Add(c.limits.slow)
	}
	answer, err := conn.exchange(encode(c.args, usefulEnv(os.Environ()), dir, os.Getppid(), c.input))
	switch {
	case errors.Is(err, syscall.EAGAIN): // its time limits count what was waited for
		c.fallBack(time.Since(c.began))
	case err != nil:
		c.fallBack(0)
	}
	if c.ending.Swap(true) {
		select {} // the watchdog ends the process
	}
	_, _ = os.Stdout.Write(answer)
	os.Exit(0)
}

// watch ends a hook at its time limit, and at once on SIGTERM. Blocking system calls cannot be interrupted otherwise. A
// program that took over has limits of its own.
func (c *call) watch() {
	c.limit.Store(int64(c.limits.answer))
	stop := make(chan os.Signal, 1)
	signal.Notify(stop, syscall.SIGTERM, os.Interrupt)
	go func() {
		for {
			left := time.Until(c.began.Add(time.Duration(c.limit.Load())))
			select {
			case <-stop:
				left = 0
			case <-time.After(left):
				left = time.Until(c.began.Add(time.Duration(c.limit.Load())))
			}
			if child := c.child.Load(); child != nil && left <= 0 {
				_ = child.Signal(syscall.SIGTERM)
				return
			}
			if left <= 0 {
				c.expire()
			}
		}
	}()
}

// expire has the program write the empty answer of the host and a line in the log, without any more waiting.
func (c *call) expire() {
	if c.ending.Swap(true) { // an answer that was begun hangs
		os.Exit(0)
	}
	time.AfterFunc(lastLimit, func() { os.Exit(0) })
	c.exec(append(c.args, "--spent", "1000h"))
}

// replace runs the program in the place of this one, which has read nothing yet.
func (c *call) replace() {
	if c.isHook() && c.ending.Swap(true) {
		select {}
	}
	c.exec(c.args)
}

// exec replaces this process. It does not return.
func (c *call) exec(args []string) {
	path, err := exec.LookPath(c.program)
	if err == nil {
		err = syscall.Exec(path, append([]string{c.program}, args...), os.Environ())
	}
	c.fail(err)
}

// fail ends a run for which there is no program: a hook with an answer that every host accepts.
func (c *call) fail(err error) {
	_, _ = os.Stderr.WriteString("memsidecar-hook: cannot run memsidecar (" + err.Error() +
		"). Run \"memsidecar install\" again.\n")
	if !c.isHook() {
		os.Exit(exitNotFound)
	}
	_, _ = os.Stdout.WriteString("{}\n")
	os.Exit(0)
}

// fallBack runs the program with what was read of standard input, and ends as it does. The time that was waited for the
// daemon shortens the limits of a hook.
func (c *call) fallBack(spent time.Duration) {
	if c.isHook() && c.ending.Swap(true) {
		select {} // the watchdog ends the process
	}
	args := c.args
	if c.isHook() && spent > 0 {
		args = append(args, "--spent", spent.String())
	}
	cmd := exec.Command(c.program, args...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = bytes.NewReader(c.input), os.Stdout, os.Stderr
	if err := cmd.Start(); err != nil {
		c.fail(err)
	}
	c.limit.Store(int64(time.Since(c.began) + c.limits.slow))
	c.child.Store(cmd.Process)
	err := cmd.Wait()
	if exit, ok := errors.AsType[*exec.ExitError](err); ok && !c.isHook() {
		os.Exit(max(exit.ExitCode(), 1))
	}
	os.Exit(0)
}
