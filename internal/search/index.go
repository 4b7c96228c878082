package search

import (
	"cmp"
	"encoding/binary"
	"slices"
	"strings"
	"sync"

	"github.com/memsidecar/memsidecar/internal/memory"
)

// posting is one document of a term: the document's number in the upper 24 bits (16 million memories in a space), then one
// bit for "in the title or tags" and one for "in the content", then the weighted frequency (title and tags count twice),
// at most 63.
type posting uint32

const (
	metaBit       = 1 << 7
	contentBit    = 1 << 6
	maxFrequency  = contentBit - 1
	metaWeight    = 2
	contentWeight = 1
)

func (p posting) doc() uint32        { return uint32(p) >> 8 }
func (p posting) inMeta() bool       { return p&metaBit != 0 }
func (p posting) inContent() bool    { return p&contentBit != 0 }
func (p posting) frequency() float32 { return float32(p & maxFrequency) }

// index is the inverted index of one space. It is exact at any time: a change takes the old terms of a memory out and puts
// the new ones in, so no garbage gathers and nothing needs compaction.
// Who changes it holds space.mu throughout and mu for the change itself; who reads it holds either.
type index struct {
	mu      sync.RWMutex
	terms   map[string]uint32 // term → number; guarded by mu, as everything below
	lists   [][]posting       // by term number, sorted by document
	spare   []uint32          // unused term numbers
	ids     map[string]uint32 // memory id → document
	docs    []*memory.Memory  // by document; nil when unused
	facts   []facts           // by document
	yields  yields            // by document
	crests  crests            // of the documents
	holes   []uint32          // unused documents
	shelves []shelf           // blocks with room
	total   float64           // sum of lengths
	changes uint64            // counts changes of what Save would write
	saved   uint64            // changes when last saved; guarded by space.mu

	denseLeast int // documents of a dense term; does not change

	courses map[course][]uint32 // documents in the order they were learnt
	placed  []uint32            // by document, where in its course it was put; it may have moved since

	categories map[string]bool // all that a memory has, or had

	meanings *meanings // nil without an embedder

	dense map[uint32]*dense // by term number
	slope float32           // of length in the norm, as the bounds of dense have it; 0 when there were none yet
	loose int               // documents changed since the bounds were made
	tight int               // documents when they were made
}

func newIndex(size int) *index {
	return &index{
		terms: make(map[string]uint32, size), ids: make(map[string]uint32, size), denseLeast: denseLeast, dense: map[uint32]*dense{},
		courses: map[course][]uint32{}, categories: map[string]bool{},
	}
}

// termCount is one term of one document.
type termCount struct {
	term  string
	head  uint64 // how the term begins, for putting terms in order
	count uint8  // the lower 8 bits of a posting

	number uint32 // of the term in the index, if
	known  bool   // that was looked up already, and it has one
}

// headOf is the first eight bytes of a term as a number: of two terms with different heads the lesser one has the lesser head.
func headOf(term string) (head uint64) {
	if len(term) >= 8 {
		return binary.BigEndian.Uint64([]byte(term[:8]))
	}
	for i := range len(term) {
		head |= uint64(term[i]) << (56 - 8*i)
	}
	return head
}

// counts are the terms of one document, sorted by term, each once.
type counts struct {
	terms  []termCount
	length float32
}

// sameText reports whether two memories are indexed alike.
func sameText(a, b *memory.Memory) bool {
	return a.Title == b.Title && a.Content == b.Content && slices.Equal(a.Tags, b.Tags) && tool(a) == tool(b)
}

// tool is what a procedural memory was learnt with; it is indexed as a tag would be.
func tool(m *memory.Memory) string {
	switch {
	case m.Context == nil:
		return ""
	case m.Context.ErrorType == "":
		return m.Context.Tool
	}
	return m.Context.Tool + " " + m.Context.ErrorType
}

// count analyses a memory. The result lies in room, which grows as needed and must not be in use.
func (a *analyzer) count(room *[]termCount, m *memory.Memory) counts {
	c := counts{terms: slices.Grow((*room)[:0], len(m.Content)/6+8)}
	add := func(text string, flag uint8, weight float32) {
		if text == "" {
			return
		}
		for _, t := range a.tokenize(normalize(text)) {
			c.terms = append(c.terms, termCount{term: t.term, head: headOf(t.term), count: flag | uint8(weight)})
			if t.kind != whole && t.kind != unigram {
				c.length += weight
			}
		}
	}
	add(m.Title, metaBit, metaWeight)
	for _, tag := range m.Tags {
		add(tag, metaBit, metaWeight)
	}
	add(tool(m), metaBit, metaWeight)
	add(m.Content, contentBit, contentWeight)
	slices.SortFunc(c.terms, func(a, b termCount) int {
		if a.head != b.head {
			return cmp.Compare(a.head, b.head)
		}
		return strings.Compare(a.term, b.term)
	})
	unique := c.terms[:0]
	for _, t := range c.terms {
		if n := len(unique); n > 0 && unique[n-1].term == t.term {
			last := &unique[n-1].count
			*last = (*last|t.count)&(metaBit|contentBit) | min(*last&maxFrequency+t.count&maxFrequency, maxFrequency)
		} else {
			unique = append(unique, t)
		}
	}
	c.terms, *room = unique, unique
	return c
}

