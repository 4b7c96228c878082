package journal

import (
	"fmt"

	"github.com/memsidecar/memsidecar/internal/memory"
	"github.com/memsidecar/memsidecar/internal/store/durable"
)

// Version is the version of the format of segments and snapshots. A reader refuses a higher one.
const Version = 1

// Minor counts the additions to the format: a new kind of change, a new member of a record, of a change or of what a
// snapshot holds. A change that adds one raises it; TestFormat lists every member and fails until then.
//
// 0: before additions were counted. 1: minor and min_reader in headers. 2: packs of small spaces in a snapshot. 3:
// minor and min_reader in the high-water mark and in the mark of a clean stop. 4: the description of a memory. 5: the
// time of a memory's text (content_at). 6: compressed segments and snapshots. 7: purges
// that another machine of a shared space asked for (received, in purge.json). 8: spaces that are dropped; purges of one
// space only (only, in purge.json).
const Minor = 8

// CompressedMinor is the lowest Minor of a reader of compressed segments and snapshots.
const CompressedMinor = 6

// minReader is the lowest Minor of a reader that understands everything that this version writes. An addition that an
// older reader may ignore does not exist: what it does not know it would lose when it writes a snapshot.
const minReader = Minor

// Format is the version of the format in the header of a segment, in the manifest of a snapshot and in the headers of
// its files. Every one of them has it, so that an older program refuses the file before it reads anything else.
type Format struct {
	Version   int `json:"version"`
	Minor     int `json:"minor,omitempty"`      // of the writer; 0 for a version that did not count
	MinReader int `json:"min_reader,omitempty"` // lowest Minor of a reader
}

// CurrentFormat is the format that this version writes.
func CurrentFormat() Format { return Format{Version: Version, Minor: Minor, MinReader: minReader} }

// Check returns a memory.ErrNewerVersion that names file when this version does not understand the format.
func (f Format) Check(file string) error {
	if f.Version <= Version && f.MinReader <= Minor {
		return nil
	}
	return fmt.Errorf("%s has format %d.%d and needs a reader of %d.%d; this memsidecar knows %d.%d: %w", file,
		f.Version, f.Minor, f.Version, f.MinReader, Version, Minor, memory.ErrNewerVersion)
}

// knownLine returns a memory.ErrNewerVersion that names file when this version does not understand the format of a
// checked line, or when the line has a member that scratch, of its type, has not.
func knownLine(file string, line []byte, format Format, scratch any) error {
	if err := format.Check(file); err != nil {
		return err
	}
	if err := durable.DecodeLine(line, scratch); err != nil {
		return fmt.Errorf("%s: %w", file, err)
	}
	return nil
}

// older reports whether a segment in this format must not get records of this version: a reader that its header admits
// may not know them.
func (f Format) older() bool { return f.Version < Version || f.MinReader < minReader }
