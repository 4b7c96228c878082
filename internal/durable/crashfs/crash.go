package crashfs

import (
	"maps"
	"math/rand/v2"
	"slices"
)

// Variant is what becomes, in a crash, of what was not synced.
type Variant int

const (
	Lost Variant = iota // nothing survives
	Kept                // everything survives
	Torn                // some of it survives, by chance
)

func (v Variant) String() string { return [...]string{"lost", "kept", "torn"}[v] }

// Crash returns what a restart would see if the system crashed now: a new FS, all of it durable, with the same space, no
// failures and operations numbered anew. f stays as it is, so that one run can be crashed in many ways. The same state
// and the same rng give the same result; only Torn needs rng.
func (f *FS) Crash(v Variant, rng *rand.Rand) *FS {
	f.mu.Lock()
	defer f.mu.Unlock()
	r := restart{to: New(), variant: v, rng: rng, keep: map[*node]int{}, made: map[*node]*node{}}
	for _, d := range f.dirs {
		switch v {
		case Kept:
			r.keep[d] = len(d.pending)
		case Torn:
			r.keep[d] = prefix(len(d.pending), rng)
		}
	}
	r.settle(f.dirs)
	r.fill(r.to.root, f.root)
	r.to.limit = f.limit
	return r.to
}

// prefix picks how many of n changes survive, often none or all.
func prefix(n int, rng *rand.Rand) int {
	switch rng.IntN(4) {
	case 0:
		return 0
	case 1:
		return n
	default:
		return rng.IntN(n + 1)
	}
}

type restart struct {
	to      *FS
	variant Variant
	rng     *rand.Rand
	keep    map[*node]int // of the pending changes of a directory, how many survive
	made    map[*node]*node
}

// settle makes renames between directories survive in both or in neither.
func (r *restart) settle(dirs []*node) {
	for again := true; again; {
		again = false
		for _, d := range dirs {
			for i, c := range d.pending[:r.keep[d]] {
				if slices.ContainsFunc(c.sets, func(s set) bool {
					return slices.Index(s.dir.pending, c) >= r.keep[s.dir]
				}) {
					r.keep[d] = i
					again = true
					break
				}
			}
		}
	}
}

// fill gives directory to the names that survive in from, and so on below.
func (r *restart) fill(to, from *node) {
	names := maps.Clone(from.certain)
	for _, c := range from.pending[:r.keep[from]] {
		for _, s := range c.sets {
			if s.dir == from {
				s.apply(names)
			}
		}
	}
	r.made[from] = to
	for _, base := range slices.Sorted(maps.Keys(names)) {
		old := names[base]
		n := r.made[old]
		switch {
		case n != nil && n.isDir: // a directory has one name
			continue
		case n == nil && old.isDir:
			n = r.to.newDir()
			r.fill(n, old)
		case n == nil:
			n = r.file(old)
		}
		n.links++
		to.seen[base] = n
		to.certain[base] = n
	}
}

func (r *restart) file(old *node) *node {
	n := &node{mode: old.mode}
	switch r.variant {
	case Lost:
		n.disk = old.disk.clone()
	case Kept:
		n.disk = old.view.clone()
	case Torn:
		n.disk = old.torn(r.rng)
	}
	n.disk.normalise()
	n.view = n.disk.clone()
	r.to.takeLocked(n, n.disk.size)
	r.made[old] = n
	return n
}
