package archiver_test

import (
	"context"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/memsidecar/memsidecar/internal/archiver"
	"github.com/memsidecar/memsidecar/internal/llm"
	"github.com/memsidecar/memsidecar/internal/memory"
	"github.com/memsidecar/memsidecar/internal/memtest"
	"github.com/memsidecar/memsidecar/internal/store"
	"github.com/memsidecar/memsidecar/internal/store/durable/crashfs"
	"github.com/memsidecar/memsidecar/internal/store/journal"
)

const (
	yearDays = 365
	tailDays = 110            // quiet days after it, in which everything comes to its end
	slot     = 3 * time.Hour  // how often retention runs
	offFor   = 12 * time.Hour // how long the clock is wrong
)

// year is one life of a store. True time passes the same way in all of them; what differs is what befalls the daemon.
type year struct {
	t      *testing.T
	faulty bool
	rng    *rand.Rand

	fs    *crashfs.FS
	store *store.Store
	loc   *time.Location
	start time.Time
	truth time.Time     // true time
	skew  time.Duration // of the wall clock

	summarise archiver.Summarise // of the running daemon
	questions int
	asked     map[string]int // questions about a log, by date
	waited    int            // runs that left logs waiting for the model

	trueAt  map[int64]time.Time // true time of operations
	crashes int
	doubts  map[string]int // runs in doubt, by what the clock did
	written map[string]int // entries by date
}

// jump is a clock that is wrong for a while, with what happens to the daemon meanwhile.
type jump struct {
	by      time.Duration
	restart bool // the daemon is started anew while the clock is wrong
	away    bool // the clock is set right while the daemon does not run
}

// clockJumps are wrong clocks, by day of the year.
func clockJumps() map[int]jump {
	const day = 24 * time.Hour
	out := map[int]jump{}
	n := 20
	for _, by := range []time.Duration{time.Hour, -time.Hour, 40 * day, -40 * day, 3652 * day, -3652 * day} {
		for _, mode := range []jump{{}, {restart: true}, {restart: true, away: true}} {
			mode.by = by
			out[n] = mode
			n += 6
		}
	}
	return out
}

// downtimes maps the first day without the daemon to the number of such days.
var downtimes = map[int]int{140: 3, 146: 9, 160: 1, 250: 40}

// zones by the day from which on the daemon is in them.
var zones = map[int]string{0: "Europe/Berlin", 180: "Asia/Shanghai", 200: "America/New_York", 215: "Europe/Berlin"}

func (y *year) wall() time.Time        { return y.truth.Add(y.skew) }
func (y *year) elapsed() time.Duration { return y.truth.Sub(y.start) }

func (y *year) open() {
	y.t.Helper()
	st, err := store.Open(store.Config{
		FS: y.fs, Now: y.wall, Elapsed: y.elapsed, Logger: slog.New(slog.DiscardHandler), HistoryDays: 100000,
	})
	if err != nil {
		y.t.Fatalf("%s: %v", y.truth, err)
	}
	y.store, y.summarise = st, archiver.ByModel(y)
}

func (y *year) close() {
	y.t.Helper()
	if err := y.store.Close(y.t.Context()); err != nil {
		y.t.Fatal(err)
	}
}

func (y *year) do(fn func(*store.Tx) error) {
	y.t.Helper()
	if _, err := y.store.Update(y.t.Context(), store.Meta{Actor: journal.ActorClient}, fn); err != nil {
		y.t.Fatal(err)
	}
}

