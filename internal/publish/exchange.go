package publish

import (
	"errors"
	"fmt"
	"io/fs"
	"time"
)

// recordPendingLocked writes what is about to be published into the manifest, before the file changes: after a
// crash, a file with either hash is ours.
func (f *Files) recordPendingLocked(t *replacement) error {
	former := f.entries[t.name]
	entry := t.entry
	entry.Pending = true
	if t.old.exists {
		entry.Previous, entry.PreviousRevision = t.old.hash, former.Revision
		if t.old.hash != former.Hash {
			entry.Claimed = t.old.hash
		}
	}
	noted := manifestChange{t.name: &entry}
	if t.backup {
		bak := ManifestEntry{
			Hash: t.old.hash, Size: t.old.info.Size(), ModTime: t.old.info.ModTime(), Revision: former.Revision,
			Pending: true, Previous: t.bak.Hash,
		}
		if t.old.racy {
			bak.ModTime = time.Time{}
		}
		noted[t.name+backupSuffix] = &bak
	}
	return f.recordLocked(noted, synced)
}

// exchangeLocked puts temp under name, and what was there under name.next. Commit point: the sync of the directory.
func (f *Files) exchangeLocked(t *replacement, temp string) error {
	if err := f.exchangeNamesLocked(t, temp); err != nil {
		return fmt.Errorf("replace %s: %w", t.name, err)
	}
	return f.syncDirOf(t.name)
}

// exchangeNamesLocked exchanges the names. A file that appears under a free name in this moment is never replaced:
// link(2) fails when the name exists.
func (f *Files) exchangeNamesLocked(t *replacement, temp string) error {
	next := t.name + nextSuffix
	if !t.old.exists {
		err := f.fsys.Link(temp, t.name) // which never replaces what somebody put there just now
		if err == nil {
			return nil
		}
		if now, lookErr := f.lstatLocked(t.name); lookErr != nil || now.exists || errors.Is(err, fs.ErrExist) {
			return errors.Join(ErrBusyFile, lookErr)
		}
		return f.fsys.Rename(temp, t.name) // a file system without links
	}
	if f.noExchange {
		return f.replaceByRename(t, temp)
	}
	if err := f.fsys.Rename(temp, next); err != nil {
		return err
	}
	err := f.fsys.Exchange(next, t.name)
	switch {
	case errors.Is(err, errors.ErrUnsupported):
		f.noExchange = true
		if err := f.fsys.Rename(next, temp); err != nil {
			return err
		}
		return f.replaceByRename(t, temp)
	case errors.Is(err, fs.ErrNotExist):
		return ErrBusyFile // somebody removed it just now
	}
	return err
}

// replaceByRename serves file systems that cannot exchange names. A file that somebody puts under the name between
// the last check and the rename is lost; that window is a few microseconds, and doctor reports such a file system.
func (f *Files) replaceByRename(t *replacement, temp string) error {
	next := t.name + nextSuffix
	if err := f.fsys.Link(t.name, next); err != nil {
		if err := copyFile(f.fsys, t.name, next, t.old.hash); err != nil { // a file system without links
			return err
		}
	}
	now, err := f.lstatLocked(t.name)
	if err != nil {
		return err
	}
	if !now.exists || !t.old.same(now.info) { // an edit in place that this does not show is in the file linked
		return ErrBusyFile
	}
	return f.fsys.Rename(temp, t.name)
}

// completeReplacementLocked disposes of the old file and records the publication as complete.
func (f *Files) completeReplacementLocked(t *replacement) error {
	kept, err := f.disposeOldLocked(t)
	if err != nil {
		return err
	}
	bak := t.name + backupSuffix
	if f.racyLocked(t.entry.ModTime) {
		t.entry.ModTime = time.Time{} // somebody may write to it already
	}
	noted := manifestChange{t.name: &t.entry}
	switch {
	case kept:
		whole := f.entries[bak].completed()
		noted[bak] = &whole
	case t.backup: // it was not ours to make a backup of
		noted[bak] = &t.bak
	}
	// The pending record is durable, and a start completes it from the files: this one may wait for the next sync.
	return f.recordLocked(noted, unsynced)
}

// completed is k without the fields that matter only while it is pending.
func (k ManifestEntry) completed() ManifestEntry {
	k.Pending, k.Previous, k.PreviousRevision, k.Claimed = false, "", 0, ""
	return k
}

// disposeOldLocked decides about the file under name.next: known bytes become the backup, if one is wanted, or are
// removed; any other bytes are an edit. Durable on return.
func (f *Files) disposeOldLocked(t *replacement) (backup bool, err error) {
	next := t.name + nextSuffix
	p, err := f.lstatLocked(next)
	if errors.Is(err, ErrNotRegular) {
		_, backErr := f.undoExchangeLocked(t.name)
		return false, errors.Join(err, backErr)
	}
	if err != nil || !p.exists {
		return false, err
	}
	if !p.writing && t.old.unchanged(p.info) {
		p.hash = t.old.hash
	} else if p.hash, err = hashOf(f.fsys, next); err != nil {
		return false, fmt.Errorf("look at %s: %w", next, err)
	}
	b := f.entries[t.name+backupSuffix]
	switch {
	case p.writing || !f.recognisedLocked(t.name, p.hash):
		return false, f.quarantineDisplacedLocked(next, t.name, p)
	case b.Pending && b.Hash == p.hash:
		if err := f.backupLocked(t); err != nil {
			return false, err
		}
		backup = true
	default:
		if err := f.removeNext(t.name); err != nil {
			return false, err
		}
	}
	return backup, f.syncDirOf(t.name)
}

