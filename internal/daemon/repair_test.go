package daemon

import (
	"bytes"
	"context"
	"errors"
	stdflag "flag"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/memsidecar/memsidecar/internal/dailylog"
	"github.com/memsidecar/memsidecar/internal/jsonstore"
	"github.com/memsidecar/memsidecar/internal/memory"
	"github.com/memsidecar/memsidecar/internal/memtest"
	"github.com/memsidecar/memsidecar/internal/store"
	"github.com/memsidecar/memsidecar/internal/store/durable"
	"github.com/memsidecar/memsidecar/internal/store/durable/crashfs"
	"github.com/memsidecar/memsidecar/internal/store/journal"
)

var repairFull = stdflag.Bool("repair.full", false, "damage the journal at every line instead of at every seventh")

// killed is what a daemon left that was killed after many acknowledged writes.
type killed struct {
	fs       *crashfs.FS
	lsn      int64  // newest acknowledged operation
	contents string // active memories and logs
}

// kill writes through several segments and two spaces, takes a snapshot in the middle if snapshot is set, publishes
// when it has done the operations up to publishAt, and dies.
func kill(t *testing.T, snapshot bool, publishAt int) killed {
	t.Helper()
	const operations = 60
	fs, clock := crashfs.New(), new(memtest.Clock)
	log := slog.New(slog.DiscardHandler)
	memories := jsonstore.NewPublisher(jsonstore.Config{FS: fs, Now: clock.Now, Logger: log})
	logs := dailylog.NewPublisher(dailylog.Config{FS: fs, Now: clock.Now, Logger: log})
	st, err := store.Open(store.Config{FS: fs, Now: clock.Now, Logger: log, SegmentSize: 8 << 10,
		Projections: []store.Projection{memories, logs}})
	if err != nil {
		t.Fatal(err)
	}
	memories.Attach(jsonstore.FromStore(st))
	logs.Attach(dailylog.FromStore(st))
	for i := range operations {
		clock.Advance(time.Minute)
		if err := write(t.Context(), st, clock.Now(), i); err != nil {
			t.Fatal(err)
		}
		if snapshot && i == operations/2 {
			if _, err := st.Checkpoint(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
		if i == publishAt {
			if err := errors.Join(memories.PublishAll(t.Context()), logs.PublishAll(t.Context())); err != nil {
				t.Fatal(err)
			}
		}
	}
	return killed{fs: fs.Crash(crashfs.Kept, nil), lsn: st.LSN(), contents: activeContents(t, st)}
}

// write is one acknowledged operation of the workload: memories are added, changed and retired, entries appended.
func write(ctx context.Context, st *store.Store, now time.Time, i int) error {
	space := []string{"", "work"}[i%2]
	_, err := st.Update(ctx, store.Meta{Space: space, Actor: journal.ActorClient}, func(tx *store.Tx) error {
		switch {
		case i%10 == 7:
			return tx.AppendEntry("2026-02-21", &memory.Entry{ID: fmt.Sprint("e", i), Time: now.Format(time.TimeOnly),
				At: now, Type: memory.EntryEvent, Content: fmt.Sprint("finished ", i)})
		case i%10 == 8 && i > 20:
			m := tx.Memory(fmt.Sprint("m", i-14)).Clone()
			m.Status = memory.Retired
			return tx.Put(m)
		case i%10 == 6 && i > 20:
			m := tx.Memory(fmt.Sprint("m", i-16)).Clone()
			m.Content += " changed"
			return tx.Put(m)
		}
		return tx.Put(memtest.Fact(fmt.Sprint("m", i), fmt.Sprint(i, strings.Repeat(" text", 90))))
	})
	return err
}

// activeContents is what the published files hold of a store.
func activeContents(t *testing.T, st *store.Store) string {
	t.Helper()
	var b strings.Builder
	for _, name := range st.Spaces() {
		space := st.Space(name)
		for _, m := range space.Memories() {
			if m.IsActive() {
				fmt.Fprintln(&b, name, m.ID, m.Content[:min(20, len(m.Content))], strings.HasSuffix(m.Content, "changed"))
			}
		}
		for _, d := range space.Days() {
			_, entries, err := space.Log(d.Date)
			if err != nil {
				t.Fatal(err)
			}
			for _, e := range entries {
				fmt.Fprintln(&b, name, d.Date, e.ID, e.Content)
			}
		}
	}
	lines := strings.Split(b.String(), "\n")
	slices.Sort(lines)
	return strings.Join(lines, "\n")
}

// harm is one way to damage the journal of a killed daemon.
type harm struct {
	name string
	do   func(t *testing.T, fs *crashfs.FS)
}

// harms are all ways: each segment is removed; all are; the journal is cut, and zeroed, at the lines.
func harms(t *testing.T, fs *crashfs.FS) (all []harm) {
	t.Helper()
	entries, err := fs.ReadDir("journal")
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, e := range entries {
		names = append(names, "journal/"+e.Name())
	}
	remove := func(t *testing.T, fs *crashfs.FS, names ...string) {
		t.Helper()
		for _, name := range names {
			if err := fs.Remove(name); err != nil {
				t.Fatal(err)
			}
		}
	}
	all = append(all, harm{"all segments removed", func(t *testing.T, fs *crashfs.FS) {
		t.Helper()
		remove(t, fs, names...)
	}})
	line := 0
	for i, name := range names {
		data, err := durable.ReadFile(fs, name)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, harm{"removed " + name, func(t *testing.T, fs *crashfs.FS) {
			t.Helper()
			remove(t, fs, name)
		}}, harm{"removed from " + name, func(t *testing.T, fs *crashfs.FS) {
			t.Helper()
			remove(t, fs, names[i:]...)
		}})
		end := len(bytes.TrimRight(data, "\x00"))
		for at := 0; at < end; at += bytes.IndexByte(data[at:], '\n') + 1 {
			if line++; !*repairFull && line%7 != 1 {
				continue
			}
			all = append(all, harm{fmt.Sprintf("cut at %d of %s", at, name), func(t *testing.T, fs *crashfs.FS) {
				t.Helper()
				remove(t, fs, names[i+1:]...)
				if err := fs.WriteRaw(name, data[:at]); err != nil {
					t.Fatal(err)
				}
			}}, harm{fmt.Sprintf("zeroed from %d of %s", at, name), func(t *testing.T, fs *crashfs.FS) {
				t.Helper()
				remove(t, fs, names[i+1:]...)
				zeroed := append(bytes.Clone(data[:at]), make([]byte, len(data)-at)...)
				if err := fs.WriteRaw(name, zeroed); err != nil {
					t.Fatal(err)
				}
			}})
		}
	}
	return all
}

// TestRepairRecovers: a killed store whose journal lost acknowledged operations never opens as if it were whole. It is
// refused without a change, by a message that names the proof and the command. Repair brings back what the published
// files hold, and a second start and a second repair find nothing to do.
func TestRepairRecovers(t *testing.T) {
	for _, snapshot := range []bool{false, true} {
		for _, published := range []struct {
			name      string
			at        int
			highWater bool
		}{
			{"at the end", 59, true}, {"at the end, no high-water mark", 59, false}, {"in the middle", 40, true},
			{"never", -1, true},
		} {
			before := kill(t, snapshot, published.at)
			if !published.highWater {
				if err := before.fs.Remove(journal.HighWaterFile); err != nil {
					t.Fatal(err)
				}
			}
			refused := 0
			ways := harms(t, before.fs)
			for _, h := range ways {
				fs := before.fs.Clone()
				h.do(t, fs)
				name := fmt.Sprintf("snapshot %v, published %s, %s", snapshot, published.name, h.name)
				if refusesAndRepairs(t, name, fs, before, published.at == 59) {
					refused++
				}
			}
			t.Logf("snapshot %v, published %s: %d kinds of damage, %d refused and repaired, %d lost nothing, 0 silent losses",
				snapshot, published.name, len(ways), refused, len(ways)-refused)
		}
	}
}

// refusesAndRepairs reports whether the damaged directory was refused. complete says that the published files hold
// everything.
func refusesAndRepairs(t *testing.T, name string, fs *crashfs.FS, before killed, complete bool) bool {
	t.Helper()
	open := func() (*store.Store, error) {
		return store.Open(store.Config{FS: fs, Now: new(memtest.Clock).Now, Logger: slog.New(slog.DiscardHandler)})
	}
	untouched := fs.Ops()
	st, err := open()
	if err == nil {
		if st.LSN() != before.lsn || activeContents(t, st) != before.contents {
			if st.LSN() == 0 && complete { // nothing of a journal is left: the next start adopts the published files
				return false
			}
			t.Errorf("%s: it opens at %d, %d had been acknowledged", name, st.LSN(), before.lsn)
		}
		return false
	}
	if !errors.Is(err, memory.ErrCorrupt) || !strings.Contains(err.Error(), "memsidecar daemon repair") {
		t.Errorf("%s: %v", name, err)
	}
	if fs.Ops() != untouched {
		t.Errorf("%s: the refused start changed the directory: %v", name, fs.Trace()[untouched:])
	}
	done, err := Repair(t.Context(), fs, new(memtest.Clock).Now, time.UTC)
	if err != nil || len(done) == 0 {
		t.Errorf("%s: repair: %q %v", name, done, err)
		return true
	}
	if st, err = open(); err != nil {
		t.Errorf("%s: after repair: %v", name, err)
		return true
	}
	if got := activeContents(t, st); complete && st.LSN() > 0 && got != before.contents {
		t.Errorf("%s: after repair (%q)\n%s\nwant\n%s", name, done, got, before.contents)
	}
	if st.LSN() > 0 && st.LSN() < before.lsn {
		t.Errorf("%s: numbers from %d on are given out twice", name, st.LSN()+1)
	}
	if err := st.Close(t.Context()); err != nil {
		t.Errorf("%s: %v", name, err)
	}
	if again, err := Repair(t.Context(), fs, new(memtest.Clock).Now, time.UTC); err != nil || len(again) > 0 {
		t.Errorf("%s: a second repair: %q %v", name, again, err)
	}
	return true
}

// damagedMiddle is a killed store of which the middle of the journal is lost and everything is published.
func damagedMiddle(t *testing.T) (killed, *crashfs.FS) {
	t.Helper()
	before := kill(t, false, 59)
	entries, err := before.fs.ReadDir("journal")
	if err != nil || len(entries) < 3 {
		t.Fatalf("%d segments, %v", len(entries), err)
	}
	fs := before.fs.Clone()
	name := "journal/" + entries[1].Name()
	data, err := durable.ReadFile(fs, name)
	if err != nil {
		t.Fatal(err)
	}
	if err := fs.WriteRaw(name, data[:len(data)/2]); err != nil { // cut in the middle of a line
		t.Fatal(err)
	}
	return before, fs
}

// TestCrashInRepair crashes a repair at each of its file operations. The next start is refused, unless the repair was
// complete; a second repair ends with everything that the published files hold.
func TestCrashInRepair(t *testing.T) {
	before, damaged := damagedMiddle(t)
	repair := func(fs *crashfs.FS) error {
		_, err := Repair(t.Context(), fs, new(memtest.Clock).Now, time.UTC)
		return err
	}
	open := func(fs *crashfs.FS) (*store.Store, error) {
		return store.Open(store.Config{FS: fs, Now: new(memtest.Clock).Now, Logger: slog.New(slog.DiscardHandler)})
	}
	undisturbed := damaged.Clone()
	if err := repair(undisturbed); err != nil {
		t.Fatal(err)
	}
	from, to := damaged.Ops(), undisturbed.Ops()
	crashes, refused := 0, 0
	for n := from + 1; n <= to; n++ {
		for seed, mode := range []crashfs.CrashMode{crashfs.Lost, crashfs.Kept, crashfs.Torn, crashfs.Torn} {
			crashed := damaged.Clone()
			crashed.CrashAt(n)
			if err := repair(crashed); err == nil && !crashed.Crashed() {
				t.Fatalf("operation %d: the repair ended without a crash", n)
			}
			fs := crashed.Crash(mode, rand.New(rand.NewPCG(uint64(n), uint64(seed))))
			name := fmt.Sprintf("crash at operation %d (%s), %v", n, undisturbed.Trace()[n-1], mode)
			crashes++
			st, err := open(fs.Clone())
			switch {
			case err != nil:
				refused++
			case activeContents(t, st) != before.contents:
				t.Errorf("%s: the next start opens without what was lost", name)
			}
			if err := repair(fs); err != nil {
				t.Errorf("%s: the second repair: %v", name, err)
				continue
			}
			if st, err = open(fs); err != nil {
				t.Errorf("%s: after the second repair: %v", name, err)
			} else if got := activeContents(t, st); got != before.contents {
				t.Errorf("%s: after the second repair:\n%s\nwant\n%s", name, got, before.contents)
			}
		}
	}
	if refused == 0 || refused == crashes {
		t.Errorf("%d of %d crashes were refused: the test does not see both sides of the commit point", refused, crashes)
	}
	t.Logf("%d crashes at %d operations, %d starts refused before the second repair", crashes, to-from, refused)
}

// TestUndoOfRepair: undoing the operations of a repair removes exactly what it recovered.
func TestUndoOfRepair(t *testing.T) {
	before, fs := damagedMiddle(t)
	// The journal alone, without any published file, is what a repair without recovery makes of it.
	bare := fs.Clone()
	if _, err := store.Repair(bare, new(memtest.Clock).Now()); err != nil {
		t.Fatal(err)
	}
	cfg := func(fs *crashfs.FS) store.Config {
		return store.Config{FS: fs, Now: new(memtest.Clock).Now, Logger: slog.New(slog.DiscardHandler), Repairing: true}
	}
	st, err := store.Open(cfg(bare))
	if err != nil {
		t.Fatal(err)
	}
	want, last := activeContents(t, st), st.LSN()
	if want == before.contents {
		t.Fatal("the damage lost nothing")
	}
	if _, err := Repair(t.Context(), fs, new(memtest.Clock).Now, time.UTC); err != nil {
		t.Fatal(err)
	}
	if st, err = store.Open(cfg(fs)); err != nil {
		t.Fatal(err)
	}
	if got := activeContents(t, st); got != before.contents {
		t.Fatalf("after the repair:\n%s\nwant\n%s", got, before.contents)
	}
	for op := st.LSN(); op > last; op-- {
		rec, err := st.Operation(t.Context(), op)
		if err != nil || rec.Actor != journal.ActorRepair {
			t.Fatalf("operation %d: %+v, %v", op, rec, err)
		}
		if _, err := st.Undo(t.Context(), store.Meta{}, op); err != nil {
			t.Fatalf("undo of operation %d: %v", op, err)
		}
	}
	if got := activeContents(t, st); got != want {
		t.Errorf("after the undo:\n%s\nwant\n%s", got, want)
	}
}
