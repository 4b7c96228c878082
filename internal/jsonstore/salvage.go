package jsonstore

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"path"
	"reflect"
	"slices"
	"time"

	"github.com/memsidecar/memsidecar/internal/dailylog"
	"github.com/memsidecar/memsidecar/internal/memory"
	"github.com/memsidecar/memsidecar/internal/publish"
	"github.com/memsidecar/memsidecar/internal/store"
	"github.com/memsidecar/memsidecar/internal/store/durable"
	"github.com/memsidecar/memsidecar/internal/store/journal"
)

// Salvage recovers from the published files what a damaged journal has lost, one operation per space, which can be
// undone. It returns what it did, one line each, without memory text. Call it after store.Repair, before anything is
// published; it may be repeated.
//
// Lost operations keep their numbers, so revisions decide: a memory or log of a file is taken when the store lacks it
// or has an older revision. A memory that the newest published file no longer lists is retired, because a lost
// operation retired it. Sessions, accesses and history are in no published file and stay lost. Files that were used,
// and files that cannot be read, are copied to quarantine/.
func Salvage(ctx context.Context, st *store.Store, fsys durable.FS, now func() time.Time, loc *time.Location) ([]string,
	error) {
	s := &salvage{store: st, fsys: fsys, loc: loc,
		memories: publish.NewFiles(fsys, manifest, now, slog.New(slog.DiscardHandler)),
		logs:     publish.NewFiles(fsys, dailylog.Manifest, now, slog.New(slog.DiscardHandler))}
	spaces := []string{memory.DefaultSpace}
	entries, err := fsys.ReadDir("spaces")
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("look for published files: %w", err)
	}
	for _, e := range entries {
		if e.IsDir() && memory.IsSlug(e.Name()) && e.Name() != memory.DefaultSpace {
			spaces = append(spaces, e.Name())
		}
	}
	for _, space := range spaces {
		if err := s.space(ctx, space); err != nil {
			return s.report, fmt.Errorf("recover what the files of space %s hold: %w", space, err)
		}
	}
	return s.report, nil
}

// salvage is one run of Salvage.
type salvage struct {
	store          *store.Store
	fsys           durable.FS
	loc            *time.Location
	memories, logs *publish.Files
	report         []string // for people
}

// publishedFile is a decoded memory.json or memory.json.bak.
type publishedFile struct {
	name, hash string
	file       *File
	// ours says that the bytes are exactly what memsidecar published, so that what is missing was retired.
	ours bool
}

// space recovers what the files of one space hold.
func (s *salvage) space(ctx context.Context, space string) error {
	best, err := s.newest(space)
	if err != nil {
		return err
	}
	days, err := s.days(space)
	if err != nil || best == nil && len(days) == 0 {
		return err
	}
	reason := "repair: recovered from published files, because the journal had lost operations"
	added, changed, retired, entries := 0, 0, 0, 0
	_, err = s.store.Update(ctx, store.Meta{Space: space, Actor: journal.ActorRepair, Reason: reason, Essential: true},
		func(tx *store.Tx) error {
			if best != nil {
				if added, changed, err = putLost(tx, best.file); err != nil {
					return err
				}
				if best.ours {
					if retired, err = retireMissing(tx, best.file); err != nil {
						return err
					}
				}
				putSummary(tx, best.file, s.store.Space(space).Revision())
			}
			for _, d := range days {
				n, err := d.put(tx)
				if err != nil {
					return err
				}
				entries += n
			}
			return nil
		})
	if err != nil {
		return err
	}
	if added+changed+retired+entries > 0 {
		s.report = append(s.report, fmt.Sprintf("space %s: recovered %d memories, %d changes of memories and %d log "+
			"entries, and retired %d memories, from the published files", space, added, changed, entries, retired))
	}
	return s.unclaim(space)
}

// newest returns the readable file of a space that includes the newest operation, nil when there is none. What
// memsidecar published goes before what somebody else wrote. Every file is copied to the quarantine.
func (s *salvage) newest(space string) (best *publishedFile, err error) {
	for _, name := range []string{Path(space), Path(space) + ".bak"} {
		found, err := s.memories.Inspect(name)
		if err != nil && !errors.Is(err, publish.ErrNotRegular) {
			return nil, err
		}
		if !found.Exists {
			continue
		}
		if _, _, err := publish.Quarantine(s.fsys, name, found.Hash, fmt.Sprintf(
			"%s as it was when memsidecar repaired a damaged journal with it.\n\nWhen nothing in it is needed any more, "+
				"delete it and this text; memsidecar never does.\n", name)); err != nil {
			return nil, err
		}
		data, err := durable.ReadFile(s.fsys, name)
		if err != nil {
			return nil, err
		}
		f, err := Decode(data, s.loc)
		if err != nil {
			s.report = append(s.report, fmt.Sprintf("%s: not used, it cannot be read", name))
			continue
		}
		entry, _, err := s.memories.Published(name)
		if err != nil {
			return nil, err
		}
		p := &publishedFile{name: name, hash: found.Hash, file: f, ours: found.Hash == entry.Hash}
		f.Sanitize()
		if best == nil || p.ours && !best.ours || p.ours == best.ours && f.Revision > best.file.Revision {
			best = p
		}
	}
	if best != nil && best.file.Revision == 0 {
		return nil, nil // of another program: an edit, which reconcile merges
	}
	return best, nil
}

