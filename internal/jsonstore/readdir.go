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
	"github.com/memsidecar/memsidecar/internal/memory"
	"github.com/memsidecar/memsidecar/internal/store/durable"
)

// DirContents is what a directory holds that was kept without a journal.
type DirContents struct {
	Spaces  []SpaceFiles
	Ignored []string // files in it that were not read, for example unknown ones in logs/
}

// SpaceFiles is one space of it, as its files say.
type SpaceFiles struct {
	Name string
	File *File            // nil when there is no memory.json
	Days []*dailylog.File // oldest first
	// Archived are the records of logs that were archived.
	Archived []*memory.Archived

	sums     map[string][sha256.Size]byte // of the files that were read, by name
	markdown []*markdownFile              // of the oldest layout, by name
}

// ReadDir reads memory.json and logs/DATE.json at the root and below spaces/, and the files of the first layout,
// MEMORY.md and logs/DATE.md. It changes nothing. Times without a zone are in loc.
//
// Every JSON file must be whole: the error names each one that is not, with line and column. ReadDir never falls
// back to memory.json.bak by itself, but says what that holds.
func ReadDir(fsys durable.FS, loc *time.Location) (DirContents, error) {
	r := &dirReader{fsys: fsys, loc: loc}
	r.space(memory.DefaultSpace)
	for _, e := range r.list("spaces") {
		switch name := e.Name(); {
		case e.IsDir() && memory.IsSlug(name) && len(name) <= memory.MaxSlug && name != memory.DefaultSpace:
			r.space(name)
		default:
			r.contents.Ignored = append(r.contents.Ignored, path.Join("spaces", name))
		}
	}
	return r.contents, errors.Join(r.errs...)
}

// dirReader reads a directory and collects errors, so that a person can repair all files at once.
type dirReader struct {
	fsys     durable.FS
	loc      *time.Location
	contents DirContents
	errs     []error
}

// list reads a directory. A missing one is empty.
func (r *dirReader) list(dir string) []fs.DirEntry {
	entries, err := r.fsys.ReadDir(dir)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		r.errs = append(r.errs, fmt.Errorf("list %s: %w", dir, err))
	}
	return entries
}

// space reads the files of a space.
func (r *dirReader) space(name string) {
	s := SpaceFiles{Name: name, sums: map[string][sha256.Size]byte{}}
	s.File = r.memories(&s)
	r.markdownMemories(&s)
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
			r.markdownLog(&s, file)
		default:
			r.contents.Ignored = append(r.contents.Ignored, file)
		}
	}
	if s.File != nil || len(s.Days)+len(s.markdown)+len(s.Archived) > 0 {
		r.contents.Spaces = append(r.contents.Spaces, s)
	}
}

// exists reports whether there is a file of that name.
func (r *dirReader) exists(name string) bool {
	_, err := r.fsys.Lstat(name)
	return err == nil
}

// memories reads the memory.json of a space, nil when there is none.
func (r *dirReader) memories(s *SpaceFiles) *File {
	name := Path(s.Name)
	bak := name + ".bak"
	data, err := durable.ReadFile(r.fsys, name)
	if errors.Is(err, fs.ErrNotExist) {
		if r.exists(bak) {
			r.errs = append(
				r.errs,
				fmt.Errorf(
					"%s is missing, but %s is there and %s; %s",
					name,
					bak,
					r.describeBackup(bak),
					remedy(name, bak),
				),
			)
		}
		return nil
	}
	var f *File
	if err == nil {
		f, err = Decode(data, r.loc)
	}
	if err != nil {
		if r.exists(bak) && !errors.Is(err, memory.ErrNewerVersion) {
			err = fmt.Errorf("%w; %s %s; %s", err, bak, r.describeBackup(bak), remedy(name, bak))
		}
		r.errs = append(r.errs, fmt.Errorf("%s: %w", name, err))
		return nil
	}
	s.sums[name] = sha256.Sum256(data)
	return f
}

// describeBackup says what is in a backup.
func (r *dirReader) describeBackup(bak string) string {
	data, err := durable.ReadFile(r.fsys, bak)
	if err != nil {
		return "cannot be read"
	}
	f, err := Decode(data, r.loc)
	if err != nil {
		return "is damaged too"
	}
	return fmt.Sprintf(
		"is whole, with %d memories, last updated %s",
		len(f.Memories),
		f.LastUpdated.Format(time.RFC3339),
	)
}

// remedy says what a person can do about a broken file that has a backup.
func remedy(name, bak string) string {
	return fmt.Sprintf("repair %s, or rename %s to it, and start again", name, bak)
}

// day reads a daily log.
func (r *dirReader) day(s *SpaceFiles, file, date string) *dailylog.File {
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

// archive reads the index of archived logs. The numbers of operations in it belong to a journal that is gone.
func (r *dirReader) archive(s *SpaceFiles, file string) []*memory.Archived {
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
