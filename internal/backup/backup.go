// Package backup writes everything a store holds into one archive, while writes go on, and makes a data directory of such an archive again.
//
// An archive holds one position of the journal: the newest snapshot, the journal up to that position, what is in quarantine, and the published
// files as they are at that position, for people who open it without memsidecar. The package neither decides where archives go nor when they are made.
//
// It is a tar file, compressed with gzip, with these members, in this order; docs/format.md describes them:
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
	"path"
	"strings"
	"time"

	"github.com/memsidecar/memsidecar/internal/dailylog"
	"github.com/memsidecar/memsidecar/internal/jsonstore"
	"github.com/memsidecar/memsidecar/internal/memory"
)

// Version of the archive's format. A newer one is refused.
const Version = 1

const (
	kind         = "backup"
	headerName   = "memsidecar-backup.json"
	manifestName = "manifest.json"
	snapshotFile = "snapshots/MANIFEST.json"
	markName     = "journal/mark.json"
	pausedName   = "paused"
)

// What an archive may hold at most. The limits keep a forged one from filling the disk or the memory.
const (
	maxHeader   = 64 << 10 // bytes
	maxManifest = 1 << 30  // bytes
	maxMembers  = 1 << 22
)

// Info says what an archive holds.
type Info struct {
	Store   string    // identity of the store
	Epoch   string    // line of history it was taken on
	LSN     int64     // position of the journal
	At      time.Time // when it was taken
	Bytes   int64     // of all members but the first and the last, before compression
	Members int       // their number
	Digest  string    // of the state at LSN, as store.Digest gives it; known once the archive was read to its end
}

// DamagedError says what is wrong with an archive. It is a memory.ErrCorrupt.
type DamagedError struct{ Detail string }

func (e *DamagedError) Error() string { return "the backup is damaged: " + e.Detail }

// Is makes errors.Is(err, memory.ErrCorrupt) true.
func (e *DamagedError) Is(target error) bool { return target == memory.ErrCorrupt }

// ForeignError says that something is no backup at all.
type ForeignError struct{ Detail string }

func (e *ForeignError) Error() string { return "this is not a backup of memsidecar: " + e.Detail }

// header is the first member.
type header struct {
	Kind    string    `json:"memsidecar"`
	Version int       `json:"version"`
	Store   string    `json:"store"`
	Epoch   string    `json:"epoch"`
	LSN     int64     `json:"lsn"`
	At      time.Time `json:"at"`
	Members int       `json:"members"`
	Bytes   int64     `json:"bytes"`
}

func (h header) info() Info {
	return Info{Store: h.Store, Epoch: h.Epoch, LSN: h.LSN, At: h.At, Bytes: h.Bytes, Members: h.Members}
}

// manifest is the first line of the last member; the second is the SHA-256 of the first, its newline included.
type manifest struct {
	Digest  string `json:"digest"`
	Members []sum  `json:"members"` // in order, the header included
}

type sum struct {
	Name   string `json:"name"`
	Bytes  int64  `json:"bytes"`
	SHA256 string `json:"sha256"`
}

type seal struct {
	SHA256 string `json:"sha256"`
}

func (m manifest) encode() ([]byte, error) {
	line, err := json.Marshal(m)
	if err != nil {
		return nil, err
	}
	line = append(line, '\n')
	of := sha256.Sum256(line)
	last, err := json.Marshal(seal{SHA256: hex.EncodeToString(of[:])})
	return append(append(line, last...), '\n'), err
}

func decodeManifest(data []byte) (m manifest, err error) {
	end := bytes.IndexByte(data, '\n') + 1
	of := sha256.Sum256(data[:end])
	var s seal
	if json.Unmarshal(data[end:], &s) != nil || s.SHA256 != hex.EncodeToString(of[:]) || json.Unmarshal(data[:end], &m) != nil {
		return m, &DamagedError{Detail: "its manifest is not whole"}
	}
	return m, nil
}

// wellNamed reports whether a member of this name may be restored: nothing outside the files of a data directory, and nothing that a restore
// writes itself.
func wellNamed(name string) bool {
	dir, base := path.Split(name)
	if path.Clean(name) != name || base == "" || base[0] == '.' || strings.ContainsAny(name, "\\\x00") {
		return false
	}
	if space, below := strings.CutPrefix(dir, "spaces/"); below {
		space, rest, _ := strings.Cut(space, "/")
		if !memory.IsSlug(space) || len(space) > memory.MaxSlug || space == memory.DefaultSpace {
			return false
		}
		dir = rest
	}
	switch dir {
	case "":
		return base == jsonstore.FileName || name == pausedName
	case "logs/":
		return isLog(base)
	case "snapshots/":
		return name == snapshotFile || strings.HasSuffix(name, ".jsonl")
	case "journal/":
		return strings.HasSuffix(name, ".jsonl")
	case "quarantine/":
		return true
	}
	return false
}

// published reports whether a member is a file of the published layout.
func published(name string) bool {
	return path.Base(name) == jsonstore.FileName || isLog(path.Base(name)) && path.Base(path.Dir(name)) == "logs"
}

// isLog reports whether a file in logs/ is one that memsidecar publishes: a daily log, or the index of those that were archived.
func isLog(base string) bool {
	_, isDay := dailylog.DateOf(base)
	return isDay || base == dailylog.ArchiveName
}
