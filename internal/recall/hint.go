package recall

import (
	"context"
	"fmt"
	"sync"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/memsidecar/memsidecar/internal/memory"
	"github.com/memsidecar/memsidecar/internal/reflector"
)

const (
	// MaxArguments is how many bytes the arguments of an action may have.
	MaxArguments = 64 << 10

	maxHints    = 2
	hintTokens  = 240  // budget of a hint
	leastUseful = 0.3  // salience below which a rule has shown that it does not help
	openHints   = 64   // hints of one session of which nobody knows yet what came of them
	hintedLimit = 1024 // sessions with such hints
)

// Reasons why there is no hint, beside those of Recall.
const ReasonUnknown = "UNKNOWN_ACTION" // nothing is known of exactly this action

// HintRequest tells what an agent is about to do.
type HintRequest struct {
	Tool      string // 1 to 200 characters
	Arguments string // as the host sends them, usually JSON; at most 64 KiB
	Session   string // the host's id of the session, in which a rule is shown once until it is known what came of it; "" remembers nothing
	Spaces    []string
}

func (r *HintRequest) validate() error {
	var c memory.Check
	c.Text("tool", r.Tool, memory.MaxTitle, true)
	if len(r.Arguments) > MaxArguments {
		c.Add("arguments", "TOO_LONG", "has %d bytes; the limit is %d", len(r.Arguments), MaxArguments)
	}
	c.Text("arguments", r.Arguments, MaxArguments, false)
	if r.Session != "" {
		c.ID("session_id", r.Session)
	}
	if len(r.Spaces) == 0 {
		r.Spaces = []string{memory.DefaultSpace}
	}
	for _, s := range r.Spaces {
		c.Slug("spaces", s)
	}
	if len(r.Spaces) > maxNames {
		c.Add("spaces", "TOO_MANY", "has %d items; the limit is %d", len(r.Spaces), maxNames)
	}
	return c.Err()
}

// Hint returns what is known to fail about exactly the action that an agent is about to take, at most two rules in a short block; nothing is by far
// the most usual result. It asks no model and no search and writes nothing: what was shown is remembered in RAM, until a reflection has seen what came of it.
//
// Errors: *memory.InvalidError, and that of ctx.
func (s *Service) Hint(ctx context.Context, req HintRequest) (*Result, error) {
	if err := req.validate(); err != nil {
		return nil, err
	}
	if err := ctx.Err(); err != nil {
		return nil, fmt.Errorf("hint: %w", err)
	}
	if s.disabled {
		return &Result{Reason: ReasonDisabled}, nil
	}
	now := s.now()
	chosen, reason := s.chooseHints(&req, now)
	lang := English
	if len(chosen) > 0 {
		lang = languageOfRule(chosen[0].memory.Content)
	}
	res := s.block(&Request{Spaces: req.Spaces, Tokens: hintTokens}, chosen, lang, now)
	if res.Reason = reason; len(chosen) > 0 && len(res.Items) == 0 {
		res.Reason = ReasonBudget
	}
	for _, it := range res.Items {
		s.hinted.add(req.Session, it.Space, it.Memory.ID, now)
		s.store.Touch(it.Space, []string{it.Memory.ID}, now)
	}
	return res, nil
}

// languageOfRule goes by how a rule begins: the commands, addresses and errors in it are in Latin letters whatever language it is in.
func languageOfRule(content string) string {
	if first, _ := utf8.DecodeRuneInString(content); unicode.Is(unicode.Han, first) {
		return Chinese
	}
	return languageOf(content)
}

// chooseHints lists the rules to show, the most telling first, and says why there are none.
func (s *Service) chooseHints(req *HintRequest, now time.Time) ([]choice, string) {
	var out []choice
	reason := ReasonUnknown
	action := reflector.ActionOf(&memory.ToolCall{Name: req.Tool, Arguments: req.Arguments})
	for _, space := range req.Spaces {
		for _, id := range s.tools.about(space, []string{req.Tool}, "") {
			m, err := s.store.Space(space).Get(id)
			if err != nil || !m.IsActive() || m.Expired(now) || toolOf(m) == "" || m.Salience < leastUseful && !m.Pinned || !action.Matches(m) {
				continue
			}
			if s.hinted.has(req.Session, space, id) {
				reason = ReasonShown
				continue
			}
			out = append(out, choice{space: space, memory: m, tool: toolOf(m)})
		}
	}
	if len(out) == 0 {
		return nil, reason
	}
	sortRules(out)
	return out[:min(len(out), maxHints)], ""
}

// Hints remembers which rules were shown before actions, by session, until a reflection has seen what came of them. The zero value is
// ready to use, by several goroutines.
type Hints struct {
	mu       sync.Mutex
	sessions map[string]map[[2]string]time.Time // by space and memory; guarded by mu
	order    []string                           // of sessions, the oldest first; guarded by mu
}

func (h *Hints) add(session, space, id string, at time.Time) {
	if session == "" {
		return
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.sessions == nil {
		h.sessions = map[string]map[[2]string]time.Time{}
	}
	open := h.sessions[session]
	if open == nil {
		if len(h.order) >= hintedLimit {
			delete(h.sessions, h.order[0])
			h.order = append(h.order[:0], h.order[1:]...)
		}
		open = map[[2]string]time.Time{}
		h.sessions[session] = open
		h.order = append(h.order, session)
	}
	if len(open) >= openHints {
		clear(open)
	}
	open[[2]string{space, id}] = at
}

func (h *Hints) has(session, space, id string) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	_, ok := h.sessions[session][[2]string{space, id}]
	return ok
}

// Hinted lists the hints of a session of which the outcome is not known.
func (h *Hints) Hinted(space, session string) (out []reflector.Hinted) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for key, at := range h.sessions[session] {
		if key[0] == space {
			out = append(out, reflector.Hinted{ID: key[1], At: at})
		}
	}
	return out
}

// Settled forgets hints of which the outcome is known.
func (h *Hints) Settled(space, session string, ids []string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, id := range ids {
		delete(h.sessions[session], [2]string{space, id})
	}
}
