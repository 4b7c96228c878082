package session

import (
	"bytes"
	"fmt"
	"os"
	"strconv"
	"time"

	"golang.org/x/sys/unix"
)

// openExit makes a process that can be waited for. It fails on a kernel before 5.10.
func openExit(pid int) (exit, error) {
	fd, err := unix.PidfdOpen(pid, unix.PIDFD_NONBLOCK)
	if err != nil {
		return nil, os.NewSyscallError("pidfd_open", err)
	}
	return &pidfd{os.NewFile(uintptr(fd), "pidfd")}, nil
}

// pidfd is readable once its process has ended.
type pidfd struct{ *os.File }

// Wait takes no thread: the runtime waits for all descriptors at once.
func (p *pidfd) Wait() error {
	conn, err := p.SyscallConn()
	if err != nil {
		return err
	}
	return conn.Read(func(fd uintptr) bool {
		fds := []unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}
		n, err := unix.Poll(fds, 0)
		return err == nil && n == 1
	})
}

// processStarted is when a running process was started; ok is false when there is none of that number.
func processStarted(pid int) (at time.Time, ok bool) {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return at, false
	}
	// The name in parentheses may hold anything; the state is the first field behind it, the start the twentieth.
	fields := bytes.Fields(stat[bytes.LastIndexByte(stat, ')')+1:])
	if len(fields) < 20 || fields[0][0] == 'Z' || fields[0][0] == 'X' {
		return at, false
	}
	const perSecond = 100 // ticks, the same on every system that Go runs on
	ticks, err := strconv.ParseInt(string(fields[19]), 10, 64)
	if err != nil {
		return at, false
	}
	boot, ok := booted()
	return boot.Add(time.Duration(ticks) * (time.Second / perSecond)), ok
}

func booted() (time.Time, bool) {
	stat, err := os.ReadFile("/proc/stat")
	if err != nil {
		return time.Time{}, false
	}
	_, rest, _ := bytes.Cut(stat, []byte("\nbtime "))
	line, _, _ := bytes.Cut(rest, []byte("\n"))
	seconds, err := strconv.ParseInt(string(line), 10, 64)
	return time.Unix(seconds, 0), err == nil
}
