package archiver_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/memsidecar/memsidecar/internal/archiver"
	"github.com/memsidecar/memsidecar/internal/memory"
	"github.com/memsidecar/memsidecar/internal/service/memorysvc"
	"github.com/memsidecar/memsidecar/internal/store"
	"github.com/memsidecar/memsidecar/internal/store/durable/crashfs"
)

// model is a summariser that can be down.
type model struct {
	down  error
	calls []string // dates of each
	says  func(logs []archiver.Log) []string
}

func (m *model) summarise(_ context.Context, logs []archiver.Log) ([]archiver.Summary, error) {
	var dates []string
	for _, l := range logs {
		dates = append(dates, l.Date)
	}
	m.calls = append(m.calls, strings.Join(dates, " "))
	if m.down != nil {
		return nil, m.down
	}
	if m.says != nil {
		return summaries(m.says(logs)...), nil
	}
	for i, l := range logs {
		dates[i] = fmt.Sprintf("the model's words on %s, %d entries", l.Date, len(l.Entries))
	}
	return summaries(dates...), nil
}

func summaries(texts ...string) []archiver.Summary {
	out := make([]archiver.Summary, len(texts))
	for i, text := range texts {
		out[i].Text = text
	}
	return out
}

func (b *harness) with(m *model) *archiver.Archiver {
	return archiver.New(archiver.Config{Store: b.store, Location: b.loc, Logger: slog.New(slog.DiscardHandler),
		Summarise: m.summarise})
}

func TestSummariserIsDown(t *testing.T) {
	b := newHarness(t)
	for _, ago := range []int{70, 65, 40} {
		b.log(b.date(ago), event("user prefers tea number "+b.date(ago)))
	}
	m := &model{}
	// the oldest is archived before
	if _, err := b.with(m).Run(t.Context(), archiver.Options{ArchiveDays: 66, DeleteDays: 100}); err != nil {
		t.Fatal(err)
	}
	m.down, m.calls = errors.New("connection refused"), nil
	r, err := b.with(m).Run(t.Context(), archiver.Options{})
	if err == nil || !strings.Contains(err.Error(), "connection refused") {
		t.Errorf("err = %v: the schedule must know, to try again", err)
	}
	// What was archived can be deleted: nothing is to be summed up for that.
	if diff := cmp.Diff([]string{"70 delete", "65 postponed", "40 postponed"}, actions(r)); diff != "" {
		t.Errorf("run (-want +got):\n%s", diff)
	}
	if len(m.calls) != 1 {
		t.Errorf("called %d times: it must not be tried for every log", len(m.calls))
	}
	if n := b.store.Space("").Count(); n != 2 {
		t.Errorf("%d memories, want those of the first log only", n)
	}
	m.down = nil
	r, err = b.with(m).Run(t.Context(), archiver.Options{})
	if diff := cmp.Diff([]string{"65 archive", "65 delete", "40 archive"}, actions(r)); diff != "" || err != nil {
		t.Errorf("when it is back (-want +got):\n%s%v", diff, err)
	}
}

func TestSummariesInBatches(t *testing.T) {
	b := newHarness(t)
	for ago := 50; ago > 40; ago-- {
		b.log(b.date(ago), event("x"))
	}
	m := &model{}
	if _, err := b.with(m).Run(t.Context(), archiver.Options{MaxDays: 9}); err != nil {
		t.Fatal(err)
	}
	want := []string{
		strings.Join([]string{b.date(50), b.date(49), b.date(48), b.date(47), b.date(46), b.date(45), b.date(44)}, " "),
		b.date(43) + " " + b.date(42),
	}
	if diff := cmp.Diff(want, m.calls); diff != "" {
		t.Errorf("calls (-want +got):\n%s", diff)
	}
	if _, err := b.with(m).Run(t.Context(), archiver.Options{}); err != nil || len(m.calls) != 3 ||
		m.calls[2] != b.date(41) {
		t.Errorf("then %q, %v", m.calls, err)
	}
}

