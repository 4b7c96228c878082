package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"
)

// status reads a size from /proc/PID/status, in megabytes.
func status(pid int, field string) (float64, error) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return 0, err
	}
	for line := range strings.Lines(string(text)) {
		if rest, ok := strings.CutPrefix(line, field+":"); ok {
			kb, err := strconv.ParseFloat(strings.TrimSuffix(strings.TrimSpace(rest), " kB"), 64)
			return kb / 1024, err
		}
	}
	return 0, fmt.Errorf("/proc/%d/status has no %s", pid, field)
}

// forgetPeak makes VmHWM start again from what is resident now.
func forgetPeak(pid int) error {
	return os.WriteFile(fmt.Sprintf("/proc/%d/clear_refs", pid), []byte("5"), 0)
}

// syncs counts the syncs of the daemon per acknowledged Add with 64 clients. Counting makes them slow, which makes
// groups larger: the figure is that of a slow disk.
func (b *bench) syncs(ctx context.Context, d, _ *server, size int, _ []string) error {
	strace, err := exec.LookPath("strace")
	if err != nil {
		fmt.Fprintln(b.log, "  no strace: syncs are not counted")
		return nil
	}
	out := filepath.Join(b.dir, "strace")
	cmd := exec.CommandContext(ctx, strace, "-f", "-c", "-e", "trace=fsync,fdatasync,sync_file_range,syncfs", "-o", out, "-p", strconv.Itoa(d.cmd.Process.Pid))
	stderr, err := cmd.StderrPipe()
	if err != nil {
		return err
	}
	if err := cmd.Start(); err != nil {
		return err
	}
	first, err := bufio.NewReader(stderr).ReadString('\n')
	if err != nil || !strings.Contains(first, "attached") {
		fmt.Fprintf(b.log, "  strace cannot attach: syncs are not counted: %s\n", strings.TrimSpace(first))
		return errors.Join(ignoreExit(cmd.Wait()), ctx.Err())
	}
	s, err := b.adding(ctx, d, 64, 1, mostAdds)
	if err := errors.Join(err, cmd.Process.Signal(syscall.SIGINT), ignoreExit(cmd.Wait())); err != nil {
		return err
	}
	text, err := os.ReadFile(out)
	if err != nil {
		return err
	}
	perAdd := float64(countSyncs(string(text))) / float64(len(s.calls)+64) // and the first call of each client
	b.report.value("syncs per Add, 64 clients", size, perAdd, "").limit(perAdd, 0.1, "< 0.1")
	return nil
}

// countSyncs adds up the calls in strace's summary: % time, seconds, usecs/call, calls, errors (may be empty), syscall.
func countSyncs(summary string) int {
	total := 0
	for line := range strings.Lines(summary) {
		f := strings.Fields(line)
		if len(f) >= 5 && strings.Contains(f[len(f)-1], "sync") {
			if n, err := strconv.Atoi(f[3]); err == nil {
				total += n
			}
		}
	}
	return total
}

// ignoreExit drops the error that a process ended by our signal, or unsuccessfully.
func ignoreExit(err error) error {
	if _, ok := errors.AsType[*exec.ExitError](err); ok {
		return nil
	}
	return err
}

// describe says what figures were taken on.
func describe(dir string) string {
	cpu := "unknown CPU"
	if text, err := os.ReadFile("/proc/cpuinfo"); err == nil {
		for line := range strings.Lines(string(text)) {
			if name, model, ok := strings.Cut(line, ":"); ok && strings.TrimSpace(name) == "model name" {
				cpu = strings.TrimSpace(model)
				break
			}
		}
	}
	disk := "unknown file system"
	var st unix.Statfs_t
	if err := unix.Statfs(dir, &st); err == nil {
		disk = fmt.Sprintf("file system 0x%x", st.Type)
		if st.Type == unix.TMPFS_MAGIC {
			disk = "tmpfs, WHERE SYNCING COSTS NOTHING: choose another --dir"
		}
	}
	return fmt.Sprintf("%d × %s, %s, %s/%s, %s", runtime.NumCPU(), cpu, disk, runtime.GOOS, runtime.GOARCH, runtime.Version())
}
