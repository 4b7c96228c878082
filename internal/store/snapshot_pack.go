package store

import (
	"fmt"
	"maps"
	"slices"
)

// A pack is a file of a snapshot that holds many small spaces, one after another: a file and a sync for each would take
// minutes for tens of thousands. When one of its spaces changed, a pack is not named any more: all of its spaces are
// written again. So nothing in a pack is ever out of date, and what a purge erases from a space leaves no trace in the
// pack where the space was. The size of a pack bounds what that costs.
const (
	smallSpace = 64 << 10 // estimated bytes in a file; a larger space has a file of its own
	packBytes  = 8 << 20  // estimated
	packFrom   = 32       // small spaces that are worth a pack; see Config.PackFrom
)

// isSmall reports whether a space may share its file.
func (sp *spaceState) isSmall() bool {
	const perItem = 400 // bytes of a line beside its text, roughly
	bytes := perItem * (len(sp.slots) + len(sp.receipts) + len(sp.days) + len(sp.sessions) + len(sp.forgotten) +
		len(sp.removed))
	if sp.cold != nil {
		bytes += int(sp.cold.bytes)
	}
	for _, m := range sp.slots {
		if bytes > smallSpace {
			return false
		}
		if m != nil {
			bytes += len(m.Content) + len(m.StructuredData())
		}
	}
	return bytes <= smallSpace
}

// outdatedSpaces names, sorted, the spaces to write in a snapshot that follows old: those that changed, and those that
// share a pack with one of them. Small spaces with a file of their own and half-empty packs join, once there are enough
// of them for a pack, so that their number stays bounded.
func outdatedSpaces(st *state, old manifest, packFrom int) []string {
	files := make(map[string]spaceInFile, len(old.Spaces))
	bytes := map[string]int64{} // of each pack
	for _, f := range old.Spaces {
		files[f.Name] = f
		if f.Packed {
			bytes[f.File] += f.Bytes
		}
	}
	write, broken := map[string]bool{}, map[string]bool{}
	small := 0
	for name, sp := range st.spaces {
		if f, ok := files[name]; !ok || f.LSN != sp.changed {
			write[name] = true
			broken[f.File] = broken[f.File] || f.Packed
			if sp.isSmall() {
				small++
			}
		}
	}
	for _, f := range old.Spaces {
		if st.spaces[f.Name] == nil { // dropped: nothing of it stays in the pack
			broken[f.File] = broken[f.File] || f.Packed
		}
	}
	joins := func(f spaceInFile) bool {
		return !write[f.Name] && st.spaces[f.Name] != nil && (broken[f.File] || !f.Packed && f.Bytes < smallSpace)
	}
	for _, f := range old.Spaces {
		if joins(f) {
			small++
		}
	}
	for _, f := range old.Spaces {
		if st.spaces[f.Name] == nil {
			continue
		}
		if f.Packed && broken[f.File] || small >= packFrom && (joins(f) || f.Packed && bytes[f.File] < packBytes/4) {
			write[f.Name] = true
		}
	}
	return slices.Sorted(maps.Keys(write))
}

// packs groups captured spaces by the file that they share, and names those files.
func packs(captured []*spaceCapture, stamp string, packFrom int) (groups [][]*spaceCapture) {
	var small []*spaceCapture
	for _, c := range captured {
		if c.small {
			small = append(small, c)
		} else {
			groups = append(groups, []*spaceCapture{c})
		}
	}
	if len(small) < packFrom {
		for _, c := range small {
			groups = append(groups, []*spaceCapture{c})
		}
		return groups
	}
	bytes, numbered := packBytes, 0
	for _, c := range small {
		if bytes >= packBytes {
			bytes, numbered = 0, numbered+1
			groups = append(groups, nil)
		}
		// No space has such a name.
		c.file = fmt.Sprintf("+%d.space.%s.jsonl", numbered, stamp)
		last := &groups[len(groups)-1]
		*last = append(*last, c)
		bytes += 1000
		if c.cold != nil {
			bytes += int(c.cold.bytes)
		}
		for _, m := range c.memories {
			bytes += 400 + len(m.Content)
		}
	}
	return groups
}
