package search

import (
	"slices"
	"sync"

	"github.com/memsidecar/memsidecar/internal/memory"
	"github.com/memsidecar/memsidecar/internal/memory/idmap"
	"github.com/memsidecar/memsidecar/internal/store/journal"
)

// invertedIndex is the index of one space. It is exact at any time: a change removes the old terms of a memory and adds
// the new ones, so there is no garbage and no compaction.
//
// A writer holds space.mu throughout and mu for the change itself; a reader holds either.
type invertedIndex struct {
	mu       sync.RWMutex
	terms    dictionary // guarded by mu, as everything below
	postings postingLists
	docIDs   *idmap.Map       // of docs
	docs     []*memory.Memory // by document; nil when unused
	features []docFeatures    // by document
	lengths  []float32        // by document, in weighted words; apart, since every posting of a query reads one
	freeDocs []uint32         // unused documents

	liveDocs    int               // active memories
	totalLength float64           // sum of their lengths
	inactiveDF  map[uint32]uint32 // by term id: inactive memories that hold the term
	elsewhereDF map[uint32]int    // by term id: active memories of the space that hold the term and are not here
	changes     uint64            // counts changes of what Save writes
	saved       uint64            // changes when last saved; guarded by space.mu

	sessions map[sessionKey][]uint32 // documents of one session or day, in order of creation
	links    []sessionLinks          // by document
	vectors  []*docVectors           // by model; none without models
}

func newInvertedIndex(size int) *invertedIndex {
	return &invertedIndex{
		terms: newDictionary(size), docIDs: idmap.New(size),
		sessions:   map[sessionKey][]uint32{},
		inactiveDF: map[uint32]uint32{},
	}
}

// applyChange applies one change of a memory, or several accesses. Changes of one index come one at a time (space.mu),
// so what it reads before it locks stays true.
func (x *invertedIndex) applyChange(a *analyzer, changes []journal.Change) {
	switch c := &changes[0]; {
	case c.Access != nil:
		x.applyAccesses(changes)
	case c.Memory != nil && c.Memory.After != nil:
		x.put(a, c.Memory.After)
	case c.Memory != nil:
		x.remove(a, c.Memory.ID)
	}
}

// get returns a memory by id, nil when there is none.
func (x *invertedIndex) get(id string) *memory.Memory {
	x.mu.RLock()
	defer x.mu.RUnlock()
	if doc, ok := x.docIDs.Find(id, x.docs); ok {
		return x.docs[doc]
	}
	return nil
}

// size is the number of documents.
func (x *invertedIndex) size() int {
	x.mu.RLock()
	defer x.mu.RUnlock()
	return x.docIDs.Len()
}

// put adds or replaces a memory. Text is analysed before the lock is taken.
func (x *invertedIndex) put(a *analyzer, m *memory.Memory) {
	old := x.get(m.ID)
	if old != nil && sameIndexedText(old, m) && old.IsActive() == m.IsActive() {
		x.replaceFields(m, old.Revision != m.Revision)
		return
	}
	var before docTerms
	if old != nil {
		before = a.analyze(&a.before, old)
	}
	after := a.analyze(&a.after, m)
	x.mu.Lock()
	defer x.mu.Unlock()
	x.putLocked(m, before, after)
}

// replaceFields replaces a memory whose indexed text is unchanged.
func (x *invertedIndex) replaceFields(m *memory.Memory, revised bool) {
	x.mu.Lock()
	defer x.mu.Unlock()
	doc, _ := x.docIDs.Find(m.ID, x.docs)
	x.setDoc(doc, m, x.lengths[doc])
	if revised {
		x.changes++
	}
}

// remove removes a memory; an unknown id is ignored.
func (x *invertedIndex) remove(a *analyzer, id string) {
	old := x.get(id)
	if old == nil {
		return
	}
	before := a.analyze(&a.before, old)
	x.mu.Lock()
	defer x.mu.Unlock()
	x.removeLocked(id, before)
}

// applyAccesses applies access counts, which change neither the terms nor what Save writes.
func (x *invertedIndex) applyAccesses(changes []journal.Change) {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.applyAccessesLocked(changes)
}

func (x *invertedIndex) applyAccessesLocked(changes []journal.Change) {
	for i := range changes {
		t := changes[i].Access
		if t == nil {
			continue
		}
		doc, ok := x.docIDs.Find(t.ID, x.docs)
		if !ok {
			continue
		}
		m := t.Apply(x.docs[doc])
		x.docs[doc] = m
		x.features[doc] = featuresOf(m)
	}
}

// putLocked adds a memory, or replaces the one with its id. old holds the terms of the replaced one.
func (x *invertedIndex) putLocked(m *memory.Memory, old, new docTerms) {
	x.changes++
	doc, known := x.docIDs.Find(m.ID, x.docs)
	if !known {
		doc = x.allocateDoc()
		x.docIDs.Add(m.ID, doc)
	} else {
		x.countInactive(doc, old, -1)
	}
	x.setDoc(doc, m, new.length)
	i := 0
	for _, t := range new.terms {
		for ; i < len(old.terms) && old.terms[i].term < t.term; i++ {
			x.removePosting(old.terms[i].term, doc)
		}
		if i < len(old.terms) && old.terms[i].term == t.term {
			if old.terms[i].frequency != t.frequency {
				x.setPosting(t, doc)
			}
			i++
			continue
		}
		x.setPosting(t, doc)
	}
	for _, t := range old.terms[i:] {
		x.removePosting(t.term, doc)
	}
	x.countInactive(doc, new, 1)
}