// write writes what a day brings; each entry carries the true instant and the date that is at it.
func (y *year) write(day int) {
	y.do(func(tx *store.Tx) error {
		for i := range 1 + day%3 {
			at := y.truth.Add(time.Duration(i) * time.Minute).In(y.loc)
			text := fmt.Sprintf("walked along the harbour, round %d of day %d", i, day)
			if i == 1 && day%4 == 1 {
				text = fmt.Sprintf("User prefers berth number %d", day)
			}
			date := at.Format(memory.DateLayout)
			y.written[date]++
			err := tx.AppendEntry(date, &memory.Entry{ID: fmt.Sprintf("e%d.%d.%d", day, at.Hour(), i),
				Time: at.Format(time.TimeOnly), At: at, Type: memory.EntryEvent, Content: text})
			if err != nil {
				return err
			}
		}
		return nil
	})
}

// Do is the model: it does not answer from day 150 to day 240, and invents things about days whose date ends in 3;
// when it is told so it corrects itself, but not on the 13th.
func (y *year) Do(_ context.Context, req llm.Request) (llm.Reply, error) {
	y.questions++
	if day := int(y.truth.Sub(y.start) / (24 * time.Hour)); y.faulty && day >= 150 && day < 240 {
		return llm.Reply{}, &llm.Error{Reason: llm.ErrUnreachable, Later: true}
	}
	days := daysOf(req.User)
	reply := func(invents string) error {
		var out []summaryOf
		for i, d := range days {
			text := "On that day: " + d.texts[0] + "."
			if strings.HasSuffix(d.date, invents) {
				text += " The admiral sank 99 ships."
			}
			out = append(out, summaryOf{i + 1, text})
		}
		return req.Check(replyOf(out...))
	}
	for _, d := range days {
		y.asked[d.date]++
	}
	if reply("3") == nil || reply("13") == nil {
		return llm.Reply{}, nil
	}
	return llm.Reply{}, &llm.Error{Reason: llm.ErrInvalidReply}
}

// applyRetention runs everything that goes by age.
func (y *year) applyRetention(compress bool) {
	y.t.Helper()
	a := archiver.New(archiver.Config{Store: y.store, Location: y.loc, Logger: slog.New(slog.DiscardHandler),
		Summarise: y.summarise})
	before := y.store.LSN()
	if doubt, err := y.store.ClockWarning(y.t.Context()); err != nil {
		y.t.Fatal(err)
	} else if doubt != "" {
		y.doubts[strings.Fields(doubt)[0]]++
	}
	r, _ := a.Run(y.t.Context(), archiver.Options{}) // an error is a crash
	if r.Waiting != nil {
		y.waited++
	}
	_, _ = a.Expire(y.t.Context(), archiver.ExpireOptions{})
	if compress {
		_, _ = a.Compress(y.t.Context(), archiver.CompressOptions{})
	}
	if y.fs.Crashed() {
		y.crashes++
		_ = y.store.Close(y.t.Context())
		y.fs = y.fs.Crash([]crashfs.CrashMode{crashfs.Lost, crashfs.Kept, crashfs.Torn}[y.crashes%3], y.rng)
		y.open()
	} else {
		y.fs.CrashAt(0)
	}
	for op := before + 1; op <= y.store.LSN(); op++ {
		y.trueAt[op] = y.truth
	}
}

// step lives through one slot of one day.
func (y *year) step(day, hour int, wrong *jump) {
	if y.faulty && wrong != nil {
		switch time.Duration(hour) * time.Hour {
		case slot:
			y.skew = wrong.by
		case 2 * slot, 4 * slot:
			if wrong.restart {
				y.close()
				y.open()
			}
		case slot + offFor:
			if wrong.away {
				y.close()
			}
			y.skew = 0
			if wrong.away {
				y.open()
			}
		}
	}
	if hour == 12 && day < yearDays {
		y.write(day)
	}
	if y.faulty && day%2 == 0 && day < yearDays {
		y.fs.CrashAt(y.fs.Ops() + 1 + day/2%8) // not reached when there is less to do
	}
	y.applyRetention(hour == 21 && day%30 == 0)
}

