package publish

import (
	"errors"
	"fmt"
	"io/fs"
	"time"
)

// Found is what stands under the name of a published file.
type Found struct {
	Exists       bool
	Ours         bool   // it is what was published last, or what was claimed
	Hash         string // SHA-256 of the content
	Size         int64
	ModTime      time.Time
	BeingWritten bool // somebody has it open for writing; false on systems that cannot tell
}

// Look says what stands under name. It is read only when its size or time are not those of what was published or seen last, or
// somebody has it open for writing. Errors: those of the file system, ErrNotRegular.
func (f *Files) Look(name string) (found Found, err error) {
	err = f.do(func() error {
		p, err := f.inspectLocked(name)
		if err != nil || !p.exists {
			return err
		}
		found = Found{
			Exists: true, Ours: f.known[name].is(p.hash), Hash: p.hash,
			Size: p.info.Size(), ModTime: p.info.ModTime(), BeingWritten: p.writing,
		}
		return nil
	})
	return found, err
}

// present is what is found under a name.
type present struct {
	exists  bool
	hash    string
	info    fs.FileInfo
	writing bool // somebody has it open for writing
	fresh   bool // changed so short a while ago that another change might not show in its time
}

// same reports whether info describes a file of the same kind, size and time.
func (p present) same(info fs.FileInfo) bool {
	return p.exists && p.info.Mode() == info.Mode() && p.info.Size() == info.Size() && p.info.ModTime().Equal(info.ModTime())
}

// like is same for a file whose time tells that it has the same hash, too.
func (p present) like(info fs.FileInfo) bool { return !p.fresh && p.same(info) }

// tick is longer than the steps in which file systems count time: those of the kernel's clock, 10 ms at most.
const tick = 20 * time.Millisecond

// freshLocked reports whether a file with this time might be changed now and keep it. A time in the future tells nothing.
func (f *Files) freshLocked(mtime time.Time) bool { return f.now == nil || f.now().Sub(mtime) < tick }

// inspectLocked looks at the file under name.
func (f *Files) inspectLocked(name string) (present, error) {
	p, err := f.lstatLocked(name)
	if err != nil || !p.exists {
		return p, err
	}
	k := f.known[name]
	if !p.writing {
		if !p.fresh && k.like(p.info) {
			p.hash = k.Hash
			return p, nil
		}
		if seen := f.seen[name]; seen.like(p.info) {
			p.hash = seen.hash
			return p, nil
		}
	}
	delete(f.seen, name)
	if p.hash, err = hashOf(f.fsys, name); errors.Is(err, fs.ErrNotExist) {
		return present{}, nil
	} else if err != nil {
		return present{}, fmt.Errorf("look at %s: %w", name, err)
	}
	// What was read is remembered when it cannot have changed meanwhile.
	after, err := f.lstatLocked(name)
	if err == nil && after.exists && !p.writing && !after.writing && p.like(after.info) {
		f.seen[name] = p
	}
	return p, err
}

// lstatLocked looks at a file without reading it.
func (f *Files) lstatLocked(name string) (present, error) {
	info, err := f.fsys.Lstat(name)
	if errors.Is(err, fs.ErrNotExist) {
		return present{}, nil
	}
	if err != nil {
		return present{}, fmt.Errorf("look at %s: %w", name, err)
	}
	if !info.Mode().IsRegular() {
		return present{}, fmt.Errorf("%s %w", name, ErrNotRegular)
	}
	writing, err := f.fsys.BeingWritten(name)
	if errors.Is(err, fs.ErrNotExist) {
		return present{}, nil
	}
	if err != nil {
		return present{}, fmt.Errorf("look at %s: %w", name, err)
	}
	return present{exists: true, info: info, writing: writing, fresh: f.freshLocked(info.ModTime())}, nil
}
