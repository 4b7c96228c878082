package redact

// automaton finds, in one pass over a text, every occurrence of every keyword: the algorithm of Aho and Corasick
// (Communications of the ACM 18, 1975), as a table of complete transitions. So the cost of looking for keywords does
// not grow with their number. It is immutable after newAutomaton and safe for concurrent use.
type automaton struct {
	class [256]uint8 // bytes that no keyword holds are class 0; upper and lower case share a class
	width int        // number of classes
	next  []uint16   // state*width + class → state
	ends  [][]uint16 // state → ids of the keywords that end there
	some  []bool     // state → whether there are any: in a list of its own, most of which stays in the cache
}

// newAutomaton builds the automaton of lower-case keywords; an id is the index of a keyword.
func newAutomaton(keywords []string) *automaton {
	a := &automaton{width: 1}
	for _, k := range keywords {
		for i := range len(k) {
			if c := k[i]; a.class[c] == 0 {
				a.class[c] = uint8(a.width)
				a.width++
			}
		}
	}
	for c := byte('a'); c <= 'z'; c++ {
		a.class[c-'a'+'A'] = a.class[c]
	}
	a.addState()
	for id, k := range keywords {
		state := 0
		for i := range len(k) {
			at := state*a.width + int(a.class[k[i]])
			if a.next[at] == 0 {
				a.next[at] = uint16(a.addState())
			}
			state = int(a.next[at])
		}
		a.ends[state] = append(a.ends[state], uint16(id))
	}
	a.complete()
	a.some = make([]bool, len(a.ends))
	for state, ids := range a.ends {
		a.some[state] = len(ids) > 0
	}
	return a
}

// addState adds a state without transitions.
func (a *automaton) addState() int {
	a.next = append(a.next, make([]uint16, a.width)...)
	a.ends = append(a.ends, nil)
	return len(a.ends) - 1
}

// complete fills in the transitions of mismatches, breadth first: those of a state's longest suffix that is a state.
func (a *automaton) complete() {
	suffix := make([]uint16, len(a.ends))
	var queue []uint16
	for c := range a.width {
		if s := a.next[c]; s != 0 {
			queue = append(queue, s)
		}
	}
	for len(queue) > 0 {
		state := int(queue[0])
		queue = queue[1:]
		fall := int(suffix[state])
		a.ends[state] = append(a.ends[state], a.ends[fall]...)
		for c := range a.width {
			at := state*a.width + c
			other := a.next[fall*a.width+c]
			if s := a.next[at]; s != 0 {
				suffix[s] = other
				queue = append(queue, s)
			} else {
				a.next[at] = other
			}
		}
	}
}

// scan calls found with the id of each keyword and the offset behind it, in the order of the offsets.
func (a *automaton) scan(s string, found func(id uint16, end int)) {
	state := 0
	for i := range len(s) {
		state = int(a.next[state*a.width+int(a.class[s[i]])])
		if a.some[state] {
			for _, id := range a.ends[state] {
				found(id, i+1)
			}
		}
	}
}
