package main

import (
	"bufio"
	"context"
	"fmt"
	"maps"
	"net"
	"net/http"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
)

// metricsSocket is where the daemon on data answers with its metrics.
func metricsSocket(data string) string { return filepath.Join(filepath.Dir(data), "metrics") }

// writtenSeries is a line of the metric of written bytes.
var writtenSeries = regexp.MustCompile(`^memsidecar_written_bytes_total\{[a-z]+="([^"]+)"\} ([0-9.e+]+)$`)

// written reports how many bytes the daemon has handed to the system to write since its start, for each memory that was
// added and embedded, by kind of file.
func (b *bench) written(ctx context.Context, data string, size int) error {
	if size == 0 {
		return nil
	}
	client := http.Client{Transport: &http.Transport{DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return (&net.Dialer{}).DialContext(ctx, "unix", metricsSocket(data))
	}}}
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://localhost/metrics", nil)
	if err != nil {
		return err
	}
	res, err := client.Do(req)
	if err != nil {
		return err
	}
	defer res.Body.Close()
	bytes := map[string]float64{}
	lines := bufio.NewScanner(res.Body)
	for lines.Scan() {
		if m := writtenSeries.FindStringSubmatch(lines.Text()); m != nil {
			if bytes[m[1]], err = strconv.ParseFloat(m[2], 64); err != nil {
				return err
			}
		}
	}
	if err := lines.Err(); err != nil {
		return err
	}
	if len(bytes) == 0 {
		return fmt.Errorf("the daemon's metrics have no written bytes")
	}
	for _, kind := range slices.Sorted(maps.Keys(bytes)) {
		b.report.value("bytes written per memory: "+kind, size, bytes[kind]/float64(size), "B")
	}
	return nil
}
