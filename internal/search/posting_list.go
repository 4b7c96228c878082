package search

import (
	"cmp"
	"slices"
)

// posting is one document of a term: the document number in the upper 24 bits (16 million memories in a space), and the
// weighted term frequency (title and tags count twice), at most maxFrequency.
type posting uint32

const (
	maxFrequency  = 63
	metaWeight    = 2 // weight of an occurrence in title or tags
	contentWeight = 1 // weight of an occurrence in the content
)

func (p posting) doc() uint32        { return uint32(p) >> 8 }
func (p posting) frequency() float32 { return float32(p & maxFrequency) }

// postingList is the documents of one term, sorted by document number.
type postingList []posting

// find returns the position of a document, or where it would be inserted.
func (l postingList) find(doc uint32) (int, bool) {
	if n := len(l); n > 0 && l[n-1].doc() < doc {
		return n, false // new documents mostly come last
	}
	return slices.BinarySearchFunc(l, doc, func(p posting, doc uint32) int { return cmp.Compare(p.doc(), doc) })
}

// valid reports whether the list is sorted, without empty postings, and names only documents below docs.
func (l postingList) valid(docs int) bool {
	last := -1
	for _, p := range l {
		doc := int(p.doc())
		if doc <= last || p&maxFrequency == 0 {
			return false
		}
		last = doc
	}
	return last < docs
}

// postingLists are the lists of all terms, by term id. Most terms of a store are in one memory: such a list takes four
// bytes here.
type postingLists struct {
	// single has the posting of a term with one; of a term with more, which list is its own, from 1, in place of the
	// document and without a frequency; 0 of one without postings.
	single []posting
	lists  []postingList
	free   []uint32 // unused lists
}

// newPostingLists returns the lists of so many terms, all empty.
func newPostingLists(terms int) postingLists {
	return postingLists{single: withRoom([]posting(nil), terms)[:terms]}
}

// addTerm adds a term without postings, behind the others.
func (l *postingLists) addTerm() { l.single = append(withRoom(l.single, 1), 0) }

// of returns the list of a term, whose postings may be changed in place. It is valid until set or addTerm is called.
func (l *postingLists) of(term uint32) postingList {
	switch p := l.single[term]; {
	case p&maxFrequency != 0:
		return postingList(l.single[term : term+1 : term+1])
	case p != 0:
		return l.lists[p.doc()-1]
	}
	return nil
}

// set replaces the list of a term.
func (l *postingLists) set(term uint32, list postingList) {
	old := l.single[term]
	owns := old != 0 && old&maxFrequency == 0
	switch {
	case len(list) > 1 && owns:
		l.lists[old.doc()-1] = list
		return
	case len(list) > 1:
		l.single[term] = posting(l.place(list) << 8)
		return
	case len(list) == 1:
		l.single[term] = list[0]
	default:
		l.single[term] = 0
	}
	if owns {
		l.lists[old.doc()-1] = nil
		l.free = append(l.free, old.doc()-1)
	}
}

// place puts a list where none is, and returns which it is, from 1.
func (l *postingLists) place(list postingList) uint32 {
	if n := len(l.free); n > 0 {
		at := l.free[n-1]
		l.free = l.free[:n-1]
		l.lists[at] = list
		return at + 1
	}
	l.lists = append(withRoom(l.lists, 1), list)
	return uint32(len(l.lists))
}
