package store

import (
	"fmt"
	"maps"
	"slices"
	"testing"

	"github.com/memsidecar/memsidecar/internal/memory"
)

// manifestOf is the manifest of a snapshot that wrote these groups.
func manifestOf(old manifest, lsn int64, st *state, stamp string) manifest {
	next := manifest{LSN: lsn}
	var captured []*spaceCapture
	write := map[string]bool{}
	for _, name := range outdatedSpaces(st, old, packFrom) {
		captured = append(captured, st.spaces[name].capture(stamp))
		write[name] = true
	}
	for _, f := range old.Spaces {
		if !write[f.Name] {
			next.Spaces = append(next.Spaces, f)
		}
	}
	for _, group := range packs(captured, stamp, packFrom) {
		offset := int64(0)
		for _, c := range group {
			bytes := int64(1000 + 500*len(c.memories))
			next.Spaces = append(next.Spaces, spaceInFile{Name: c.header.Space, File: c.file, LSN: c.header.Changed,
				Bytes: bytes, Packed: len(group) > 1, Offset: offset})
			offset += bytes
		}
	}
	return next
}

// Packs hold nothing that is out of date, the number of files stays bounded, and a change of one space writes no more
// than its pack and what is not in a full one.
func TestPacks(t *testing.T) {
	st, lsn := newVisible(), int64(0)
	change := func(i, memories int) {
		lsn++
		sp := st.space(fmt.Sprintf("s%05d", i))
		sp.changed = lsn
		for len(sp.slots) < memories {
			id := fmt.Sprintf("m%d", len(sp.slots))
			sp.slots = append(sp.slots, &memory.Memory{ID: id, Content: fmt.Sprintf("%0100d", len(sp.slots))})
		}
	}
	check := func(m manifest, files int) {
		t.Helper()
		names := map[string]bool{}
		for _, f := range m.Spaces {
			names[f.File] = true
			if sp := st.spaces[f.Name]; f.LSN != sp.changed {
				t.Fatalf("%s is of %d in the snapshot, not of %d", f.Name, f.LSN, sp.changed)
			}
		}
		if len(m.Spaces) != len(st.spaces) || len(names) > files {
			t.Fatalf("%d of %d spaces in %d files, want at most %d: %q", len(m.Spaces), len(st.spaces), len(names), files,
				slices.Sorted(maps.Keys(names)))
		}
	}
	var m manifest
	for i := range 20 {
		change(i, 2)
	}
	m = manifestOf(m, lsn, st, "1")
	check(m, 20)
	for i := range 20_000 {
		change(i, 2)
	}
	m = manifestOf(m, lsn, st, "2")
	check(m, 10)

	change(777, 3)
	pack := ""
	for _, f := range m.Spaces {
		if f.Name == "s00777" {
			pack = f.File
		}
	}
	rewritten := len(outdatedSpaces(st, m, packFrom))
	m = manifestOf(m, lsn, st, "3")
	check(m, 10)
	if rewritten > 2*packBytes/1000 {
		t.Errorf("one change writes %d spaces again", rewritten)
	}
	for _, f := range m.Spaces {
		if f.File == pack {
			t.Fatalf("%s is in the pack where a space was out of date", f.Name)
		}
	}
	change(778, 1000) // it becomes too large for a pack
	m = manifestOf(m, lsn, st, "4")
	check(m, 11)
	for i := range 300 { // new spaces, a few at a time
		change(30_000+i, 1)
		m = manifestOf(m, lsn, st, fmt.Sprint(5+i))
		check(m, 11+packFrom)
	}
}
