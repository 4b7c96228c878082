package jsonstore

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/memsidecar/memsidecar/internal/dailylog"
	"github.com/memsidecar/memsidecar/internal/durable"
	"github.com/memsidecar/memsidecar/internal/journal"
	"github.com/memsidecar/memsidecar/internal/memory"
	"github.com/memsidecar/memsidecar/internal/publish"
	"github.com/memsidecar/memsidecar/internal/store"
)

// Report says what an adoption did.
type Report struct {
	Spaces    []string
	Memories  int
	Days      int
	Entries   int
	Notes     []Note   // what was not taken over exactly as it stood
	Kept      []string // copies in quarantine/ of the files that have notes
	LeftAlone []string // files that were found and not read
	Migrated  []Migrated
}

// Note is one thing in a file that was not taken over exactly as it stood.
type Note struct {
	File   string
	Line   int // 0 when the detail says where
	Detail string
}

// Unfinished reports whether an adoption was interrupted by a crash. Then Adopt must be called again, before anything else is written.
func Unfinished(fsys durable.FS) (bool, error) {
	_, err := fsys.Lstat(adopting)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	return err == nil, err
}

// Adopt takes the files of a directory that was kept without a journal into the store: every space by one operation of
// actor adopt, or several when it is large. It is to be called when the journal is new, or Unfinished, before the
// publishers run. What is in the store already is not taken twice, so it may be called again after any error or crash.
//
// Nothing is journaled unless every file is whole (see ReadDir). A file with something that could not be taken
// over as it stood is copied to quarantine/ first. Files of the oldest layout are renamed to NAME.migrated when everything in them is
// durable; where they say what the others say too, the others have the word. What was done is written to ReportName. Durable on return.
func Adopt(ctx context.Context, st *store.Store, fsys durable.FS, loc *time.Location) (Report, error) {
	if renames, err := readMark(fsys); err != nil {
		return Report{}, err
	} else if len(renames) > 0 {
		a := &adoption{fsys: fsys, report: Report{Migrated: renames}} // everything was taken and reported before the crash
		return a.report, a.rename(renames)
	}
	found, err := ReadDir(fsys, loc)
	if err != nil {
		return Report{}, fmt.Errorf("adopt the files found: %w", err)
	}
	a := &adoption{fsys: fsys, report: Report{LeftAlone: found.LeftAlone}}
	if len(found.Spaces) == 0 {
		return a.report, a.finish()
	}
	for i := range found.Spaces {
		if err := a.tidy(&found.Spaces[i], loc); err != nil {
			return Report{}, fmt.Errorf("adopt the files found: %w", err)
		}
	}
	if err := a.keepAside(found.Spaces); err != nil {
		return Report{}, fmt.Errorf("adopt the files found: %w", err)
	}
	if err := a.mark(nil); err != nil {
		return Report{}, fmt.Errorf("adopt the files found: %w", err)
	}
	for i := range found.Spaces {
		if err := a.space(ctx, st, &found.Spaces[i]); err != nil {
			return a.report, fmt.Errorf("adopt space %s: %w", found.Spaces[i].Name, err)
		}
	}
	if err := a.claim(found.Spaces); err != nil {
		return a.report, fmt.Errorf("adopt the files found: %w", err)
	}
	if err := a.writeReport(found.Spaces); err != nil {
		return a.report, fmt.Errorf("report on the adoption: %w", err)
	}
	if len(a.report.Migrated) == 0 {
		return a.report, a.finish()
	}
	if err := a.mark(a.report.Migrated); err != nil {
		return a.report, fmt.Errorf("adopt the files found: %w", err)
	}
	return a.report, a.rename(a.report.Migrated)
}

type adoption struct {
	fsys   durable.FS
	report Report
}

// tidy brings a space within the limits, adds what only the oldest files hold, and refuses what is outside the limits even so.
func (a *adoption) tidy(s *FoundSpace, loc *time.Location) error {
	var check memory.Check
	if s.File != nil {
		a.note(Path(s.Name), s.File.Tidy())
	}
	for _, day := range s.Days {
		a.note(dailylog.Path(s.Name, day.Day.Date), append(tidyLog(day), day.Complete(loc)...))
	}
	if err := a.merge(s); err != nil {
		return err
	}
	if s.File != nil {
		for i, m := range s.File.Memories {
			check.Memory(fmt.Sprintf("%s: memories[%d].", Path(s.Name), i), m)
		}
	}
	for _, day := range s.Days {
		name := dailylog.Path(s.Name, day.Day.Date)
		for i, e := range day.Entries {
			check.Entry(fmt.Sprintf("%s: entries[%d].", name, i), e)
		}
	}
	return check.Err()
}

