package crashfs

import (
	"errors"
	"io/fs"
	"path"
	"slices"
	"strings"
	"syscall"
)

// Names lists the files, without directories, sorted by their paths.
func (f *FS) Names() []string {
	f.mu.Lock()
	defer f.mu.Unlock()
	var names []string
	var walk func(d *node, prefix string)
	walk = func(d *node, prefix string) {
		for base, n := range d.visibleNames {
			if n.isDir {
				walk(n, path.Join(prefix, base))
			} else {
				names = append(names, path.Join(prefix, base))
			}
		}
	}
	walk(f.root, "")
	slices.Sort(names)
	return names
}

// WriteRaw creates or replaces a file, and creates the directories above it, durably and without an operation, as if it
// had always existed. Pending names in those directories become durable too.
func (f *FS) WriteRaw(name string, data []byte) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	n, err := f.rawLocked(name)
	if err != nil {
		return pathError("write raw", name, err)
	}
	n.resize(0)
	n.write(data, 0)
	n.sync()
	n.dropped = unsynced{}
	f.setSpaceLocked(n, n.visible.size)
	return nil
}

// Corrupt overwrites bytes of a file, visible and durable ones, without an operation, as a failing disk does.
func (f *FS) Corrupt(name string, offset int64, data []byte) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	n, _, _, err := f.findLocked(name)
	if err != nil {
		return pathError("corrupt", name, err)
	}
	if offset < 0 || offset+int64(len(data)) > n.visible.size {
		return pathError("corrupt", name, errOutside)
	}
	n.corrupt(data, offset)
	return nil
}

// errOutside refuses to corrupt bytes that the file does not have.
var errOutside = errors.New("outside of the file")

// rawLocked finds or creates a file, durably.
func (f *FS) rawLocked(name string) (*node, error) {
	clean := path.Clean(name)
	if !fs.ValidPath(clean) || clean == "." {
		return nil, errEscapes
	}
	dir, parts := f.root, strings.Split(clean, "/")
	for i, base := range parts {
		last := i == len(parts)-1
		// A file that a test puts there was there before; it is no change that a crash could undo.
		dir.flush(len(dir.pending))
		n := dir.visibleNames[base]
		if n == nil {
			if n = (&node{mode: 0o600}); !last {
				n = f.newDir()
			}
			n.links = 1
			dir.visibleNames[base], dir.durableNames[base] = n, n
		}
		if n.isDir == last {
			return nil, syscall.EEXIST
		}
		dir = n
	}
	return dir, nil
}

// corrupt overwrites bytes in every version of the pages concerned.
func (n *node) corrupt(data []byte, offset int64) {
	for len(data) > 0 {
		i, in := int(offset/pageSize), int(offset%pageSize)
		var k int
		damaged := func(p *page) *page {
			c := new(page)
			if p != nil {
				*c = *p
			}
			k = copy(c[in:], data)
			return c
		}
		n.visible.set(i, damaged(n.visible.page(i)))
		n.durable.set(i, damaged(n.durable.page(i)))
		for _, versions := range [][]*page{n.dirty.pages[i], n.dropped.pages[i]} {
			for v, p := range versions {
				versions[v] = damaged(p)
			}
		}
		data, offset = data[k:], offset+int64(k)
	}
}
