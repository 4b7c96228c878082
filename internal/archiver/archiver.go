// Package archiver is the retention of logs and memories. After ArchiveDays a daily log is summarised and its lasting
// entries become memories; after DeleteDays the log is deleted, and the summary remains as a memory. Old, similar
// memories are merged (Compress), and expired ones are retired (Expire).
//
// Rules decide what is kept, in English and Chinese; only the text of a summary may come from a model, and
// source_check.go checks it against the entries. Every step is one store operation that can be undone. The package
// neither schedules its runs nor judges the clock; the store does the latter.
package archiver

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"iter"
	"log/slog"
	"slices"
	"sync/atomic"
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

// Config configures an Archiver. Store, Location and Logger are required. Ages are measured by the store's clock.
type Config struct {
	Store *store.Store
	// time zone of the logs' dates
	Location *time.Location
	Logger   *slog.Logger

	// Summarise makes the summaries of logs; nil means by rules, see also ByModel. While it fails, logs are not
	// archived, and only archived logs are deleted.
	Summarise Summarise
	// default of Options.ArchiveDays; 0 means DefaultArchiveDays
	ArchiveDays int
	// default of Options.DeleteDays; 0 means DefaultDeleteDays
	DeleteDays int
}

// Archiver archives, deletes, merges and expires. It is safe for concurrent use: of two concurrent runs, only one
// archives or deletes a log.
type Archiver struct {
	store  *store.Store
	loc    *time.Location
	logger *slog.Logger

	summarise               Summarise
	archiveDays, deleteDays int

	adopted atomic.Pointer[adoption] // see adoption
}

// New returns an Archiver. It starts nothing.
func New(c Config) *Archiver {
	if c.Summarise == nil {
		c.Summarise = summariseByRules
	}
	return &Archiver{
		summarise: c.Summarise,
		store:     c.Store, loc: c.Location, logger: c.Logger,
		archiveDays: cmp.Or(c.ArchiveDays, DefaultArchiveDays), deleteDays: cmp.Or(c.DeleteDays, DefaultDeleteDays),
	}
}

// Options of one Run. The zero value handles all spaces with the defaults.
type Options struct {
	Space string // "" means all spaces
	// age in days from which a log is archived, at least 1; 0 means Config.ArchiveDays
	ArchiveDays int
	// age in days from which an archived log is deleted, at least ArchiveDays; 0 means Config.DeleteDays
	DeleteDays int
	// maximum number of logs changed per run, oldest first; 0 means DefaultMaxDays
	MaxDays int
	// report the exact result without changing anything
	DryRun bool
}

// fill sets defaults and validates.
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
		c.Add("limit", "OUT_OF_RANGE", "must be at least 1")
	}
	return c.Err()
}

// Run archives and deletes the logs that are due. The report is complete even with an error. A log that fails is
// postponed and its error joined to the result; only a store that refuses writes and the end of ctx stop a run early.
// Logs that wait for the model are no error; see Report.Waiting. Durable on return.
func (a *Archiver) Run(ctx context.Context, opts Options) (Report, error) {
	if err := opts.fill(a.archiveDays, a.deleteDays); err != nil {
		return Report{}, err
	}
	now, doubt, err := a.store.TrustedNow(ctx)
	if err != nil {
		return Report{}, err
	}
	now = now.In(a.loc)
	run := &run{a: a, opts: opts, today: dateOf(now), changesLeft: opts.MaxDays, postponeReason: doubt,
		imports: imports{}, undone: map[int64]int64{}}
	// Ages are counted in calendar days of the logs' time zone.
	run.report = Report{Today: now.Format(memory.DateLayout), DryRun: opts.DryRun}
	if at := a.store.Restored(); !at.IsZero() {
		run.restored = dateOf(at.In(a.loc))
	}
	if run.adopted, err = a.adoption(ctx); err != nil {
		return run.report, err
	}
	for name := range a.spaces(opts.Space) {
		err := ctx.Err()
		if err == nil {
			err = run.space(ctx, name)
		}
		if err != nil {
			run.errs = append(run.errs, err)
			break
		}
	}
	r := &run.report
	level := slog.LevelInfo
	if r.Count(Archive)+r.Count(Delete) == 0 {
		level = slog.LevelDebug // most runs find nothing to do
	}
	a.logger.Log(ctx, level, "archive run finished", "archived", r.Count(Archive), "deleted", r.Count(Delete),
		"postponed", r.Count(Postponed), "kept", r.Count(Keep), "dry_run", r.DryRun)
	return run.report, errors.Join(run.errs...)
}

