package jsonstore

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"strings"
	"time"

	"github.com/memsidecar/memsidecar/internal/dailylog"
	"github.com/memsidecar/memsidecar/internal/durable"
	"github.com/memsidecar/memsidecar/internal/memory"
)

// Found is what a directory holds that was kept without a journal.
type Found struct {
	Spaces    []FoundSpace
	LeftAlone []string // files in it that were not read, for example unknown ones in logs/
}

// FoundSpace is one space of it, as it stands in the files.
type FoundSpace struct {
	Name string
	File *File            // nil when there is no memory.json
	Days []*dailylog.File // oldest first
	// Archived are the records of logs that were archived.
	Archived []*memory.Archived

	sums map[string][sha256.Size]byte // of the files that were read, by name
	old  []*oldFile                   // of the oldest layout, by name
}

// ReadDir reads memory.json and logs/DATE.json at the root and below spaces/, and the files of the oldest layout, MEMORY.md and
// logs/DATE.md. It changes nothing. Times without a zone are times in loc.
//
// Every JSON file must be whole: the error names each one that is not, with line and column. It never falls back to memory.json.bak by
// itself, but says what that holds.
func ReadDir(fsys durable.FS, loc *time.Location) (Found, error) {
	r := &reader{fsys: fsys, loc: loc}
	r.space(memory.DefaultSpace)
	for _, e := range r.list("spaces") {
		switch name := e.Name(); {
		case e.IsDir() && memory.IsSlug(name) && len(name) <= memory.MaxSlug && name != memory.DefaultSpace:
			r.space(name)
		default:
			r.found.LeftAlone = append(r.found.LeftAlone, path.Join("spaces", name))
		}
	}
	return r.found, errors.Join(r.errs...)
}

type reader struct {
	fsys  durable.FS
	loc   *time.Location
	found Found
	errs  []error
}

func (r *reader) list(dir string) []fs.DirEntry {
	entries, err := r.fsys.ReadDir(dir)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		r.errs = append(r.errs, fmt.Errorf("list %s: %w", dir, err))
	}
	return entries
}

func (r *reader) space(name string) {
	s := FoundSpace{Name: name, sums: map[string][sha256.Size]byte{}}
	s.File = r.memories(&s)
	r.oldMemories(&s)
	for _, e := range r.list(dailylog.Dir(name)) {
		file := path.Join(dailylog.Dir(name), e.Name())
		date, ok := dailylog.DateOf(e.Name())
		switch {
		case ok && e.Type().IsRegular():
			if day := r.day(&s, file, date); day != nil {
				s.Days = append(s.Days, day)
			}
		case e.Name() == dailylog.ArchiveName && e.Type().IsRegular():
			s.Archived = r.archive(&s, file)
		case isMigrated(e.Name()):
		case strings.HasSuffix(e.Name(), ".md") && e.Type().IsRegular():
			r.oldLog(&s, file)
		default:
			r.found.LeftAlone = append(r.found.LeftAlone, file)
		}
	}
	if s.File != nil || len(s.Days)+len(s.old)+len(s.Archived) > 0 {
		r.found.Spaces = append(r.found.Spaces, s)
	}
}

func (r *reader) exists(name string) bool {
	_, err := r.fsys.Lstat(name)
	return err == nil
}

func (r *reader) memories(s *FoundSpace) *File {
	name := Path(s.Name)
	bak := name + ".bak"
	data, err := durable.ReadFile(r.fsys, name)
	if errors.Is(err, fs.ErrNotExist) {
		if r.exists(bak) {
			r.errs = append(r.errs, fmt.Errorf("%s is missing, but %s is there and %s; %s", name, bak, r.holds(bak), remedy(name, bak)))
		}
		return nil
	}
	var f *File
	if err == nil {
		f, err = Decode(data, r.loc)
	}
	if err != nil {
		if r.exists(bak) && !errors.Is(err, memory.ErrNewerVersion) {
			err = fmt.Errorf("%w; %s %s; %s", err, bak, r.holds(bak), remedy(name, bak))
		}
		r.errs = append(r.errs, fmt.Errorf("%s: %w", name, err))
		return nil
	}
	s.sums[name] = sha256.Sum256(data)
	return f
}

// holds says what is in a backup.
func (r *reader) holds(bak string) string {
	data, err := durable.ReadFile(r.fsys, bak)
	if err != nil {
		return "cannot be read"
	}
	f, err := Decode(data, r.loc)
	if err != nil {
		return "is damaged too"
	}
	return fmt.Sprintf("is whole, with %d memories, last updated %s", len(f.Memories), f.LastUpdated.Format(time.RFC3339))
}

func remedy(name, bak string) string {
	return fmt.Sprintf("mend %s, or rename %s to it, and start again", name, bak)
}

func (r *reader) day(s *FoundSpace, file, date string) *dailylog.File {
	data, err := durable.ReadFile(r.fsys, file)
	var f *dailylog.File
	if err == nil {
		f, err = dailylog.Decode(data, r.loc)
	}
	if err == nil && f.Day.Date != date {
		err = fmt.Errorf("says that it is the log of %q", f.Day.Date)
	}
	if err != nil {
		r.errs = append(r.errs, fmt.Errorf("%s: %w", file, err))
		return nil
	}
	s.sums[file] = sha256.Sum256(data)
	return f
}

// archive reads the index of archived logs. The numbers of operations in it are those of a journal that is not there any more.
func (r *reader) archive(s *FoundSpace, file string) []*memory.Archived {
	data, err := durable.ReadFile(r.fsys, file)
	var a *dailylog.Archive
	if err == nil {
		a, err = dailylog.DecodeArchive(data, r.loc)
	}
	if err != nil {
		r.errs = append(r.errs, fmt.Errorf("%s: %w", file, err))
		return nil
	}
	s.sums[file] = sha256.Sum256(data)
	for _, l := range a.Logs {
		l.Op, l.DeletedOp = 0, 0
	}
	return a.Logs
}