func (y *year) live() {
	y.t.Helper()
	wrong := clockJumps()
	down := 0
	for day := range yearDays + tailDays {
		if zone, ok := zones[day]; ok {
			loc, err := time.LoadLocation(zone)
			if err != nil {
				y.t.Skip("no zone database:", err)
			}
			y.loc = loc
		}
		if n, ok := downtimes[day]; ok {
			down = n
			y.close()
		}
		for hour := 0; hour < 24; hour += int(slot / time.Hour) {
			y.truth = y.start.AddDate(0, 0, day).Add(time.Duration(hour) * time.Hour)
			if down == 0 {
				j, ok := wrong[day]
				y.step(day, hour, map[bool]*jump{true: &j}[ok])
			}
		}
		if down > 0 {
			if down--; down == 0 {
				y.open()
			}
		}
	}
}

func newYearRun(t *testing.T, faulty bool) *year {
	start := time.Date(2026, 1, 5, 0, 0, 0, 0, time.UTC)
	y := &year{
		t: t, faulty: faulty, rng: rand.New(rand.NewPCG(1, 2)), fs: crashfs.New(), start: start, truth: start,
		asked: map[string]int{}, trueAt: map[int64]time.Time{}, doubts: map[string]int{}, written: map[string]int{},
	}
	y.open()
	y.do(func(tx *store.Tx) error {
		for _, m := range []*memory.Memory{
			{ID: "pinned", Content: "the password of the harbour gate is with Mei", Pinned: true,
				More: &memory.More{ExpiresAt: start.AddDate(0, 0, 10)}},
			{ID: "expires", Content: "the crane is out of order", More: &memory.More{ExpiresAt: start.AddDate(0, 0, 200)}},
			{ID: "stays", Content: "there are 12 berths"},
		} {
			m.Category, m.Source, m.Confidence = memory.Facts, memory.SourceUser, 1
			if err := tx.Put(m); err != nil {
				return err
			}
		}
		return nil
	})
	y.live()
	t.Cleanup(func() { _ = y.store.Close(context.Background()) })
	return y
}

// state is what must not depend on what befell the daemon: all memories with their texts, states, evidence and
// instants of their own, the logs that are left, and the records of the others. Ids, revisions, the numbers of
// operations and when they happened may differ.
func (y *year) state() []string {
	v := y.store.Space("")
	var out []string
	texts := map[string]string{}
	for _, m := range v.Memories() {
		texts[m.ID] = m.Content
		out = append(out, fmt.Sprint("memory ", m.Category, m.Title, m.Content, m.Status, m.Pinned, m.Salience,
			m.CreatedAt.UTC(), m.ExpiresAt().UTC(), m.Evidence()))
	}
	for _, d := range v.Days() {
		out = append(out, fmt.Sprint("log ", d.Date, d.Archived, d.Entries, d.Summary))
	}
	for _, r := range v.Archived() {
		var promoted []string
		for _, id := range r.Promoted {
			promoted = append(promoted, texts[id])
		}
		out = append(out, fmt.Sprint("record ", r.ID, r.Entries, r.Summary, promoted, r.Deleted()))
	}
	slices.Sort(out)
	return out
}

// check goes through all operations of the year.
func (y *year) check() {
	y.t.Helper()
	archived, deleted := map[string]int{}, map[string]int{}
	for rec, err := range y.store.Operations(y.t.Context(), 1, y.store.LSN()) {
		if err != nil {
			y.t.Fatal(err)
		}
		if !store.Significant(rec) || rec.Actor != journal.ActorArchive {
			continue
		}
		action, date, _ := strings.Cut(strings.Replace(rec.Reason, "delete archived log", "delete log", 1), " log ")
		least := map[string]int{"archive": 30, "delete": 60}[action]
		if least == 0 {
			continue
		}
		// The clock may be an hour off; the zone is the one furthest ahead.
		day, err := time.ParseInLocation(memory.DateLayout, date, time.FixedZone("", 8*3600))
		if age := y.trueAt[rec.Op].Add(time.Hour).Sub(day); err != nil || age < time.Duration(least)*24*time.Hour {
			y.t.Errorf("operation %d: %s at the age of %s", rec.Op, rec.Reason, age)
		}
		if action == "archive" {
			archived[date]++
			y.checkArchive(rec, date)
			continue
		}
		if deleted[date]++; archived[date] != 1 {
			y.t.Errorf("log %s was deleted after it was archived %d times", date, archived[date])
		}
	}
	for date, entries := range y.written {
		if archived[date] != 1 || deleted[date] != 1 {
			y.t.Errorf("log %s was archived %d times and deleted %d times", date, archived[date], deleted[date])
		}
		if r := y.store.Space("").ArchivedOn(date); len(r) != 1 || r[0].Entries != entries {
			y.t.Errorf("record of %s: %+v, for %d entries", date, r, entries)
		}
	}
}

