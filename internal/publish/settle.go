package publish

import (
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"maps"
	"path"
	"slices"
	"strings"

	"github.com/memsidecar/memsidecar/internal/durable"
)

// Clean finishes what a crash interrupted, in every directory that holds published files, what is remembered of them, or what
// was kept aside: files that were never whole are removed, the bytes of others that are not known become edits. It must come
// before anything else writes there. What there is no space to keep stays where it is until the next publication.
func Clean(fsys durable.FS) error {
	published := []string{".", "logs"}
	spaces, err := fsys.ReadDir("spaces")
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("look for temporary files: %w", err)
	}
	for _, e := range spaces {
		if e.IsDir() {
			published = append(published, path.Join("spaces", e.Name()), path.Join("spaces", e.Name(), "logs"))
		}
	}
	for _, dir := range append([]string{"index", quarantineDir}, published...) {
		if _, err := durable.CleanTemp(fsys, dir); err != nil {
			return err
		}
	}
	if err := settleAll(fsys, published); err != nil {
		return fmt.Errorf("finish the publication that was interrupted: %w", err)
	}
	return nil
}

// settleAll settles what is left under a name.next in one of the directories, and what is pending in any ledger.
func settleAll(fsys durable.FS, dirs []string) error {
	ledgers, err := openLedgers(fsys)
	if err != nil {
		return err
	}
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
			if err := ledgerOf(fsys, ledgers, name).settle(name); err != nil {
				return err
			}
		}
	}
	for _, f := range ledgers {
		for _, name := range slices.Sorted(maps.Keys(f.known)) {
			if f.known[name].Pending && !strings.HasSuffix(name, backupSuffix) {
				if err := f.settle(name); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

// settle is settleLocked at a start, which these errors do not stop: the next publication meets them again.
func (f *Files) settle(name string) error {
	err := f.do(func() error { return f.settleLocked(name) })
	if errors.Is(err, ErrNotRegular) || durable.IsDiskFull(err) {
		return nil
	}
	return err
}

// openLedgers returns Files for every ledger.
func openLedgers(fsys durable.FS) ([]*Files, error) {
	entries, err := fsys.ReadDir("index")
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	var ledgers []*Files
	for _, e := range entries {
		if strings.HasPrefix(e.Name(), "published") && strings.HasSuffix(e.Name(), ".json") {
			ledgers = append(ledgers, NewFiles(fsys, path.Join("index", e.Name()), nil, slog.New(slog.DiscardHandler)))
		}
	}
	for _, f := range ledgers {
		if err := f.do(func() error { return nil }); err != nil {
			return nil, err
		}
	}
	return ledgers, nil
}

// ledgerOf returns the Files that know name, or some that know nothing.
func ledgerOf(fsys durable.FS, ledgers []*Files, name string) *Files {
	for _, f := range ledgers {
		if _, ok := f.known[name]; ok {
			return f
		}
	}
	f := NewFiles(fsys, "", nil, slog.New(slog.DiscardHandler))
	f.known = map[string]Known{}
	return f
}

// settleLocked finishes a publication of name that was interrupted by a crash or an error, or takes it back.
func (f *Files) settleLocked(name string) error {
	next, bak := name+nextSuffix, name+backupSuffix
	p, err := f.lstatLocked(next)
	if errors.Is(err, ErrNotRegular) {
		p, err = f.giveBackLocked(name)
	}
	if err != nil {
		return err
	}
	if p.exists {
		if err := f.settleNextLocked(name, next, p); err != nil {
			return err
		}
	}
	k, b := f.known[name], f.known[bak]
	if !k.Pending && !b.Pending {
		return nil
	}
	before := maps.Clone(f.known)
	if k.Pending {
		if err := f.settleEntryLocked(name, k); err != nil {
			return err
		}
	}
	if b.Pending {
		if err := f.settleBackupLocked(bak, b); err != nil {
			return err
		}
	}
	if err := f.saveLocked(); err != nil {
		f.known = before
		return err
	}
	return nil
}

// settleNextLocked deals with a name.next that was found.
func (f *Files) settleNextLocked(name, next string, p present) error {
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
	_, err = f.resolveLocked(&turn{name: name})
	return err
}

// settleEntryLocked makes the ledger say what the file says.
func (f *Files) settleEntryLocked(name string, k Known) error {
	p, err := f.inspectLocked(name)
	if err != nil && !errors.Is(err, ErrNotRegular) {
		return err
	}
	switch {
	case p.exists && p.hash == k.Hash:
		f.known[name] = k.over()
	case k.Previous == "" && k.Claimed == "":
		delete(f.known, name) // the first publication, and it did not happen
	case k.Previous == k.Claimed:
		f.known[name] = Known{Claimed: k.Claimed, Revision: k.PreviousRevision}
	default:
		f.known[name] = Known{Hash: k.Previous, Claimed: k.Claimed, Revision: k.PreviousRevision}
	}
	return nil
}

func (f *Files) settleBackupLocked(bak string, b Known) error {
	hash, err := hashOf(f.fsys, bak)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		delete(f.known, bak)
	case err != nil:
		return fmt.Errorf("look at %s: %w", bak, err)
	case hash == b.Previous:
		f.known[bak] = Known{Hash: hash}
	default:
		f.known[bak] = Known{Hash: b.Hash, Revision: b.Revision}
	}
	return nil
}

// recheckLocked looks again at the copies that were open for writing when they were moved. What was written to one since is an
// edit of its own. One that cannot be looked at is looked at again.
func (f *Files) recheckLocked() {
	f.writing = slices.DeleteFunc(f.writing, func(e Edit) bool {
		p, err := f.lstatLocked(e.Copy)
		if err != nil || p.writing {
			return false
		}
		if !p.exists {
			return true // removed by a person
		}
		return f.closedLocked(e, p) == nil
	})
}

// closedLocked notes that nobody writes to the copy of e any more.
func (f *Files) closedLocked(e Edit, p present) error {
	hash, err := hashOf(f.fsys, e.Copy)
	if err != nil {
		return err
	}
	if hash != e.Hash {
		later, err := KeepEdit(f.fsys, e.Copy, Edit{File: e.File, Hash: hash, Kind: Pending, At: f.at(p)})
		if err != nil {
			return err
		}
		f.found = append(f.found, later)
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
