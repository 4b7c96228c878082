package crashfs

import (
	"errors"
	"io/fs"
	"path"
	"slices"
	"strings"
	"syscall"
)

// Names lists the files, not the directories, sorted by their names from the root.
func (f *FS) Names() []string {
	f.mu.Lock()
	defer f.mu.Unlock()
	var names []string
	var walk func(d *node, prefix string)
	walk = func(d *node, prefix string) {
		for base, n := range d.seen {
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

// WriteRaw makes a file and the directories above it, or replaces a file, durably and without an operation, as if it had
// been there all along. Names that were pending in those directories become durable, too.
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
	n.lost = unsynced{}
	f.takeLocked(n, n.view.size)
	return nil
}

// Corrupt overwrites bytes of a file, as it is seen and on disk, without an operation, as a failing disk does.
func (f *FS) Corrupt(name string, offset int64, data []byte) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	n, _, _, err := f.findLocked(name)
	if err != nil {
		return pathError("corrupt", name, err)
	}
	if offset < 0 || offset+int64(len(data)) > n.view.size {
		return pathError("corrupt", name, errOutside)
	}
	n.corrupt(data, offset)
	return nil
}

var errOutside = errors.New("outside of the file")

// rawLocked finds or makes a file.
func (f *FS) rawLocked(name string) (*node, error) {
	clean := path.Clean(name)
	if !fs.ValidPath(clean) || clean == "." {
		return nil, errEscapes
	}
	dir, parts := f.root, strings.Split(clean, "/")
	for i, base := range parts {
		last := i == len(parts)-1
		dir.flush(len(dir.pending))
		n := dir.seen[base]
		if n == nil {
			if n = (&node{mode: 0o600}); !last {
				n = f.newDir()
			}
			n.links = 1
			dir.seen[base], dir.certain[base] = n, n
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
		n.view.set(i, damaged(n.view.page(i)))
		n.disk.set(i, damaged(n.disk.page(i)))
		for _, versions := range [][]*page{n.dirty.pages[i], n.lost.pages[i]} {
			for v, p := range versions {
				versions[v] = damaged(p)
			}
		}
		data, offset = data[k:], offset+int64(k)
	}
}
