package crashfs

import (
	"io/fs"
	"maps"
	"math/rand/v2"
	"slices"
	"time"
)

// node is a file or a directory, whatever its names.
type node struct {
	isDir bool
	mode  fs.FileMode
	stamp int // number of the operation that changed it last; stands for a time

	// Of a file.
	view    content  // what is seen
	disk    content  // what is certain to survive a crash
	dirty   unsynced // to be written by the next sync
	lost    unsynced // forgotten by a sync that failed, before dirty
	taken   int64    // space
	links   int
	opens   int
	writers int // of opens, those for writing

	// Of a directory.
	seen    map[string]*node
	certain map[string]*node
	pending []*change // from certain to seen
	stuck   bool      // a sync failed: nothing gets to disk any more
}

// change is an atomic change of names, in one directory or two.
type change struct{ sets []set }

// set gives a name to a node, or takes it when node is nil.
type set struct {
	dir  *node
	name string
	node *node
}

func (s set) apply(names map[string]*node) {
	if s.node == nil {
		delete(names, s.name)
	} else {
		names[s.name] = s.node
	}
}

func (f *FS) newDir() *node {
	d := &node{isDir: true, mode: 0o700 | fs.ModeDir, stamp: len(f.trace),
		seen: map[string]*node{}, certain: map[string]*node{}}
	f.dirs = append(f.dirs, d)
	return d
}

// applyLocked makes a change seen, and pending in its directories.
func (f *FS) applyLocked(c *change) {
	var unnamed []*node
	for _, s := range c.sets {
		if s.node != nil {
			s.node.links++
		}
		if old := s.dir.seen[s.name]; old != nil {
			old.links--
			unnamed = append(unnamed, old)
		}
		s.apply(s.dir.seen)
		s.dir.stamp = len(f.trace)
		if !slices.Contains(s.dir.pending, c) {
			s.dir.pending = append(s.dir.pending, c)
		}
	}
	// Not before the end: a rename takes one name and gives another.
	for _, n := range unnamed {
		f.releaseLocked(n)
	}
}

// flush puts the first n pending changes of a directory on disk, and with each that another directory shares what that
// one has to put there first.
func (d *node) flush(n int) {
	changes := d.pending[:n]
	d.pending = d.pending[n:]
	for _, c := range changes {
		for _, s := range c.sets {
			if s.dir == d {
				s.apply(d.certain)
			} else if i := slices.Index(s.dir.pending, c); i >= 0 {
				s.dir.flush(i + 1)
			}
		}
	}
}

// write changes what is seen of a file, page by page.
func (n *node) write(p []byte, off int64) {
	for len(p) > 0 {
		i, in := int(off/pageSize), int(off%pageSize)
		pg := new(page)
		if old := n.view.page(i); old != nil {
			*pg = *old
		}
		k := copy(pg[in:], p)
		n.view.set(i, pg)
		n.dirty.add(i, pg)
		p, off = p[k:], off+int64(k)
		if off > n.view.size {
			n.resize(off)
		}
	}
}

func (n *node) resize(size int64) {
	for _, i := range n.view.cut(size) {
		n.dirty.add(i, n.view.pages[i])
	}
	n.dirty.sizes = append(n.dirty.sizes, size)
}

// sync puts what is dirty on disk.
func (n *node) sync() {
	for i, versions := range n.dirty.pages {
		n.disk.set(i, versions[len(versions)-1])
		delete(n.lost.pages, i)
	}
	if len(n.dirty.sizes) > 0 {
		n.disk.size = n.view.size
		n.lost.sizes = nil
	}
	n.dirty = unsynced{}
}

// forget is a sync that failed.
func (n *node) forget() {
	n.lost.join(n.dirty)
	n.dirty = unsynced{}
}

// torn returns what a crash may leave of a file: often all or nothing of what was not synced, so that files are
// seen in every combination, else any mixture.
func (n *node) torn(rng *rand.Rand) content {
	c := n.disk.clone()
	switch rng.IntN(4) {
	case 0:
	case 1:
		c = n.view.clone()
	default:
		u := n.lost.clone()
		u.join(n.dirty)
		for _, i := range slices.Sorted(maps.Keys(u.pages)) {
			c.set(i, tear(c.page(i), u.pages[i], rng))
		}
		c.size = pickSize(append([]int64{c.size}, u.sizes...), rng)
	}
	return c
}

// info is a node under one of its names. It is a copy.
type info struct {
	name  string
	size  int64
	mode  fs.FileMode
	stamp int
}

func (n *node) info(name string) info {
	return info{name: name, size: n.view.size, mode: n.mode, stamp: n.stamp}
}

func (i info) Name() string       { return i.name }
func (i info) Size() int64        { return i.size }
func (i info) Mode() fs.FileMode  { return i.mode }
func (i info) ModTime() time.Time { return time.Unix(int64(i.stamp), 0) }
func (i info) IsDir() bool        { return i.mode.IsDir() }
func (i info) Sys() any           { return nil }