// TestLogsShareSyncs: the logs of a batch are archived by operations of their own, with one sync for all of them.
func TestLogsShareSyncs(t *testing.T) {
	b := newHarness(t)
	for ago := 54; ago > 40; ago-- {
		b.log(b.date(ago), event(fmt.Sprintf("user prefers tea number %d", ago)))
	}
	before := b.store.JournalStats().Syncs
	r := b.run(archiver.Options{})
	if n := b.store.JournalStats().Syncs - before; r.Count(archiver.Archive) != 14 || n > 2 {
		t.Errorf("%d logs archived with %d syncs, want 14 with 2", r.Count(archiver.Archive), n)
	}
	for _, d := range r.Days {
		if d.Op <= 0 || d.Op > b.store.LSN() {
			t.Errorf("log of %s: operation %d is reported, and %d is durable", d.Date, d.Op, b.store.LSN())
		}
	}
	b.undo(r.Days[3].Op)
	if diff := cmp.Diff(b.date(51), unarchived(b)); diff != "" {
		t.Errorf("not archived after one was undone (-want +got):\n%s", diff)
	}
}

// unarchived lists the dates of the logs that are not archived.
func unarchived(b *harness) string {
	var dates []string
	for _, d := range b.store.Space("").Days() {
		if !d.Archived {
			dates = append(dates, d.Date)
		}
	}
	return strings.Join(dates, " ")
}

// TestReportOfFailedSync fails each operation of the disk during a run, and compares the report with what is durable.
func TestReportOfFailedSync(t *testing.T) {
	seed := crashfs.New()
	prepare := newHarness(t)
	prepare.store = prepare.open(seed)
	for ago := 42; ago >= 40; ago-- {
		prepare.log(prepare.date(ago), event(fmt.Sprintf("user prefers tea number %d", ago)))
	}
	if err := prepare.store.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	postponed := 0
	for n := 1; ; n++ {
		b := newHarness(t)
		fsys := seed.Clone()
		b.store = b.open(fsys)
		fsys.FailAt(fsys.Ops()+n, errors.New("input/output error"))
		last := fsys.Ops() + n
		r, err := archiver.New(archiver.Config{Store: b.store, Location: b.loc,
			Logger: slog.New(slog.DiscardHandler)}).Run(t.Context(), archiver.Options{})
		if fsys.Ops() < last {
			break // the run has no such operation
		}
		if len(r.Days) != 3 || err == nil && r.Count(archiver.Archive) != 3 {
			t.Fatalf("operation %d fails: %v, %v", n, actions(r), err)
		}
		var want []string
		for _, d := range r.Days {
			if d.Action != archiver.Archive {
				want = append(want, d.Date)
				postponed++
			}
			if d.Action != archiver.Archive && (d.Op != 0 || d.Reason == "" || len(d.Promoted) > 0) {
				t.Errorf("operation %d fails: the report says %+v", n, d)
			}
		}
		if diff := cmp.Diff(strings.Join(want, " "), unarchived(b)); diff != "" {
			t.Errorf("operation %d fails: logs not archived (-report +store):\n%s", n, diff)
		}
	}
	if postponed == 0 {
		t.Error("no operation failed while logs were archived")
	}
}

// TestSummaryOfChangedLog: a log that gets an entry while the model thinks is summed up again, with it.
func TestSummaryOfChangedLog(t *testing.T) {
	b := newHarness(t)
	b.log(b.date(40), event("x"))
	b.update("", func(tx *store.Tx) error { tx.Forget("the user's secret"); return nil })
	m := &model{}
	m.says = func(logs []archiver.Log) []string {
		if len(m.calls) == 1 {
			b.log(b.date(40), event("y"), event("The user's secret"))
		}
		var all []string
		for _, e := range logs[0].Entries {
			all = append(all, e.Content)
		}
		return []string{strings.Join(all, " and ")}
	}
	r, err := b.with(m).Run(t.Context(), archiver.Options{})
	if err != nil || len(r.Days) != 1 || r.Days[0].Summary != "x and y" || r.Days[0].Entries != 3 {
		t.Errorf("%+v, %v", r.Days, err)
	}
}

