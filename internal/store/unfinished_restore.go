package store

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"strings"

	"github.com/memsidecar/memsidecar/internal/memory"
	"github.com/memsidecar/memsidecar/internal/store/durable"
)

// RestoringFile exists from before the first file of a restore is written until all of it is durable. It holds the
// command to run again, for people.
const RestoringFile = "RESTORING"

// RepairingFile exists from before the first change of a repair until everything was recovered from the published
// files. It holds the command to run again, for people.
const RepairingFile = "REPAIRING"

// IncompleteError says that a restore into the directory, or a repair of it, was not finished. errors.Is(err,
// memory.ErrIncomplete) holds for it.
type IncompleteError struct {
	File   string // RestoringFile or RepairingFile
	Remedy string
}

// Error names the marker file, which of the two commands was interrupted, and what to do.
func (e *IncompleteError) Error() string {
	what := "restore"
	if e.File == RepairingFile {
		what = "repair"
	}
	return "the data directory holds an unfinished " + what + " (" + e.File + "); " + e.Remedy
}

// Is makes errors.Is(err, memory.ErrIncomplete) true.
func (e *IncompleteError) Is(target error) bool { return target == memory.ErrIncomplete }

// refuseIncomplete returns an *IncompleteError for a directory that has one of the given files.
func refuseIncomplete(fsys durable.FS, names ...string) error {
	for _, name := range names {
		text, err := durable.ReadFile(fsys, name)
		if err == nil {
			return &IncompleteError{File: name, Remedy: strings.TrimSpace(string(text))}
		}
		if !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("look for an unfinished restore or repair: %w", err)
		}
	}
	return nil
}

// beginRepair writes RepairingFile. Durable on return.
func beginRepair(fsys durable.FS) error {
	return durable.WriteFile(fsys, RepairingFile, func(w io.Writer) error {
		_, err := io.WriteString(w, "run `memsidecar daemon repair` again\n")
		return err
	})
}

// RepairUnfinished reports whether Repair found damage and EndRepair was not called since.
func RepairUnfinished(fsys durable.FS) (bool, error) {
	_, err := fsys.Lstat(RepairingFile)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("look for an unfinished repair: %w", err)
	}
	return true, nil
}

// EndRepair ends a repair: from now on the directory may be opened and published over. Durable on return.
func EndRepair(fsys durable.FS) error {
	if err := fsys.Remove(RepairingFile); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("end the repair: %w", err)
	}
	if err := fsys.SyncDir("."); err != nil {
		return fmt.Errorf("end the repair: %w", err)
	}
	return nil
}