// putLocked adds a memory, or replaces the one with its id. old holds the terms of the one replaced.
func (x *index) putLocked(m *memory.Memory, old, new counts) {
	x.changes++
	doc, known := x.ids[m.ID]
	if !known {
		doc = x.newDocLocked(new.terms)
		x.ids[m.ID] = doc
	}
	if known {
		x.loose++
	}
	shorter := new.length < x.facts[doc].length // then even what stays the same weighs more
	x.set(doc, m, new.length)
	i := 0
	for _, t := range new.terms {
		for ; i < len(old.terms) && old.terms[i].term < t.term; i++ {
			x.dropLocked(old.terms[i].term, doc)
		}
		if i < len(old.terms) && old.terms[i].term == t.term {
			if old.terms[i].count != t.count || shorter {
				x.setLocked(t, doc)
			}
			i++
			continue
		}
		x.setLocked(t, doc)
	}
	for _, t := range old.terms[i:] {
		x.dropLocked(t.term, doc)
	}
	x.settleLocked()
}

// removeLocked takes a memory out. old holds its terms.
func (x *index) removeLocked(id string, old counts) {
	doc, known := x.ids[id]
	if !known {
		return
	}
	x.changes++
	for _, t := range old.terms {
		x.dropLocked(t.term, doc)
	}
	delete(x.ids, id)
	x.leaveLocked(doc)
	x.docs[doc] = nil
	if x.meanings != nil {
		x.meanings.drop(doc)
	}
	x.total -= float64(x.facts[doc].length)
	x.facts[doc] = facts{}
	x.holes = append(x.holes, doc)
	x.loose++
	x.settleLocked()
}

// set makes m, of that length, the memory of a document.
func (x *index) set(doc uint32, m *memory.Memory, length float32) {
	old := x.docs[doc]
	if old == nil || old.Category != m.Category {
		x.categories[m.Category] = true
	}
	moves := old == nil || !old.CreatedAt.Equal(m.CreatedAt) || courseOf(old) != courseOf(m)
	if moves && old != nil {
		x.leaveLocked(doc)
	}
	f := &x.facts[doc]
	x.total += float64(length - f.length)
	x.docs[doc], *f = m, facts{traitsOf(m), length, detailOf(m)}
	x.yields.put(doc, f)
	x.crests.put(doc, f)
	if x.meanings != nil && (old == nil || !sameMeaning(old, m)) {
		x.meanings.want(doc, m)
	}
	if moves {
		x.joinLocked(doc)
	}
}

func (x *index) setLocked(t termCount, doc uint32) {
	p := posting(doc<<8 | uint32(t.count))
	n, ok := t.number, t.known
	if !ok {
		n, ok = x.terms[t.term]
	}
	if !ok {
		if k := len(x.spare); k > 0 {
			n, x.spare = x.spare[k-1], x.spare[:k-1]
		} else {
			n = uint32(len(x.lists))
			x.lists = append(x.lists, nil)
		}
		x.terms[t.term] = n
		x.lists[n] = append(x.lists[n], p)
		return
	}
	list := x.lists[n]
	d := x.denseOf(n)
	at, found := len(list), false
	if len(list) > 0 && list[len(list)-1].doc() >= doc {
		at, found = find(list, doc)
	}
	if found {
		list[at] = p
		if d != nil {
			d.hold(p, x.easeOf(p))
		}
		return
	}
	if at == len(list) {
		x.lists[n] = append(list, p)
	} else {
		x.lists[n] = slices.Insert(list, at, p)
	}
	if d != nil {
		d.join(p, x.easeOf(p), len(list))
	} else if len(list)+1 >= x.denseFrom() {
		x.thicken(n)
	}
}

func (x *index) dropLocked(term string, doc uint32) {
	n, ok := x.terms[term]
	if !ok {
		return
	}
	at, found := find(x.lists[n], doc)
	if !found {
		return
	}
	if d := x.denseOf(n); d != nil {
		d.leave(doc)
		if len(x.lists[n]) == x.denseLeast/thinShare {
			delete(x.dense, n)
		}
	}
	x.lists[n] = slices.Delete(x.lists[n], at, at+1)
	if len(x.lists[n]) == 0 {
		x.lists[n] = nil
		x.spare = append(x.spare, n)
		delete(x.terms, term)
	}
}

// find searches a list for a document.
func find(list []posting, doc uint32) (int, bool) {
	return slices.BinarySearchFunc(list, doc, func(p posting, doc uint32) int { return cmp.Compare(p.doc(), doc) })
}
