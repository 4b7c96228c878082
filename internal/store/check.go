package store

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"hash"
	"io"
	"io/fs"
	"maps"
	"slices"
	"time"

	"github.com/memsidecar/memsidecar/internal/durable"
	"github.com/memsidecar/memsidecar/internal/journal"
	"github.com/memsidecar/memsidecar/internal/memory"
)

// Finding is one thing wrong with a data directory.
type Finding struct {
	File   string
	Line   int // 0 when the whole file is meant
	Detail string
}

// Report is what Check found. Without findings it says what the directory holds.
type Report struct {
	Findings []Finding
	LSN      int64 // newest whole record
	Spaces   int
	Memories int    // in any state
	Logs     int    // daily logs
	Sessions int    // known sessions
	Digest   string // hash of the whole state: equal for two stores that hold the same
}

// Check reads a data directory whole: every line of the journal, every file of the newest snapshot, and the state they add up to. It
// changes nothing and needs no daemon; beside a running one it may see a group half written.
func Check(fsys durable.FS) (Report, error) {
	var report Report
	if err := refuseIncomplete(fsys); err != nil {
		return report, err
	}
	m, err := readManifest(fsys, manifestFile)
	if report.add(err) != nil {
		return report, err
	}
	damaged, err := journal.Check(fsys, m.Store, m.LSN)
	if err != nil {
		return report, err
	}
	for _, c := range damaged {
		report.Findings = append(report.Findings, Finding(*c))
	}
	view := &Store{fs: fsys, visible: newState(true), staged: newState(false)}
	view.snapshots.docFiles = map[string][]string{}
	in, err := readIntent(fsys)
	if err != nil {
		return report, err
	}
	if in != nil {
		view.scrubber = newScrubber(in)
	}
	if err := report.add(view.load(m)); err != nil || len(report.Findings) > 0 {
		return report, err
	}
	report.LSN, err = journal.Scan(fsys, m.Store, m.LSN, func(rec *journal.Record) error {
		view.scrubOld(rec)
		view.visible.apply(rec)
		return nil
	})
	if err := report.add(err); err != nil || len(report.Findings) > 0 {
		return report, err
	}
	return report, report.describe(view)
}

// add turns damage into a finding and returns any other error.
func (r *Report) add(err error) error {
	if c, ok := errors.AsType[*journal.CorruptError](err); ok {
		r.Findings = append(r.Findings, Finding(*c))
		return nil
	}
	return err
}

func (r *Report) describe(s *Store) error {
	for _, name := range s.Spaces() {
		v := s.Space(name)
		r.Spaces++
		r.Memories += v.Count()
		r.Logs += len(v.Days())
		r.Sessions += len(v.Sessions())
	}
	var err error
	r.Digest, err = s.Digest()
	return r.add(err)
}

// Digest hashes everything durable that users could see: memories, summaries, forgotten values, logs and sessions of all spaces. Two stores
// that went through the same operations have the same digest, whatever crashes or restarts lay between.
func (s *Store) Digest() (string, error) {
	sum := sha256.New()
	for _, name := range s.Spaces() {
		v := s.Space(name)
		memories := v.Memories()
		slices.SortFunc(memories, func(a, b *memory.Memory) int { return cmp.Compare(a.ID, b.ID) })
		forgotten := v.Forgotten()
		if err := errors.Join(feed(sum, name, memories...), feed(sum, v.Summary(), new(len(forgotten)))); err != nil {
			return "", err
		}
		for _, at := range slices.SortedFunc(maps.Values(forgotten), time.Time.Compare) {
			if err := feed(sum, "forgotten", &at); err != nil {
				return "", err
			}
		}
		if archived := v.Archived(); len(archived) > 0 {
			if err := feed(sum, "archived", archived...); err != nil {
				return "", err
			}
		}
		if err := s.digestDocs(sum, v); err != nil {
			return "", err
		}
	}
	return hex.EncodeToString(sum.Sum(nil)[:16]), nil
}

