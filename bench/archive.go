package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	memsidecarv1 "github.com/memsidecar/memsidecar/gen/memsidecar/v1"
)

// The logs that are archived.
const (
	oldLogs    = 400
	logEntries = 60
	// addEvery is the pause between two Adds beside the archiving.
	addEvery = 5 * time.Millisecond
)

// archiving times the archiving of daily logs that a daemon adopts, and Adds beside it, in a store of its own.
func (b *bench) archiving(ctx context.Context) (err error) {
	fmt.Fprintf(b.log, "%7d logs: archiving\n", oldLogs)
	data := filepath.Join(b.dir, "logs")
	if err := os.RemoveAll(data); err != nil { // of the run before
		return err
	}
	// The daemon's own run at the start has nothing to do.
	if err := b.settings(data, "memory_archive_days: 3000", "memory_delete_days: 3000"); err != nil {
		return err
	}
	if err := writeLogs(filepath.Join(data, "logs")); err != nil {
		return err
	}
	d, err := b.start(ctx, data)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, d.Stop()) }()
	conn, err := d.Client(1)
	if err != nil {
		return err
	}
	add, err := b.adder(d)
	if err != nil {
		return err
	}
	quiet, err := paced(ctx, addEvery, time.After(b.slice*time.Duration(b.rounds)), add)
	if err != nil {
		return err
	}
	done := make(chan time.Time)
	var took time.Duration
	var archived int
	var failed error
	go func() {
		defer close(done)
		began := time.Now()
		archived, failed = archiveAll(ctx, memsidecarv1.NewAdminServiceClient(conn))
		took = time.Since(began)
	}()
	beside, err := paced(ctx, addEvery, done, add)
	<-done
	if err := errors.Join(err, failed); err != nil {
		return err
	}
	if archived != oldLogs {
		return fmt.Errorf("%d logs were archived, not %d", archived, oldLogs)
	}
	each := float64(took.Microseconds()) / 1000 / oldLogs
	b.report.value(fmt.Sprintf("archive a log of %d entries", logEntries), 0, each, "ms").limit(each, 5, "≤ 5 ms")
	b.report.timed("Add, every 5 ms", 0, 1, quiet)
	r := b.report.timed("Add, every 5 ms, beside archiving", 0, 1, beside)
	r.compare("p99 without", p99s, beside, quiet)
	r.atMost(3)
	return nil
}

// archiveAll archives every log that is old enough, and returns how many those were. None is deleted.
func archiveAll(ctx context.Context, admin memsidecarv1.AdminServiceClient) (n int, err error) {
	res, err := admin.Archive(ctx, &memsidecarv1.AdminServiceArchiveRequest{Limit: oldLogs, ArchiveDays: 1,
		DeleteDays: 10 * oldLogs})
	for _, day := range res.GetDays() {
		if day.GetAction() == memsidecarv1.ArchiveAction_ARCHIVE_ACTION_ARCHIVE {
			n++
		}
	}
	return n, err
}

// writeLogs writes the daily logs of a directory that a daemon adopts, the newest of them of the day before yesterday.
func writeLogs(dir string) error {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	for i := range oldLogs {
		date := time.Now().AddDate(0, 0, -2-i).Format(time.DateOnly)
		entries := make([]map[string]string, logEntries)
		for j := range entries {
			entries[j] = logEntry(i*logEntries + j)
			entries[j]["time"] = fmt.Sprintf("%02d:%02d:00", 8+j/6, j%6*10)
		}
		text, err := json.Marshal(map[string]any{"date": date, "entries": entries})
		if err != nil {
			return err
		}
		if err := os.WriteFile(filepath.Join(dir, date+".json"), text, 0o600); err != nil {
			return err
		}
	}
	return nil
}

// logEntry is the i-th entry of all logs, another one for every number: mostly events, some worth a memory.
func logEntry(i int) map[string]string {
	switch i % 20 {
	case 3:
		return map[string]string{"type": "tool_failure", "tool": "Bash", "error": "command not found: " + name(i),
			"content": fmt.Sprintf("Bash failed: command not found: %s, in step %d", name(i), i)}
	case 9:
		return map[string]string{"type": "event", "content": fmt.Sprintf("We decided to deploy %s on Friday, as item %d "+
			"says", name(i), i)}
	case 15:
		return map[string]string{"type": "session_summary", "content": fmt.Sprintf("The session looked at %s and "+
			"changed %d files. Its tests passed.", name(i), i)}
	}
	return map[string]string{"type": "event", "content": content(i)}
}
