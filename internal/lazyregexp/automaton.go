package lazyregexp

import (
	"encoding/binary"
	"regexp/syntax"
	"slices"
	"sync"
	"sync/atomic"
	"unicode"
	"unicode/utf8"
)

// automaton tells whether a text contains a match of an expression, with one look-up for each character: a
// deterministic automaton whose states are made when a text first needs them (Thompson, 1968; as RE2 does it). Package
// regexp has none, and takes some 50 times as long to see that a text does not match. It is safe for concurrent use.
type automaton struct {
	classes
	insts []instruction
	begin int

	// table has the states so far; nobody waits to read it.
	table  atomic.Pointer[stateTable]
	mu     sync.Mutex // held to change the table, and for the fields below
	places map[string]uint32
	seen   []bool // by instruction
}

// instruction is a part of a compiled expression, as in package syntax.
type instruction struct {
	op       syntax.InstOp
	set      uint16 // of the characters of an InstRune
	out, arg uint32
}

// stateTable holds states: next has a row for each, with the state behind each class of characters and, at last, behind
// the end of the text. A row never changes its place; a table that is replaced stays as it is, but for steps that are
// known since.
type stateTable struct {
	next   []atomic.Uint32
	states []state
	// round counts the tables that began with no states.
	round int
}

// state is a set of instructions that wait for the next character, in order, and the kind of the character before.
type state struct {
	insts  []uint16
	before kind
}

// The steps that lead to no state; one to state i is i + firstStep.
const (
	unknownStep uint32 = iota
	// matchStep: the text contains a match, whatever follows.
	matchStep
	// deadStep: it contains none, whatever follows.
	deadStep
	firstStep
)

const (
	// maxSteps is how many steps a table has at most, of four bytes each. One that is full begins anew.
	maxSteps = 1 << 14
	// maxInstructions is how long a compiled expression may be.
	maxInstructions = 1 << 11
)

// verdict says whether a text contains a match.
type verdict uint8

const (
	undecided verdict = iota
	matches
	matchesNot
)

// newAutomaton returns the automaton of an expression, nil for one that is not valid or too long.
func newAutomaton(expr string) *automaton {
	re, err := syntax.Parse(expr, syntax.Perl)
	if err != nil {
		return nil
	}
	prog, err := syntax.Compile(re.Simplify())
	if err != nil || len(prog.Inst) > maxInstructions {
		return nil
	}
	a := &automaton{insts: make([]instruction, len(prog.Inst)), begin: prog.Start, seen: make([]bool, len(prog.Inst))}
	known := map[string]uint16{}
	var sets [][]rune
	for i, in := range prog.Inst {
		a.insts[i] = instruction{op: in.Op, out: in.Out, arg: in.Arg}
		pairs, isRune := charactersOf(&in)
		if !isRune {
			continue
		}
		var key []byte
		for _, r := range pairs {
			key = binary.AppendUvarint(key, uint64(r))
		}
		n, ok := known[string(key)]
		if !ok {
			n = uint16(len(sets))
			known[string(key)], sets = n, append(sets, pairs)
		}
		a.insts[i].op, a.insts[i].set = syntax.InstRune, n
	}
	a.classes = newClasses(sets)
	a.restart(0)
	return a
}

// charactersOf returns what an instruction for one character accepts, as pairs of first and last.
func charactersOf(in *syntax.Inst) (pairs []rune, isRune bool) {
	switch in.Op {
	case syntax.InstRuneAny:
		return []rune{0, unicode.MaxRune}, true
	case syntax.InstRuneAnyNotNL:
		return []rune{0, '\n' - 1, '\n' + 1, unicode.MaxRune}, true
	case syntax.InstRune, syntax.InstRune1:
		if len(in.Rune) != 1 {
			return in.Rune, true
		}
		r := in.Rune[0]
		pairs = []rune{r, r}
		if in.Op == syntax.InstRune && syntax.Flags(in.Arg)&syntax.FoldCase != 0 {
			for f := unicode.SimpleFold(r); f != r; f = unicode.SimpleFold(f) {
				pairs = append(pairs, f, f)
			}
		}
		return pairs, true
	}
	return nil, false
}

// restart empties the table but for the state before any character, which is the first.
func (a *automaton) restart(round int) {
	a.places = map[string]uint32{}
	t := &stateTable{round: round}
	var first []uint16
	a.wait(uint32(a.begin), func(uint32) bool { return true }, func(i uint32) { first = append(first, uint16(i)) })
	a.clearSeen()
	a.add(t, first, noCharacter)
	a.table.Store(t)
}

// search reports whether s contains a match. It is undecided when the table is full.
func (a *automaton) search(s string) verdict {
	t := a.table.Load()
	row, width := 0, len(a.sets)+1
	for i := 0; i <= len(s); {
		class := uint16(width - 1)
		size := 1
		if i < len(s) {
			if c := s[i]; c < utf8.RuneSelf {
				class = a.ascii[c]
			} else {
				var r rune
				r, size = utf8.DecodeRuneInString(s[i:])
				class = a.find(r)
			}
		}
		step := t.next[row*width+int(class)].Load()
		if step == unknownStep {
			if t, step = a.learn(t, row, class); step == unknownStep {
				return undecided
			}
		}
		switch step {
		case matchStep:
			return matches
		case deadStep:
			return matchesNot
		}
		row = int(step - firstStep)
		if row*width >= len(t.next) { // another goroutine made the state in a longer table with the same rows
			longer := a.table.Load()
			if longer.round != t.round {
				return undecided
			}
			t = longer
		}
		i += size
	}
	return matchesNot
}

