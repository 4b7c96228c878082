package search

// scratch holds the buffers of one search, so that a search allocates nothing per document.
type scratch struct {
	sums    []accumulator // by document; zero but for those in touched
	touched []uint32      // documents that hold an essential term

	held []uint16 // by document: tokens of the query that it holds

	cosines  []float32 // by document, sum over the models
	tokenBuf []byte    // for one token set

	terms []queryTerm // the matched terms, heaviest first
	pool  []candidate // the top k
	heap  []int32

	poolByDoc map[uint32]int  // of the reranker
	visited   map[uint32]bool // documents whose neighbours were visited
	places    []int           // positions in the pool

	entries  []dedupEntry  // of the hits
	selected []*dedupEntry // those shown
}

// reset clears the sums of the last search and makes room for docs documents.
func (s *scratch) reset(docs int) {
	for _, doc := range s.touched {
		s.sums[doc] = accumulator{}
	}
	s.touched = s.touched[:0]
	if len(s.sums) < docs {
		s.sums = make([]accumulator, docs+docs/roomShare)
	}
}

// release drops the references to memories and postings, so that an idle scratch keeps none alive.
func (s *scratch) release() {
	clear(s.pool[:cap(s.pool)])
	clear(s.terms[:cap(s.terms)])
	for i := range s.entries {
		s.entries[i].memory = nil
		clear(s.entries[i].numbers)
	}
}

// Of the buffers for more than manyDocs documents few are kept: for a million they take 21 MiB each.
const (
	manyDocs  = 256 << 10
	keptLarge = 2
)

// trim gives back large buffers when enough others are idle.
func (s *scratch) trim(idle int) {
	if len(s.sums) > manyDocs && idle >= keptLarge {
		s.sums, s.touched, s.cosines = nil, nil, nil
	}
}

// clearedMap empties a map for reuse and makes it when there is none.
func clearedMap[V any](m *map[uint32]V) map[uint32]V {
	if *m == nil {
		*m = map[uint32]V{}
	}
	clear(*m)
	return *m
}
