package main

import (
	"context"
	"fmt"
	"os"
	"runtime"
	"strconv"
	"strings"

	"github.com/memsidecar/memsidecar/bench/process"
	pb "github.com/memsidecar/memsidecar/gen/memsidecar/v1"
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

// syncs counts how often the daemon syncs its journal per acknowledged Add with 64 clients.
func (b *bench) syncs(ctx context.Context, d, _ *process.Server, size int, _ []string) error {
	clients, err := d.Memories(1)
	if err != nil {
		return err
	}
	before, err := clients[0].Stats(ctx, &pb.MemoryServiceStatsRequest{})
	if err != nil {
		return err
	}
	if _, err := b.adding(ctx, d, 64, 1, mostAdds); err != nil {
		return err
	}
	after, err := clients[0].Stats(ctx, &pb.MemoryServiceStatsRequest{})
	if err != nil {
		return err
	}
	perAdd := float64(after.GetJournalSyncs()-before.GetJournalSyncs()) / float64(
		operationNumber(after.GetPosition())-operationNumber(before.GetPosition()))
	b.report.value("syncs per Add, 64 clients", size, perAdd, "").limit(perAdd, 0.1, "< 0.1")
	return nil
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
	return fmt.Sprintf("%d × %s, %s, %s/%s, %s", runtime.NumCPU(), cpu, filesystem(dir), runtime.GOOS, runtime.GOARCH,
		runtime.Version())
}

// operationNumber is the number in an operation id or a journal position, such as 1234 of "1234-k3f9".
func operationNumber(id string) int64 {
	digits, _, _ := strings.Cut(id, "-")
	n, _ := strconv.ParseInt(digits, 10, 64)
	return n
}
