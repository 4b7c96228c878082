package crashfs

import (
	"maps"
	"math/rand/v2"
	"slices"
)

// CrashMode says what a crash does to changes that were not synced.
type CrashMode int

const (
	Lost CrashMode = iota // nothing survives
	Kept                  // everything survives
	Torn                  // some of it survives, by chance
)

func (v CrashMode) String() string { return [...]string{"lost", "kept", "torn"}[v] }

// Crash returns what a restart would see if the system crashed now: a new FS in which everything is durable, with the
// same space, no failures, and operations numbered anew. f stays as it is, so one run can be crashed in many ways. The
// same state and the same rng give the same result. Only Torn needs rng.
func (f *FS) Crash(v CrashMode, rng *rand.Rand) *FS {
	f.mu.Lock()
	defer f.mu.Unlock()
	r := afterCrash{to: New(), mode: v, rng: rng, surviving: map[*node]int{}, copies: map[*node]*node{}}
	for _, d := range f.dirs {
		switch v {
		case Kept:
			r.surviving[d] = len(d.pending)
		case Torn:
			r.surviving[d] = survivingPrefix(len(d.pending), rng)
		}
	}
	r.alignRenames(f.dirs)
	r.fill(r.to.root, f.root)
	r.to.limit = f.limit
	return r.to
}

// survivingPrefix picks how many of n changes survive, often none or all.
func survivingPrefix(n int, rng *rand.Rand) int {
	switch rng.IntN(4) {
	case 0:
		return 0
	case 1:
		return n
	default:
		return rng.IntN(n + 1)
	}
}

// afterCrash builds the FS after a crash.
type afterCrash struct {
	to   *FS
	mode CrashMode
	rng  *rand.Rand
	// surviving is how many of a directory's pending changes survive.
	surviving map[*node]int
	// copies maps nodes to their copies, so that two names of a file stay names of one file.
	copies map[*node]*node
}

// alignRenames shortens the surviving prefixes until every rename between two directories survives in both or in
// neither.
func (r *afterCrash) alignRenames(dirs []*node) {
	for again := true; again; {
		again = false
		for _, d := range dirs {
			for i, c := range d.pending[:r.surviving[d]] {
				if slices.ContainsFunc(c.sets, func(s nameSet) bool {
					return slices.Index(s.dir.pending, c) >= r.surviving[s.dir]
				}) {
					r.surviving[d] = i
					again = true
					break
				}
			}
		}
	}
}

// fill adds the names that survive in directory from to directory to, recursively.
func (r *afterCrash) fill(to, from *node) {
	names := maps.Clone(from.durableNames)
	for _, c := range from.pending[:r.surviving[from]] {
		for _, s := range c.sets {
			if s.dir == from {
				s.apply(names)
			}
		}
	}
	r.copies[from] = to
	for _, base := range slices.Sorted(maps.Keys(names)) {
		old := names[base]
		n := r.copies[old]
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
		to.visibleNames[base] = n
		to.durableNames[base] = n
	}
}

// file returns what survives of a file.
func (r *afterCrash) file(old *node) *node {
	n := &node{mode: old.mode}
	switch r.mode {
	case Lost:
		n.durable = old.durable.clone()
	case Kept:
		n.durable = old.visible.clone()
	case Torn:
		n.durable = old.torn(r.rng)
	}
	n.durable.normalise()
	n.visible = n.durable.clone()
	r.to.setSpaceLocked(n, n.durable.size)
	r.copies[old] = n
	return n
}
