package store

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"sync"

	"github.com/memsidecar/memsidecar/internal/memory"
	"github.com/memsidecar/memsidecar/internal/store/durable"
	"github.com/memsidecar/memsidecar/internal/store/journal"
)

// The body of a log in a snapshot is read when somebody asks for the log, or when the next snapshot adds to it. So damage
// of it shows late: what is appended meanwhile stays in the journal, and no snapshot can be taken any more. The first
// append to a log therefore looks at the body.

// checkedBodies remembers the bodies that were looked at, by space and date of the log. It is safe for concurrent use;
// the zero value is ready.
type checkedBodies struct {
	mu   sync.Mutex
	logs map[string]checkedBody // guarded by mu
}

// checkedBody is what was found out about a file of a snapshot, which never changes.
type checkedBody struct {
	file string
	err  error // nil when it is whole
}

// result returns what was found out about the body of a log, unless it is in another file by now.
func (c *checkedBodies) result(log, file string) (found checkedBody, known bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	found = c.logs[log]
	return found, found.file == file
}

// record remembers a result.
func (c *checkedBodies) record(log string, found checkedBody) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.logs == nil {
		c.logs = map[string]checkedBody{}
	}
	c.logs[log] = found
}

// checkLog returns an error that is a memory.ErrCorrupt when the body of a daily log in the snapshot is damaged. It
// reads a file once a run and snapshot.
func (s *Store) checkLog(space, date string) error {
	for range 3 { // a snapshot may move the body meanwhile
		var b body
		s.mu.RLock()
		if d := s.visible.space(space).days[date]; d != nil {
			b = d.body
		}
		s.mu.RUnlock()
		if b.file == "" {
			return nil
		}
		log := space + "/" + date
		if found, known := s.checked.result(log, b.file); known {
			return found.err
		}
		err := checkBody(s.fs, &b)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			err = fmt.Errorf("the log of %s cannot be added to: %w; stop the daemon and run `memsidecar daemon repair`", date,
				err)
		}
		if err == nil || errors.Is(err, memory.ErrCorrupt) {
			s.checked.record(log, checkedBody{b.file, err})
		}
		return err
	}
	return nil // it is moved again and again, so it was just read
}

// checkBody reads the file of a body, if it has one, and verifies its checksums. Errors: *journal.CorruptError, those of
// the file system.
func checkBody(fsys durable.FS, b *body) error {
	if b.file == "" {
		return nil
	}
	data, err := readSnapshotFile(fsys, b.file)
	if err != nil {
		return err
	}
	header := new(bodyHeader)
	_, err = parseLines(b.file, data, header, &header.Format, func() int { return b.items })
	return err
}

// DamagedLogs reads the body of every daily log in the newest snapshot and returns a finding for each that is damaged,
// in the order of spaces and dates. Errors are those of the file system.
func (s *Store) DamagedLogs() (list []Finding, err error) {
	for _, space := range s.Spaces() {
		for _, day := range s.Space(space).Days() {
			err := s.checkLog(space, day.Date)
			if c, ok := errors.AsType[*journal.CorruptError](err); ok {
				list = append(list, Finding{File: c.File, Line: c.Line,
					Detail: fmt.Sprintf("the log of %s in space %s: %s", day.Date, space, c.Detail)})
			} else if err != nil {
				return list, err
			}
		}
	}
	return list, nil
}

// bodies lists every damaged body of the snapshot: the digest, which comes later, stops at the first.
func (r *Report) bodies(s *Store) error {
	for _, name := range s.Spaces() {
		sp := s.visible.space(name)
		for _, header := range sp.dayHeaders() {
			if err := r.body(s, &sp.days[header.Date].body, "the log of "+header.Date+" in space "+name); err != nil {
				return err
			}
		}
		for _, header := range sp.sessionHeaders() {
			if err := r.body(s, &sp.sessions[header.ID].body, "a session in space "+name); err != nil {
				return err
			}
		}
	}
	slices.SortStableFunc(r.Findings, func(a, b Finding) int { return cmp.Compare(a.File, b.File) })
	return nil
}

// body adds a finding when a body is damaged. whose says what it is the body of.
func (r *Report) body(s *Store, b *body, whose string) error {
	err := checkBody(s.fs, b)
	if c, ok := errors.AsType[*journal.CorruptError](err); ok {
		r.Findings = append(r.Findings, Finding{File: c.File, Line: c.Line, Detail: whose + ": " + c.Detail})
		return nil
	}
	return err
}
