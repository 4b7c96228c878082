package e2e_test

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"
)

// usage is what the daemon's processes used, by /proc.
type usage struct {
	mu                     sync.Mutex
	pid                    int
	before, now            int64 // bytes written to disk by earlier processes, and by this one
	syncsBefore, syncs     int64 // of the journal, likewise
	maxResident            int64
	maxFiles, samples      int
	maxLag, sumLag         float64
	calmAcked, calmWritten int64
	calmFloor              int64
}

// began says that another process is measured.
func (u *usage) began(pid int) {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.before, u.now, u.pid = u.before+u.now, 0, pid
	u.syncsBefore, u.syncs = u.syncsBefore+u.syncs, 0
}

// floor is the least that the syncs of the journal cost so far: each writes one page.
func (u *usage) floor() int64 {
	u.mu.Lock()
	defer u.mu.Unlock()
	return (u.syncsBefore + u.syncs) * 4096
}

// written is how many bytes went to the disk so far.
func (u *usage) written() int64 {
	u.mu.Lock()
	defer u.mu.Unlock()
	return u.before + u.now
}

// sample reads /proc. A process that has just ended keeps its last figures.
func (u *usage) sample() {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.now = max(u.now, procField(u.pid, "io", "write_bytes:"))
	u.maxResident = max(u.maxResident, procField(u.pid, "status", "VmRSS:")<<10)
	if files, err := os.ReadDir(fmt.Sprintf("/proc/%d/fd", u.pid)); err == nil {
		u.maxFiles = max(u.maxFiles, len(files))
	}
}

// procField reads a number from a file of /proc, 0 if it is not there.
func procField(pid int, file, name string) int64 {
	data, err := os.ReadFile(fmt.Sprintf("/proc/%d/%s", pid, file))
	if err != nil {
		return 0
	}
	for line := range strings.Lines(string(data)) {
		if rest, ok := strings.CutPrefix(line, name); ok {
			n, _ := strconv.ParseInt(strings.Fields(rest)[0], 10, 64)
			return n
		}
	}
	return 0
}

// measure samples the process and asks for the metrics until ctx ends.
func (s *soak) measure(ctx context.Context) {
	client := &http.Client{Timeout: 5 * time.Second, Transport: &http.Transport{DisableKeepAlives: true,
		DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
			return new(net.Dialer).DialContext(ctx, "unix", s.socket+".m")
		}}}
	for ctx.Err() == nil {
		s.use.sample()
		figures, err := metrics(client)
		lag, ok := figures[`memsidecar_publication_lag_seconds{kind="memory.json"}`]
		if err == nil && ok {
			s.use.mu.Lock()
			s.use.syncs = max(s.use.syncs, int64(figures["memsidecar_journal_syncs_total"]))
			s.use.maxLag, s.use.sumLag, s.use.samples = max(s.use.maxLag, lag), s.use.sumLag+lag, s.use.samples+1
			s.use.mu.Unlock()
		}
		select {
		case <-ctx.Done():
		case <-time.After(500 * time.Millisecond):
		}
	}
}

// metrics returns the values of the daemon's metrics by series.
func metrics(client *http.Client) (map[string]float64, error) {
	resp, err := client.Get("http://localhost/metrics")
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	data, err := io.ReadAll(resp.Body)
	if err != nil {
		return nil, err
	}
	out := map[string]float64{}
	for line := range strings.Lines(string(data)) {
		if at := strings.LastIndexByte(strings.TrimSpace(line), ' '); at > 0 && line[0] != '#' {
			out[line[:at]], _ = strconv.ParseFloat(strings.TrimSpace(line[at:]), 64)
		}
	}
	return out, nil
}

// mountSmall mounts a file system of some bytes on a directory. It takes the rights of root.
func mountSmall(dir string, bytes int) error {
	return syscall.Mount("tmpfs", dir, "tmpfs", 0, fmt.Sprintf("size=%d,mode=0700", bytes))
}