// learn returns the step from a state of t behind a class, and the table that has the state it leads to; unknownStep
// when that table has no room or began anew.
func (a *automaton) learn(t *stateTable, row int, class uint16) (*stateTable, uint32) {
	a.mu.Lock()
	defer a.mu.Unlock()
	now := a.table.Load()
	if now.round != t.round {
		return t, unknownStep
	}
	width := len(a.sets) + 1
	from := now.states[row]
	step, insts, before := a.step(from, class, int(class) == width-1)
	if step == unknownStep {
		place, known := a.places[stateKey(insts, before)]
		if !known && len(now.next)+width > max(maxSteps, 16*width) {
			a.restart(now.round + 1)
			return t, unknownStep
		}
		if !known {
			grown := &stateTable{states: now.states, round: now.round}
			grown.next = copySteps(now.next, width)
			place = a.add(grown, insts, before)
			now = grown
			a.table.Store(now)
		}
		step = place + firstStep
	}
	now.next[row*width+int(class)].Store(step)
	return now, step
}

// copySteps returns the steps with room for one more row behind them.
func copySteps(steps []atomic.Uint32, width int) []atomic.Uint32 {
	if cap(steps)-len(steps) >= width {
		return steps
	}
	out := make([]atomic.Uint32, len(steps), 2*len(steps)+4*width)
	for i := range steps {
		out[i].Store(steps[i].Load())
	}
	return out
}

// add adds a state to a table that nobody reads yet, and returns its place.
func (a *automaton) add(t *stateTable, insts []uint16, before kind) uint32 {
	place := uint32(len(t.states))
	t.states = append(t.states, state{insts, before})
	width := len(a.sets) + 1
	t.next = copySteps(t.next, width)
	t.next = t.next[:len(t.next)+width]
	a.places[stateKey(insts, before)] = place
	return place
}

// stateKey tells states apart.
func stateKey(insts []uint16, before kind) string {
	key := []byte{byte(before)}
	for _, i := range insts {
		key = binary.LittleEndian.AppendUint16(key, i)
	}
	return string(key)
}

// step follows a state behind a class of characters or the end of the text. It returns matchStep or deadStep, or
// unknownStep and the state that it leads to.
func (a *automaton) step(from state, class uint16, end bool) (uint32, []uint16, kind) {
	next := noCharacter
	if !end {
		next = a.kinds[class]
	}
	holds := syntax.EmptyOpContext(runeOf[from.before], runeOf[next])
	var waiting []uint32
	matched := false
	collect := func(i uint32) {
		matched = matched || a.insts[i].op == syntax.InstMatch
		waiting = append(waiting, i)
	}
	for _, i := range from.insts {
		a.follow(uint32(i), func(asked uint32) bool { return syntax.EmptyOp(asked)&^holds == 0 }, collect)
	}
	a.clearSeen()
	if matched {
		return matchStep, nil, 0
	}
	if end {
		return deadStep, nil, 0
	}
	var out []uint16
	asks := false
	// Behind a character no text begins, so what asks for that is left out.
	open := func(asked uint32) bool { return syntax.EmptyOp(asked)&syntax.EmptyBeginText == 0 }
	later := func(i uint32) {
		matched = matched || a.insts[i].op == syntax.InstMatch
		asks = asks || a.insts[i].op == syntax.InstEmptyWidth
		out = append(out, uint16(i))
	}
	for _, i := range waiting {
		if in := a.insts[i]; in.op == syntax.InstRune && a.has(class, in.set) {
			a.wait(in.out, open, later)
		}
	}
	a.wait(uint32(a.begin), open, later) // a match may begin at each place
	a.clearSeen()
	switch {
	case matched:
		return matchStep, nil, 0
	case len(out) == 0:
		return deadStep, nil, 0
	}
	slices.Sort(out)
	if !asks {
		next = otherCharacter
	}
	return unknownStep, out, next
}

// follow yields the instructions for a character and the ends that lead from one, through assertions that hold.
func (a *automaton) follow(i uint32, holds func(uint32) bool, yield func(uint32)) {
	a.walk(i, true, holds, yield)
}

// wait yields what follow does, and the assertions that may hold themselves.
func (a *automaton) wait(i uint32, holds func(uint32) bool, yield func(uint32)) {
	a.walk(i, false, holds, yield)
}

// walk does what follow or wait says. Each instruction is visited once until clearSeen.
func (a *automaton) walk(i uint32, through bool, holds func(uint32) bool, yield func(uint32)) {
	if a.seen[i] {
		return
	}
	a.seen[i] = true
	switch in := a.insts[i]; in.op {
	case syntax.InstAlt, syntax.InstAltMatch:
		a.walk(in.out, through, holds, yield)
		a.walk(in.arg, through, holds, yield)
	case syntax.InstCapture, syntax.InstNop:
		a.walk(in.out, through, holds, yield)
	case syntax.InstEmptyWidth:
		switch {
		case !holds(in.arg):
		case through:
			a.walk(in.out, through, holds, yield)
		default:
			yield(i)
		}
	case syntax.InstRune, syntax.InstMatch:
		yield(i)
	}
}

// clearSeen lets each instruction be visited again.
func (a *automaton) clearSeen() { clear(a.seen) }