func (a *adoption) note(file string, details []string) {
	for _, d := range details {
		a.report.Notes = append(a.report.Notes, Note{File: file, Detail: d})
	}
}

// keepAside copies the files that have notes.
func (a *adoption) keepAside(spaces []FoundSpace) error {
	details := map[string][]string{}
	for _, n := range a.report.Notes {
		details[n.File] = append(details[n.File], n.Detail)
	}
	for _, s := range spaces {
		for _, name := range slices.Sorted(maps.Keys(s.sums)) {
			if details[name] == nil {
				continue
			}
			sum := s.sums[name]
			dest, _, err := publish.Keep(a.fsys, name, hex.EncodeToString(sum[:]), fmt.Sprintf(
				"%s was adopted into the store, but not everything in it could be taken over as it stood:\n\n- %s\n\n"+
					"This is the file as it was. When nothing in it is needed any more, delete it and this text; memsidecar never does.\n",
				name, strings.Join(details[name], "\n- ")))
			if err != nil {
				return err
			}
			a.report.Kept = append(a.report.Kept, dest)
		}
	}
	return nil
}

func (a *adoption) space(ctx context.Context, st *store.Store, s *FoundSpace) error {
	steps := memorySteps(s.File)
	for _, day := range s.Days {
		steps = append(steps, dayStep(day))
		a.report.Days++
		a.report.Entries += len(day.Entries)
	}
	for _, r := range s.Archived {
		steps = append(steps, step{items: 1, bytes: len(r.Summary) + 256, do: func(tx *store.Tx) error {
			tx.PutArchived(r)
			return nil
		}})
	}
	if s.File != nil {
		a.report.Memories += len(s.File.Memories)
	}
	a.report.Spaces = append(a.report.Spaces, s.Name)
	id := fingerprint(s)
	for n := 0; len(steps) > 0; n++ {
		batch := cut(steps)
		steps = steps[len(batch):]
		meta := store.Meta{
			Space: s.Name, Actor: journal.ActorAdopt, Reason: "files found in the data directory",
			Key: fmt.Sprintf("adopt:%d:%s", n, id), Request: []byte(id),
		}
		_, err := st.Update(ctx, meta, func(tx *store.Tx) error {
			for _, p := range batch {
				if err := p.do(tx); err != nil {
					return err
				}
			}
			return nil
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// fingerprint identifies the files of a space.
func fingerprint(s *FoundSpace) string {
	sum := sha256.New()
	for _, name := range slices.Sorted(maps.Keys(s.sums)) {
		of := s.sums[name]
		fmt.Fprintf(sum, "%s\x00%x\n", name, of)
	}
	for _, f := range s.old {
		fmt.Fprintf(sum, "%s\x00%x\n", f.name, f.sum)
	}
	return hex.EncodeToString(sum.Sum(nil)[:12])
}

// claim lets the publishers replace what was adopted.
func (a *adoption) claim(spaces []FoundSpace) error {
	sums := map[string][sha256.Size]byte{}
	for _, s := range spaces {
		maps.Copy(sums, s.sums)
	}
	return Claim(a.fsys, sums)
}

// Claim lets the publishers replace files of the published layout, given by name and hash: what they hold is in the store. It is for the time before
// the publishers run. Durable on return.
func Claim(fsys durable.FS, sums map[string][sha256.Size]byte) error {
	memories, logs := map[string][sha256.Size]byte{}, map[string][sha256.Size]byte{}
	for name, sum := range sums {
		if path.Base(name) == FileName {
			memories[name] = sum
		} else {
			logs[name] = sum
		}
	}
	if err := publish.Claim(fsys, ledger, memories); err != nil {
		return err
	}
	return publish.Claim(fsys, dailylog.Ledger, logs)
}

func (a *adoption) finish() error {
	switch err := a.fsys.Remove(adopting); {
	case errors.Is(err, fs.ErrNotExist):
		return nil
	case err != nil:
		return fmt.Errorf("end the adoption: %w", err)
	}
	return a.fsys.SyncDir(".")
}