// undoExchangeLocked exchanges the names back when the old file turned out not to be a regular file, a symbolic
// link for example. It returns the state of name.next afterwards.
func (f *Files) undoExchangeLocked(name string) (fileState, error) {
	next := name + nextSuffix
	if err := f.fsys.Exchange(next, name); err != nil {
		return fileState{}, fmt.Errorf("%s %w: %w", next, ErrNotRegular, err)
	}
	if err := f.syncDirOf(name); err != nil {
		return fileState{}, err
	}
	return f.lstatLocked(next)
}

// recognisedLocked reports whether hash is that of a version of name, or of its backup, that may be dropped.
func (f *Files) recognisedLocked(name, hash string) bool {
	return f.entries[name].matches(hash) || f.entries[name+backupSuffix].matches(hash)
}

// removeNext removes name.next, whose bytes are known.
func (f *Files) removeNext(name string) error {
	next := name + nextSuffix
	if err := f.fsys.Remove(next); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("remove %s: %w", next, err)
	}
	return nil
}

// backupLocked makes name.next the backup. The previous backup is inspected before it goes: a program that opened
// it while it was still the file itself may have written to it since.
func (f *Files) backupLocked(t *replacement) error {
	next, bak := t.name+nextSuffix, t.name+backupSuffix
	former, err := f.lstatLocked(bak)
	if err != nil {
		return err
	}
	err = errors.ErrUnsupported
	if former.exists && !f.noExchange {
		err = f.fsys.Exchange(next, bak)
	}
	switch {
	case former.exists && err == nil:
		return f.dropBackupLocked(t, next)
	case former.exists && !errors.Is(err, errors.ErrUnsupported):
		return fmt.Errorf("replace %s: %w", bak, err)
	case former.exists:
		if err := f.dropBackupLocked(t, bak); err != nil {
			return err
		}
	}
	if err := f.fsys.Rename(next, bak); err != nil {
		return fmt.Errorf("replace %s: %w", bak, err)
	}
	return nil
}

// dropBackupLocked removes the previous backup, now under the name from, or keeps it as an edit.
func (f *Files) dropBackupLocked(t *replacement, from string) error {
	p, err := f.lstatLocked(from)
	if err != nil || !p.exists {
		return err
	}
	if !p.writing && t.bak.sameStat(p.info) {
		p.hash = t.bak.Hash
	} else if p.hash, err = hashOf(f.fsys, from); err != nil {
		return fmt.Errorf("look at %s: %w", from, err)
	}
	if p.writing || !f.recognisedLocked(t.name, p.hash) {
		return f.quarantineDisplacedLocked(from, t.name, p)
	}
	if err := f.fsys.Remove(from); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("remove %s: %w", from, err)
	}
	return nil
}

// quarantineDisplacedLocked moves a file with an edit of name to quarantine/.
func (f *Files) quarantineDisplacedLocked(from, name string, p fileState) error {
	e, err := QuarantineEdit(
		f.fsys,
		from,
		Edit{File: name, Hash: p.hash, Kind: Pending, Writing: p.writing, At: f.foundAt(p)},
	)
	if err != nil {
		return err
	}
	f.displaced = append(f.displaced, e)
	if e.Writing {
		f.writing = append(f.writing, e)
	}
	return nil
}

// foundAt is the present time or, at a start, when there is no clock yet, the time of the file.
func (f *Files) foundAt(p fileState) time.Time {
	if f.now == nil {
		return p.info.ModTime()
	}
	return f.now()
}

// adoptBackupLocked enters an unknown backup into the manifest: one from before the first publication, or from
// before the manifest was lost. It is copied to quarantine/ first, because nobody else has its bytes.
func (f *Files) adoptBackupLocked(t *replacement) error {
	bak := t.name + backupSuffix
	p, err := f.lstatLocked(bak)
	if err != nil || !p.exists || t.bak.Hash != "" {
		return err
	}
	if p.hash, err = hashOf(f.fsys, bak); err != nil {
		return fmt.Errorf("look at %s: %w", bak, err)
	}
	t.bak = ManifestEntry{Hash: p.hash}
	dest, kept, err := Quarantine(
		f.fsys,
		bak,
		p.hash,
		fmt.Sprintf("%s was there already and was not written by memsidecar, as far as it remembers.\n"+
			"Found: %s. Last changed: %s. Size: %d bytes. SHA-256: %s.\n\n"+
			"It is about to be replaced by a new backup, so it was copied here first, unchanged. When nothing in it is needed any\n"+
			"more, delete both files; memsidecar never does.\n",
			bak, f.now().Format(time.RFC3339), p.info.ModTime().Format(time.RFC3339), p.info.Size(), p.hash),
	)
	if kept {
		f.logger.Warn("a backup that is not memsidecar's own was kept aside", "file", bak, "copy", dest)
	}
	return err
}
