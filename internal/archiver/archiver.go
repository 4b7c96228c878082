// Package archiver keeps the daily logs short without losing what they taught: a log of a month is summed up and its
// lasting entries become memories; a log of two months is deleted, its summary staying searchable. It decides by rules, in
// English and Chinese; every step is one operation that can be listed and undone. It does not decide when it runs.
package archiver

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/memsidecar/memsidecar/internal/memory"
	"github.com/memsidecar/memsidecar/internal/store"
)

// Defaults of Options.
const (
	DefaultArchiveDays = 30
	DefaultDeleteDays  = 60
	DefaultMaxDays     = 60
)

// Config of an Archiver. Store, Now, Location and Logger are required.
type Config struct {
	Store    *store.Store
	Now      func() time.Time
	Location *time.Location // decides when a day ends; the zone the logs are dated in
	Logger   *slog.Logger

	ArchiveDays int // for Options that name none; 0 is DefaultArchiveDays
	DeleteDays  int // for Options that name none; 0 is DefaultDeleteDays
}

// Archiver archives and deletes daily logs. It is safe for concurrent use: of two runs at a time, each day is archived and
// deleted by one.
type Archiver struct {
	store  *store.Store
	now    func() time.Time
	loc    *time.Location
	logger *slog.Logger

	archiveDays, deleteDays int
}

// New returns an Archiver.
func New(c Config) *Archiver {
	return &Archiver{
		store: c.Store, now: c.Now, loc: c.Location, logger: c.Logger,
		archiveDays: cmp.Or(c.ArchiveDays, DefaultArchiveDays), deleteDays: cmp.Or(c.DeleteDays, DefaultDeleteDays),
	}
}

// Options of one run. The zero value archives all spaces with the defaults.
type Options struct {
	Space       string // "" is every space
	ArchiveDays int    // age in days at which a log is archived, from 1; 0 is as configured
	DeleteDays  int    // age at which an archived log is deleted, not below ArchiveDays; 0 is as configured
	MaxDays     int    // logs changed at most in one run, oldest first; 0 is DefaultMaxDays
	DryRun      bool   // report exactly what would happen and change nothing
}

func (o *Options) fill(archiveDays, deleteDays int) error {
	o.ArchiveDays = cmp.Or(o.ArchiveDays, archiveDays)
	o.DeleteDays = cmp.Or(o.DeleteDays, max(deleteDays, o.ArchiveDays))
	o.MaxDays = cmp.Or(o.MaxDays, DefaultMaxDays)
	var c memory.Check
	if o.Space != "" {
		c.Slug("space", o.Space)
	}
	if o.ArchiveDays < 1 {
		c.Add("archive_days", "OUT_OF_RANGE", "must be at least 1")
	}
	if o.DeleteDays < o.ArchiveDays {
		c.Add("delete_days", "OUT_OF_RANGE", "must not be below archive_days")
	}
	if o.MaxDays < 1 {
		c.Add("max_days", "OUT_OF_RANGE", "must be at least 1")
	}
	return c.Err()
}

// Action is what became of a log.
type Action string

// The actions. A log that is both archived and deleted in one run is reported twice, in that order.
const (
	Archive   Action = "archive"
	Delete    Action = "delete"
	Keep      Action = "keep"      // nothing is due
	Postponed Action = "postponed" // something is due, and Reason says why it has to wait
)

// Report of a run, or of what a run would do.
type Report struct {
	Today  string // the local date all ages were counted from
	DryRun bool
	Days   []Day // by space, oldest first
}

// Count returns how many of the reported days had action a.
func (r *Report) Count(a Action) int {
	n := 0
	for i := range r.Days {
		if r.Days[i].Action == a {
			n++
		}
	}
	return n
}

// Day reports on one daily log.
type Day struct {
	Space    string
	Date     string
	Age      int // whole local days; negative for a log dated in the future
	Action   Action
	Reason   string // why it was kept or postponed; no memory text
	Entries  int
	Summary  string     // of a log being archived
	Promoted []Promoted // entries that became memories
	Skipped  []Skipped  // entries worth a memory that got none
	Op       int64      // the operation; 0 in a dry run and when nothing was changed
}

// Promoted is a log entry that became a memory.
type Promoted struct {
	ID       string // of the memory; empty in a dry run
	Entry    string // id of the entry, the first one when several of a kind became one memory; empty for the log's summary
	Category string
	Content  string
}

// Skipped is a log entry that was worth a memory and did not become one.
type Skipped struct {
	Entry    string
	Category string
	Content  string
	Reason   string // DUPLICATE, FORGOTTEN, LIMIT or INVALID
}

// Run archives and deletes what is due. The report tells all that was done, also beside an error. Days that cannot be
// handled are postponed, their errors are joined, and the others go on; only a store that takes no writes and the end of
// ctx stop a run early. Durable on return.
func (a *Archiver) Run(ctx context.Context, opts Options) (Report, error) {
	if err := opts.fill(a.archiveDays, a.deleteDays); err != nil {
		return Report{}, err
	}
	now := a.now().In(a.loc)
	run := &run{a: a, opts: opts, today: dateOf(now), left: opts.MaxDays}
	run.report = Report{Today: now.Format(memory.DateLayout), DryRun: opts.DryRun}
	wrong, err := a.clockBehind(ctx, now)
	if err != nil {
		return run.report, err
	}
	run.postpone = wrong
	if at := a.store.Restored(); !at.IsZero() {
		run.restored = dateOf(at.In(a.loc))
	}
	if run.adopted, err = a.adoptedOn(ctx); err != nil {
		return run.report, err
	}
	spaces := []string{opts.Space}
	if opts.Space == "" {
		spaces = a.store.Spaces()
	}
	for _, name := range spaces {
		if err := run.space(ctx, name); err != nil {
			run.errs = append(run.errs, err)
			break
		}
	}
	r := &run.report
	a.logger.InfoContext(ctx, "daily logs archived", "archived", r.Count(Archive), "deleted", r.Count(Delete),
		"postponed", r.Count(Postponed), "kept", r.Count(Keep), "dry_run", r.DryRun)
	return run.report, errors.Join(run.errs...)
}

