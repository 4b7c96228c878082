package store

import (
	"errors"
	"fmt"
	"io/fs"
	"strings"

	"github.com/memsidecar/memsidecar/internal/durable"
	"github.com/memsidecar/memsidecar/internal/journal"
	"github.com/memsidecar/memsidecar/internal/memory"
)

// RestoringFile exists from before the first file of a restore until all of it is durable. It says, for people, which command to run again.
const RestoringFile = "RESTORING"

// IncompleteError says that a restore into the directory was not finished. It is a memory.ErrIncomplete.
type IncompleteError struct{ Remedy string }

func (e *IncompleteError) Error() string {
	return "the data directory holds an unfinished restore (" + RestoringFile + "); " + e.Remedy
}

// Is makes errors.Is(err, memory.ErrIncomplete) true.
func (e *IncompleteError) Is(target error) bool { return target == memory.ErrIncomplete }

// refuseIncomplete returns an *IncompleteError for a directory in which a restore was not finished.
func refuseIncomplete(fsys durable.FS) error {
	text, err := durable.ReadFile(fsys, RestoringFile)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("look for an unfinished restore: %w", err)
	}
	return &IncompleteError{Remedy: strings.TrimSpace(string(text))}
}

// checkDocs makes sure that the files of daily logs and sessions are there at their full length. They are read only when they are needed, but a copy of the
// directory that was made while snapshots were written may lack some, and must not open as if all were well.
func (s *Store) checkDocs() error {
	var files []doc
	for _, sp := range s.visible.spaces {
		for _, d := range sp.days {
			files = append(files, d.doc)
		}
		for _, se := range sp.sessions {
			files = append(files, se.doc)
		}
	}
	for _, d := range files {
		if d.file == "" {
			continue
		}
		name := snapshotDir + "/" + d.file
		info, err := s.fs.Lstat(name)
		switch {
		case errors.Is(err, fs.ErrNotExist):
			return &journal.CorruptError{File: name, Detail: "it is missing"}
		case err != nil:
			return fmt.Errorf("look at %s: %w", name, err)
		case d.bytes != 0 && info.Size() != d.bytes:
			return &journal.CorruptError{File: name, Detail: fmt.Sprintf("it has %d bytes, not %d", info.Size(), d.bytes)}
		}
	}
	return nil
}
