package publish

import (
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"path"
	"slices"
	"strings"

	"github.com/memsidecar/memsidecar/internal/store/durable"
)

// Recover completes what a crash interrupted. Files that were never whole are removed; unknown bytes under name.next
// become edits. Call it before anything else writes there. Bytes that do not fit on the disk stay where they are until
// the next publication.
//
// The directories of spaces may be very many. The manifests name what was begun there, so they are only searched when a
// manifest was lost; a temporary file that was never published is removed before the next publication in its directory.
func Recover(fsys durable.FS) error {
	for _, dir := range []string{"index", quarantineDir} {
		if _, err := durable.CleanTemp(fsys, dir); err != nil {
			return err
		}
	}
	manifests, err := openManifests(fsys)
	if err != nil {
		return fmt.Errorf("finish the publication that was interrupted: %w", err)
	}
	published := []string{".", "logs"}
	if len(manifests) == 0 || slices.ContainsFunc(manifests, func(f *Files) bool { return f.state.lost }) {
		spaces, err := fsys.ReadDir(spacesDir)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("look for temporary files: %w", err)
		}
		for _, e := range spaces {
			if e.IsDir() {
				published = append(published, path.Join(spacesDir, e.Name()), path.Join(spacesDir, e.Name(), "logs"))
			}
		}
	}
	for _, dir := range published {
		if _, err := durable.CleanTemp(fsys, dir); err != nil {
			return err
		}
	}
	if err := completeAll(fsys, manifests, published); err != nil {
		return fmt.Errorf("finish the publication that was interrupted: %w", err)
	}
	return nil
}

// completeAll completes every replacement that left a name.next in one of the directories or a pending entry in a
// manifest.
func completeAll(fsys durable.FS, manifests []*Files, dirs []string) error {
	for _, dir := range dirs {
		entries, err := fsys.ReadDir(dir)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		for _, e := range entries {
			name, isNext := strings.CutSuffix(path.Join(dir, e.Name()), nextSuffix)
			if !isNext || path.Ext(name) != ".json" {
				continue
			}
			if err := manifestOf(fsys, manifests, name).complete(name); err != nil {
				return err
			}
		}
	}
	for _, f := range manifests {
		var pending []string
		for name, entry := range f.entries {
			if entry.Pending && !strings.HasSuffix(name, backupSuffix) {
				pending = append(pending, name)
			}
		}
		slices.Sort(pending)
		for _, name := range pending {
			if err := f.complete(name); err != nil {
				return err
			}
		}
	}
	return nil
}

// complete is completeLocked for a start, which an irregular file or a full disk does not stop: the next
// publication meets the error again.
func (f *Files) complete(name string) error {
	err := f.do(func() error { return f.completeLocked(name) })
	if errors.Is(err, ErrNotRegular) || durable.IsDiskFull(err) {
		return nil
	}
	return err
}

// openManifests returns Files for every manifest.
func openManifests(fsys durable.FS) ([]*Files, error) {
	entries, err := fsys.ReadDir("index")
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	var manifests []*Files
	for _, e := range entries {
		if strings.HasPrefix(e.Name(), "published") && strings.HasSuffix(e.Name(), ".json") {
			manifests = append(
				manifests,
				NewFiles(fsys, path.Join("index", e.Name()), nil, slog.New(slog.DiscardHandler)),
			)
		}
	}
	for _, f := range manifests {
		if err := f.do(func() error { return nil }); err != nil {
			return nil, err
		}
	}
	return manifests, nil
}

// manifestOf returns the Files whose manifest has name, or Files with an empty manifest.
func manifestOf(fsys durable.FS, manifests []*Files, name string) *Files {
	for _, f := range manifests {
		if _, ok := f.entries[name]; ok {
			return f
		}
	}
	f := NewFiles(fsys, "", nil, slog.New(slog.DiscardHandler))
	f.entries = map[string]ManifestEntry{}
	return f
}

