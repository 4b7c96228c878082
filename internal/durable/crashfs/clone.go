package crashfs

import (
	"maps"
	"slices"
)

// Clone returns an independent copy with everything that is pending, and with the same numbers and failures to come.
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
		if n.links == 0 { // was only open, or is only there for a crash to bring back
			n.taken = 0
		}
		c.used += n.taken
	}
	return c
}

// copier copies nodes and changes, each once.
type copier struct {
	nodes   map[*node]*node
	changes map[*change]*change
}

func (k *copier) node(n *node) *node {
	if n == nil {
		return nil
	}
	if c := k.nodes[n]; c != nil {
		return c
	}
	c := &node{isDir: n.isDir, mode: n.mode, stamp: n.stamp, links: n.links, taken: n.taken, stuck: n.stuck}
	k.nodes[n] = c
	if !n.isDir {
		c.view, c.disk, c.dirty, c.lost = n.view.clone(), n.disk.clone(), n.dirty.clone(), n.lost.clone()
		return c
	}
	c.seen, c.certain = k.names(n.seen), k.names(n.certain)
	for _, old := range n.pending {
		c.pending = append(c.pending, k.change(old))
	}
	return c
}

func (k *copier) names(names map[string]*node) map[string]*node {
	c := map[string]*node{}
	for base, n := range names {
		c[base] = k.node(n)
	}
	return c
}

func (k *copier) change(old *change) *change {
	if c := k.changes[old]; c != nil {
		return c
	}
	c := &change{}
	k.changes[old] = c
	for _, s := range old.sets {
		c.sets = append(c.sets, set{k.node(s.dir), s.name, k.node(s.node)})
	}
	return c
}
