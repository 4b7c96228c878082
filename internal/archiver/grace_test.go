package archiver_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/memsidecar/memsidecar/internal/archiver"
	"github.com/memsidecar/memsidecar/internal/memory"
	"github.com/memsidecar/memsidecar/internal/store"
	"github.com/memsidecar/memsidecar/internal/store/durable/crashfs"
)

func TestEntriesAfterArchiving(t *testing.T) {
	b := newHarness(t)
	b.log(b.date(31), event("user prefers tea"))
	b.run(archiver.Options{})
	b.log(b.date(31), event("user hates coffee"))
	first := b.run(archiver.Options{})
	if diff := cmp.Diff([]string{"preferences: user hates coffee"}, b.promoted(first)); diff != "" {
		t.Errorf("promoted of the new entry (-want +got):\n%s", diff)
	}
	var logs int
	for _, m := range b.store.Space("").Memories() {
		if strings.HasPrefix(m.Title, "Log ") {
			logs++
			if !strings.Contains(m.Content, "coffee") || !strings.Contains(m.Content, "tea") {
				t.Errorf("summary not renewed: %q", m.Content)
			}
		}
	}
	if logs != 1 {
		t.Errorf("%d memories of one log", logs)
	}
	lsn := b.store.LSN()
	if b.run(archiver.Options{}); b.store.LSN() != lsn {
		t.Error("a further run is not without effect")
	}
}

