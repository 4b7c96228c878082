package session

import (
	"bytes"
	"fmt"
	"os"
	"strconv"
	"time"

	"golang.org/x/sys/unix"
)

// openExit opens a process to wait for its end, by pidfd_open(2). It needs Linux 5.10 for PIDFD_NONBLOCK.
func openExit(pid int) (processExit, error) {
	fd, err := unix.PidfdOpen(pid, unix.PIDFD_NONBLOCK)
	if err != nil {
		return nil, os.NewSyscallError("pidfd_open", err)
	}
	return &pidfd{os.NewFile(uintptr(fd), "pidfd")}, nil
}

// pidfd is a process file descriptor, which becomes readable when the process ends.
type pidfd struct{ *os.File }

// Wait blocks no thread: the runtime's poller waits for the descriptor.
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

// processStarted returns the start time of a running process from /proc/PID/stat (proc_pid_stat(5)); ok is false if
// there is none.
func processStarted(pid int) (at time.Time, ok bool) {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return at, false
	}
	// The name in parentheses can contain anything; behind it the state is the first field and the start time the
	// twentieth.
	fields := bytes.Fields(stat[bytes.LastIndexByte(stat, ')')+1:])
	if len(fields) < 20 || fields[0][0] == 'Z' || fields[0][0] == 'X' {
		return at, false
	}
	const perSecond = 100 // USER_HZ, which is 100 on every Linux port of Go
	ticks, err := strconv.ParseInt(string(fields[19]), 10, 64)
	if err != nil {
		return at, false
	}
	boot, ok := bootTime()
	return boot.Add(time.Duration(ticks) * (time.Second / perSecond)), ok
}

// bootTime returns the time of the boot from /proc/stat.
func bootTime() (time.Time, bool) {
	stat, err := os.ReadFile("/proc/stat")
	if err != nil {
		return time.Time{}, false
	}
	_, rest, _ := bytes.Cut(stat, []byte("\nbtime "))
	line, _, _ := bytes.Cut(rest, []byte("\n"))
	seconds, err := strconv.ParseInt(string(line), 10, 64)
	return time.Unix(seconds, 0), err == nil
}