// spaces yields the names of all spaces, or the one that is given.
func (a *Archiver) spaces(only string) iter.Seq[string] {
	if only != "" {
		return slices.Values([]string{only})
	}
	return a.store.SpacesAtLeisure()
}

// run is the state of one Run.
type run struct {
	a     *Archiver
	opts  Options
	today time.Time
	// number of logs that may still be changed
	changesLeft int
	// why nothing may be changed; "" if it may
	postponeReason string
	adopted        adoption
	// day on which a backup was restored; zero if none was
	restored time.Time
	imports  imports // cache of this run
	// operation that undid the one with this number, 0 for none; cache of this run
	undone map[int64]int64
	// of the current space; built when needed
	index *spaceIndex
	// plans of logs to archive, by date
	plans map[string]*plan
	// dates of logs that were planned or need no plan
	planned map[string]bool
	// Summarise failed in this run
	summariserDown bool
	// operations that archived a log and may not be durable: those of a batch of plans have one sync
	staged []store.Staged
	report Report
	errs   []error
}

// space handles all logs of a space. Only errors that end the run are returned.
func (r *run) space(ctx context.Context, name string) (err error) {
	defer func() { err = errors.Join(err, r.waitDurable(ctx)) }()
	r.index, r.plans, r.planned = nil, map[string]*plan{}, map[string]bool{}
	var days []Day
	for _, d := range r.a.store.Space(name).Days() {
		days = append(days, r.classifyDay(ctx, name, d))
	}
	for i := range days {
		if err := ctx.Err(); err != nil {
			return err
		}
		if err := r.processDay(ctx, days[i:]); err != nil {
			return err
		}
	}
	return nil
}

// due is the action of a day whose log must be read to decide.
const due Action = ""

