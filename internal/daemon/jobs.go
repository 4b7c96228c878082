package daemon

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/memsidecar/memsidecar/internal/archiver"
	"github.com/memsidecar/memsidecar/internal/schedule"
)

// schedule sets up the periodic jobs. All but the last run at the start too, so that what was missed while the daemon was away is caught up.
func (d *daemon) schedule() error {
	d.scheduler = schedule.New(d.now, d.log)
	return errors.Join(
		d.scheduler.Add(schedule.Job{Name: "archive", Every: time.Hour, Run: d.archiveJob}),
		d.scheduler.Add(schedule.Job{Name: "expire", Every: time.Hour, Run: d.expireJob}),
		d.scheduler.Add(schedule.Job{Name: "compress", Every: 24 * time.Hour, Run: d.compressJob}),
		d.scheduler.Add(schedule.Job{Name: "summary", Every: 24 * time.Hour, Run: d.summaryJob}),
		d.scheduler.Add(schedule.Job{Name: "save-index", Every: 10 * time.Minute, Last: d.now(), Run: func(context.Context) (string, error) {
			return "", d.engine.Save(d.fs)
		}}),
	)
}

func (d *daemon) archiveJob(ctx context.Context) (string, error) {
	r, err := d.archiver.Run(ctx, archiver.Options{})
	if r.Waiting != nil { // a failure of the job, so that it is tried again soon, and seen
		err = errors.Join(err, r.Waiting)
	}
	byRules, note := r.Notes()
	result := amounts(amount{r.Count(archiver.Archive), "archived"}, amount{r.Count(archiver.Delete), "deleted"},
		amount{r.Count(archiver.Postponed), "postponed"}, amount{byRules, "summed up by rules"})
	if byRules > 0 {
		result += ": " + note
	}
	return result, err
}

func (d *daemon) expireJob(ctx context.Context) (string, error) {
	r, err := d.archiver.Expire(ctx, archiver.ExpireOptions{})
	if r.Postponed != "" {
		return "postponed", err
	}
	return amounts(amount{len(r.Expired), "retired"}), err
}

func (d *daemon) compressJob(ctx context.Context) (string, error) {
	r, err := d.archiver.Compress(ctx, archiver.CompressOptions{Unasked: true})
	if r.Postponed != "" {
		return "postponed", err
	}
	return amounts(amount{r.Merged(), "groups merged"}, amount{len(r.Groups) - r.Merged(), "groups left alone"}), err
}

// summaryJob brings the rolling summaries up to date that were put together here.
func (d *daemon) summaryJob(ctx context.Context) (string, error) {
	n, err := d.digest.Refresh(ctx)
	return amounts(amount{n, "rebuilt"}), err
}

// amount is a number of something.
type amount struct {
	n    int
	what string
}

// amounts lists what there is at least one of.
func amounts(list ...amount) string {
	var parts []string
	for _, a := range list {
		if a.n > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", a.n, a.what))
		}
	}
	return strings.Join(parts, ", ")
}
