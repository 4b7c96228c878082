package jsonstore

import (
	"cmp"
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/memsidecar/memsidecar/internal/dailylog"
	"github.com/memsidecar/memsidecar/internal/durable"
	"github.com/memsidecar/memsidecar/internal/legacy"
	"github.com/memsidecar/memsidecar/internal/memory"
	"github.com/memsidecar/memsidecar/internal/publish"
)

// oldMemoryFile is the base name of the memories in the oldest layout.
const oldMemoryFile = "MEMORY.md"

// migratedSuffix is what the name of a file of the oldest layout gets when it was taken over.
const migratedSuffix = ".migrated"

func isMigrated(base string) bool { return strings.Contains(base, ".md"+migratedSuffix) }

// oldFile is a file of the oldest layout.
type oldFile struct {
	name     string
	sum      [sha256.Size]byte
	memories legacy.Memories // of a MEMORY.md
	date     string          // of a log; empty for a MEMORY.md
	log      legacy.Log
	taken    int // memories or entries that went into the store
	known    int // that were in the other files already
}

func (f *oldFile) notes() []legacy.Note {
	if f.date == "" {
		return f.memories.Notes
	}
	return f.log.Notes
}

func (r *reader) oldMemories(s *FoundSpace) {
	name := path.Join(publish.SpaceDir(s.Name), oldMemoryFile)
	info, err := r.fsys.Lstat(name)
	if errors.Is(err, fs.ErrNotExist) {
		return
	}
	if err == nil && !info.Mode().IsRegular() {
		r.found.LeftAlone = append(r.found.LeftAlone, name)
		return
	}
	var data []byte
	if err == nil {
		data, err = durable.ReadFile(r.fsys, name)
	}
	if err != nil {
		r.errs = append(r.errs, fmt.Errorf("%s: %w", name, err))
		return
	}
	written := info.ModTime()
	if written.Year() < 2000 {
		written = time.Time{} // a file from an archive that does not keep times
	}
	s.old = append(s.old, &oldFile{name: name, sum: sha256.Sum256(data), memories: legacy.ReadMemories(data, written, r.loc)})
}

func (r *reader) oldLog(s *FoundSpace, name string) {
	data, err := durable.ReadFile(r.fsys, name)
	if err != nil {
		r.errs = append(r.errs, fmt.Errorf("%s: %w", name, err))
		return
	}
	date, ok := legacy.DateOf(path.Base(name), data)
	if !ok {
		r.found.LeftAlone = append(r.found.LeftAlone, name)
		return
	}
	s.old = append(s.old, &oldFile{name: name, sum: sha256.Sum256(data), date: date, log: legacy.ReadLog(data, date, r.loc)})
}

// LeftOver lists the files of the oldest layout that stand in a directory: what an adoption would take.
func LeftOver(fsys durable.FS) ([]string, error) {
	r := &reader{fsys: fsys, loc: time.UTC}
	var names []string
	spaces := []string{memory.DefaultSpace}
	for _, e := range r.list("spaces") {
		if e.IsDir() && memory.IsSlug(e.Name()) {
			spaces = append(spaces, e.Name())
		}
	}
	for _, space := range spaces {
		if name := path.Join(publish.SpaceDir(space), oldMemoryFile); r.isRegular(name) {
			names = append(names, name)
		}
		for _, e := range r.list(dailylog.Dir(space)) {
			if _, ok := legacy.DateOf(e.Name(), nil); ok && e.Type().IsRegular() && path.Ext(e.Name()) == ".md" {
				names = append(names, path.Join(dailylog.Dir(space), e.Name()))
			}
		}
	}
	return names, errors.Join(r.errs...)
}

func (r *reader) isRegular(name string) bool {
	info, err := r.fsys.Lstat(name)
	return err == nil && info.Mode().IsRegular()
}

// merge adds to a space what only its oldest files hold.
func (a *adoption) merge(s *FoundSpace) error {
	for _, f := range s.old {
		for _, n := range f.notes() {
			detail := n.Detail
			if n.Last > n.First {
				detail = fmt.Sprintf("to line %d: %s", n.Last, detail)
			}
			a.report.Notes = append(a.report.Notes, Note{File: f.name, Line: n.First, Detail: detail})
		}
		if f.date == "" {
			a.mergeMemories(s, f)
		} else {
			mergeLog(s, f)
		}
		to, err := a.migratedName(f.name)
		if err != nil {
			return err
		}
		a.report.Migrated = append(a.report.Migrated, Migrated{From: f.name, To: to})
	}
	return nil
}

func (a *adoption) mergeMemories(s *FoundSpace, f *oldFile) {
	if s.File == nil {
		s.File = &File{Version: Version}
	}
	ids, contents := map[string]bool{}, map[string]bool{}
	for _, m := range s.File.Memories {
		ids[m.ID], contents[memory.Normalize(m.Content)] = true, true
	}
	list := f.memories.Memories
	switch text := f.memories.Summary; {
	case text == "" || text == s.File.RollingSummary:
	case s.File.RollingSummary == "":
		s.File.RollingSummary = text
	default:
		list = append(slices.Clone(list), legacy.SummaryMemories(text, time.Time{})...)
		a.report.Notes = append(a.report.Notes, Note{File: f.name, Detail: Path(s.Name) + " has a rolling summary too; the one here became a memory"})
	}
	for _, m := range list {
		if contents[memory.Normalize(m.Content)] {
			f.known++
			continue
		}
		for ids[m.ID] {
			m.ID += "-v1"
		}
		ids[m.ID] = true
		s.File.Memories = append(s.File.Memories, m)
		f.taken++
	}
}

func mergeLog(s *FoundSpace, f *oldFile) {
	i, ok := slices.BinarySearchFunc(s.Days, f.date, func(d *dailylog.File, date string) int { return cmp.Compare(d.Day.Date, date) })
	if !ok {
		if len(f.log.Entries) == 0 {
			return
		}
		s.Days = slices.Insert(s.Days, i, &dailylog.File{Day: memory.Day{Date: f.date}})
	}
	day := s.Days[i]
	ids, known := map[string]bool{}, map[string]bool{}
	for _, e := range day.Entries {
		ids[e.ID], known[sameEntry(e)] = true, true
	}
	for _, e := range f.log.Entries {
		if known[sameEntry(e)] {
			f.known++
			continue
		}
		for ids[e.ID] {
			e.ID += "-v1"
		}
		ids[e.ID] = true
		day.Entries = append(day.Entries, e)
		f.taken++
	}
	day.Day.Entries = len(day.Entries)
}

// sameEntry is the same for entries of a day that say the same in the same minute.
func sameEntry(e *memory.Entry) string {
	clock := e.Time
	if len(clock) > 5 {
		clock = clock[:5]
	}
	return clock + " " + memory.Normalize(e.Content)
}
