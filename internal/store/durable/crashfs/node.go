package crashfs

import (
	"io/fs"
	"maps"
	"math/rand/v2"
	"slices"
	"time"
)

// node is a file or a directory, independent of its names: an inode.
type node struct {
	isDir bool
	mode  fs.FileMode
	// stamp is the number of the operation that changed the node last. Lstat shows it as a time.
	stamp int

	// Of a file.
	visible content // what is seen
	durable content // what is certain to survive a crash
	// dirty is what the next sync writes.
	dirty unsynced
	// dropped is what a failed sync dropped. It is older than dirty.
	dropped unsynced
	space   int64 // space
	links   int
	opens   int
	writers int // of opens, those for writing

	// Of a directory.
	visibleNames map[string]*node
	durableNames map[string]*node
	// pending are the changes that lead from durableNames to visibleNames.
	pending []*change
	// syncFailed says that a sync failed: nothing becomes durable any more.
	syncFailed bool
}

// change is an atomic change of names in one directory or two.
type change struct{ sets []nameSet }

// nameSet makes a name refer to a node, or removes the name when node is nil.
type nameSet struct {
	dir  *node
	name string
	node *node
}

// apply changes the names of one directory.
func (s nameSet) apply(names map[string]*node) {
	if s.node == nil {
		delete(names, s.name)
	} else {
		names[s.name] = s.node
	}
}

// newDir returns a directory without names.
func (f *FS) newDir() *node {
	d := &node{isDir: true, mode: 0o700 | fs.ModeDir, stamp: len(f.trace),
		visibleNames: map[string]*node{}, durableNames: map[string]*node{}}
	f.dirs = append(f.dirs, d)
	return d
}

// applyLocked makes a change visible, and pending in its directories.
func (f *FS) applyLocked(c *change) {
	var unnamed []*node
	for _, s := range c.sets {
		if s.node != nil {
			s.node.links++
		}
		if old := s.dir.visibleNames[s.name]; old != nil {
			old.links--
			unnamed = append(unnamed, old)
		}
		s.apply(s.dir.visibleNames)
		s.dir.stamp = len(f.trace)
		if !slices.Contains(s.dir.pending, c) {
			s.dir.pending = append(s.dir.pending, c)
		}
	}
	// Only now: a rename removes one name of a node and adds another.
	for _, n := range unnamed {
		f.releaseSpaceLocked(n)
	}
}

// flush makes the first count pending changes of a directory durable. A change that another directory shares first
// needs the changes before it in that directory.
func (n *node) flush(count int) {
	changes := n.pending[:count]
	n.pending = n.pending[count:]
	for _, c := range changes {
		for _, s := range c.sets {
			if s.dir == n {
				s.apply(n.durableNames)
			} else if i := slices.Index(s.dir.pending, c); i >= 0 {
				s.dir.flush(i + 1)
			}
		}
	}
}

// write changes the visible contents of a file, page by page.
func (n *node) write(p []byte, off int64) {
	for len(p) > 0 {
		i, in := int(off/pageSize), int(off%pageSize)
		pg := new(page)
		if old := n.visible.page(i); old != nil {
			*pg = *old
		}
		k := copy(pg[in:], p)
		n.visible.set(i, pg)
		n.dirty.add(i, pg)
		p, off = p[k:], off+int64(k)
		if off > n.visible.size {
			n.resize(off)
		}
	}
}

// resize changes the visible size of a file.
func (n *node) resize(size int64) {
	for _, i := range n.visible.truncate(size) {
		n.dirty.add(i, n.visible.pages[i])
	}
	n.dirty.sizes = append(n.dirty.sizes, size)
}

// sync makes what is dirty durable. Pages that a failed sync dropped stay as they are unless they were written again.
func (n *node) sync() {
	for i, versions := range n.dirty.pages {
		n.durable.set(i, versions[len(versions)-1])
		delete(n.dropped.pages, i)
	}
	if len(n.dirty.sizes) > 0 {
		n.durable.size = n.visible.size
		n.dropped.sizes = nil
	}
	n.dirty = unsynced{}
}

// dropDirty is the effect of a failed sync.
func (n *node) dropDirty() {
	n.dropped.join(n.dirty)
	n.dirty = unsynced{}
}

// torn returns what a crash may leave of a file: often all or nothing of what was not synced, so that files appear in
// every combination, else a random mixture.
func (n *node) torn(rng *rand.Rand) content {
	c := n.durable.clone()
	switch rng.IntN(4) {
	case 0:
	case 1:
		c = n.visible.clone()
	default:
		u := n.dropped.clone()
		u.join(n.dirty)
		for _, i := range slices.Sorted(maps.Keys(u.pages)) {
			c.set(i, tear(c.page(i), u.pages[i], rng))
		}
		c.size = pickSize(append([]int64{c.size}, u.sizes...), rng)
	}
	return c
}

// info is the fs.FileInfo of a node under one of its names. It is a copy.
type info struct {
	name  string
	size  int64
	mode  fs.FileMode
	stamp int
	node  *node
}

// info describes the node under the base name name.
func (n *node) info(name string) info {
	return info{name: name, size: n.visible.size, mode: n.mode, stamp: n.stamp, node: n}
}

func (i info) Name() string      { return i.name }
func (i info) Size() int64       { return i.size }
func (i info) Mode() fs.FileMode { return i.mode }

// ModTime is the number of the operation that changed the node last, in seconds since 1970.
func (i info) ModTime() time.Time { return time.Unix(int64(i.stamp), 0) }
func (i info) IsDir() bool        { return i.mode.IsDir() }
func (i info) Sys() any           { return nil }