// classifyDay decides about a log by its header.
func (r *run) classifyDay(ctx context.Context, space string, d *memory.Day) Day {
	out := Day{Space: space, Date: d.Date, Entries: d.Entries, Action: Keep, revision: d.Revision,
		archived: d.Archived && !hasNewEntries(d)}
	date, ok := parseDate(d.Date)
	if !ok {
		out.Reason = "its name is not a date"
		return out
	}
	out.Age = int(r.today.Sub(date) / (24 * time.Hour))
	if out.Reason = r.notDue(d, out.Age); out.Reason != "" {
		return out
	}
	if out.Action, out.Reason = Postponed, r.postponeReason; out.Reason != "" {
		return out
	}
	if r.a.store.Writable(space) != nil {
		out.Reason = "the space is shared read-only, so its summary could not become a memory; the log stays"
		return out
	}
	if _, ours := readArchiveMark(d); ours && out.archived {
		reason, err := r.graceReason(ctx, d.Date, d.Revision)
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

// nextBatch returns the dates of the next due logs, as many as are summarised together. Logs whose archiving was
// undone are marked as kept.
func (r *run) nextBatch(ctx context.Context, coming []Day) (dates []string, err error) {
	for i := range coming {
		d := &coming[i]
		if d.Action != due {
			continue
		}
		if len(dates) == min(maxBatchDays, r.changesLeft) {
			break
		}
		undone, err := r.undoneBy(ctx, d.revision)
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

// processDay handles the first of the coming logs. The next ones may be summarised in the same batch.
func (r *run) processDay(ctx context.Context, coming []Day) error {
	out := coming[0]
	if out.Action != due {
		return r.addDay(out)
	}
	if r.summariserDown && !out.archived {
		// A log is never archived without its summary, which is what remains of it after sixty days.
		return r.postponeDay(out, errNoSummary)
	}
	if r.changesLeft == 0 {
		out.Action, out.Reason = Postponed,
			fmt.Sprintf("the limit of %d changed logs per run is reached", r.opts.MaxDays)
		return r.addDay(out)
	}
	if r.index == nil {
		r.index = newSpaceIndex(r.a.store.Space(out.Space).Memories())
	}
	if !r.planned[out.Date] {
		if err := r.waitDurable(ctx); err != nil {
			return err
		}
		dates, err := r.nextBatch(ctx, coming)
		if err == nil {
			err = r.prepare(ctx, out.Space, dates)
		}
		if err != nil {
			return r.postponeDay(out, err)
		}
		if out = coming[0]; out.Action != due {
			return r.addDay(out)
		}
	}
	before := len(r.report.Days)
	err := r.archiveAndDelete(ctx, out)
	if slices.ContainsFunc(r.report.Days[before:], func(d Day) bool {
		return d.Action == Archive || d.Action == Delete
	}) {
		r.changesLeft--
	}
	return err
}

// notDue returns why a log is not due, "" if it is.
func (r *run) notDue(d *memory.Day, age int) string {
	switch {
	case age < 0:
		return "it is dated in the future"
	case age < r.opts.ArchiveDays:
		return fmt.Sprintf("younger than %d days", r.opts.ArchiveDays)
	case age < r.opts.DeleteDays && d.Archived && !hasNewEntries(d):
		return fmt.Sprintf("archived, and younger than %d days", r.opts.DeleteDays)
	}
	return ""
}

// archiveAndDelete archives a log unless that was done, and deletes it if it is old enough. These are two operations:
// a crash between them leaves a normal archived log.
func (r *run) archiveAndDelete(ctx context.Context, out Day) error {
	old := out.Age >= r.opts.DeleteDays
	archived, err := r.archive(ctx, out)
	if err != nil {
		return r.postponeDay(out, fmt.Errorf("archive log %s: %w", out.Date, err))
	}
	if archived != nil {
		r.report.Days = append(r.report.Days, *archived)
	}
	if !old {
		if archived == nil { // a concurrent run archived it
			out.Action, out.Reason = Keep, "archived"
			return r.addDay(out)
		}
		return nil
	}
	// What follows reads what is durable.
	if err := r.waitDurable(ctx); err != nil {
		return err
	}
	reason, err := r.graceReason(ctx, out.Date, out.revision)
	if err == nil && reason == "" {
		reason, err = r.pendingReviewReason(out.Space, out.Date)
	}
	if err != nil {
		return r.postponeDay(out, err)
	}
	if reason != "" {
		out.Action, out.Reason = Postponed, reason
		return r.addDay(out)
	}
	deleted, err := r.delete(ctx, out)
	if err != nil {
		return r.postponeDay(out, fmt.Errorf("delete log %s: %w", out.Date, err))
	}
	return r.addDay(deleted)
}

// waitDurable returns when all that was archived is durable. A log of which that is unknown is reported as postponed,
// and the error ends the run: the store refuses writes, or ctx ended.
func (r *run) waitDurable(ctx context.Context) error {
	staged := r.staged
	r.staged = nil
	var failed error
	for _, op := range staged {
		if _, err := op.WaitDurable(ctx); err != nil {
			failed = fmt.Errorf("archive logs: %w", err)
			r.postponeOperation(op.Result().Op, failed)
		}
	}
	return failed
}

// postponeOperation reports the log that an operation was to archive as postponed because of err.
func (r *run) postponeOperation(op int64, err error) {
	for i := range r.report.Days {
		if d := &r.report.Days[i]; d.Op == op {
			*d = Day{Space: d.Space, Date: d.Date, Age: d.Age, Entries: d.Entries, Action: Postponed, Reason: err.Error()}
		}
	}
}

// addDay adds a decided day to the report.
func (r *run) addDay(d Day) error {
	r.report.Days = append(r.report.Days, d)
	return nil
}

// postponeDay reports a day as postponed because of err. It returns err only if the run cannot continue.
func (r *run) postponeDay(d Day, err error) error {
	if errors.Is(err, memory.ErrNotFound) {
		d.Action, d.Reason = Keep, "it was deleted concurrently"
		return r.addDay(d)
	}
	if errors.Is(err, errNoSummary) {
		d.Action, d.Reason = Postponed, "it could not be summarised; the next run retries it"
		if r.report.Waiting != nil {
			d.Reason = "it waits for the language model; the next run retries it"
		}
		return r.addDay(d)
	}
	if errors.Is(err, memory.ErrStale) {
		d.Action, d.Reason = Postponed, "it is being changed concurrently"
		return r.addDay(d)
	}
	d.Action, d.Reason = Postponed, err.Error()
	r.report.Days = append(r.report.Days, d)
	// These fail every other log as well. Another error is that of one log, and the run goes on with the next.
	for _, fatal := range []error{memory.ErrReadOnly, memory.ErrDiskFull, memory.ErrShuttingDown, context.Canceled,
		context.DeadlineExceeded} {
		if errors.Is(err, fatal) {
			return err
		}
	}
	r.errs = append(r.errs, err)
	return nil
}
