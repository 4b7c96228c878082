package publish

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/memsidecar/memsidecar/internal/store/durable"
)

// Kind says why an edit waits.
type Kind string

const (
	Pending   Kind = "pending"   // not read yet
	Refused   Kind = "refused"   // unreadable, or not valid
	Ambiguous Kind = "ambiguous" // a person must say what was meant
	Conflict  Kind = "conflict"  // a part of it contradicts a later change; the rest was adopted
)

// How an edit was resolved. An edit that was not yet has "".
const (
	Accepted   = "accepted"   // a person adopted it
	Discarded  = "discarded"  // a person rejected it
	Superseded = "superseded" // a later edit of the same file replaced it
	Adopted    = "taken"      // it is wholly in the store now
)

// Edit is what somebody else wrote into a published file and that is not, or not wholly, in the store. Its bytes are in
// quarantine/ as NAME-HASH12.json, and its record beside them in NAME-HASH12.json.edit.json:
//
//	{
//	  "id": "3f1a9c0d52be",
//	  "file": "spaces/work/memory.json",
//	  "hash": "180d2563d3c6…",
//	  "kind": "pending",
//	  "copy": "quarantine/spaces_work_memory-180d2563d3c6.json",
//	  "at": "2026-02-21T10:00:00Z"
//	}
//
// The daemon never deletes the bytes or the record.
type Edit struct {
	ID      string   `json:"id"`                // first 12 hex digits of SHA-256 of (file name, hash)
	File    string   `json:"file"`              // memory.json, spaces/x/logs/2026-02-21.json; "" when the record is damaged
	Hash    string   `json:"hash"`              // SHA-256 of the bytes
	Kind    Kind     `json:"kind"`              //
	Details []string `json:"details,omitempty"` // for people; no memory text
	Copy    string   `json:"copy"`              // quarantine/…
	Base    int64    `json:"base,omitempty"`    // revision in the edited file, 0 unknown
	// InPlace says that the edit is still in File, which is not replaced until the edit is resolved.
	InPlace bool `json:"in_place,omitempty"`
	// Writing says that somebody had the copy open for writing when it was moved to quarantine/. What they write after
	// that becomes an edit of its own when they are done.
	Writing  bool      `json:"writing,omitempty"`
	At       time.Time `json:"at"` // when it was found; for what a crash left, when it was written
	Resolved string    `json:"resolved,omitempty"`
	Op       int64     `json:"op,omitempty"` // operation that adopted it
}

// recordSuffix follows the name of the copy.
const recordSuffix = ".edit.json"

// EditID is the ID of the edit that put the bytes with SHA-256 hash into file.
func EditID(file, hash string) string {
	sum := sha256.Sum256([]byte(file + "\x00" + hash))
	return hex.EncodeToString(sum[:6])
}

// QuarantineEdit puts the bytes of the file from into quarantine/, with the record e. File, Kind and At must be
// set; an empty Hash is computed. The result has ID and Copy set. When from is e.File, or is in quarantine/
// already, it is copied and stays; what a publication displaced is moved.
//
// It may be repeated, also after a crash: an existing copy is not made again, an open record keeps its first time,
// a resolved one is opened again. Durable on return. Errors: those of the file system; ErrBusyFile when the bytes
// have another hash by now. After an error the bytes are still under from.
func QuarantineEdit(fsys durable.FS, from string, e Edit) (Edit, error) {
	if e.Hash == "" {
		var err error
		if e.Hash, err = hashOf(fsys, from); err != nil {
			return e, fmt.Errorf("keep edit of %s: %w", e.File, err)
		}
	}
	e.ID = EditID(e.File, e.Hash)
	if err := makeDir(fsys, quarantineDir); err != nil {
		return e, err
	}
	dest, err := copyName(fsys, from, e)
	if err != nil {
		return e, fmt.Errorf("keep edit of %s: %w", e.File, err)
	}
	e.Copy = dest
	if former, err := readRecord(fsys, dest+recordSuffix); err == nil && former.Resolved == "" &&
		!former.At.IsZero() {
		e.At = former.At
	}
	if from == e.File+nextSuffix || from == e.File+backupSuffix {
		// The record comes first: what a crash leaves under from is found again.
		if err := e.Save(fsys); err != nil {
			return e, err
		}
		return e, move(fsys, from, dest)
	}
	// The copy comes first: a record means that the bytes are safe, whatever becomes of the file.
	if _, err := fsys.Lstat(dest); errors.Is(err, fs.ErrNotExist) {
		if err := copyFile(fsys, from, dest, e.Hash); err != nil {
			return e, fmt.Errorf("keep edit of %s: %w", e.File, err)
		}
	} else if err != nil {
		return e, fmt.Errorf("keep edit of %s: %w", e.File, err)
	}
	return e, e.Save(fsys)
}

