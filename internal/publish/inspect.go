package publish

import (
	"errors"
	"fmt"
	"io/fs"
	"time"
)

// Inspection is what was found under the name of a published file.
type Inspection struct {
	Exists       bool
	Ours         bool   // it is what was published last, or what was claimed
	Hash         string // SHA-256 of the content
	Size         int64
	ModTime      time.Time
	BeingWritten bool // somebody has it open for writing; false on systems that cannot tell
}

// Inspect returns what is under name. The file is read only when its size or time differ from what was published or
// inspected last, or when it is open for writing. Errors: those of the file system, ErrNotRegular.
func (f *Files) Inspect(name string) (found Inspection, err error) {
	err = f.do(func() error {
		p, err := f.inspectLocked(name)
		if err != nil || !p.exists {
			return err
		}
		found = Inspection{
			Exists: true, Ours: f.entries[name].matches(p.hash), Hash: p.hash,
			Size: p.info.Size(), ModTime: p.info.ModTime(), BeingWritten: p.writing,
		}
		return nil
	})
	return found, err
}

// fileState is what was found under a name.
type fileState struct {
	exists  bool
	hash    string
	info    fs.FileInfo
	writing bool // somebody has it open for writing
	racy    bool // changed so short a while ago that another change might not show in its time
}

// same reports whether info describes a file of the same kind, size and time.
func (p fileState) same(info fs.FileInfo) bool {
	return p.exists && p.info.Mode() == info.Mode() && p.info.Size() == info.Size() &&
		p.info.ModTime().Equal(info.ModTime())
}

// unchanged is same for a file whose time is old enough to prove that its hash is the same, too.
func (p fileState) unchanged(info fs.FileInfo) bool { return !p.racy && p.same(info) }

// mtimeGranularity is longer than the steps in which file systems count time: a tick of the kernel, at most 10 ms.
const mtimeGranularity = 20 * time.Millisecond

// racyLocked reports whether a file with this time may change again without a new time. Git has the same problem
// with its index and calls such entries racily clean (Documentation/technical/racy-git.txt). A time in the future
// proves nothing.
func (f *Files) racyLocked(mtime time.Time) bool {
	return f.now == nil || f.now().Sub(mtime) < mtimeGranularity
}

// inspectLocked is Inspect with the lock held. It hashes only files that may have changed.
func (f *Files) inspectLocked(name string) (fileState, error) {
	p, err := f.lstatLocked(name)
	if err != nil || !p.exists {
		return p, err
	}
	k := f.entries[name]
	if !p.writing {
		if !p.racy && k.sameStat(p.info) {
			p.hash = k.Hash
			return p, nil
		}
		if seen := f.hashes[name]; seen.unchanged(p.info) {
			p.hash = seen.hash
			return p, nil
		}
	}
	delete(f.hashes, name)
	if p.hash, err = hashOf(f.fsys, name); errors.Is(err, fs.ErrNotExist) {
		return fileState{}, nil
	} else if err != nil {
		return fileState{}, fmt.Errorf("look at %s: %w", name, err)
	}
	// What was read is remembered when it cannot have changed meanwhile.
	after, err := f.lstatLocked(name)
	if err == nil && after.exists && !p.writing && !after.writing && p.unchanged(after.info) {
		f.hashes[name] = p
	}
	return p, err
}

// lstatLocked inspects a file without reading it.
func (f *Files) lstatLocked(name string) (fileState, error) {
	info, err := f.fsys.Lstat(name)
	if errors.Is(err, fs.ErrNotExist) {
		return fileState{}, nil
	}
	if err != nil {
		return fileState{}, fmt.Errorf("look at %s: %w", name, err)
	}
	if !info.Mode().IsRegular() {
		return fileState{}, fmt.Errorf("%s %w", name, ErrNotRegular)
	}
	writing, err := f.fsys.BeingWritten(name)
	if errors.Is(err, fs.ErrNotExist) {
		return fileState{}, nil
	}
	if err != nil {
		return fileState{}, fmt.Errorf("look at %s: %w", name, err)
	}
	return fileState{exists: true, info: info, writing: writing, racy: f.racyLocked(info.ModTime())}, nil
}