func (s *Store) digestDocs(sum hash.Hash, v *Space) error {
	for _, d := range v.Days() {
		header, entries, err := v.Log(d.Date)
		if err != nil {
			return err
		}
		if err := errors.Join(feed(sum, "log", header), feed(sum, "entries", entries...)); err != nil {
			return err
		}
	}
	for _, header := range v.Sessions() {
		messages, err := v.Messages(header.ID, 0)
		if err != nil {
			return err
		}
		if err := errors.Join(feed(sum, "session", header), feed(sum, "messages", messages...)); err != nil {
			return err
		}
	}
	return nil
}

func feed[T any](sum hash.Hash, label string, values ...*T) error {
	_, _ = fmt.Fprintf(sum, "%s %d\n", label, len(values))
	enc := json.NewEncoder(sum)
	for _, v := range values { // one by one: all at once would be as long as the store
		if err := enc.Encode(v); err != nil {
			return err
		}
	}
	return nil
}

// Dump writes the records of the journal from LSN from on, one JSON line each, as they stand in the files.
func Dump(fsys durable.FS, w io.Writer, from int64) error {
	_, err := journal.Scan(fsys, "", from-1, func(rec *journal.Record) error {
		line, err := json.Marshal(rec)
		if err != nil {
			return err
		}
		_, err = w.Write(append(line, '\n'))
		return err
	})
	return err
}

// Repair sets damaged parts aside in quarantine and keeps the rest, and returns what it did, one line each; nothing for a directory
// without damage. The caller holds the lock of the directory.
//
// A damaged snapshot gives way to the previous one, or to the journal alone when that still begins at the first operation.
func Repair(fsys durable.FS, now time.Time) ([]string, error) {
	if err := refuseIncomplete(fsys); err != nil {
		return nil, err
	}
	m, err := readManifest(fsys, manifestFile)
	view := &Store{fs: fsys, visible: newState(true), staged: newState(false)}
	view.snapshots.docFiles = map[string][]string{}
	if err == nil {
		err = view.load(m)
	}
	if err == nil {
		err = view.readAll()
	}
	var done []string
	if _, corrupt := errors.AsType[*journal.CorruptError](err); corrupt {
		done, m, err = fallBack(fsys, now, err)
	}
	if err != nil {
		return done, err
	}
	repaired, err := journal.Repair(fsys, m.Store, m.LSN, now)
	return append(done, repaired...), err
}

// readAll reads every file of the snapshot.
func (s *Store) readAll() error {
	_, err := s.Digest()
	return err
}

// fallBack replaces the damaged newest snapshot by the previous one.
func fallBack(fsys durable.FS, now time.Time, damage error) ([]string, manifest, error) {
	previous, err := readManifest(fsys, previousFile)
	view := &Store{fs: fsys, visible: newState(true), staged: newState(false)}
	view.snapshots.docFiles = map[string][]string{}
	if err == nil {
		err = errors.Join(view.load(previous), view.readAll())
	}
	remove := []string{manifestFile}
	if _, corrupt := errors.AsType[*journal.CorruptError](err); corrupt {
		previous, err, remove = manifest{}, nil, append(remove, previousFile)
	}
	if err == nil && previous.LSN == 0 {
		var first int64
		if first, err = journal.FirstKept(fsys); err == nil && first > 1 {
			err = fmt.Errorf("%w; there is no earlier snapshot that is whole, and the journal begins only at operation %d", damage, first)
		}
	}
	if err != nil {
		return nil, manifest{}, fmt.Errorf("repair: the newest snapshot is damaged and cannot be replaced: %w", err)
	}
	if err := journal.Quarantine(fsys, manifestFile, now); err != nil {
		return nil, manifest{}, err
	}
	if previous.LSN == 0 {
		for _, name := range remove {
			if err := fsys.Remove(name); err != nil && !errors.Is(err, fs.ErrNotExist) {
				return nil, manifest{}, fmt.Errorf("repair: %w", err)
			}
		}
		return []string{"no snapshot was whole; everything is read from the journal"}, previous, fsys.SyncDir(snapshotDir)
	}
	err = durable.WriteFile(fsys, manifestFile, func(w io.Writer) error {
		line, err := durable.AppendLine(nil, previous)
		if err == nil {
			_, err = w.Write(line)
		}
		return err
	})
	return []string{fmt.Sprintf("the snapshot was damaged; the previous one, of operation %d, took its place", previous.LSN)}, previous, err
}
