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
}

// like reports whether info describes a file of the same size and time, which then has the same hash.
func (p present) like(info fs.FileInfo) bool {
	return p.exists && p.info.Mode() == info.Mode() && p.info.Size() == info.Size() && p.info.ModTime().Equal(info.ModTime())
}

// settled is how old a file must be for its time to say that it did not change: file systems count in coarse steps.
const settled = 2 * time.Second

// inspectLocked looks at the file under name.
func (f *Files) inspectLocked(name string) (present, error) {
	p, err := f.lstat(name)
	if err != nil || !p.exists {
		return p, err
	}
	k := f.known[name]
	if !p.writing {
		if k.like(p.info) {
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
	after, err := f.lstat(name)
	if err == nil && !p.writing && !after.writing && p.like(after.info) && f.now != nil && f.now().Sub(p.info.ModTime()) > settled {
		f.seen[name] = p
	}
	return p, err
}

// lstat looks at a file without reading it.
func (f *Files) lstat(name string) (present, error) {
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
	return present{exists: true, info: info, writing: writing}, nil
}
