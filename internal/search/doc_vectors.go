package search

import (
	"cmp"
	"slices"
	"strings"

	"github.com/memsidecar/memsidecar/internal/memory"
	"github.com/memsidecar/memsidecar/internal/search/embedding"
	"github.com/memsidecar/memsidecar/internal/search/vector"
	"github.com/memsidecar/memsidecar/internal/search/vector/vectorstore"
)

// docVectors are the embeddings of the memories of one index by one model, and the documents that wait for one.
// invertedIndex.mu guards them.
type docVectors struct {
	model    embedding.Model
	rows     vector.Rows
	waiting  map[uint32]bool                // documents whose vector is to be made
	rejected bitSet                         // documents whose text the embedder does not take
	store    *vectorstore.Store             // by embedded text; nil when its file cannot be opened
	tokens   map[vector.Key]vector.TokenSet // by embedded text, of memories kept elsewhere; nil with a store
	stale    bool                           // the store may have a text that no document has
}

// recordRoom is room for what is stored of a text by one model, unless it is long.
const recordRoom = 8 << 10

// newDocVectors returns empty vectors, one for each model.
func newDocVectors(models []embedding.Model) (all []*docVectors) {
	for _, m := range models {
		v := &docVectors{model: m, waiting: map[uint32]bool{}}
		all = append(all, v)
	}
	return all
}

// embeddedText is the text of a memory that is embedded.
func embeddedText(m *memory.Memory) string {
	var b strings.Builder
	for _, text := range []string{m.Title, m.Description()} {
		if text != "" {
			b.WriteString(text + "\n")
		}
	}
	if b.Len() == 0 {
		return m.Content
	}
	b.WriteString(m.Content)
	return b.String()
}

// keyOf is the key of the text of a memory that is embedded. It is not kept: to make it takes less than a microsecond.
func keyOf(m *memory.Memory) vector.Key { return vector.KeyOf(embeddedText(m)) }

// sameEmbedding reports that a changed memory needs no other vector than before.
func sameEmbedding(a, b *memory.Memory) bool {
	return a.Title == b.Title && a.Description() == b.Description() && a.Content == b.Content &&
		a.IsActive() == b.IsActive()
}

// markForEmbedding makes a document wait for the vector of m unless it has it. old is the memory that it had before;
// nil for none. An inactive memory does not wait, but keeps its vector.
func (v *docVectors) markForEmbedding(doc uint32, old, m *memory.Memory) {
	text := embeddedText(m)
	if old != nil && embeddedText(old) != text {
		v.remove(doc)
	}
	switch {
	case !v.model.Supports(text):
		v.rejected.add(doc)
	case !m.IsActive():
		delete(v.waiting, doc)
	case !v.rows.Has(int(doc)) && !v.rejected.has(doc):
		v.waiting[doc] = true
	}
}

// remove removes the vector of a document.
func (v *docVectors) remove(doc uint32) {
	delete(v.waiting, doc)
	v.rejected.remove(doc)
	if v.rows.Has(int(doc)) {
		v.rows.Clear(int(doc))
		v.stale = true
	}
}

// setVector sets the vector of a document unless its text has changed.
func (x *invertedIndex) setVector(v *docVectors, doc uint32, key vector.Key, d vector.Quantized) {
	if !x.hasText(doc, key) {
		v.stale = true
		return
	}
	x.setRow(v, doc, d)
}

// hasText reports whether a document has the text with this key.
func (x *invertedIndex) hasText(doc uint32, key vector.Key) bool {
	m := x.docs[doc]
	return m != nil && keyOf(m) == key
}

// setRow sets the vector of a document. Vectors of another dimension come from another model under the same name: then
// all vectors are made again.
func (x *invertedIndex) setRow(v *docVectors, doc uint32, d vector.Quantized) {
	if !v.rows.Set(int(doc), d) {
		v.rows = vector.Rows{}
		for doc, m := range x.docs {
			if m != nil && m.IsActive() && !v.rejected.has(uint32(doc)) {
				v.waiting[uint32(doc)] = true
			}
		}
		v.rows.Set(int(doc), d)
	}
	delete(v.waiting, doc)
}

// loadVectors requests the vectors of a loaded index and takes those that are stored.
func (x *invertedIndex) loadVectors(v *docVectors) {
	buf := make([]byte, recordRoom)
	for doc, m := range x.docs {
		if m == nil {
			continue
		}
		v.markForEmbedding(uint32(doc), nil, m)
		if v.store == nil {
			continue
		}
		if d, ok := v.store.Vector(keyOf(m), buf); ok {
			x.setRow(v, uint32(doc), d)
		}
	}
	v.stale = v.store != nil && v.store.Len() != v.rows.Len()
}

// tokensOf returns the token vectors of a text, see vectorstore.Store.Tokens.
func (v *docVectors) tokensOf(text vector.Key, buf []byte) (set vector.TokenSet, ok bool) {
	if v.store == nil {
		set, ok = v.tokens[text]
		return set, ok
	}
	return v.store.Tokens(text, buf)
}

// hasTokens reports whether any memory has token vectors.
func (v *docVectors) hasTokens() bool {
	return v.store != nil && v.store.Len() > 0 || len(v.tokens) > 0
}

// cosine is that of a document with a query vector, false when the document has no comparable vector.
func (v *docVectors) cosine(doc uint32, query vector.Quantized) (float64, bool) {
	own, ok := v.rows.View(int(doc))
	if !ok || own.Dim() != query.Dim() {
		return 0, false
	}
	return own.Cosine(query), true
}

// vectorNeighbor is a memory near to the query vector.
type vectorNeighbor struct {
	doc    uint32
	memory *memory.Memory
	cosine float64
}

// nearestVectors returns the n memories nearest to a query vector that the request admits, nearest first, ties by id.
// It is an exact scan. The caller holds the lock.
func (x *invertedIndex) nearestVectors(v *docVectors, query vector.Quantized, n int, req *Request) []vectorNeighbor {
	compare := func(a, b vectorNeighbor) int {
		if c := cmp.Compare(b.cosine, a.cosine); c != 0 {
			return c
		}
		return cmp.Compare(a.memory.ID, b.memory.ID)
	}
	var best []vectorNeighbor // sorted
	v.rows.Cosines(query, func(doc int, cosine float64) {
		if len(best) == n && cosine < best[n-1].cosine { // the common case, which does not read the memory
			return
		}
		next := vectorNeighbor{uint32(doc), x.docs[doc], cosine}
		if len(best) == n && compare(next, best[n-1]) > 0 || !req.admits(next.memory) {
			return
		}
		at, _ := slices.BinarySearchFunc(best, next, compare)
		best = slices.Insert(best, at, next)
		best = best[:min(n, len(best))]
	})
	return best
}
