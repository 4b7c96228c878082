package reconcile

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/memsidecar/memsidecar/internal/dailylog"
	"github.com/memsidecar/memsidecar/internal/jsonstore"
	"github.com/memsidecar/memsidecar/internal/memory"
	"github.com/memsidecar/memsidecar/internal/memory/fieldmerge"
	"github.com/memsidecar/memsidecar/internal/service/memorysvc"
	"github.com/memsidecar/memsidecar/internal/store"
)

// day is a daily log at one time. A day that did not exist has an empty header.
type day struct {
	header  memory.Day // Revision 0 for no day
	entries []*memory.Entry
	exists  bool
}

// entry returns the entry with an id, nil when there is none.
func (d *day) entry(id string) *memory.Entry {
	if i := slices.IndexFunc(d.entries, func(e *memory.Entry) bool { return e.ID == id }); i >= 0 {
		return d.entries[i]
	}
	return nil
}

// logFile is a logs/DATE.json that somebody else wrote, with the day that it was made from.
type logFile struct {
	space, date string
	partial     bool           // of a program that knows only the original format
	theirs      *dailylog.File // the edit
	base        *day           // nil when it is not known
	sanitized   []string       // what was brought within limits
}

// readLog decodes a daily log and checks that it is that of date. The error says what is wrong with the file.
func (s *Service) readLog(data []byte, space, date string) (*logFile, error) {
	f, err := dailylog.Decode(data, s.cfg.Location)
	if err == nil && f.Day.Date != date {
		err = fmt.Errorf("says that it is the log of %q", f.Day.Date)
	}
	if err != nil {
		return nil, err
	}
	return &logFile{space: space, date: date, partial: f.Day.Revision == 0, theirs: f}, nil
}

// currentDay is a day as it is now.
func (s *Service) currentDay(space, date string) (*day, error) {
	header, entries, err := s.cfg.Store.Space(space).Log(date)
	return dayOf(date, header, entries, err)
}

// dayOf makes a day of the results of Log or LogAt. A day that is not there is no error.
func dayOf(date string, header *memory.Day, entries []*memory.Entry, err error) (*day, error) {
	if errors.Is(err, memory.ErrNotFound) {
		return &day{header: memory.Day{Date: date}}, nil
	}
	if err != nil {
		return nil, err
	}
	return &day{header: *header, entries: entries, exists: true}, nil
}

// findDay finds the day that the file was made from; its parameters are those of findBase.
func (s *Service) findDay(ctx context.Context, f *logFile, ours *day, published int64, displaced bool) (err error) {
	op := f.theirs.Day.Revision
	switch {
	case op == 0 && !ours.exists && published == 0:
		f.base, f.partial = &day{header: memory.Day{Date: f.date}}, false // a new day
		return nil
	case op == 0 && displaced, op == 0 && published == 0:
		return &errUnknownBase{"it has no revision, so it is not known what it was made from"}
	case op == 0:
		op = published
	}
	if op == ours.header.Revision {
		f.base = ours
		return nil
	}
	if err := s.checkOperation(ctx, f.space, op); err != nil {
		return err
	}
	header, entries, err := s.cfg.Store.LogAt(ctx, f.space, f.date, op)
	if errors.Is(err, memory.ErrTrimmed) {
		return baseTooOld(op)
	}
	f.base, err = dayOf(f.date, header, entries, err)
	return err
}

// prepare brings the file within the limits of entries, with the help of the base. Error: an *memory.InvalidError.
func (f *logFile) prepare(loc *time.Location) error {
	var check memory.Check
	base := f.base
	if base == nil {
		base = &day{}
	}
	f.findIDs(base)
	for i, e := range f.theirs.Entries {
		check.Time(fmt.Sprintf("entries[%d].at", i), e.At) // SanitizeLog would leave it out
		was := base.entry(e.ID)
		if was == nil || e.ID == "" {
			continue
		}
		if strings.TrimSpace(e.Content) == "" {
			check.Add(
				fmt.Sprintf("entries[%d].content", i),
				"EMPTY",
				"is empty; write something, or remove the entry %s from the file",
				e.ID,
			)
		}
		f.alignTimes(was, e)
		if f.partial {
			at := e.At
			fieldmerge.FillIn(fieldmerge.Entry(was, e), was, e)
			if e.Time != was.Time {
				e.At = at
			}
		}
	}
	if err := check.Err(); err != nil {
		return err
	}
	// After the ids are known: what is cut or completed is compared with the base's version of it.
	f.sanitized = append(jsonstore.SanitizeLog(f.theirs), f.theirs.Complete(loc)...)
	if f.partial && len(f.theirs.Day.Extra) == 0 {
		f.theirs.Day.Extra = base.header.Extra
	}
	for i, e := range f.theirs.Entries {
		check.Entry(fmt.Sprintf("entries[%d].", i), e)
	}
	check.Text("summary", f.theirs.Day.Summary, memory.MaxSummary, false)
	return check.Err()
}

// alignTimes makes the two forms of an entry's time agree: the one that was edited decides.
func (f *logFile) alignTimes(was, e *memory.Entry) {
	switch {
	case e.Time == was.Time && e.At.IsZero():
		e.At = was.At
	case e.Time != was.Time && e.Time != "" && e.At.Equal(was.At):
		e.At = time.Time{}
	case e.Time == was.Time && !e.At.Equal(was.At):
		e.Time = ""
	}
}

