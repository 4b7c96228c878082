package recall

import (
	"context"
	"fmt"

	"github.com/memsidecar/memsidecar/internal/memory"
	"github.com/memsidecar/memsidecar/internal/search"
)

// Reasons why a memory that a search finds is not recalled.
const (
	LeftOutWeak   = "weak"   // not likely enough to bear on the prompt
	LeftOutLimit  = "limit"  // enough others bear more on it
	LeftOutBudget = "budget" // it does not fit into the token budget
	LeftOutTool   = "tool"   // a rule about a tool that is neither named nor in use
)

// maxLeftOut is how many memories that are left out a preview lists.
const maxLeftOut = 20

// LeftOut is a memory that is not recalled. Memory is shared and must not be modified.
type LeftOut struct {
	Space    string
	Memory   *memory.Memory
	Score    float64
	Strength search.Strength
	Reason   string // a LeftOut constant
}

// Preview returns what Recall would return to a session that has seen nothing, and the memories that a search for the
// prompt finds but that are left out, best first. It counts no access and records nothing; the session of the request
// is ignored. It costs three searches. Errors: as of Recall.
func (s *Service) Preview(ctx context.Context, req Request) (*Result, []LeftOut, error) {
	req.Session = ""
	if err := req.validate(s.topK); err != nil {
		return nil, nil, err
	}
	if s.disabled && !req.Explicit {
		return &Result{Reason: ReasonDisabled}, nil, nil
	}
	query, now := req.query(), s.now()
	chosen, reason, err := s.selectMemories(ctx, &req, query, &sessionSeen{})
	if err != nil {
		return nil, nil, fmt.Errorf("preview: %w", err)
	}
	res := s.block(&req, chosen, languageOf(query), now)
	if res.Reason = reason; len(chosen) > 0 && len(res.Items) == 0 {
		res.Reason = ReasonBudget
	}
	left, err := s.leftOut(ctx, &req, query, chosen, res.Items)
	return res, left, err
}

// leftOut returns the memories that are not among items: the chosen ones for which there was no room, and what a search
// without the bounds of a recall finds.
func (s *Service) leftOut(ctx context.Context, req *Request, query string, chosen []candidate, items []Item) ([]LeftOut,
	error) {
	known := map[[2]string]bool{}
	for _, it := range items {
		known[[2]string{it.Space, it.Memory.ID}] = true
	}
	var out []LeftOut
	for _, c := range chosen {
		if !known[c.key()] {
			known[c.key()] = true
			out = append(out, LeftOut{c.space, c.memory, c.score, c.strength, LeftOutBudget})
		}
	}
	// What passes the gate of an implicit request was near enough; everything else is too weak for it.
	likely := map[[2]string]bool{}
	for _, implicit := range []bool{!req.Explicit, false} {
		found, err := s.search.Search(ctx, search.Request{
			Spaces: req.Spaces, Query: query, K: maxLeftOut, AsOf: s.now(), Arm: s.arm[req.Explicit], Implicit: implicit,
			WantTerms: func(m *memory.Memory) bool { return toolOf(m) != "" },
		})
		if err != nil {
			return nil, fmt.Errorf("preview: %w", err)
		}
		for _, h := range found.Hits {
			key := [2]string{h.Space, h.Memory.ID}
			if implicit {
				likely[key] = true
				continue
			}
			if known[key] || len(out) == maxLeftOut {
				continue
			}
			reason := LeftOutWeak
			switch {
			case toolOf(h.Memory) != "" && !matchesContent(&h):
				reason = LeftOutTool
			case likely[key] || req.Explicit:
				reason = LeftOutLimit
			}
			out = append(out, LeftOut{h.Space, h.Memory, h.Score, h.Strength, reason})
		}
	}
	return out, nil
}
