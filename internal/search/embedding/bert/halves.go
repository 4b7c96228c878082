package bert

import (
	"context"
	"runtime"
	"sync/atomic"

	"github.com/memsidecar/memsidecar/internal/process/background"
)

// leastHelped is how many tokens a query must have that two goroutines embed it.
const leastHelped = 6

// halves is the pass of one query, which a second goroutine helps with when a processor has nothing else to do. Each
// takes half of the tokens through a whole layer: only attention needs the others, whose keys and values were made
// before. So they meet once a layer, and compute what one would.
//
// On a busy machine the system may stop the second goroutine for milliseconds. So it works on copies, and the
// first never waits for it longer than for a moment: it computes the second half itself then, and goes on alone.
type halves struct {
	model  *model
	tokens int // set before the first offer

	second  *scratch     // of the second goroutine, which owns it while it has a half; set before helper
	helper  atomic.Bool  // the second goroutine is there
	offered atomic.Int32 // a step, counted from 1, of which nobody has taken the second half; else 0
	helped  atomic.Int32 // the last step of which the second goroutine has finished a half
	over    atomic.Bool  // nothing more is offered
}

// newHalves starts the pass of a query, which holds a slot, and asks for help if the other queries leave a processor to
// it. It ends when over is set.
func (e *Encoder) newHalves(m *model) *halves {
	h := &halves{model: m}
	if 2*len(e.slots) <= runtime.GOMAXPROCS(0) {
		go h.help(e) // it ends with the pass, or soon after it if it had no processor
	}
	return h
}

// forward is model.forward for one text. It returns the rows of the last layer, which are valid until s is used again.
// The only error is that of ctx.
func (h *halves) forward(ctx context.Context, s *scratch, ids []int32) (rows []float32, err error) {
	m := h.model
	if len(ids) < leastHelped || len(ids) > blockTokens {
		err = m.forward(ctx, background.Pace{}, s, [][]int32{ids}, func(_ int, all []float32) { rows = all })
		return rows, err
	}
	h.tokens = len(ids)
	s.fit(m, h.tokens)
	s.fitOthers()
	m.embedTokens(s, [][]int32{ids})
	for step := range len(m.layers) + 1 {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		h.take(step, s)
		s.attended, s.others = s.others, s.attended
	}
	return s.hidden[:h.tokens*m.Width], nil
}

// take is a step for all tokens, or for the first half while the second goroutine has the second.
func (h *halves) take(step int, s *scratch) {
	if !h.helper.Load() || h.over.Load() {
		h.step(step, s, 0, h.tokens)
		return
	}
	// The second goroutine has no half now.
	width, middle, offer := h.model.Width, (h.tokens+1)/2, int32(step)+1
	copy(h.second.hidden[middle*width:], s.hidden[middle*width:h.tokens*width])
	copy(h.second.attended, s.attended[:3*h.tokens*width])
	h.offered.Store(offer)
	h.step(step, s, 0, middle)
	if h.offered.CompareAndSwap(offer, 0) {
		h.step(step, s, middle, h.tokens)
		return
	}
	for spins := 0; h.helped.Load() != offer; spins++ {
		if spins == mostSpins {
			h.over.Store(true)
			h.step(step, s, middle, h.tokens)
			return
		}
	}
	copy(s.hidden[middle*width:], h.second.hidden[middle*width:h.tokens*width])
	copy(s.others[3*middle*width:], h.second.others[3*middle*width:3*h.tokens*width])
}

// How often a goroutine looks for the other, for some 200 µs: about as long as a half takes. What waits for something
// to help with lets others have the processor meanwhile; it ends, because it would only take the processor from the
// first where the system has stopped that.
const (
	mostSpins   = 200_000
	helperSpins = 100_000
	yieldAfter  = 64
)

// help takes halves until the pass is over.
func (h *halves) help(e *Encoder) {
	if h.over.Load() {
		return
	}
	s := e.takeScratch()
	defer e.returnScratch(s)
	s.fit(h.model, blockTokens)
	s.fitOthers()
	h.second = s
	h.helper.Store(true)
	for spins := 1; spins < helperSpins && !h.over.Load(); spins++ {
		offer := h.offered.Load()
		switch {
		case offer > 0 && h.offered.CompareAndSwap(offer, 0):
			h.step(int(offer)-1, s, (h.tokens+1)/2, h.tokens)
			h.helped.Store(offer)
			spins = 0
		case spins%yieldAfter == 0:
			runtime.Gosched()
		}
	}
	h.over.Store(true)
}

// step takes the tokens from and before to through what follows the queries, keys and values of a layer, which are in
// attended, of all tokens; those of the next layer are in others then. Step 0 has only the latter part, the last step
// only the former.
func (h *halves) step(step int, s *scratch, from, to int) {
	m := h.model
	hidden := s.hidden[from*m.Width : to*m.Width]
	if step > 0 {
		l, attended := &m.layers[step-1], s.attended[:3*h.tokens*m.Width]
		for head := range m.Heads {
			s.attendHead(attended, m.Width, head*len(m.ones), m.ones, from, to)
		}
		_ = l.feedForward(m, s, hidden, attended[3*from*m.Width:3*to*m.Width], func() error { return nil })
	}
	if step < len(m.layers) {
		s.apply(&m.layers[step].attention, hidden, m.Width, s.others[3*from*m.Width:3*to*m.Width])
	}
}
