package crashfs

import (
	"maps"
	"slices"
)

// Clone returns an independent copy with all pending changes, the same operation numbers and the same failures to come.
// No file is open in it.
func (f *FS) Clone() *FS {
	f.mu.Lock()
	defer f.mu.Unlock()
	c := &FS{
		trace: slices.Clone(f.trace), crashAt: f.crashAt, crashed: f.crashed, failures: maps.Clone(f.failures),
		limit: f.limit,
	}
	k := copier{nodes: map[*node]*node{}, changes: map[*change]*change{}}
	for _, d := range f.dirs {
		c.dirs = append(c.dirs, k.node(d))
	}
	c.root = k.nodes[f.root]
	for _, n := range k.nodes {
		if n.links == 0 { // was only open, or exists only for a crash to restore
			n.space = 0
		}
		c.used += n.space
	}
	return c
}

// copier copies nodes and changes, each once, so that shared ones stay shared.
type copier struct {
	nodes   map[*node]*node
	changes map[*change]*change
}

// node returns the copy of n.
func (k *copier) node(n *node) *node {
	if n == nil {
		return nil
	}
	if c := k.nodes[n]; c != nil {
		return c
	}
	c := &node{isDir: n.isDir, mode: n.mode, stamp: n.stamp, links: n.links, space: n.space, syncFailed: n.syncFailed}
	k.nodes[n] = c
	if !n.isDir {
		c.visible, c.durable, c.dirty, c.dropped = n.visible.clone(), n.durable.clone(), n.dirty.clone(),
			n.dropped.clone()
		return c
	}
	c.visibleNames, c.durableNames = k.names(n.visibleNames), k.names(n.durableNames)
	for _, old := range n.pending {
		c.pending = append(c.pending, k.change(old))
	}
	return c
}

// names copies the names of a directory.
func (k *copier) names(names map[string]*node) map[string]*node {
	c := map[string]*node{}
	for base, n := range names {
		c[base] = k.node(n)
	}
	return c
}

// change returns the copy of a change.
func (k *copier) change(old *change) *change {
	if c := k.changes[old]; c != nil {
		return c
	}
	c := &change{}
	k.changes[old] = c
	for _, s := range old.sets {
		c.sets = append(c.sets, nameSet{k.node(s.dir), s.name, k.node(s.node)})
	}
	return c
}
