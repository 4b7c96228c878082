package search

import (
	"hash/maphash"
	"iter"

	"github.com/memsidecar/memsidecar/internal/memory/idmap"
)

// dictionary numbers the terms of an index. Beside its text a term takes 26 to 32 bytes, one of an index file 14 to 16.
type dictionary struct {
	seed maphash.Seed
	ids  *idmap.Table // of the terms

	text   string            // the terms of an index file, one behind the other
	ends   []uint32          // by id: where they end
	gone   bitSet            // which of them were removed
	others map[uint32]string // which have the ids of such

	later []string // the terms behind those, by what their ids are more; "" for an unused one
	free  []uint32 // unused ids
}

// newDictionary returns a dictionary with room for so many terms.
func newDictionary(size int) dictionary {
	return dictionary{seed: maphash.MakeSeed(), ids: idmap.NewTable(size), later: withRoom([]string(nil), size)}
}

// newFileDictionary returns a dictionary for so many terms of an index file, which lie in text, one behind the other.
// Each is added by addNext.
func newFileDictionary(size int, text string) dictionary {
	return dictionary{seed: maphash.MakeSeed(), ids: idmap.NewTable(size), text: text, ends: make([]uint32, 0, size)}
}

// addNext adds the next term of the text, of so many bytes. It reports false, and adds nothing, when it is empty, or
// there already.
func (d *dictionary) addNext(size int) bool {
	id := uint32(len(d.ends))
	begin := d.begin(id)
	term := d.text[begin : begin+size]
	if _, twice := d.find(term); twice || size == 0 {
		return false
	}
	d.ends = append(d.ends, uint32(begin+size))
	d.ids.Add(d.hash(term), id)
	return true
}

// begin is where the term of an index file with an id begins.
func (d *dictionary) begin(id uint32) int {
	if id == 0 {
		return 0
	}
	return int(d.ends[id-1])
}

// term returns the term with an id, "" for an unused one.
func (d *dictionary) term(id uint32) string {
	switch fromFile := uint32(len(d.ends)); {
	case id >= fromFile:
		return d.later[id-fromFile]
	case d.gone.has(id):
		return d.others[id]
	}
	return d.text[d.begin(id):d.ends[id]]
}

// setTerm makes a term that of an unused id, or an id unused.
func (d *dictionary) setTerm(id uint32, term string) {
	fromFile := uint32(len(d.ends))
	if id >= fromFile {
		d.later[id-fromFile] = term
		return
	}
	d.gone.add(id)
	if delete(d.others, id); term == "" {
		return
	}
	if d.others == nil {
		d.others = map[uint32]string{}
	}
	d.others[id] = term
}

// size is the number of ids.
func (d *dictionary) size() int { return len(d.ends) + len(d.later) }

// find returns the id of a term.
func (d *dictionary) find(term string) (id uint32, known bool) {
	return d.ids.Find(d.hash(term), func(id uint32) bool { return d.term(id) == term })
}

// add returns an id for a term that has none. The ids that are given to new terms are unused ones, or the next.
func (d *dictionary) add(term string) (id uint32) {
	if k := len(d.free); k > 0 {
		id, d.free = d.free[k-1], d.free[:k-1]
		d.setTerm(id, term)
	} else {
		id = uint32(d.size())
		d.later = append(withRoom(d.later, 1), term)
	}
	d.ids.Add(d.hash(term), id)
	return id
}

// remove releases the id of a term.
func (d *dictionary) remove(id uint32) {
	d.ids.Remove(d.hash(d.term(id)), func(other uint32) bool { return other == id })
	d.setTerm(id, "")
	d.free = append(d.free, id)
}

// len is the number of terms.
func (d *dictionary) len() int { return d.size() - len(d.free) }

// all yields every term with its id. It may be removed meanwhile.
func (d *dictionary) all() iter.Seq2[uint32, string] {
	return func(yield func(uint32, string) bool) {
		for id := range uint32(d.size()) {
			if term := d.term(id); term != "" && !yield(id, term) {
				return
			}
		}
	}
}

// hash has 32 bits.
func (d *dictionary) hash(term string) uint32 { return uint32(maphash.String(d.seed, term) >> 32) }