// countInactive adds n to the count of inactive documents of each term, if the document is inactive. Inactive memories
// can be found but do not weigh in term statistics.
func (x *invertedIndex) countInactive(doc uint32, terms docTerms, n int) {
	if x.features[doc].active {
		return
	}
	for _, t := range terms.terms {
		if id, ok := x.terms.find(t.term); ok {
			x.addInactive(id, n)
		}
	}
}

func (x *invertedIndex) addInactive(term uint32, n int) {
	if left := int(x.inactiveDF[term]) + n; left > 0 {
		x.inactiveDF[term] = uint32(left)
	} else {
		delete(x.inactiveDF, term)
	}
}

// documentFrequency is the number of active memories that hold a term.
func (x *invertedIndex) documentFrequency(term uint32) int {
	return len(x.postings.of(term)) - int(x.inactiveDF[term]) + x.elsewhereDF[term]
}

// holders is the number of memories that hold a term.
func (x *invertedIndex) holders(term uint32) int {
	return len(x.postings.of(term)) + x.elsewhereDF[term]
}

// allocateDoc returns an unused document.
func (x *invertedIndex) allocateDoc() uint32 {
	if n := len(x.freeDocs); n > 0 {
		doc := x.freeDocs[n-1]
		x.freeDocs = x.freeDocs[:n-1]
		return doc
	}
	x.growDocs(1)
	return uint32(len(x.docs) - 1)
}

// growDocs appends unused documents.
func (x *invertedIndex) growDocs(n int) {
	docs := len(x.docs) + n
	x.docs = withRoom(x.docs, n)[:docs]
	x.features = withRoom(x.features, n)[:docs]
	x.lengths = withRoom(x.lengths, n)[:docs]
	x.links = withRoom(x.links, n)
	for range n {
		x.links = append(x.links, unlinked)
	}
}

// removeLocked removes a memory. old holds its terms.
func (x *invertedIndex) removeLocked(id string, old docTerms) {
	doc, known := x.docIDs.Find(id, x.docs)
	if !known {
		return
	}
	x.changes++
	x.countInactive(doc, old, -1)
	for _, t := range old.terms {
		x.removePosting(t.term, doc)
	}
	x.docIDs.Remove(id, x.docs)
	x.leaveSession(doc)
	x.docs[doc] = nil
	for _, v := range x.vectors {
		v.remove(doc)
	}
	x.setFeatures(doc, docFeatures{}, 0)
	x.freeDocs = append(x.freeDocs, doc)
}

// setDoc makes m the memory of a document. length is in weighted words.
func (x *invertedIndex) setDoc(doc uint32, m *memory.Memory, length float32) {
	old := x.docs[doc]
	moves := old == nil || !old.CreatedAt.Equal(m.CreatedAt) || sessionKeyOf(old) != sessionKeyOf(m)
	if moves && old != nil {
		x.leaveSession(doc)
	}
	x.docs[doc] = m
	x.setFeatures(doc, featuresOf(m), length)
	if old == nil || !sameEmbedding(old, m) {
		for _, v := range x.vectors {
			v.markForEmbedding(doc, old, m)
		}
	}
	if moves {
		x.joinSession(doc)
	}
}

// setFeatures replaces the features and length of a document and updates the statistics of active memories.
func (x *invertedIndex) setFeatures(doc uint32, f docFeatures, length float32) {
	if x.features[doc].active {
		x.liveDocs--
		x.totalLength -= float64(x.lengths[doc])
	}
	if f.active {
		x.liveDocs++
		x.totalLength += float64(length)
	}
	x.features[doc], x.lengths[doc] = f, length
}

// setPosting adds a posting, or replaces the one of the same document.
func (x *invertedIndex) setPosting(t termCount, doc uint32) {
	p := posting(doc<<8 | uint32(t.frequency))
	id, ok := x.terms.find(t.term)
	if !ok {
		x.postings.set(x.addTerm(t.term), postingList{p})
		return
	}
	list := x.postings.of(id)
	if at, found := list.find(doc); found {
		list[at] = p
	} else {
		x.postings.set(id, slices.Insert(withRoom(list, 1), at, p))
	}
}

// addTerm returns an id for a new term, without postings.
func (x *invertedIndex) addTerm(term string) (id uint32) {
	if id = x.terms.add(term); int(id) == len(x.postings.single) {
		x.postings.addTerm()
	}
	return id
}

// removePosting removes a document from a term; a term without documents is freed.
func (x *invertedIndex) removePosting(term string, doc uint32) {
	id, ok := x.terms.find(term)
	if !ok {
		return
	}
	list := x.postings.of(id)
	at, found := list.find(doc)
	if !found {
		return
	}
	list = slices.Delete(list, at, at+1)
	x.postings.set(id, list)
	if len(list) == 0 {
		x.freeTerm(id)
	}
}

// freeTerm releases the id of a term that no document holds.
func (x *invertedIndex) freeTerm(id uint32) {
	x.postings.set(id, nil)
	x.terms.remove(id)
}
