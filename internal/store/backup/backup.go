// Package backup writes everything that a store holds into one archive, while writes continue, and restores a data
// directory from such an archive.
//
// An archive holds the state at one LSN: the newest snapshot, the journal up to that LSN, the quarantine, and the
// published files as of that LSN, for people who open the archive without memsidecar. The package does not decide where
// archives are kept or when they are made.
//
// An archive is a tar file, compressed with gzip, with these members in this order; docs/format.md describes them:
//
//	memsidecar-backup.json   what this is; the version of the format
//	memory.json, logs/…, spaces/NAME/…
//	snapshots/MANIFEST.json and the files that it names
//	journal/NNNNNNNNNNNNNNNN.jsonl
//	quarantine/…, paused
//	manifest.json            length and SHA-256 of every member before, and of itself
package backup

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"io"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/memsidecar/memsidecar/internal/memory"
	"github.com/memsidecar/memsidecar/internal/store"
	"github.com/memsidecar/memsidecar/internal/store/durable"
)

// Version of the archive's format. Restore refuses a higher one.
const Version = 1

// Minor counts the additions to the archive's format, as journal.Minor does for what is inside. 1: minor and min_reader
// in the header.
const Minor = 1

const (
	kind          = "backup"
	headerName    = "memsidecar-backup.json"
	manifestName  = "manifest.json"
	snapshotFile  = "snapshots/MANIFEST.json"
	cleanStopName = "journal/mark.json"
	pausedName    = "paused"
)

// Limits of an archive, so that a forged one fills neither the disk nor the memory.
const (
	maxHeader   = 64 << 10 // bytes
	maxManifest = 1 << 30  // bytes
	maxMembers  = 1 << 22
)

// PublishedFiles are the files of one kind that a package above the store publishes for people. jsonstore.BackupFiles
// and dailylog.BackupFiles implement it.
type PublishedFiles interface {
	// Owns reports whether name is the path of such a file in a data directory.
	Owns(name string) bool
	// Each calls add for every file of a space as of the view. at is when the backup is taken. encode is called twice
	// and must write the same bytes each time.
	Each(
		fsys durable.FS, view *store.ReadView, space string, at time.Time,
		add func(name string, encode func(io.Writer) error) error,
	) error
	// Claim records restored files, by their SHA-256, as published by memsidecar, so that later publications may
	// replace them. Durable on return.
	Claim(fsys durable.FS, sums map[string][sha256.Size]byte) error
}

// Layout is every kind of published file of a data directory.
type Layout []PublishedFiles

// owner returns the kind of published file that name is the path of, nil for none.
func (l Layout) owner(name string) PublishedFiles {
	if i := slices.IndexFunc(l, func(kind PublishedFiles) bool { return kind.Owns(name) }); i >= 0 {
		return l[i]
	}
	return nil
}

// Info describes an archive.
type Info struct {
	Store string    // identity of the store
	Epoch string    // line of history it was taken on
	LSN   int64     // position of the journal
	At    time.Time // when it was taken
	// Bytes of all members but the first and the last, before compression.
	Bytes   int64
	Members int // their number
	// Digest of the state at LSN, see store.Digest. It is in the last member, so it is known once the archive was read.
	Digest string
}

// DamagedError says how an archive is damaged. errors.Is(err, memory.ErrCorrupt) holds for it.
type DamagedError struct{ Detail string }

func (e *DamagedError) Error() string { return "the backup is damaged: " + e.Detail }

// Is makes errors.Is(err, memory.ErrCorrupt) true.
func (e *DamagedError) Is(target error) bool { return target == memory.ErrCorrupt }

// NotBackupError says that a file is not a backup at all.
type NotBackupError struct{ Detail string }

func (e *NotBackupError) Error() string { return "this is not a backup of memsidecar: " + e.Detail }

// header is the first member. It promises the sizes that Restore accepts.
type header struct {
	Kind    string `json:"memsidecar"`
	Version int    `json:"version"`
	// Minor is that of the writer, MinReader the lowest one of a reader. Both are 0 in archives from before they were
	// counted. An addition that a reader may ignore does not raise MinReader.
	Minor     int       `json:"minor,omitempty"`
	MinReader int       `json:"min_reader,omitempty"`
	Store     string    `json:"store"`
	Epoch     string    `json:"epoch"`
	LSN       int64     `json:"lsn"`
	At        time.Time `json:"at"`
	Members   int       `json:"members"`
	Bytes     int64     `json:"bytes"`
}

// info is what the header says about the archive; the digest is not known yet.
func (h header) info() Info {
	return Info{Store: h.Store, Epoch: h.Epoch, LSN: h.LSN, At: h.At, Bytes: h.Bytes, Members: h.Members}
}

// manifest is the first line of the last member. The second line is a manifestSum.
type manifest struct {
	Digest  string      `json:"digest"`
	Members []memberSum `json:"members"` // in order, the header included
}

// memberSum is the length and the SHA-256 of one member.
type memberSum struct {
	Name   string `json:"name"`
	Bytes  int64  `json:"bytes"`
	SHA256 string `json:"sha256"`
}

// manifestSum is the SHA-256 of the manifest's line, including its newline.
type manifestSum struct {
	SHA256 string `json:"sha256"`
}

// encode returns the last member: the manifest's line and the line of its checksum.
func (m manifest) encode() ([]byte, error) {
	line, err := json.Marshal(m)
	if err != nil {
		return nil, err
	}
	line = append(line, '\n')
	of := sha256.Sum256(line)
	last, err := json.Marshal(manifestSum{SHA256: hex.EncodeToString(of[:])})
	return append(append(line, last...), '\n'), err
}

// decodeManifest decodes the last member. Error: *DamagedError.
func decodeManifest(data []byte) (m manifest, err error) {
	end := bytes.IndexByte(data, '\n') + 1
	of := sha256.Sum256(data[:end])
	var s manifestSum
	if json.Unmarshal(data[end:], &s) != nil || s.SHA256 != hex.EncodeToString(of[:]) ||
		json.Unmarshal(data[:end], &m) != nil {
		return m, &DamagedError{Detail: "its manifest is not whole"}
	}
	return m, nil
}

// validMemberName reports whether Restore may create a file of this name: one of the files of a data directory, and
// none that Restore creates itself. Names that lead out of the directory are never valid.
func (l Layout) validMemberName(name string) bool {
	dir, base := path.Split(name)
	if path.Clean(name) != name || base == "" || base[0] == '.' || strings.ContainsAny(name, "\\\x00") {
		return false
	}
	// The files of the default space lie at the top; a directory with its name would be a second home for them.
	if space, below := strings.CutPrefix(dir, "spaces/"); below {
		space, rest, _ := strings.Cut(space, "/")
		if !memory.IsSlug(space) || len(space) > memory.MaxSlug || space == memory.DefaultSpace {
			return false
		}
		dir = rest
	}
	if l.owner(name) != nil {
		return true
	}
	switch dir {
	case "":
		return name == pausedName
	case "snapshots/":
		return name == snapshotFile || strings.HasSuffix(name, ".jsonl")
	case "journal/":
		return strings.HasSuffix(name, ".jsonl")
	case "quarantine/":
		return true
	}
	return false
}
