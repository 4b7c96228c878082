package store

import (
	"encoding/json"
	"errors"
	"io"

	"github.com/memsidecar/memsidecar/internal/store/durable"
	"github.com/memsidecar/memsidecar/internal/store/journal"
)

// Finding is one defect of a data directory.
type Finding struct {
	File   string
	Line   int // 0 when the whole file is meant
	Detail string
}

// Report is the result of Check. Without findings it describes what the directory holds.
type Report struct {
	Findings []Finding
	LSN      int64 // newest whole record
	Spaces   int
	Memories int    // in any state
	Logs     int    // daily logs
	Sessions int    // known sessions
	Digest   string // hash of the whole state: equal for two stores that hold the same
}

// Check reads a whole data directory: every line of the journal, every file of the newest snapshot, and the state they
// add up to. It changes nothing and needs no daemon. Beside a running daemon it may see a half-written group.
func Check(fsys durable.FS) (Report, error) {
	var report Report
	if err := refuseIncomplete(fsys, RestoringFile, RepairingFile); err != nil {
		return report, err
	}
	m, err := readManifest(fsys, manifestFile)
	if report.add(err) != nil {
		return report, err
	}
	proofs, err := collectProofs(fsys)
	if err != nil {
		return report, err
	}
	// All damage of the journal is listed before the state is built, which stops at the first.
	damaged, err := journal.Check(fsys, m.Store, m.LSN, proofs...)
	if err != nil {
		return report, err
	}
	for _, c := range damaged {
		report.Findings = append(report.Findings, Finding(*c))
	}
	view := &Store{fs: fsys, visible: newVisible()}
	view.snapshots.bodyFiles = map[string][]string{}
	in, err := readPurgeIntent(fsys)
	if err != nil {
		return report, err
	}
	if in != nil {
		// A purge that a crash interrupted: its text is expected in the files until the next start finishes it.
		view.scrubber = newScrubber(in)
	}
	before := len(report.Findings)
	if err := report.add(view.load(m)); err != nil || len(report.Findings) > before {
		return report, err
	}
	if err := report.bodies(view); err != nil || len(report.Findings) > 0 {
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

// add turns a *journal.CorruptError into a finding and returns any other error.
func (r *Report) add(err error) error {
	if c, ok := errors.AsType[*journal.CorruptError](err); ok {
		r.Findings = append(r.Findings, Finding(*c))
		return nil
	}
	return err
}

// describe counts what the store holds and computes its digest.
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

// Dump writes the records of the journal from LSN from on, one JSON object per line, with the parts of long operations
// joined.
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