// run is the state of one Run.
type run struct {
	a        *Archiver
	opts     Options
	today    time.Time
	left     int       // logs that may yet be changed
	postpone string    // when set, why nothing may be changed
	restored time.Time // day on which a backup was restored; zero when none was
	adopted  time.Time // day on which the directory was taken over; zero when it was not, or that is forgotten
	report   Report
	errs     []error
}

// space handles all logs of a space. It returns only errors that end the run.
func (r *run) space(ctx context.Context, name string) error {
	days := r.a.store.Space(name).Days()
	postpone := r.postpone
	if n := len(days); n > 0 && postpone == "" {
		if newest, ok := parseDate(days[n-1].Date); ok && r.today.Before(newest.AddDate(0, 0, -1)) {
			postpone = "the clock is behind the newest log, of " + days[n-1].Date
		}
	}
	for _, d := range days {
		if err := ctx.Err(); err != nil {
			return err
		}
		if err := r.day(ctx, name, d, postpone); err != nil {
			return err
		}
	}
	return nil
}

// day decides about one log and does it.
func (r *run) day(ctx context.Context, space string, d *memory.Day, postpone string) error {
	out := Day{Space: space, Date: d.Date, Entries: d.Entries, Action: Keep}
	date, ok := parseDate(d.Date)
	if !ok {
		out.Reason = "its name is not a date"
		return r.done(out)
	}
	out.Age = int(r.today.Sub(date) / (24 * time.Hour))
	if out.Reason = r.notDue(d, out.Age); out.Reason != "" {
		return r.done(out)
	}
	undone, err := r.a.undone(ctx, d)
	switch {
	case err != nil:
		return r.failed(out, err)
	case undone != 0:
		out.Reason = fmt.Sprintf("its archiving was undone by operation %d", undone)
		return r.done(out)
	}
	out.Action = Postponed
	if postpone != "" {
		out.Reason = postpone
		return r.done(out)
	}
	if r.left == 0 {
		out.Reason = fmt.Sprintf("%d logs were changed in this run already", r.opts.MaxDays)
		return r.done(out)
	}
	r.left--
	return r.settle(ctx, d, out)
}

// notDue says why nothing is to be done about a log, "" when something is.
func (r *run) notDue(d *memory.Day, age int) string {
	switch {
	case age < 0:
		return "it is dated in the future"
	case age < r.opts.ArchiveDays:
		return fmt.Sprintf("younger than %d days", r.opts.ArchiveDays)
	case age < r.opts.DeleteDays && d.Archived && !grown(d):
		return fmt.Sprintf("archived, and younger than %d days", r.opts.DeleteDays)
	}
	return ""
}

// settle archives a log that is not archived, and deletes one old enough: two operations, so that a crash in between
// leaves an archived log, as on any other day.
func (r *run) settle(ctx context.Context, d *memory.Day, out Day) error {
	old := out.Age >= r.opts.DeleteDays
	grace, err := r.graceEnd(ctx, d)
	if err != nil {
		return r.failed(out, err)
	}
	archived, err := r.archive(ctx, out)
	if err != nil {
		return r.failed(out, fmt.Errorf("archive log %s: %w", out.Date, err))
	}
	if archived != nil {
		r.report.Days = append(r.report.Days, *archived)
	}
	if !old {
		if archived == nil { // another run was faster
			out.Action, out.Reason = Keep, "archived"
			return r.done(out)
		}
		return nil
	}
	if r.today.Before(grace) {
		out.Action, out.Reason = Postponed, "it came from elsewhere; it is deleted from "+grace.Format(memory.DateLayout)+" on"
		return r.done(out)
	}
	deleted, err := r.delete(ctx, out)
	if err != nil {
		return r.failed(out, fmt.Errorf("delete log %s: %w", out.Date, err))
	}
	return r.done(deleted)
}

// done reports a day that is decided, and lets the run go on.
func (r *run) done(d Day) error {
	r.report.Days = append(r.report.Days, d)
	return nil
}

// failed reports a day as postponed. It returns the error when there is no point in going on.
func (r *run) failed(d Day, err error) error {
	if errors.Is(err, memory.ErrNotFound) {
		d.Action, d.Reason = Keep, "it was deleted meanwhile"
		return r.done(d)
	}
	if errors.Is(err, memory.ErrStale) {
		d.Action, d.Reason = Postponed, "it is being changed right now"
		return r.done(d)
	}
	d.Action, d.Reason = Postponed, err.Error()
	r.report.Days = append(r.report.Days, d)
	for _, fatal := range []error{memory.ErrReadOnly, memory.ErrDiskFull, memory.ErrShuttingDown, context.Canceled, context.DeadlineExceeded} {
		if errors.Is(err, fatal) {
			return err
		}
	}
	r.errs = append(r.errs, err)
	return nil
}
