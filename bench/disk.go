package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/memsidecar/memsidecar/bench/process"
)

// diskLimits are the most bytes on disk, in megabytes, by memories.
var diskLimits = map[int]float64{100_000: 120}

// disk reports what a store takes on disk, together and by file or directory of the top, once its daemon has compressed
// what is old.
func (b *bench) disk(ctx context.Context, data string, size int) error {
	parts, err := b.compacted(ctx, data)
	if err != nil {
		return err
	}
	var all int64
	for _, bytes := range parts {
		all += bytes
	}
	r := b.report.value("bytes on disk", size, float64(all)/1e6, "MB")
	if most, ok := diskLimits[size]; ok {
		r.limit(r.Value, most, fmt.Sprintf("≤ %g MB", most))
	}
	for _, top := range slices.Sorted(maps.Keys(parts)) {
		if parts[top] > all/100 {
			b.report.value("bytes on disk: "+top, size, float64(parts[top])/1e6, "MB")
		}
	}
	return nil
}

// compacted lets a daemon run on a store until the journal does not become shorter any more, and returns the bytes of
// each file and directory of the top when it is stopped.
func (b *bench) compacted(ctx context.Context, data string) (_ map[string]int64, err error) {
	const tick = 5 * time.Second // of the daemon's maintenance, which compresses a segment each time
	d, err := b.start(ctx, data)
	if err != nil {
		return nil, err
	}
	defer func(d *process.Server) { err = errors.Join(err, d.Stop()) }(d)
	for before := int64(-1); ; {
		parts, err := sizes(data)
		if err != nil {
			return nil, err
		}
		if parts["journal"] == before {
			if err := d.Stop(); err != nil {
				return nil, err
			}
			return sizes(data)
		}
		before = parts["journal"]
		select {
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-time.After(2*tick + time.Second):
		}
	}
}

// sizes returns the bytes of each file and directory of the top.
func sizes(data string) (map[string]int64, error) {
	parts := map[string]int64{}
	return parts, filepath.WalkDir(data, func(path string, e fs.DirEntry, err error) error {
		if err != nil || !e.Type().IsRegular() {
			return err
		}
		info, err := e.Info()
		if err != nil {
			return err
		}
		top, _, _ := strings.Cut(strings.TrimPrefix(path, data+string(filepath.Separator)), string(filepath.Separator))
		parts[top] += info.Size()
		return nil
	})
}
