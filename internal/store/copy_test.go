package store_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"math/rand/v2"
	"path"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/memsidecar/memsidecar/internal/memory"
	"github.com/memsidecar/memsidecar/internal/memtest"
	"github.com/memsidecar/memsidecar/internal/store"
	"github.com/memsidecar/memsidecar/internal/store/durable"
	"github.com/memsidecar/memsidecar/internal/store/durable/crashfs"
)

// copier copies a directory in small steps, file by file in any order, as cp does beside a running daemon.
type copier struct {
	from  durable.FS
	rng   *rand.Rand
	names []string
	files map[string][]byte
	open  durable.File
	at    int64
}

// begin lists what is to be copied.
func (c *copier) begin(t *testing.T) {
	t.Helper()
	c.files = map[string][]byte{}
	for _, dir := range []string{"journal", "snapshots"} {
		entries, err := c.from.ReadDir(dir)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			t.Fatal(err)
		}
		for _, e := range entries {
			c.names = append(c.names, path.Join(dir, e.Name()))
		}
	}
	c.rng.Shuffle(len(c.names), func(i, j int) { c.names[i], c.names[j] = c.names[j], c.names[i] })
}

// step copies a piece. It reports whether anything is left to do.
func (c *copier) step() bool {
	if len(c.names) == 0 {
		return false
	}
	name := c.names[0]
	if c.open == nil {
		f, err := c.from.OpenFile(name, 0, 0)
		if err != nil { // it is gone
			c.names = c.names[1:]
			return true
		}
		c.open, c.at, c.files[name] = f, 0, []byte{}
	}
	piece := make([]byte, 512<<c.rng.IntN(6))
	n, err := c.open.ReadAt(piece, c.at)
	c.files[name] = append(c.files[name], piece[:n]...)
	c.at += int64(n)
	if err != nil {
		_ = c.open.Close()
		c.open, c.names = nil, c.names[1:]
	}
	return true
}

// copied is the copy as a directory.
func (c *copier) copied(t *testing.T) *crashfs.FS {
	t.Helper()
	to := crashfs.New()
	for name, data := range c.files {
		if err := to.MkdirAll(path.Dir(name)); err != nil {
			t.Fatal(err)
		}
		err := durable.WriteFile(to, name, func(w io.Writer) error { _, err := w.Write(data); return err })
		if err != nil {
			t.Fatal(err)
		}
	}
	return to
}

// beside is a file system that lets something happen between its operations.
type beside struct {
	durable.FS
	between func()
}

func (b beside) OpenFile(name string, flag int, perm fs.FileMode) (durable.File, error) {
	b.between()
	f, err := b.FS.OpenFile(name, flag, perm)
	return besideFile{f, b.between}, err
}

func (b beside) Rename(from, to string) error { b.between(); return b.FS.Rename(from, to) }
func (b beside) Link(from, to string) error   { b.between(); return b.FS.Link(from, to) }
func (b beside) Remove(name string) error     { b.between(); return b.FS.Remove(name) }

type besideFile struct {
	durable.File
	between func()
}

func (f besideFile) WriteAt(p []byte, at int64) (int, error) {
	f.between()
	return f.File.WriteAt(p, at)
}
func (f besideFile) Write(p []byte) (int, error) { f.between(); return f.File.Write(p) }
func (f besideFile) Truncate(size int64) error   { f.between(); return f.File.Truncate(size) }

// TestPlainCopies copies the directory while the store writes, takes snapshots, begins segments and trims them, in
// many orders and paces. A copy opens as the state at some position, and all of it can be read, or it is refused by
// name.
func TestPlainCopies(t *testing.T) {
	seeds := uint64(150)
	if testing.Short() || memtest.RaceDetector {
		seeds = 30
	}
	opened, refused := 0, map[string]int{}
	for seed := range seeds {
		from, digests := crashfs.New(), map[int64]string{}
		rng := rand.New(rand.NewPCG(seed, 3))
		c := &copier{from: from, rng: rng}
		started, slow := false, 1+rng.IntN(8)
		between := func() {
			if started && rng.IntN(slow) == 0 {
				c.step()
			}
		}
		busy(t, beside{from, between}, rng, digests, func() { started = true; c.begin(t) }, func() bool {
			return len(c.names) == 0
		})
		switch lsn, digest, err := reopened(c.copied(t)); {
		case err != nil:
			if why := err.Error(); !strings.Contains(why, "journal/") && !strings.Contains(why, "snapshots/") {
				t.Errorf("seed %d: refused without naming a file: %v", seed, err)
			}
			refused[regexp.MustCompile(`[0-9]+|\(.*`).ReplaceAllString(err.Error(), "N")]++
		case digests[lsn] != digest:
			t.Errorf("seed %d: opened at %d as %s, which was %s", seed, lsn, digest, digests[lsn])
		default:
			opened++
		}
	}
	t.Logf("%d copies: %d opened, each as the state at its position", seeds, opened)
	for why, n := range refused {
		t.Logf("%d refused: %s", n, why)
	}
	if opened == 0 || len(refused) == 0 {
		t.Errorf("%d opened and %v refused: the test does not see both", opened, refused)
	}
}