func TestArchivedElsewhere(t *testing.T) {
	b := newHarness(t)
	b.log(b.date(65), event("user prefers tea"))
	b.log(b.date(40), event("user prefers tea"))
	b.update("", func(tx *store.Tx) error {
		for _, ago := range []int{65, 40} {
			tx.SetDay(&memory.Day{Date: b.date(ago), Archived: true, Summary: "A model's own words."})
		}
		return nil
	})
	r := b.run(archiver.Options{})
	// Before it deletes, it makes sure of the promotion itself.
	if diff := cmp.Diff([]string{"65 archive", "65 delete", "40 keep"}, actions(r)); diff != "" {
		t.Errorf("run (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{"preferences: user prefers tea"}, b.promoted(r)); diff != "" {
		t.Errorf("promoted (-want +got):\n%s", diff)
	}
	if m := b.find("Log " + b.date(65)); m == nil || m.Content != "A model's own words." {
		t.Errorf("summary not kept: %+v", m)
	}
}

func TestZones(t *testing.T) {
	b := newHarness(t)
	b.now = time.Date(2026, 5, 31, 17, 0, 0, 0, time.UTC) // already June in Shanghai, not yet in New York
	b.log("2026-05-02", event("x"))                       // 30 days before the first of June
	b.loc = time.FixedZone("New York", -4*60*60)
	if diff := cmp.Diff([]string{"29 keep"}, actions(b.run(archiver.Options{DryRun: true}))); diff != "" {
		t.Errorf("New York (-want +got):\n%s", diff)
	}
	b.loc = shanghai
	if diff := cmp.Diff([]string{"30 archive"}, actions(b.run(archiver.Options{}))); diff != "" {
		t.Errorf("Shanghai (-want +got):\n%s", diff)
	}
	b.loc = time.FixedZone("New York", -4*60*60)
	if diff := cmp.Diff([]string{"29 keep"}, actions(b.run(archiver.Options{}))); diff != "" {
		t.Errorf("back in New York (-want +got):\n%s", diff)
	}

	berlin, err := time.LoadLocation("Europe/Berlin")
	if err != nil {
		t.Skip("no zone database:", err)
	}
	// A day of 23 hours is a day.
	b.loc, b.now = berlin, time.Date(2027, 4, 10, 0, 30, 0, 0, berlin)
	b.log("2027-03-11", event("y"))
	r := b.run(archiver.Options{DryRun: true})
	if got := r.Days[len(r.Days)-1]; got.Age != 30 {
		t.Errorf("age over the change to summer time = %d, want 30", got.Age)
	}
	// So is one of 25.
	b.now = time.Date(2027, 11, 10, 23, 30, 0, 0, berlin)
	b.log("2027-10-11", event("z"))
	r = b.run(archiver.Options{DryRun: true})
	if got := r.Days[len(r.Days)-1]; got.Age != 30 {
		t.Errorf("age over the change to winter time = %d, want 30", got.Age)
	}
}

func TestClock(t *testing.T) {
	for _, tt := range []struct {
		name string
		now  time.Time
		log  string // a further log
		want []string
	}{
		{"behind the journal", noon.AddDate(0, 0, -2), "", []string{"38 postponed", "-2 keep"}},
		{"behind the journal on the same day", noon.Add(-5 * time.Hour), "", []string{"40 postponed", "0 keep"}},
		{"a little behind the journal", noon.Add(-time.Minute), "", []string{"40 archive", "0 keep"}},
		{"tomorrow's log", noon, noon.AddDate(0, 0, 1).Format(memory.DateLayout),
			[]string{"40 archive", "0 keep", "-1 keep"}},
		{"a log of a year that the clock was in once", noon, noon.AddDate(10, 0, 0).Format(memory.DateLayout),
			[]string{"40 archive", "0 keep", "-3653 keep"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			b := newHarness(t)
			b.log(b.date(40), event("x"))
			b.log(b.date(0), event("y"))
			if tt.log != "" {
				b.log(tt.log, event("z"))
			}
			b.now = tt.now
			r := b.run(archiver.Options{})
			if diff := cmp.Diff(tt.want, actions(r)); diff != "" {
				t.Errorf("run (-want +got):\n%s", diff)
			}
			if d := r.Days[0]; d.Action == archiver.Postponed && !strings.Contains(d.Reason, "clock") {
				t.Errorf("reason %q", d.Reason)
			}
		})
	}
}

func TestMaxDaysAndSpaces(t *testing.T) {
	b := newHarness(t)
	for _, space := range []string{"", "work"} {
		for _, ago := range []int{42, 41, 40} {
			b.update(space, func(tx *store.Tx) error {
				return tx.AppendEntry(b.date(ago),
					&memory.Entry{Type: "event", Content: "user prefers " + space + "tea"})
			})
		}
	}
	r := b.run(archiver.Options{MaxDays: 4})
	if diff := cmp.Diff([]string{"42 archive", "41 archive", "40 archive", "42 archive", "41 postponed",
		"40 postponed"}, actions(r)); diff != "" {
		t.Errorf("first run (-want +got):\n%s", diff)
	}
	r = b.run(archiver.Options{Space: "work"})
	if diff := cmp.Diff([]string{"42 keep", "41 archive", "40 archive"}, actions(r)); diff != "" {
		t.Errorf("second run (-want +got):\n%s", diff)
	}
	for _, m := range b.store.Space("").Memories() {
		if strings.Contains(m.Content, "worktea") {
			t.Errorf("leaked from another space: %q", m.Content)
		}
	}
}

// TestTwoRunsAtATime has each log archived and deleted by exactly one of them.
func TestTwoRunsAtATime(t *testing.T) {
	b := newHarness(t)
	for ago := 80; ago > 35; ago-- {
		b.log(b.date(ago), event(fmt.Sprintf("user prefers tea number %d", ago)))
	}
	var reports [2]archiver.Report
	var wg sync.WaitGroup
	for i := range reports {
		wg.Go(func() {
			a := archiver.New(archiver.Config{Store: b.store, Location: b.loc, Logger: slog.New(slog.DiscardHandler)})
			var err error
			if reports[i], err = a.Run(t.Context(), archiver.Options{}); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	archived := reports[0].Count(archiver.Archive) + reports[1].Count(archiver.Archive)
	deleted := reports[0].Count(archiver.Delete) + reports[1].Count(archiver.Delete)
	if archived != 45 || deleted != 21 || b.store.Space("").Count() != 90 || len(b.store.Space("").Days()) != 24 {
		t.Errorf("archived %d, deleted %d, %d memories, %d logs left", archived, deleted, b.store.Space("").Count(),
			len(b.store.Space("").Days()))
	}
}

func TestBadOptions(t *testing.T) {
	b := newHarness(t)
	a := archiver.New(archiver.Config{Store: b.store, Location: b.loc, Logger: slog.New(slog.DiscardHandler)})
	_, err := a.Run(t.Context(), archiver.Options{Space: "No Slug", ArchiveDays: 30, DeleteDays: 20, MaxDays: -1})
	invalid, ok := errors.AsType[*memory.InvalidError](err)
	if !ok || len(invalid.Violations) != 3 {
		t.Errorf("err = %v, want three violations", err)
	}
}

// TestCrash crashes at every operation of the file system. Whatever is there afterwards must hold to the rule that a
// log is archived as a whole and deleted only after that, and another run must come to where an undisturbed one does.
func TestCrash(t *testing.T) {
	seed := crashfs.New()
	prepare := newHarness(t)
	prepare.store = prepare.open(seed)
	logs := []int{70, 42, 41, 40} // one is deleted, too; the others share a sync
	for _, ago := range logs {
		prepare.log(prepare.date(ago), event(fmt.Sprintf("user prefers tea number %d", ago)), event("lunch"))
	}
	if err := prepare.store.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	work := func(ctx context.Context, b *harness, fsys *crashfs.FS) {
		st, err := store.Open(store.Config{FS: fsys, Now: b.clock, Logger: slog.New(slog.DiscardHandler)})
		if err != nil {
			return // crashed while opening
		}
		a := archiver.New(archiver.Config{Store: st, Location: b.loc, Logger: slog.New(slog.DiscardHandler)})
		_, _ = a.Run(ctx, archiver.Options{}) // an error is the crash
		_ = st.Close(ctx)
	}
	calm := seed.Clone()
	start := calm.Ops()
	work(t.Context(), newHarness(t), calm)
	steps := calm.Ops() - start
	want := contents(t, calm.Crash(crashfs.Lost, nil))
	if len(want) != 11 {
		t.Fatalf("undisturbed run left %q", want)
	}
	for n := start + 1; n <= start+steps; n++ {
		for _, variant := range []crashfs.CrashMode{crashfs.Lost, crashfs.Kept, crashfs.Torn} {
			b := newHarness(t)
			fsys := seed.Clone()
			fsys.CrashAt(n)
			work(t.Context(), b, fsys)
			after := fsys.Crash(variant, rand.New(rand.NewPCG(uint64(n), 1)))
			b.store = b.open(after)
			for _, ago := range logs {
				requireIntactLog(b, b.date(ago), ago)
			}
			b.run(archiver.Options{})
			if err := b.store.Close(t.Context()); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(want, contents(t, after)); diff != "" {
				t.Fatalf("crash at %d, %v (-want +got):\n%s", n, variant, diff)
			}
		}
	}
	t.Logf("%d steps", steps)
}

// requireIntactLog checks that a log is untouched, or archived with its memories, or gone and leaves them.
func requireIntactLog(b *harness, date string, ago int) {
	b.Helper()
	day, entries, err := b.store.Space("").Log(date)
	if err != nil && !errors.Is(err, memory.ErrNotFound) {
		b.Fatal(err)
	}
	var promoted, summary bool
	for _, m := range b.store.Space("").Memories() {
		promoted = promoted || strings.HasSuffix(m.Content, fmt.Sprintf("number %d", ago)) &&
			m.Category == memory.Preferences
		summary = summary || m.Title == "Log "+date
	}
	archived := day == nil || day.Archived
	records := b.store.Space("").ArchivedOn(date)
	if recorded := len(records) == 1; recorded != archived || recorded && records[0].Deleted() != (day == nil) {
		b.Errorf("log %s: day %+v, records %+v", date, day, records)
	}
	if promoted != archived || summary != archived || day != nil && len(entries) != 2 {
		b.Errorf("log %s: day %+v with %d entries, promoted %v, summary %v", date, day, len(entries), promoted, summary)
	}
}

// contents lists what a store holds, without ids.
func contents(t *testing.T, fsys *crashfs.FS) []string {
	t.Helper()
	b := newHarness(t)
	st := b.open(fsys)
	var out []string
	for _, m := range st.Space("").Memories() {
		out = append(out, m.Category+" "+m.Title+" "+m.Content)
	}
	for _, d := range st.Space("").Days() {
		out = append(out, fmt.Sprint(d.Date, d.Archived, d.Entries))
	}
	if err := st.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	return out
}
