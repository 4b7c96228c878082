package publish

import (
	"errors"
	"fmt"
	"io/fs"
	"time"
)

// beginLocked makes the ledger know what is about to be there.
func (f *Files) beginLocked(t *turn) error {
	former := f.known[t.name]
	entry := t.entry
	entry.Pending = true
	if t.old.exists {
		entry.Previous, entry.PreviousRevision = t.old.hash, former.Revision
		if t.old.hash != former.Hash {
			entry.Claimed = t.old.hash
		}
	}
	noted := map[string]Known{t.name: entry}
	if t.backup {
		bak := Known{
			Hash: t.old.hash, Size: t.old.info.Size(), ModTime: t.old.info.ModTime(), Revision: former.Revision,
			Pending: true, Previous: t.bak.Hash,
		}
		if t.old.fresh {
			bak.ModTime = time.Time{}
		}
		noted[t.name+backupSuffix] = bak
	}
	return f.noteLocked(noted)
}

// swapLocked makes temp the file under name, and what was there the file under name.next. Commit point: the sync of the directory.
func (f *Files) swapLocked(t *turn, temp string) error {
	if err := f.swapNamesLocked(t, temp); err != nil {
		return fmt.Errorf("replace %s: %w", t.name, err)
	}
	return f.syncDirOf(t.name)
}

func (f *Files) swapNamesLocked(t *turn, temp string) error {
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
		return f.swapByRename(t, temp)
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
		return f.swapByRename(t, temp)
	case errors.Is(err, fs.ErrNotExist):
		return ErrBusyFile // somebody removed it just now
	}
	return err
}

// swapByRename is for file systems that cannot exchange names. Between its last look and its rename a file that somebody else
// puts under the name at this moment would be lost; that is a few microseconds.
func (f *Files) swapByRename(t *turn, temp string) error {
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

// finishLocked looks at what came out, and makes the ledger say that it is over.
func (f *Files) finishLocked(t *turn) error {
	kept, err := f.resolveLocked(t)
	if err != nil {
		return err
	}
	bak := t.name + backupSuffix
	if f.freshLocked(t.entry.ModTime) {
		t.entry.ModTime = time.Time{} // somebody may write to it already
	}
	noted := map[string]Known{t.name: t.entry}
	switch {
	case kept:
		noted[bak] = f.known[bak].over()
	case t.backup: // it was not ours to make a backup of
		noted[bak] = t.bak
	}
	return f.noteLocked(noted)
}

// over is k without what is only of interest while it is pending.
func (k Known) over() Known {
	k.Pending, k.Previous, k.PreviousRevision, k.Claimed = false, "", 0, ""
	return k
}

// resolveLocked deals with what is under name.next: what is known becomes the backup, when it is to be one, or is removed; anything
// else is an edit. Durable on return.
func (f *Files) resolveLocked(t *turn) (backup bool, err error) {
	next := t.name + nextSuffix
	p, err := f.lstatLocked(next)
	if errors.Is(err, ErrNotRegular) {
		_, backErr := f.giveBackLocked(t.name)
		return false, errors.Join(err, backErr)
	}
	if err != nil || !p.exists {
		return false, err
	}
	if !p.writing && t.old.like(p.info) {
		p.hash = t.old.hash
	} else if p.hash, err = hashOf(f.fsys, next); err != nil {
		return false, fmt.Errorf("look at %s: %w", next, err)
	}
	b := f.known[t.name+backupSuffix]
	switch {
	case p.writing || !f.recognisedLocked(t.name, p.hash):
		return false, f.displacedLocked(next, t.name, p)
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

// giveBackLocked puts what came out from under name and is not a regular file, a symbolic link say, back there. It returns what is
// under name.next instead.
func (f *Files) giveBackLocked(name string) (present, error) {
	next := name + nextSuffix
	if err := f.fsys.Exchange(next, name); err != nil {
		return present{}, fmt.Errorf("%s %w: %w", next, ErrNotRegular, err)
	}
	if err := f.syncDirOf(name); err != nil {
		return present{}, err
	}
	return f.lstatLocked(next)
}

// recognisedLocked reports whether hash is that of a content of name or of its backup that may be dropped.
func (f *Files) recognisedLocked(name, hash string) bool {
	return f.known[name].is(hash) || f.known[name+backupSuffix].is(hash)
}

// removeNext removes name.next, which was looked at.
func (f *Files) removeNext(name string) error {
	next := name + nextSuffix
	if err := f.fsys.Remove(next); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("remove %s: %w", next, err)
	}
	return nil
}

// backupLocked makes name.next the backup. What was the backup is looked at in its turn: a program that has had it open since it
// was the file itself may have written to it.
func (f *Files) backupLocked(t *turn) error {
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

// dropBackupLocked removes what was the backup and is under the name from, or keeps it as an edit.
func (f *Files) dropBackupLocked(t *turn, from string) error {
	p, err := f.lstatLocked(from)
	if err != nil || !p.exists {
		return err
	}
	if !p.writing && t.bak.like(p.info) {
		p.hash = t.bak.Hash
	} else if p.hash, err = hashOf(f.fsys, from); err != nil {
		return fmt.Errorf("look at %s: %w", from, err)
	}
	if p.writing || !f.recognisedLocked(t.name, p.hash) {
		return f.displacedLocked(from, t.name, p)
	}
	if err := f.fsys.Remove(from); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("remove %s: %w", from, err)
	}
	return nil
}

// displacedLocked moves a file that turned out to hold what somebody else wrote into name to quarantine/.
func (f *Files) displacedLocked(from, name string, p present) error {
	e, err := KeepEdit(f.fsys, from, Edit{File: name, Hash: p.hash, Kind: Pending, Writing: p.writing, At: f.at(p)})
	if err != nil {
		return err
	}
	f.found = append(f.found, e)
	if e.Writing {
		f.writing = append(f.writing, e)
	}
	return nil
}

// at is the present time, or before there is a clock the time of the file.
func (f *Files) at(p present) time.Time {
	if f.now == nil {
		return p.info.ModTime()
	}
	return f.now()
}

// knowBackupLocked makes a backup known that is not: one that was there before the first publication, or since the ledger was lost.
// It is copied to quarantine/, for it is nobody's edit of the present file.
func (f *Files) knowBackupLocked(t *turn) error {
	bak := t.name + backupSuffix
	p, err := f.lstatLocked(bak)
	if err != nil || !p.exists || t.bak.Hash != "" {
		return err
	}
	if p.hash, err = hashOf(f.fsys, bak); err != nil {
		return fmt.Errorf("look at %s: %w", bak, err)
	}
	t.bak = Known{Hash: p.hash}
	dest, kept, err := Keep(f.fsys, bak, p.hash, fmt.Sprintf("%s was there already and was not written by memsidecar, as far as it remembers.\n"+
		"Found: %s. Last changed: %s. Size: %d bytes. SHA-256: %s.\n\n"+
		"It is about to be replaced by a new backup, so it was copied here first, unchanged. When nothing in it is needed any\n"+
		"more, delete both files; memsidecar never does.\n",
		bak, f.now().Format(time.RFC3339), p.info.ModTime().Format(time.RFC3339), p.info.Size(), p.hash))
	if kept {
		f.logger.Warn("a backup that is not memsidecar's own was kept aside", "file", bak, "copy", dest)
	}
	return err
}
