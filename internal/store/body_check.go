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

// The body of a log or session in a snapshot is read when somebody asks for it, or when the next snapshot adds to it.
// So damage of it shows late: what is appended meanwhile stays in the journal, and no snapshot can be taken any more.
// The first append therefore looks at the body.

// bodyOf names a body: that of a daily log by space and date, or that of a session by space and id.
type bodyOf struct{ space, date, session string }

// String is the body's name in the messages for people.
func (o bodyOf) String() string {
	if o.session != "" {
		return "session " + o.session
	}
	return "the log of " + o.date
}

// find returns the body in the state of its space, nil when there is none.
func (o bodyOf) find(sp *spaceState) *body {
	if o.session != "" {
		if d := sp.sessions[o.session]; d != nil {
			return &d.body
		}
	} else if d := sp.days[o.date]; d != nil {
		return &d.body
	}
	return nil
}

// checkedBodies remembers the bodies that were looked at. It is safe for concurrent use; the zero value is ready.
type checkedBodies struct {
	mu    sync.Mutex
	found map[bodyOf]checkedBody // guarded by mu
}

// checkedBody is what was found out about a file of a snapshot, which never changes.
type checkedBody struct {
	file string
	err  error // nil when it is whole
}

// result returns what was found out about a body, unless it is in another file by now.
func (c *checkedBodies) result(of bodyOf, file string) (found checkedBody, known bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	found = c.found[of]
	return found, found.file == file
}

// record remembers a result.
func (c *checkedBodies) record(of bodyOf, found checkedBody) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.found == nil {
		c.found = map[bodyOf]checkedBody{}
	}
	c.found[of] = found
}

// checkAppend returns an error that is a memory.ErrCorrupt when what the snapshot holds of a body is damaged. It reads
// a file once a run and snapshot.
func (s *Store) checkAppend(of bodyOf) error {
	for range 3 { // a snapshot may move the body meanwhile
		var b body
		s.mu.RLock()
		if found := of.find(s.visible.space(of.space)); found != nil {
			b = *found
		}
		s.mu.RUnlock()
		if b.file == "" {
			return nil
		}
		if found, known := s.checked.result(of, b.file); known {
			return found.err
		}
		err := checkBody(s.fs, &b)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			err = fmt.Errorf("%s cannot be added to: %w; stop the daemon and run `memsidecar daemon repair`", of, err)
		}
		if err == nil || errors.Is(err, memory.ErrCorrupt) {
			s.checked.record(of, checkedBody{b.file, err})
		}
		return err
	}
	return nil // it is moved again and again, so it was just read
}

// checkBody reads the file of a body, if it has one, and verifies its checksums. Errors: *journal.CorruptError, those
// of the file system.
func checkBody(fsys durable.FS, b *body) error {
	if b.file == "" {
		return nil
	}
	data, err := readSnapshotFile(fsys, b.file)
	if err != nil {
		return err
	}
	header := new(bodyHeader)
	_, err = parseLines(b.file, linesOf(data), header, &header.Format, func() int { return b.items })
	return err
}

// DamagedLogs reads the body of every daily log in the newest snapshot and returns a finding for each that is damaged,
// in the order of spaces and dates. Errors are those of the file system.
func (s *Store) DamagedLogs() (list []Finding, err error) {
	for _, space := range s.Spaces() {
		for _, day := range s.Space(space).Days() {
			err := s.checkAppend(bodyOf{space: space, date: day.Date})
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
