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
	"github.com/memsidecar/memsidecar/internal/jsonstore/markdownv1"
	"github.com/memsidecar/memsidecar/internal/memory"
	"github.com/memsidecar/memsidecar/internal/publish"
	"github.com/memsidecar/memsidecar/internal/store/durable"
)

// markdownName is the base name of the memories in the first layout.
const markdownName = "MEMORY.md"

// migratedSuffix is appended to the name of an adopted file of the first layout.
const migratedSuffix = ".migrated"

// isMigrated reports whether a file of the first layout was adopted before.
func isMigrated(base string) bool { return strings.Contains(base, ".md"+migratedSuffix) }

// markdownFile is a file of the first layout.
type markdownFile struct {
	name       string
	sum        [sha256.Size]byte
	memories   markdownv1.Memories // of a MEMORY.md
	date       string              // of a log; empty for a MEMORY.md
	log        markdownv1.Log
	adopted    int // memories or entries that went into the store
	duplicates int // that were in the other files already
}

// notes lists what was not read as it was written.
func (f *markdownFile) notes() []markdownv1.Note {
	if f.date == "" {
		return f.memories.Notes
	}
	return f.log.Notes
}

// markdownMemories reads the MEMORY.md of a space.
func (r *dirReader) markdownMemories(s *SpaceFiles) {
	name := path.Join(publish.SpaceDir(s.Name), markdownName)
	info, err := r.fsys.Lstat(name)
	if errors.Is(err, fs.ErrNotExist) {
		return
	}
	if err == nil && !info.Mode().IsRegular() {
		r.contents.Ignored = append(r.contents.Ignored, name)
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
	s.markdown = append(
		s.markdown,
		&markdownFile{name: name, sum: sha256.Sum256(data), memories: markdownv1.ReadMemories(data, written, r.loc)},
	)
}

// markdownLog reads a logs/DATE.md of a space.
func (r *dirReader) markdownLog(s *SpaceFiles, name string) {
	data, err := durable.ReadFile(r.fsys, name)
	if err != nil {
		r.errs = append(r.errs, fmt.Errorf("%s: %w", name, err))
		return
	}
	date, ok := markdownv1.DateOf(path.Base(name), data)
	if !ok {
		r.contents.Ignored = append(r.contents.Ignored, name)
		return
	}
	s.markdown = append(
		s.markdown,
		&markdownFile{name: name, sum: sha256.Sum256(data), date: date, log: markdownv1.ReadLog(data, date, r.loc)},
	)
}

// MarkdownFiles lists the files of the first layout in a directory: what an adoption would read.
func MarkdownFiles(fsys durable.FS) ([]string, error) {
	r := &dirReader{fsys: fsys, loc: time.UTC}
	var names []string
	spaces := []string{memory.DefaultSpace}
	for _, e := range r.list("spaces") {
		if e.IsDir() && memory.IsSlug(e.Name()) {
			spaces = append(spaces, e.Name())
		}
	}
	for _, space := range spaces {
		if name := path.Join(publish.SpaceDir(space), markdownName); r.isRegular(name) {
			names = append(names, name)
		}
		for _, e := range r.list(dailylog.Dir(space)) {
			if _, ok := markdownv1.DateOf(e.Name(), nil); ok && e.Type().IsRegular() && path.Ext(e.Name()) == ".md" {
				names = append(names, path.Join(dailylog.Dir(space), e.Name()))
			}
		}
	}
	return names, errors.Join(r.errs...)
}

// isRegular reports whether name is a regular file.
func (r *dirReader) isRegular(name string) bool {
	info, err := r.fsys.Lstat(name)
	return err == nil && info.Mode().IsRegular()
}

// mergeMarkdown adds to a space what only its files of the first layout hold.
func (a *adoption) mergeMarkdown(s *SpaceFiles) error {
	for _, f := range s.markdown {
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

// mergeMemories adds the memories whose text the memory.json lacks.
func (a *adoption) mergeMemories(s *SpaceFiles, f *markdownFile) {
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
		list = append(slices.Clone(list), markdownv1.SummaryMemories(text, time.Time{})...)
		a.report.Notes = append(
			a.report.Notes,
			Note{File: f.name, Detail: Path(s.Name) + " has a rolling summary too; the one here became a memory"},
		)
	}
	for _, m := range list {
		if contents[memory.Normalize(m.Content)] {
			f.duplicates++
			continue
		}
		for ids[m.ID] {
			m.ID += "-v1"
		}
		ids[m.ID] = true
		s.File.Memories = append(s.File.Memories, m)
		f.adopted++
	}
}

// mergeLog adds the entries that the day's JSON log lacks.
func mergeLog(s *SpaceFiles, f *markdownFile) {
	i, ok := slices.BinarySearchFunc(
		s.Days,
		f.date,
		func(d *dailylog.File, date string) int { return cmp.Compare(d.Day.Date, date) },
	)
	if !ok {
		if len(f.log.Entries) == 0 {
			return
		}
		s.Days = slices.Insert(s.Days, i, &dailylog.File{Day: memory.Day{Date: f.date}})
	}
	day := s.Days[i]
	ids, known := map[string]bool{}, map[string]bool{}
	for _, e := range day.Entries {
		ids[e.ID], known[minuteAndText(e)] = true, true
	}
	for _, e := range f.log.Entries {
		if known[minuteAndText(e)] {
			f.duplicates++
			continue
		}
		for ids[e.ID] {
			e.ID += "-v1"
		}
		ids[e.ID] = true
		day.Entries = append(day.Entries, e)
		f.adopted++
	}
	day.Day.Entries = len(day.Entries)
}

// minuteAndText is equal for entries of a day with the same text in the same minute: the first layout has no
// seconds.
func minuteAndText(e *memory.Entry) string {
	clock := e.Time
	if len(clock) > 5 {
		clock = clock[:5]
	}
	return clock + " " + memory.Normalize(e.Content)
}