// copyName returns the path for the copy: one that is free, or that holds the same bytes already.
func copyName(fsys durable.FS, from string, e Edit) (string, error) {
	base, ext := quarantineName(e.File, e.Hash)
	for n := 1; ; n++ {
		dest := path.Join(quarantineDir, base+ext)
		if n > 1 {
			dest = path.Join(quarantineDir, fmt.Sprintf("%s-%d%s", base, n, ext))
		}
		hash, err := hashOf(fsys, dest)
		if dest == from || errors.Is(err, fs.ErrNotExist) || err == nil && hash == e.Hash {
			return dest, nil
		}
		if err != nil {
			return "", err
		}
	}
}

// move renames from into quarantine/. The bytes are synced first, so that a crash cannot lose them.
func move(fsys durable.FS, from, dest string) error {
	if err := syncFile(fsys, from); err != nil {
		return err
	}
	if err := fsys.Rename(from, dest); err != nil {
		return fmt.Errorf("move %s to %s: %w", from, dest, err)
	}
	for _, dir := range []string{quarantineDir, path.Dir(from)} {
		if err := fsys.SyncDir(dir); err != nil {
			return fmt.Errorf("sync directory %s: %w", dir, err)
		}
	}
	return nil
}

// Save writes the record again. Durable on return.
func (e Edit) Save(fsys durable.FS) error {
	if path.Dir(e.Copy) != quarantineDir {
		return fmt.Errorf("record of an edit of %s: %q is not in %s/", e.File, e.Copy, quarantineDir)
	}
	data, err := json.MarshalIndent(e, "", "  ")
	if err != nil {
		return fmt.Errorf("record of an edit of %s: %w", e.File, err)
	}
	return durable.WriteFile(fsys, e.Copy+recordSuffix, func(w io.Writer) error {
		_, err := w.Write(append(data, '\n'))
		return err
	})
}

// Edits returns the records of all edits, resolved or not, oldest first. A damaged record appears as Refused,
// without File and Hash; Details say so.
func Edits(fsys durable.FS) ([]Edit, error) {
	entries, err := fsys.ReadDir(quarantineDir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("list edits: %w", err)
	}
	var list []Edit
	for _, entry := range entries {
		if !entry.Type().IsRegular() || !strings.HasSuffix(entry.Name(), recordSuffix) {
			continue
		}
		name := path.Join(quarantineDir, entry.Name())
		e, err := readRecord(fsys, name)
		if errors.Is(err, fs.ErrNotExist) {
			continue // removed by a person just now
		}
		if err != nil {
			e = damagedEdit(fsys, name, err)
		}
		list = append(list, e)
	}
	slices.SortStableFunc(list, func(a, b Edit) int { return cmp.Or(a.At.Compare(b.At), cmp.Compare(a.ID, b.ID)) })
	return list, nil
}

// readRecord reads a record and checks that its parts agree.
func readRecord(fsys durable.FS, name string) (Edit, error) {
	data, err := durable.ReadFile(fsys, name)
	if err != nil {
		return Edit{}, err
	}
	var e Edit
	if err := json.Unmarshal(data, &e); err != nil {
		return Edit{}, err
	}
	if e.Copy+recordSuffix != name || e.File == "" || e.ID != EditID(e.File, e.Hash) {
		return Edit{}, errors.New("it contradicts itself")
	}
	return e, nil
}

// damagedEdit is the edit that represents a record that cannot be read.
func damagedEdit(fsys durable.FS, name string, why error) Edit {
	e := Edit{
		ID: EditID(name, ""), Kind: Refused, Copy: strings.TrimSuffix(name, recordSuffix),
		Details: []string{fmt.Sprintf("the record %s is damaged: %v", name, why)},
	}
	if info, err := fsys.Lstat(name); err == nil {
		e.At = info.ModTime()
	}
	return e
}
