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
	"github.com/memsidecar/memsidecar/internal/memory"
	"github.com/memsidecar/memsidecar/internal/publish"
	"github.com/memsidecar/memsidecar/internal/store"
	"github.com/memsidecar/memsidecar/internal/store/durable"
	"github.com/memsidecar/memsidecar/internal/store/journal"
)

// Report says what an adoption did.
type Report struct {
	Spaces      []string
	Memories    int
	Days        int
	Entries     int
	Notes       []Note   // what was not adopted exactly as it was written
	Quarantined []string // copies in quarantine/ of the files that have notes
	Ignored     []string // files that were found and not read
	Migrated    []Migrated
}

// Note is one thing in a file that was not adopted exactly as it was written.
type Note struct {
	File   string
	Line   int // 0 when the detail says where
	Detail string
}

// Unfinished reports whether a crash interrupted an adoption. Then Adopt must be called again before anything else
// is written.
func Unfinished(fsys durable.FS) (bool, error) {
	_, err := fsys.Lstat(markerName)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	return err == nil, err
}

// Adopt stores the contents of a directory that was kept without a journal: every space by one operation of actor
// adopt, or several when it is large. Call it when the journal is new, or Unfinished, before the publishers run.
// What is in the store already is not stored again, so it may be repeated after any error or crash.
//
// Each memory.json is copied to memory.json.orig first, and stays there as it was. Nothing is journaled unless every
// file is whole (see ReadDir). A file with something that cannot be adopted as it is, is copied to quarantine/ first.
// Files of the first layout are renamed to NAME.migrated once everything in them is durable; where they contradict the
// others, the others win. ReportName lists what was done. Durable on return.
//
// A crash leaves the marker file. Before the renames begin, the adoption starts again: operations carry an
// idempotency key, so none is applied twice. Once the marker lists the renames, only those are left to do.
func Adopt(ctx context.Context, st *store.Store, fsys durable.FS, loc *time.Location) (Report, error) {
	if renames, err := readMarker(fsys); err != nil {
		return Report{}, err
	} else if len(renames) > 0 {
		a := &adoption{fsys: fsys, report: Report{Migrated: renames}} // everything was taken and reported before the crash
		return a.report, a.rename(renames)
	}
	found, err := ReadDir(fsys, loc)
	if err != nil {
		return Report{}, fmt.Errorf("adopt the files found: %w", err)
	}
	a := &adoption{fsys: fsys, report: Report{Ignored: found.Ignored}}
	if len(found.Spaces) == 0 {
		return a.report, a.removeMarker()
	}
	for i := range found.Spaces {
		if err := a.sanitize(&found.Spaces[i], loc); err != nil {
			return Report{}, fmt.Errorf("adopt the files found: %w", err)
		}
	}
	if err := a.quarantine(found.Spaces); err != nil {
		return Report{}, fmt.Errorf("adopt the files found: %w", err)
	}
	if err := a.keepOriginals(found.Spaces); err != nil {
		return Report{}, fmt.Errorf("adopt the files found: %w", err)
	}
	if err := a.writeMarker(nil); err != nil {
		return Report{}, fmt.Errorf("adopt the files found: %w", err)
	}
	for i := range found.Spaces {
		if err := a.adoptSpace(ctx, st, &found.Spaces[i]); err != nil {
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
		return a.report, a.removeMarker()
	}
	if err := a.writeMarker(a.report.Migrated); err != nil {
		return a.report, fmt.Errorf("adopt the files found: %w", err)
	}
	return a.report, a.rename(a.report.Migrated)
}

// adoption is one adoption in progress.
type adoption struct {
	fsys   durable.FS
	report Report
}

// sanitize brings a space within the limits, adds what only the files of the first layout hold, and refuses what is
// outside the limits even so.
func (a *adoption) sanitize(s *SpaceFiles, loc *time.Location) error {
	var check memory.Check
	if s.File != nil {
		a.note(Path(s.Name), s.File.Sanitize())
	}
	for _, day := range s.Days {
		a.note(dailylog.Path(s.Name, day.Day.Date), append(SanitizeLog(day), day.Complete(loc)...))
	}
	if err := a.mergeMarkdown(s); err != nil {
		return err
	}
	if s.File != nil {
		t := &sanitizer{}
		for i, m := range s.File.Memories {
			t.where = fmt.Sprintf("memories[%d]", i)
			t.times(m) // of what the first layout added
			check.Memory(fmt.Sprintf("%s: memories[%d].", Path(s.Name), i), m)
		}
		a.note(Path(s.Name), t.notes)
	}
	for _, day := range s.Days {
		name := dailylog.Path(s.Name, day.Day.Date)
		for i, e := range day.Entries {
			check.Entry(fmt.Sprintf("%s: entries[%d].", name, i), e)
		}
	}
	return check.Err()
}

// note adds what was changed in a file to the report.
func (a *adoption) note(file string, details []string) {
	for _, d := range details {
		a.report.Notes = append(a.report.Notes, Note{File: file, Detail: d})
	}
}

// quarantine copies the files that have notes.
func (a *adoption) quarantine(spaces []SpaceFiles) error {
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
			dest, _, err := publish.Quarantine(a.fsys, name, hex.EncodeToString(sum[:]), fmt.Sprintf(
				"%s was adopted into the store, but some of it had to be left out or changed:\n\n- %s\n\n"+
					"This is the file as it was. When nothing in it is needed any more, delete it and this text; memsidecar never does.\n",
				name,
				strings.Join(details[name], "\n- "),
			))
			if err != nil {
				return err
			}
			a.report.Quarantined = append(a.report.Quarantined, dest)
		}
	}
	return nil
}

// adoptSpace stores the contents of a space, in operations of bounded size.
func (a *adoption) adoptSpace(ctx context.Context, st *store.Store, s *SpaceFiles) error {
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
		batch := nextBatch(steps)
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

// fingerprint identifies the files of a space: a repeated adoption of the same files uses the same idempotency
// keys.
func fingerprint(s *SpaceFiles) string {
	sum := sha256.New()
	for _, name := range slices.Sorted(maps.Keys(s.sums)) {
		of := s.sums[name]
		fmt.Fprintf(sum, "%s\x00%x\n", name, of)
	}
	for _, f := range s.markdown {
		fmt.Fprintf(sum, "%s\x00%x\n", f.name, f.sum)
	}
	return hex.EncodeToString(sum.Sum(nil)[:12])
}

// claim lets the publishers replace what was adopted.
func (a *adoption) claim(spaces []SpaceFiles) error {
	sums := map[string][sha256.Size]byte{}
	for _, s := range spaces {
		maps.Copy(sums, s.sums)
	}
	return Claim(a.fsys, sums)
}

// Claim lets the publishers replace files of the published layout, given by name and hash: their contents are in
// the store. It is for the time before the publishers run. Durable on return.
func Claim(fsys durable.FS, sums map[string][sha256.Size]byte) error {
	memories, logs := map[string][sha256.Size]byte{}, map[string][sha256.Size]byte{}
	for name, sum := range sums {
		if path.Base(name) == FileName {
			memories[name] = sum
		} else {
			logs[name] = sum
		}
	}
	if err := publish.Claim(fsys, manifest, memories); err != nil {
		return err
	}
	return publish.Claim(fsys, dailylog.Manifest, logs)
}

// removeMarker ends the adoption.
func (a *adoption) removeMarker() error {
	switch err := a.fsys.Remove(markerName); {
	case errors.Is(err, fs.ErrNotExist):
		return nil
	case err != nil:
		return fmt.Errorf("end the adoption: %w", err)
	}
	return a.fsys.SyncDir(".")
}