// checkArchive checks that one operation holds the promoted memories with the mark.
func (y *year) checkArchive(rec *journal.Record, date string) {
	_, entries, summaries := 0, 0, 0
	for _, c := range rec.Changes {
		if c.Memory != nil && c.Memory.After.Title == "Log "+date {
			summaries++
		}
		if c.Archive != nil {
			entries = c.Archive.After.Entries
		}
	}
	if summaries != 1 || entries != y.written[date] {
		y.t.Errorf("operation %d archived %d of %d entries of %s with %d summaries", rec.Op, entries, y.written[date],
			date, summaries)
	}
}

// TestYear lives through a year twice, once without faults and once with all there are, and wants the same to be left.
func TestYear(t *testing.T) {
	if memtest.RaceDetector {
		t.Skip("a year has one goroutine after the other, and takes half a minute with the race detector; make " +
			"crash-short runs it without")
	}
	calm, rough := newYearRun(t, false), newYearRun(t, true)
	calm.check()
	rough.check()
	if diff := cmp.Diff(calm.state(), rough.state()); diff != "" {
		t.Errorf("after the faults (-calm +rough):\n%s", diff)
	}
	// Two questions about a log are too many, unless a crash took the answer to the first.
	if again := sum(calm.asked) - len(calm.asked); again != 0 || calm.waited != 0 {
		t.Errorf("%d logs were asked about again, %d runs waited", again, calm.waited)
	}
	if again := sum(rough.asked) - len(rough.asked); again > 7*rough.crashes || rough.waited < 90 {
		t.Errorf("%d logs were asked about again, %d runs waited", again, rough.waited)
	}
	for _, y := range []*year{calm, rough} {
		m, err := y.store.Space("").Get("pinned")
		if err != nil || !m.IsActive() || m.Revision != 1 {
			t.Errorf("pinned: %+v, %v", m, err)
		}
		if m, err := y.store.Space("").Get("expires"); err != nil || m.Status != memory.Retired {
			t.Errorf("expired: %+v, %v", m, err)
		}
		if days := y.store.Space("").Days(); len(days) != 0 {
			t.Errorf("%d logs are left, the first one of %s", len(days), days[0].Date)
		}
	}
	if rough.crashes < 50 || rough.doubts["the"] < 50 || rough.doubts["nothing"] < 5 {
		t.Errorf("%d crashes, runs in doubt %v: the faults did not come about", rough.crashes, rough.doubts)
	}
	t.Logf("%d questions in the calm year, %d in the rough one, %d runs of which left logs waiting", calm.questions,
		rough.questions, rough.waited)
	t.Logf("%d operations of %d entries in %d logs, %d things left; %d crashes in runs, runs in doubt: %d after a "+
		"step, %d after an absence",
		len(rough.trueAt), sum(rough.written), len(rough.written), len(rough.state()), rough.crashes,
		rough.doubts["the"], rough.doubts["nothing"])
}

func sum(m map[string]int) (n int) {
	for _, v := range m {
		n += v
	}
	return n
}