func TestNonsenseOfSummariser(t *testing.T) {
	for name, says := range map[string][]string{"none": {}, "too many": {"a", "b"}, "blank": {" \n"}} {
		t.Run(name, func(t *testing.T) {
			b := newHarness(t)
			b.log(b.date(65), event("x"))
			m := &model{says: func([]archiver.Log) []string { return says }}
			r, _ := b.with(m).Run(t.Context(), archiver.Options{})
			if diff := cmp.Diff([]string{"65 postponed"}, actions(r)); diff != "" || b.store.LSN() != 1 {
				t.Errorf("(-want +got):\n%s LSN %d", diff, b.store.LSN())
			}
		})
	}
}

// records writes the records of a date, one a line.
func (b *harness) records(date string) (out []string) {
	for _, r := range b.store.Space("").ArchivedOn(date) {
		out = append(out, fmt.Sprintf("%s %d %d promoted, deleted %v", r.ID, r.Entries, len(r.Promoted), r.Deleted()))
	}
	return out
}

func TestRecords(t *testing.T) {
	b := newHarness(t)
	date := b.date(61)
	wants := func(when string, want ...string) {
		t.Helper()
		if diff := cmp.Diff(want, b.records(date)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", when, diff)
		}
	}
	b.log(date, event("user prefers tea"))
	b.run(archiver.Options{DeleteDays: 100})
	wants("archived", date+" 1 2 promoted, deleted false")
	b.log(date, event("user hates coffee"))
	b.run(archiver.Options{DeleteDays: 100})
	wants("a late entry", date+" 2 3 promoted, deleted false")
	deleted := b.run(archiver.Options{}).Days[0]
	wants("deleted", date+" 2 3 promoted, deleted true")
	r := b.store.Space("").ArchivedOn(date)[0]
	if r.DeletedOp != deleted.Op || !r.DeletedAt.Equal(noon) || !strings.Contains(r.Summary, "tea") ||
		!strings.Contains(r.Summary, "coffee") {
		t.Errorf("record %+v", r)
	}

	// Another log of that date: a record of its own, and a summary of its own.
	b.log(date, event("the pump was repaired"))
	b.run(archiver.Options{})
	wants("begun anew", date+" 2 3 promoted, deleted true", date+".2 1 1 promoted, deleted true")
	n := 0
	for _, m := range b.store.Space("").Memories() {
		if m.Title == "Log "+date {
			n++
		}
	}
	if n != 2 {
		t.Errorf("%d summaries in the memories, want one of each log", n)
	}

	b.undo(deleted.Op)
	wants("undone", date+" 2 3 promoted, deleted false", date+".2 1 1 promoted, deleted true")
	b.run(archiver.Options{})
	wants("not deleted again", date+" 2 3 promoted, deleted false", date+".2 1 1 promoted, deleted true")
	if err := b.store.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
}

func TestRecordsSurviveARestart(t *testing.T) {
	b := newHarness(t)
	fsys := crashfs.New()
	b.store = b.open(fsys)
	b.log(b.date(70), event("user prefers tea"))
	b.run(archiver.Options{})
	want := b.store.Space("").Archived()
	digest, err := b.store.Digest()
	if err != nil {
		t.Fatal(err)
	}
	if err := b.store.Close(t.Context()); err != nil { // writes a snapshot
		t.Fatal(err)
	}
	b.store = b.open(fsys)
	if diff := cmp.Diff(want, b.store.Space("").Archived()); diff != "" || len(want) != 1 {
		t.Errorf("(-before +after):\n%s", diff)
	}
	if after, err := b.store.Digest(); err != nil || after != digest {
		t.Errorf("digest %s, %v, was %s", after, err, digest)
	}
	if b.store.Space("").ArchiveRevision() != want[0].DeletedOp {
		t.Errorf("revision %d", b.store.Space("").ArchiveRevision())
	}
}