// putLost stores the memories of a file that the store lacks or has in an older revision. It leaves out what was
// removed or forgotten after the file was written.
func putLost(tx *store.Tx, f *File) (added, changed int, err error) {
	for _, m := range f.Memories {
		current := tx.Memory(m.ID)
		switch {
		case m.Revision > f.Revision, m.Revision == 0:
			continue // not written by memsidecar: an edit, which reconcile merges
		case current == nil && (tx.RemovedAt(m.ID) > m.Revision || tx.IsForgotten(m.Content)):
			continue
		case current == nil:
			added++
		case current.Revision < m.Revision:
			changed++
		default:
			continue
		}
		if err := tx.PutKnown(m, m.ContentAt()); err != nil {
			return added, changed, fmt.Errorf("memory %q: %w", m.ID, err)
		}
	}
	for _, g := range f.Forgotten {
		tx.PutForgotten(g.Hash, g.At)
	}
	return added, changed, nil
}

// retireMissing retires the active memories that a published file no longer lists although it is newer than them.
func retireMissing(tx *store.Tx, f *File) (retired int, err error) {
	listed := map[string]bool{}
	for _, m := range f.Memories {
		listed[m.ID] = true
	}
	var missing []*memory.Memory
	for m := range tx.Memories() {
		if m.IsActive() && !listed[m.ID] && m.Revision <= f.Revision {
			missing = append(missing, m.Clone())
		}
	}
	for _, m := range missing {
		m.Status = memory.Retired
		if err := tx.Put(m); err != nil {
			return retired, fmt.Errorf("memory %q: %w", m.ID, err)
		}
		retired++
	}
	return retired, nil
}

// putSummary takes the rolling summary of a file that is newer than the state at revision.
func putSummary(tx *store.Tx, f *File, revision int64) {
	if f.Revision > revision && f.RollingSummary != "" {
		tx.SetSummary(f.RollingSummary)
	}
}

// lostDay is a published daily log that may hold entries that the store lacks.
type lostDay struct {
	file     *dailylog.File
	current  map[string]*memory.Entry // the store's, by id
	revision int64                    // of the store's log, 0 when it has none
}

// days returns the published logs of a space that are at least as new as the store's. An entry in the middle may be
// lost although the newest one is there.
func (s *salvage) days(space string) (days []lostDay, err error) {
	entries, err := s.fsys.ReadDir(dailylog.Dir(space))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	view := s.store.Space(space)
	for _, e := range entries {
		date, ok := dailylog.DateOf(e.Name())
		if !ok || !e.Type().IsRegular() {
			continue
		}
		name := path.Join(dailylog.Dir(space), e.Name())
		data, err := durable.ReadFile(s.fsys, name)
		if err != nil {
			return nil, err
		}
		f, err := dailylog.Decode(data, s.loc)
		if err != nil || f.Day.Date != date {
			s.report = append(s.report, fmt.Sprintf("%s: not used, it cannot be read", name))
			continue
		}
		d := lostDay{file: f, current: map[string]*memory.Entry{}}
		header, current, err := view.Log(date)
		if err != nil && !errors.Is(err, memory.ErrNotFound) {
			return nil, err
		}
		if header != nil {
			d.revision = header.Revision
		}
		if f.Day.Revision < d.revision || d.revision == 0 && deletedLog(view, date) {
			continue
		}
		for _, e := range current {
			d.current[e.ID] = e
		}
		SanitizeLog(f)
		f.Complete(s.loc)
		days = append(days, d)
	}
	return days, nil
}

// deletedLog reports whether the store knows that the log of date was deleted after it had been archived.
func deletedLog(view *store.Space, date string) bool {
	return slices.ContainsFunc(view.Archived(), func(a *memory.Archived) bool {
		return a.Date == date && !a.DeletedAt.IsZero()
	})
}

// put stores the entries that the store lacks or that differ, and what the file says about the day. Entries that only
// the store has stay.
func (d lostDay) put(tx *store.Tx) (entries int, err error) {
	date := d.file.Day.Date
	if err := tx.CheckDayRevision(date, d.revision); err != nil {
		return 0, err
	}
	for _, e := range d.file.Entries {
		current, known := d.current[e.ID]
		if known && reflect.DeepEqual(current, e) {
			continue
		}
		if known {
			err = tx.ChangeEntry(date, current, e)
		} else {
			err = tx.AppendEntry(date, e)
		}
		if err != nil {
			return entries, fmt.Errorf("entry %q of %s: %w", e.ID, date, err)
		}
		entries++
	}
	now, file := tx.Day(date), d.file.Day
	if now == nil || now.Summary != file.Summary || now.Archived != file.Archived {
		tx.SetDay(&file)
	}
	return entries, nil
}

// unclaim makes files that somebody edited, and whose edit was in the store, count as edited again: the operation that
// adopted the edit may be lost. reconcile then merges what is missing.
func (s *salvage) unclaim(space string) error {
	names := map[string]*publish.Files{Path(space): s.memories}
	entries, err := s.fsys.ReadDir(dailylog.Dir(space))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	for _, e := range entries {
		if _, ok := dailylog.DateOf(e.Name()); ok && e.Type().IsRegular() {
			names[path.Join(dailylog.Dir(space), e.Name())] = s.logs
		}
	}
	for name, files := range names {
		found, err := files.Inspect(name)
		if err != nil || !found.Exists || !found.Ours {
			continue // missing, or an edit already
		}
		entry, _, err := files.Published(name)
		if err != nil {
			return err
		}
		if entry.Hash != found.Hash {
			if err := files.Drop(name); err != nil {
				return err
			}
		}
	}
	return nil
}