// busy runs a store until done, and begin somewhere in the middle. It notes the digest at each position.
func busy(t *testing.T, fs durable.FS, rng *rand.Rand, digests map[int64]string, begin func(), done func() bool) {
	t.Helper()
	now := memtest.Epoch
	st, err := store.Open(store.Config{FS: fs, Now: func() time.Time {
		return now
	}, Logger: slog.New(slog.DiscardHandler), SegmentSize: 8 << 10, HistoryDays: 1})
	if err != nil {
		t.Fatal(err)
	}
	note := func() {
		digest, err := st.Digest()
		if err != nil {
			t.Fatal(err)
		}
		digests[st.LSN()] = digest
	}
	note()
	start := 20 + rng.IntN(60)
	for i := range 400 {
		if i == start {
			begin()
		}
		if i > start && done() {
			break
		}
		space := []string{"", "work"}[rng.IntN(2)]
		_, err := st.Update(t.Context(), store.Meta{Space: space}, func(tx *store.Tx) error {
			if rng.IntN(3) == 0 {
				return tx.AppendEntry(fmt.Sprintf("2026-02-%02d", 1+rng.IntN(3)), entry(fmt.Sprint("e", i), now))
			}
			return tx.Put(memtest.Fact(fmt.Sprint("m", rng.IntN(30)),
				strings.Repeat("text ", rng.IntN(100))+fmt.Sprint(i)))
		})
		if err != nil {
			t.Fatal(err)
		}
		note()
		now = now.Add(time.Hour)
		if rng.IntN(6) == 0 {
			if _, err := st.Checkpoint(t.Context()); err != nil {
				t.Fatal(err)
			}
			if err := st.Trim(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
	}
}

func reopened(fs *crashfs.FS) (lsn int64, digest string, err error) {
	st, err := store.Open(store.Config{FS: fs, Now: time.Now, Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		return 0, "", err
	}
	if digest, err = st.Digest(); err != nil {
		return st.LSN(), "unreadable", nil // no state that ever was
	}
	// The history that is kept has no gaps.
	next := int64(0)
	for rec, err := range st.Operations(context.Background(), 1, st.LSN()) {
		if err != nil || next != 0 && rec.Op != next {
			return st.LSN(), fmt.Sprint("a gap before ", next, err), nil
		}
		next = rec.Last() + 1
	}
	if next != 0 && next != st.LSN()+1 {
		return st.LSN(), fmt.Sprint("history ends at ", next-1), nil
	}
	return st.LSN(), digest, nil
}

// TestPreviousManifestOfACopy has a previous manifest that is newer than the present one, as a copy may: history that
// only the previous one includes must not be trimmed.
func TestPreviousManifestOfACopy(t *testing.T) {
	fs := crashfs.New()
	now := memtest.Epoch
	open := func() *store.Store {
		return memtest.Open(t, store.Config{FS: fs, Now: func() time.Time { return now }, SegmentSize: 8 << 10,
			HistoryDays: 1})
	}
	st := open()
	fill := func(from, to int) {
		for i := from; i < to; i++ {
			_, err := st.Update(t.Context(), store.Meta{}, func(tx *store.Tx) error {
				return tx.Put(memtest.Fact(fmt.Sprint(i), strings.Repeat("x", 900)))
			})
			if err != nil {
				t.Fatal(err)
			}
		}
	}
	fill(0, 5)
	if _, err := st.Checkpoint(t.Context()); err != nil {
		t.Fatal(err)
	}
	old, err := durable.ReadFile(fs, "snapshots/MANIFEST.json")
	if err != nil {
		t.Fatal(err)
	}
	spaceFile := ""
	entries, _ := fs.ReadDir("snapshots")
	for _, e := range entries {
		if strings.Contains(e.Name(), ".space.") {
			spaceFile = "snapshots/" + e.Name()
		}
	}
	body, err := durable.ReadFile(fs, spaceFile)
	if err != nil {
		t.Fatal(err)
	}
	for _, to := range []int{40, 50} {
		fill(to-35, to)
		if _, err := st.Checkpoint(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	want, lsn := must(st.Digest()), st.LSN()
	// The copy: the first manifest and its files, everything else as it is now.
	for name, data := range map[string][]byte{"snapshots/MANIFEST.json": old, spaceFile: body} {
		if err := durable.WriteFile(fs, name, func(w io.Writer) error {
			_, err := w.Write(data)
			return err
		}); err != nil {
			t.Fatal(err)
		}
	}
	now = now.AddDate(0, 0, 30)
	st = open()
	if err := st.Trim(t.Context()); err != nil {
		t.Fatal(err)
	}
	crashed := fs.Crash(crashfs.Kept, nil)
	again := memtest.OpenStore(t, crashed)
	if got := must(again.Digest()); again.LSN() != lsn || got != want {
		t.Errorf("after trimming it opens at %d as %s, was %d %s", again.LSN(), got, lsn, want)
	}
}

func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

// TestPinKeepsFiles takes snapshots and trims while somebody reads: nothing that was pinned goes away until it is let
// go.
func TestPinKeepsFiles(t *testing.T) {
	fs := crashfs.New()
	now := memtest.Epoch
	st := memtest.Open(t, store.Config{FS: fs, Now: func() time.Time {
		return now
	}, SegmentSize: 8 << 10, HistoryDays: 1})
	fill := func(n int) {
		for i := range n {
			_, err := st.Update(t.Context(), store.Meta{}, func(tx *store.Tx) error {
				if err := tx.AppendEntry("2026-02-21", entry(fmt.Sprintf("e%d-%d", st.LSN(), i), now)); err != nil {
					return err
				}
				return tx.Put(memtest.Fact(fmt.Sprint(i), strings.Repeat("x", 900)+fmt.Sprint(st.LSN())))
			})
			if err != nil {
				t.Fatal(err)
			}
		}
	}
	fill(30)
	want, lsn := must(st.Digest()), st.LSN()
	view, files, err := st.PinFiles(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for range 3 {
		fill(30)
		now = now.AddDate(0, 0, 10)
		if _, err := st.Checkpoint(t.Context()); err != nil {
			t.Fatal(err)
		}
		if err := st.Trim(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	if got := must(view.Digest()); view.LSN != lsn || got != want {
		t.Errorf("the view shows %d %s, was %d %s", view.LSN, got, lsn, want)
	}
	names := append([]string{}, files.Snapshot...)
	for _, s := range files.Journal {
		names = append(names, s.Name)
	}
	there := func() (n int) {
		for _, name := range names {
			if _, err := fs.Lstat(name); err == nil {
				n++
			}
		}
		return n
	}
	if there() != len(names) || len(names) < 4 {
		t.Errorf("%d of %d pinned files are there: %v", there(), len(names), names)
	}
	view.Close()
	fill(1)
	if _, err := st.Checkpoint(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := st.Trim(t.Context()); err != nil {
		t.Fatal(err)
	}
	if there() > 0 {
		t.Errorf("%d of %d files stay for ever", there(), len(names))
	}
	if _, err := st.Operation(t.Context(), 1); !errors.Is(err, memory.ErrTrimmed) {
		t.Errorf("the first operation: %v", err)
	}
}

// TestGapInOldHistory removes a segment from the middle of what the snapshot includes. The state would be right
// without it, but the history would not.
func TestGapInOldHistory(t *testing.T) {
	fs := crashfs.New()
	st := memtest.Open(t, store.Config{FS: fs, SegmentSize: 8 << 10})
	for i := range 40 {
		_, err := st.Update(t.Context(), store.Meta{}, func(tx *store.Tx) error {
			return tx.Put(memtest.Fact(fmt.Sprint(i), strings.Repeat("x", 900)))
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := st.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	entries, err := fs.ReadDir("journal")
	if err != nil || len(entries) < 5 {
		t.Fatal(entries, err)
	}
	if err := fs.Remove("journal/" + entries[1].Name()); err != nil {
		t.Fatal(err)
	}
	if _, _, err := reopened(fs); !errors.Is(err, memory.ErrCorrupt) ||
		!strings.Contains(err.Error(), entries[0].Name()) {
		t.Errorf("opened with a gap in its history: %v", err)
	}
	if _, err := repair(fs); err != nil {
		t.Fatal(err)
	}
	if _, _, err := reopened(fs); err != nil {
		t.Errorf("repaired: %v", err)
	}
}
