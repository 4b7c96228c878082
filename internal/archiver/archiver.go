// Package archiver does what age does to logs and memories: a log of a month is summed up and its lasting entries become memories; a log of two
// months is deleted, its summary staying answerable; old memories that are alike become one; expired ones retire. It decides by rules, in English
// and Chinese; only the words of a summary may be a model's. Every step is one operation that can be listed and undone. It does not decide when it
// runs, nor whether the clock is right.
package archiver

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
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

// Config of an Archiver. Store, Location and Logger are required. The store's clock is the one that counts.
type Config struct {
	Store    *store.Store
	Location *time.Location // decides when a day ends; the zone the logs are dated in
	Logger   *slog.Logger

	// Summarise sums up logs; nil is by rules, ByModel is by a model. While it fails, logs are neither archived nor, unless they were before, deleted.
	Summarise   Summarise
	ArchiveDays int // for Options that name none; 0 is DefaultArchiveDays
	DeleteDays  int // for Options that name none; 0 is DefaultDeleteDays
}

// Archiver archives and deletes daily logs. It is safe for concurrent use: of two runs at a time, each day is archived and
// deleted by one.
type Archiver struct {
	store  *store.Store
	loc    *time.Location
	logger *slog.Logger

	summarise               Summarise
	archiveDays, deleteDays int
}

// New returns an Archiver.
func New(c Config) *Archiver {
	if c.Summarise == nil {
		c.Summarise = byRules
	}
	return &Archiver{
		summarise: c.Summarise,
		store:     c.Store, loc: c.Location, logger: c.Logger,
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

// Run archives and deletes what is due. The report tells all that was done, also beside an error. Days that cannot be
// handled are postponed, their errors are joined, and the others go on; only a store that takes no writes and the end of
// ctx stop a run early. Logs that wait for the model are no error: see Report.Waiting. Durable on return.
func (a *Archiver) Run(ctx context.Context, opts Options) (Report, error) {
	if err := opts.fill(a.archiveDays, a.deleteDays); err != nil {
		return Report{}, err
	}
	now, doubt, err := a.store.TrustedNow(ctx)
	if err != nil {
		return Report{}, err
	}
	now = now.In(a.loc)
	run := &run{a: a, opts: opts, today: dateOf(now), left: opts.MaxDays, postpone: doubt, imports: imports{}}
	run.report = Report{Today: now.Format(memory.DateLayout), DryRun: opts.DryRun}
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
	level := slog.LevelInfo
	if r.Count(Archive)+r.Count(Delete) == 0 {
		level = slog.LevelDebug // most runs find nothing to do
	}
	a.logger.Log(ctx, level, "daily logs archived", "archived", r.Count(Archive), "deleted", r.Count(Delete),
		"postponed", r.Count(Postponed), "kept", r.Count(Keep), "dry_run", r.DryRun)
	return run.report, errors.Join(run.errs...)
}

// run is the state of one Run.
type run struct {
	a        *Archiver
	opts     Options
	today    time.Time
	left     int              // logs that may yet be changed
	postpone string           // when set, why nothing may be changed
	adopted  time.Time        // day on which the directory was taken over; zero when it was not, or that is forgotten
	restored time.Time        // day on which a backup was restored; zero when none was
	imports  imports          // looked up in this run
	known    *known           // of the space being handled; nil until needed
	prepared map[string]*plan // of logs to be archived, by date
	looked   map[string]bool  // dates of the logs that are, or need not be, in prepared
	down     bool             // summing up failed
	report   Report
	errs     []error
}

// space handles all logs of a space. It returns only errors that end the run.
func (r *run) space(ctx context.Context, name string) error {
	r.known, r.prepared, r.looked = nil, map[string]*plan{}, map[string]bool{}
	var days []Day
	for _, d := range r.a.store.Space(name).Days() {
		days = append(days, r.decide(ctx, name, d))
	}
	for i := range days {
		if err := ctx.Err(); err != nil {
			return err
		}
		if err := r.day(ctx, days[i:]); err != nil {
			return err
		}
	}
	return nil
}

// due is the action of a day that is not decided by looking at it.
const due Action = ""

// decide says what is to be done about a log, as far as its header tells.
func (r *run) decide(ctx context.Context, space string, d *memory.Day) Day {
	out := Day{Space: space, Date: d.Date, Entries: d.Entries, Action: Keep, revision: d.Revision, archived: d.Archived && !grown(d)}
	date, ok := parseDate(d.Date)
	if !ok {
		out.Reason = "its name is not a date"
		return out
	}
	out.Age = int(r.today.Sub(date) / (24 * time.Hour))
	if out.Reason = r.notDue(d, out.Age); out.Reason != "" {
		return out
	}
	if out.Action, out.Reason = Postponed, r.postpone; out.Reason != "" {
		return out
	}
	if _, ours := readMark(d); ours && out.archived {
		reason, err := r.inGrace(ctx, d.Date, d.Revision)
		if err != nil && ctx.Err() == nil {
			r.errs = append(r.errs, err)
			reason = err.Error()
		}
		if out.Reason = reason; reason != "" {
			return out
		}
	}
	out.Action = due
	return out
}

// batch lists the dates of the next logs that are to be archived or deleted, as many as are summed up together. Those whose archiving was undone
// are kept from here on.
func (r *run) batch(ctx context.Context, coming []Day) (dates []string, err error) {
	for i := range coming {
		d := &coming[i]
		if d.Action != due {
			continue
		}
		if len(dates) == min(batchDays, r.left) {
			break
		}
		undone, err := r.a.undone(ctx, d.revision)
		if err != nil {
			return nil, err
		}
		if undone != 0 {
			d.Action, d.Reason = Keep, fmt.Sprintf("its archiving was undone by operation %d", undone)
			continue
		}
		dates = append(dates, d.Date)
	}
	return dates, nil
}

// day does what is due about the first of the coming logs. Those after it are summed up together with it.
func (r *run) day(ctx context.Context, coming []Day) error {
	out := coming[0]
	if out.Action != due {
		return r.done(out)
	}
	if r.down && !out.archived {
		return r.failed(out, errNoSummary)
	}
	if r.left == 0 {
		out.Action, out.Reason = Postponed, fmt.Sprintf("%d logs were changed in this run already", r.opts.MaxDays)
		return r.done(out)
	}
	if r.known == nil {
		r.known = knownOf(r.a.store.Space(out.Space).Memories())
	}
	if !r.looked[out.Date] {
		dates, err := r.batch(ctx, coming)
		if err == nil {
			err = r.prepare(ctx, out.Space, dates)
		}
		if err != nil {
			return r.failed(out, err)
		}
		if out = coming[0]; out.Action != due {
			return r.done(out)
		}
	}
	before := len(r.report.Days)
	err := r.settle(ctx, out)
	if slices.ContainsFunc(r.report.Days[before:], func(d Day) bool { return d.Action == Archive || d.Action == Delete }) {
		r.left--
	}
	return err
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
func (r *run) settle(ctx context.Context, out Day) error {
	old := out.Age >= r.opts.DeleteDays
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
	reason, err := r.inGrace(ctx, out.Date, out.revision)
	if err == nil && reason == "" {
		reason, err = r.asksPerson(out.Space, out.Date)
	}
	if err != nil {
		return r.failed(out, err)
	}
	if reason != "" {
		out.Action, out.Reason = Postponed, reason
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
	if errors.Is(err, errNoSummary) {
		d.Action, d.Reason = Postponed, "it could not be summed up; it will be tried again"
		if r.report.Waiting != nil {
			d.Reason = "it waits for the language model; it will be tried again"
		}
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
