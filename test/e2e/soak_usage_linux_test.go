package e2e_test

import (
	"context"
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"
)

// usage is what the daemon's processes used, by /proc and by their metrics.
type usage struct {
	mu                sync.Mutex
	pid               int
	before, now       written // by earlier processes, and by this one
	calm              written // while nothing but adds and searches happened
	calmAcked         int64
	maxResident       int64
	maxFiles, samples int
	maxLag, sumLag    float64
	late              []string // the moments at which memory.json was far behind
}

// written is what was written, in bytes: by kind of file as it was handed to write(2); as "disk", the pages that went
// to the disk; as "syncs", one page for each sync of the journal.
type written map[string]int64

// plus returns w + sign·other.
func (w written) plus(sign int64, other written) written {
	sum := maps.Clone(w)
	if sum == nil {
		sum = written{}
	}
	for kind, n := range other {
		sum[kind] += sign * n
	}
	return sum
}

// handed is the sum of what was handed to write(2).
func (w written) handed() (n int64) {
	for kind, bytes := range w {
		if kind != "disk" && kind != "syncs" {
			n += bytes
		}
	}
	return n
}

// per lists the bytes per acknowledged byte, all kinds of files together and each.
func (w written) per(acked int64) string {
	ratio := func(n int64) float64 { return float64(n) / float64(max(acked, 1)) }
	parts := []string{fmt.Sprintf("%.1f (", ratio(w.handed()))}
	for _, kind := range slices.Sorted(maps.Keys(w)) {
		if kind != "disk" && kind != "syncs" {
			parts = append(parts, fmt.Sprintf("%s %.2f", kind, ratio(w[kind])))
		}
	}
	return strings.Join(parts, " ") + fmt.Sprintf("); pages to the disk %.1f, of which the journal's syncs %.1f",
		ratio(w["disk"]), ratio(w["syncs"]))
}

// began says that another process is measured.
func (u *usage) began(pid int) {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.before, u.now, u.pid = u.before.plus(1, u.now), written{}, pid
}

// total is what was written so far.
func (u *usage) total() written {
	u.mu.Lock()
	defer u.mu.Unlock()
	return u.before.plus(1, u.now)
}

// sample reads /proc. A process that has just ended keeps its last figures.
func (u *usage) sample() {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.now["disk"] = max(u.now["disk"], procField(u.pid, "io", "write_bytes:"))
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

// figures takes over what the daemon says of itself.
func (u *usage) figures(figures map[string]float64, lag float64) {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.now["syncs"] = max(u.now["syncs"], 4096*int64(figures["memsidecar_journal_syncs_total"]))
	for series, value := range figures {
		if rest, ok := strings.CutPrefix(series, `memsidecar_written_bytes_total{file="`); ok {
			kind := strings.TrimSuffix(rest, `"}`)
			u.now[kind] = max(u.now[kind], int64(value))
		}
	}
	if lag > 5 {
		u.late = append(u.late, fmt.Sprintf("%s %.1f s", time.Now().Format(time.TimeOnly), lag))
	}
	u.maxLag, u.sumLag, u.samples = max(u.maxLag, lag), u.sumLag+lag, u.samples+1
}

// measure samples the process and asks for the metrics until ctx ends.
func (s *soak) measure(ctx context.Context) {
	client := &http.Client{Timeout: 5 * time.Second, Transport: &http.Transport{DisableKeepAlives: true,
		DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
			return new(net.Dialer).DialContext(ctx, "unix", s.Socket+".m")
		}}}
	for ctx.Err() == nil {
		s.use.sample()
		figures, err := metrics(client)
		lag, ok := figures[`memsidecar_publication_lag_seconds{kind="memory.json"}`]
		if err == nil && ok {
			s.use.figures(figures, lag)
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
