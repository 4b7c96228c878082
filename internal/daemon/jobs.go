package daemon

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/memsidecar/memsidecar/internal/archiver"
	"github.com/memsidecar/memsidecar/internal/archiver/scheduler"
)

// schedule sets up the periodic jobs. All but the last run at the start, too, to catch up after a downtime.
func (d *daemon) schedule() error {
	d.scheduler = scheduler.New(d.now, d.log)
	return errors.Join(
		d.scheduler.Add(scheduler.Job{Name: "archive", Every: time.Hour, Run: d.archiveJob}),
		d.scheduler.Add(scheduler.Job{Name: "expire", Every: time.Hour, Run: d.expireJob}),
		d.scheduler.Add(scheduler.Job{Name: "compress", Every: 24 * time.Hour, Run: d.compressJob}),
		d.scheduler.Add(scheduler.Job{Name: "summary", Every: 24 * time.Hour, Run: d.summaryJob}),
		d.scheduler.Add(scheduler.Job{Name: "save-index", Every: 10 * time.Minute, Last: d.now(),
			Run: func(context.Context) (string, error) {
				return "", d.engine.SaveGrown(d.fs)
			}}),
	)
}

// archiveJob archives and deletes old logs.
func (d *daemon) archiveJob(ctx context.Context) (string, error) {
	r, err := d.archiver.Run(ctx, archiver.Options{})
	if r.Waiting != nil { // reported as a failure, so that it is visible and retried soon
		err = errors.Join(err, r.Waiting)
	}
	byRules, note := r.Notes()
	result := amounts(amount{r.Count(archiver.Archive), "archived"}, amount{r.Count(archiver.Delete), "deleted"},
		amount{r.Count(archiver.Postponed), "postponed"}, amount{byRules, "summarised by rules"})
	if byRules > 0 {
		result += ": " + note
	}
	return result, err
}

// expireJob retires expired memories.
func (d *daemon) expireJob(ctx context.Context) (string, error) {
	r, err := d.archiver.Expire(ctx, archiver.ExpireOptions{})
	if r.Postponed != "" {
		return "postponed", err
	}
	return amounts(amount{len(r.Expired), "retired"}), err
}

// compressJob merges old, similar memories.
func (d *daemon) compressJob(ctx context.Context) (string, error) {
	r, err := d.archiver.Compress(ctx, archiver.CompressOptions{Scheduled: true})
	if r.Postponed != "" {
		return "postponed", err
	}
	return amounts(amount{r.Merged(), "groups merged"}, amount{len(r.Groups) - r.Merged(), "groups skipped"}), err
}

// summaryJob rebuilds the generated rolling summaries.
func (d *daemon) summaryJob(ctx context.Context) (string, error) {
	n, err := d.summaries.Refresh(ctx)
	return amounts(amount{n, "rebuilt"}), err
}

// amount is a count with its noun.
type amount struct {
	n    int
	what string
}

// amounts lists the counts above 0.
func amounts(list ...amount) string {
	var parts []string
	for _, a := range list {
		if a.n > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", a.n, a.what))
		}
	}
	return strings.Join(parts, ", ")
}