// completeLocked completes a replacement of name that a crash or an error interrupted, or undoes it.
func (f *Files) completeLocked(name string) error {
	next, bak := name+nextSuffix, name+backupSuffix
	p, err := f.lstatLocked(next)
	if errors.Is(err, ErrNotRegular) {
		p, err = f.undoExchangeLocked(name)
	}
	if err != nil {
		return err
	}
	if p.exists {
		if err := f.completeNextLocked(name, next, p); err != nil {
			return err
		}
	}
	k, b := f.entries[name], f.entries[bak]
	if !k.Pending && !b.Pending {
		return nil
	}
	change := manifestChange{}
	if k.Pending {
		if change[name], err = f.completeEntryLocked(name, k); err != nil {
			return err
		}
	}
	if b.Pending {
		if change[bak], err = f.completeBackupLocked(bak, b); err != nil {
			return err
		}
	}
	return f.recordLocked(change, synced)
}

// completeNextLocked decides about a name.next that was found.
func (f *Files) completeNextLocked(name, next string, p fileState) error {
	hash, err := hashOf(f.fsys, next)
	if err != nil {
		return fmt.Errorf("look at %s: %w", next, err)
	}
	if !p.writing && !f.recognisedLocked(name, hash) {
		// Bytes that are under the name, too, are looked at there.
		same, err := hashOf(f.fsys, name)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("look at %s: %w", name, err)
		}
		if same == hash {
			if err := f.removeNext(name); err != nil {
				return err
			}
			return f.syncDirOf(name)
		}
	}
	_, err = f.disposeOldLocked(&replacement{name: name})
	return err
}

// completeEntryLocked returns the entry in place of a pending one, nil for none: the hash of the file decides which
// version is there.
func (f *Files) completeEntryLocked(name string, k ManifestEntry) (*ManifestEntry, error) {
	p, err := f.inspectLocked(name)
	if err != nil && !errors.Is(err, ErrNotRegular) {
		return nil, err
	}
	switch {
	case p.exists && p.hash == k.Hash:
		k = k.completed()
		return &k, nil
	case k.Previous == "" && k.Claimed == "":
		return nil, nil // the first publication, and it did not happen
	case k.Previous == k.Claimed:
		return &ManifestEntry{Claimed: k.Claimed, Revision: k.PreviousRevision}, nil
	default:
		return &ManifestEntry{Hash: k.Previous, Claimed: k.Claimed, Revision: k.PreviousRevision}, nil
	}
}

// completeBackupLocked does the same for the entry of the backup.
func (f *Files) completeBackupLocked(bak string, b ManifestEntry) (*ManifestEntry, error) {
	hash, err := hashOf(f.fsys, bak)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, nil
	case err != nil:
		return nil, fmt.Errorf("look at %s: %w", bak, err)
	case hash == b.Previous:
		return &ManifestEntry{Hash: hash}, nil
	default:
		return &ManifestEntry{Hash: b.Hash, Revision: b.Revision}, nil
	}
}

// recheckWritersLocked looks again at quarantined copies that were open for writing when they were moved. What was
// written to one since then is a new edit. An unreadable one is tried again.
func (f *Files) recheckWritersLocked() {
	f.writing = slices.DeleteFunc(f.writing, func(e Edit) bool {
		p, err := f.lstatLocked(e.Copy)
		if err != nil || p.writing {
			return false
		}
		if !p.exists {
			return true // removed by a person
		}
		return f.writerClosedLocked(e, p) == nil
	})
}

// writerClosedLocked records that nobody writes to the copy of e any more.
func (f *Files) writerClosedLocked(e Edit, p fileState) error {
	hash, err := hashOf(f.fsys, e.Copy)
	if err != nil {
		return err
	}
	if hash != e.Hash {
		later, err := QuarantineEdit(f.fsys, e.Copy, Edit{File: e.File, Hash: hash, Kind: Pending, At: f.foundAt(p)})
		if err != nil {
			return err
		}
		f.displaced = append(f.displaced, later)
	}
	record, err := readRecord(f.fsys, e.Copy+recordSuffix)
	if err != nil {
		return nil // damaged or removed: it is not for us to write it again
	}
	record.Writing = false
	if hash != e.Hash && record.Resolved == "" {
		record.Resolved = Superseded
	}
	return record.Save(f.fsys)
}