// findIDs gives entries without an id, which an old program drops, the ids of missing entries of the base: first of
// one with the same text and time, then with the same text, then with the same time.
func (f *logFile) findIDs(base *day) {
	have := map[string]bool{}
	for _, e := range f.theirs.Entries {
		have[e.ID] = true
	}
	for _, key := range []func(*memory.Entry) string{
		func(e *memory.Entry) string { return e.Time + "\x00" + e.Type + "\x00" + e.Content },
		func(e *memory.Entry) string { return e.Content },
		func(e *memory.Entry) string { return e.Time + "\x00" + e.Type },
	} {
		missing := map[string][]string{}
		for _, e := range base.entries {
			if !have[e.ID] {
				missing[key(e)] = append(missing[key(e)], e.ID)
			}
		}
		for _, e := range f.theirs.Entries {
			if ids := missing[key(e)]; e.ID == "" && len(ids) > 0 {
				e.ID, missing[key(e)] = ids[0], ids[1:]
				have[e.ID] = true
			}
		}
	}
}

// changes lists how the entries of the file differ from the base, removed ones last.
func (f *logFile) changes() []change[memory.Entry] {
	var out []change[memory.Entry]
	for _, e := range f.theirs.Entries {
		was := f.base.entry(e.ID)
		if was == nil || !fieldmerge.SameEntry(was, e) && len(fieldmerge.Differing(fieldmerge.Entry(was, e), was, e)) > 0 {
			out = append(out, change[memory.Entry]{base: was, theirs: e})
		}
	}
	for _, was := range f.base.entries {
		if !slices.ContainsFunc(f.theirs.Entries, func(e *memory.Entry) bool { return e.ID == was.ID }) {
			out = append(out, change[memory.Entry]{base: was})
		}
	}
	return out
}

// headerChanged reports whether the edit changed the summary or another field of the day itself.
func (f *logFile) headerChanged() bool {
	d := &f.theirs.Day
	return len(fieldmerge.Differing(fieldmerge.Day(d, &f.base.header), d, &f.base.header)) > 0
}

// apply merges the changes of entries inside a transaction; ours is the day as it was read before. Error:
// memory.ErrStale when it changed since.
func (f *logFile) apply(
	tx *store.Tx,
	t *counts,
	changes []change[memory.Entry],
	ours *day,
	insist map[string]bool,
) error {
	if err := tx.CheckDayRevision(f.date, ours.header.Revision); err != nil {
		return err
	}
	for _, c := range changes {
		if err := f.entry(tx, t, c, ours, insist); err != nil {
			return err
		}
	}
	return nil
}

// applyHeader merges the fields of the day itself, after apply.
func (f *logFile) applyHeader(tx *store.Tx, t *counts, ours *day, insist map[string]bool) error {
	now := tx.Day(f.date)
	if now == nil {
		now = &memory.Day{Date: f.date}
	}
	if f.base.exists && !ours.exists && !insist["*"] {
		if f.headerChanged() {
			t.conflict("log", f.date, "changed in the edit, but removed since")
		}
		return nil
	}
	theirs, out := &f.theirs.Day, *now
	fieldmerge.Merge(fieldmerge.Day(theirs, &f.base.header, now), &f.base.header, theirs, now, &out)
	fresh := tx.Day(f.date) == nil && len(f.theirs.Entries) == 0 && !f.base.exists
	if fresh || len(fieldmerge.Differing(fieldmerge.Day(&out, now), &out, now)) > 0 {
		t.count(&t.changed, "log", f.date, memorysvc.SecretsInText(out.Summary))
		tx.SetDay(&out)
	}
	return nil
}

// entry merges one entry, or records a conflict.
func (f *logFile) entry(tx *store.Tx, t *counts, c change[memory.Entry], ours *day, insist map[string]bool) error {
	if c.theirs == nil {
		now := ours.entry(c.base.ID)
		if now == nil {
			return nil
		}
		// The person removed a text that they had seen; another one stands there now.
		if names := fieldmerge.Differing(fieldmerge.Entry(c.base, now), c.base, now); len(names) > 0 && !insist["*"] &&
			!insist[c.base.ID] {
			t.conflict("entry", c.base.ID, "removed in the edit, but changed since (%s)", strings.Join(names, ", "))
			return nil
		}
		t.removed++
		return tx.ChangeEntry(f.date, now, nil)
	}
	now := ours.entry(c.theirs.ID)
	if now == nil && c.base != nil && !insist["*"] && !insist[c.theirs.ID] {
		t.conflict("entry", c.theirs.ID, "changed in the edit, but removed since")
		return nil
	}
	out := *c.theirs
	if now != nil {
		out = *now
		fieldmerge.Merge(fieldmerge.Entry(c.base, c.theirs, now), c.base, c.theirs, now, &out)
	}
	switch {
	case c.theirs.Content == "":
		t.conflict("entry", out.ID, nothingWritten)
		return nil
	case now == nil:
		t.count(&t.added, "entry", out.ID, c.secrets)
	case len(fieldmerge.Differing(fieldmerge.Entry(now, &out), now, &out)) == 0:
		return nil
	default:
		t.count(&t.changed, "entry", out.ID, c.secrets)
	}
	return tx.ChangeEntry(f.date, now, &out)
}
