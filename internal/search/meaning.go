package search

import (
	"iter"
	"maps"
	"slices"

	"github.com/memsidecar/memsidecar/internal/memory"
	"github.com/memsidecar/memsidecar/internal/vector"
)

// meanings are the vectors of the memories of one index, by document, and which are still to be made. index.mu guards them.
type meanings struct {
	rows    vector.Rows
	keys    []vector.Key // by document, of its text; that of a row is the row's
	waiting map[uint32]bool
	refused map[uint32]bool // the server does not take them
	changes uint64          // counts changes of what Save would write
	saved   uint64
}

func newMeanings() *meanings {
	return &meanings{waiting: map[uint32]bool{}, refused: map[uint32]bool{}}
}

// meaningOf is the text of a memory that is embedded.
func meaningOf(m *memory.Memory) string {
	if m.Title == "" {
		return m.Content
	}
	return m.Title + "\n" + m.Content
}

// sameMeaning reports that a memory needs no other vector than the one before, and needs one as before.
func sameMeaning(a, b *memory.Memory) bool {
	return a.Title == b.Title && a.Content == b.Content && a.IsActive() == b.IsActive()
}

// want makes m the memory of a document: its vector will be made unless it is there. What is not active gets none, but keeps the one it has.
func (v *meanings) want(doc uint32, m *memory.Memory) {
	for uint32(len(v.keys)) <= doc {
		v.keys = append(v.keys, vector.Key{})
	}
	if key := vector.KeyOf(meaningOf(m)); key != v.keys[doc] {
		v.drop(doc)
		v.keys[doc] = key
	}
	switch {
	case !m.IsActive():
		delete(v.waiting, doc)
	case !v.rows.Has(int(doc)) && !v.refused[doc]:
		v.waiting[doc] = true
	}
}

// drop forgets everything of a document.
func (v *meanings) drop(doc uint32) {
	delete(v.waiting, doc)
	delete(v.refused, doc)
	if uint32(len(v.keys)) > doc {
		v.keys[doc] = vector.Key{}
	}
	if v.rows.Has(int(doc)) {
		v.rows.Clear(int(doc))
		v.changes++
	}
}

// putMeaning takes the vector of a text, unless the document says something else by now. Vectors of another dimension than before come
// from another model under the same name: then all are made anew.
func (x *index) putMeaning(doc uint32, key vector.Key, d vector.Direction) {
	v := x.meanings
	if int(doc) >= len(v.keys) || v.keys[doc] != key {
		return
	}
	if !v.rows.Set(int(doc), d) {
		v.rows = vector.Rows{}
		for doc, m := range x.docs {
			if m != nil && m.IsActive() {
				v.waiting[uint32(doc)] = true
			}
		}
		v.rows.Set(int(doc), d)
	}
	delete(v.waiting, doc)
	v.changes++
}

// errand is a text whose vector is to be made.
type errand struct {
	x    *index
	doc  uint32
	key  vector.Key
	text string
}

// errands takes at most n texts that wait. Who takes them brings back a vector, refuses or returns each.
func (x *index) errands(n int) (out []errand) {
	x.mu.Lock()
	defer x.mu.Unlock()
	v := x.meanings
	for doc := range v.waiting {
		if len(out) == n {
			break
		}
		out = append(out, errand{x, doc, v.keys[doc], meaningOf(x.docs[doc])})
		delete(v.waiting, doc)
	}
	return out
}

// settle ends an errand: with a vector, or not now, or never.
func (e *errand) settle(d vector.Direction, refused bool) {
	e.x.mu.Lock()
	defer e.x.mu.Unlock()
	v := e.x.meanings
	switch {
	case d.Dim() > 0:
		e.x.putMeaning(e.doc, e.key, d)
	case int(e.doc) >= len(v.keys) || v.keys[e.doc] != e.key || v.rows.Has(int(e.doc)):
	case refused:
		v.refused[e.doc] = true
	default:
		v.waiting[e.doc] = true
	}
}

// enlist makes the vectors of an index that was loaded, out of a file (nil when there is none) as far as they are there.
func (x *index) enlist(file *vector.Saved) {
	v := newMeanings()
	x.meanings = v
	for doc, m := range x.docs {
		if m == nil {
			continue
		}
		v.want(uint32(doc), m)
		if file == nil {
			continue
		}
		if d, ok := file.Get(v.keys[doc]); ok {
			x.putMeaning(uint32(doc), v.keys[doc], d)
		}
	}
	v.changes, v.saved = 1, 0
	if file != nil && file.Len() == v.rows.Len() {
		v.saved = v.changes
	}
}

// meaningRows is what a file of vectors holds: each text once.
func (x *index) meaningRows() iter.Seq2[vector.Key, []int8] {
	v := x.meanings
	texts := make(map[vector.Key]int, v.rows.Len())
	for doc, key := range v.keys {
		if v.rows.Has(doc) {
			texts[key] = doc
		}
	}
	return func(yield func(vector.Key, []int8) bool) {
		for _, doc := range slices.Sorted(maps.Values(texts)) {
			if !yield(v.keys[doc], v.rows.Codes(doc)) {
				return
			}
		}
	}
}

// encodeMeanings is the file of the vectors; nil when nothing changed since it was saved.
func (x *index) encodeMeanings(identity string) (data []byte, changes uint64) {
	x.mu.RLock()
	defer x.mu.RUnlock()
	v := x.meanings
	if v.changes == v.saved {
		return nil, v.changes
	}
	return vector.Encode(identity, v.rows.Dim(), x.meaningRows()), v.changes
}
