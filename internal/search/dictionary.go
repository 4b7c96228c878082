package search

import (
	"hash/maphash"
	"iter"

	"github.com/memsidecar/memsidecar/internal/memory/idmap"
)

// dictionary numbers the terms of an index. Beside its text a term takes 26 to 32 bytes.
type dictionary struct {
	seed  maphash.Seed
	ids   *idmap.Table // of the terms
	terms []string     // by id; "" for an unused one
	free  []uint32     // unused ids
}

// newDictionary returns a dictionary with room for so many terms.
func newDictionary(size int) dictionary {
	return dictionary{seed: maphash.MakeSeed(), ids: idmap.NewTable(size), terms: withRoom([]string(nil), size)}
}

// find returns the id of a term.
func (d *dictionary) find(term string) (id uint32, known bool) {
	return d.ids.Find(d.hash(term), func(id uint32) bool { return d.terms[id] == term })
}

// add returns an id for a term that has none. The ids that are given to new terms are unused ones, or the next.
func (d *dictionary) add(term string) (id uint32) {
	if k := len(d.free); k > 0 {
		id, d.free = d.free[k-1], d.free[:k-1]
		d.terms[id] = term
	} else {
		id = uint32(len(d.terms))
		d.terms = append(withRoom(d.terms, 1), term)
	}
	d.ids.Add(d.hash(term), id)
	return id
}

// remove releases the id of a term.
func (d *dictionary) remove(id uint32) {
	d.ids.Remove(d.hash(d.terms[id]), func(other uint32) bool { return other == id })
	d.terms[id] = ""
	d.free = append(d.free, id)
}

// len is the number of terms.
func (d *dictionary) len() int { return len(d.terms) - len(d.free) }

// all yields every term with its id. It may be removed meanwhile.
func (d *dictionary) all() iter.Seq2[uint32, string] {
	return func(yield func(uint32, string) bool) {
		for id, term := range d.terms {
			if term != "" && !yield(uint32(id), term) {
				return
			}
		}
	}
}

// hash has 32 bits.
func (d *dictionary) hash(term string) uint32 { return uint32(maphash.String(d.seed, term) >> 32) }