func TestExpire(t *testing.T) {
	b := newHarness(t)
	for _, m := range []*memory.Memory{
		{ID: "passed", Content: "a", More: &memory.More{ExpiresAt: noon}},
		{ID: "comes", Content: "b", More: &memory.More{ExpiresAt: noon.Add(1)}},
		{ID: "pinned", Content: "c", More: &memory.More{ExpiresAt: noon}, Pinned: true},
		{ID: "never", Content: "d"},
	} {
		m.Category, m.Source = memory.Facts, memory.SourceUser
		b.put(m)
	}
	a := b.with(&model{})
	expire := func(dry bool) (out []string) {
		t.Helper()
		r, err := a.Expire(t.Context(), archiver.ExpireOptions{DryRun: dry})
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range r.Expired {
			out = append(out, e.ID)
		}
		return out
	}
	if diff := cmp.Diff([]string{"passed"}, expire(true)); diff != "" || b.store.LSN() != 4 {
		t.Errorf("dry run (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{"passed"}, expire(false)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if m, err := b.store.Space("").Get("passed"); err != nil || m.Status != memory.Retired {
		t.Errorf("%+v, %v", m, err)
	}
	if again := expire(false); again != nil {
		t.Errorf("again %q", again)
	}
	b.undo(b.store.LSN())
	if again := expire(false); again != nil {
		t.Errorf("in spite of the undo %q", again)
	}
	b.now = noon.AddDate(0, 0, 1)
	if diff := cmp.Diff([]string{"comes"}, expire(false)); diff != "" {
		t.Errorf("a day later (-want +got):\n%s", diff)
	}
	if _, err := memorysvc.New(b.store, b.clock).Restore(t.Context(), store.Meta{}, []string{"comes"}); err != nil {
		t.Fatal(err)
	}
	if m, err := b.store.Space("").Get("comes"); err != nil || !m.IsActive() || !m.ExpiresAt().IsZero() {
		t.Errorf("restored: %+v, %v", m, err)
	}
	if again := expire(false); again != nil {
		t.Errorf("in spite of the restoration %q", again)
	}
}

// TestOnceAFortnight: a machine that is used for an hour every other week is never on for long enough to prove its
// clock. Its logs end all the same, one visit later.
func TestOnceAFortnight(t *testing.T) {
	b := newHarness(t)
	fsys := crashfs.New()
	b.now = noon.AddDate(0, 0, -14*10)
	var dates []string
	for range 10 {
		b.store = b.open(fsys)
		dates = append(dates, b.now.Format(memory.DateLayout))
		b.run(archiver.Options{})
		b.log(dates[len(dates)-1], event("was here"))
		b.now = b.now.Add(1)
		b.run(archiver.Options{})
		if err := b.store.Close(t.Context()); err != nil {
			t.Fatal(err)
		}
		b.now = b.now.AddDate(0, 0, 14)
	}
	b.store = b.open(fsys)
	var got []string
	for i, date := range dates {
		switch r := b.store.Space("").ArchivedOn(date); {
		case len(r) == 1 && r[0].Deleted():
			got = append(got, fmt.Sprint(i, " deleted"))
		case len(r) == 1:
			got = append(got, fmt.Sprint(i, " archived"))
		}
	}
	// The last visit but one was 8 fortnights after the first: logs of then 112, 98, 84 and 70 days are gone, those
	// of 56 and 42 archived.
	if diff := cmp.Diff([]string{"0 deleted", "1 deleted", "2 deleted", "3 deleted", "4 archived", "5 archived"},
		got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
