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
	// MaxArguments is the limit of a tool call's arguments, in bytes.
	MaxArguments = 64 << 10

	maxHints          = 2
	hintTokens        = 240  // token budget of a hint
	minUsefulSalience = 0.3  // a rule below this salience has not helped and is not shown, unless pinned
	maxOpenHints      = 64   // hints per session whose outcome is unknown
	maxHintSessions   = 1024 // sessions with open hints; the oldest is dropped first
)

// ReasonUnknown is why there is no hint, in addition to the reasons of a recall.
const ReasonUnknown = "UNKNOWN_ACTION" // no rule matches exactly this tool call

// HintRequest describes a tool call before it is made.
type HintRequest struct {
	Tool      string // 1 to 200 characters
	Arguments string // as the host sends them, usually JSON; at most 64 KiB
	// Session is the host's session id. A rule is shown to a session once until its outcome is known; "" tracks
	// nothing.
	Session string
	Spaces  []string
}

// validate fills in defaults and reports all violations at once.
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

// Hint returns known failures for exactly this tool call, at most two rules in a short block; an empty result is the
// usual one. It uses no model, no search and no disk. The shown rules are kept in RAM until a reflection has checked
// their outcome.
//
// Errors: *memory.InvalidError, and the error of ctx.
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
		// The reflection of this session compares what was shown with what the tool did next.
		s.hints.add(req.Session, it.Space, it.Memory.ID, now)
		s.CountAccess(req.Session, it.Space, it.Memory.ID)
	}
	return res, nil
}

// languageOfRule returns the language of a rule by its first character, because commands, addresses and errors in a
// rule use Latin letters in every language.
func languageOfRule(content string) string {
	if first, _ := utf8.DecodeRuneInString(content); unicode.Is(unicode.Han, first) {
		return Chinese
	}
	return languageOf(content)
}

// chooseHints returns the rules to show, best first, or the reason why there are none.
func (s *Service) chooseHints(req *HintRequest, now time.Time) ([]candidate, string) {
	var out []candidate
	reason := ReasonUnknown
	action := reflector.ActionOf(&memory.ToolCall{Name: req.Tool, Arguments: req.Arguments})
	for _, space := range req.Spaces {
		for _, id := range s.index.tools.about(s.store, space, []string{req.Tool}, "") {
			m, err := s.store.Space(space).Get(id)
			if err != nil || !m.IsActive() || m.Expired(now) || toolOf(m) == "" ||
				m.Salience < minUsefulSalience && !m.Pinned || !action.Matches(m) {
				continue
			}
			if s.hints.has(req.Session, space, id) {
				reason = ReasonShown
				continue
			}
			out = append(out, candidate{space: space, memory: m, tool: toolOf(m)})
		}
	}
	if len(out) == 0 {
		return nil, reason
	}
	sortRules(out)
	return out[:min(len(out), maxHints)], ""
}

// Hints records which rules were shown before tool calls, by session, until a reflection has checked their outcome. The
// zero value is ready to use. It is safe for concurrent use.
type Hints struct {
	mu       sync.Mutex
	sessions map[string]map[[2]string]time.Time // by space and memory; guarded by mu
	order    []string                           // of sessions, the oldest first; guarded by mu
}

// add records a hint, dropping the oldest session or all hints of the session at the limits.
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
		if len(h.order) >= maxHintSessions {
			delete(h.sessions, h.order[0])
			h.order = append(h.order[:0], h.order[1:]...)
		}
		open = map[[2]string]time.Time{}
		h.sessions[session] = open
		h.order = append(h.order, session)
	}
	if len(open) >= maxOpenHints {
		clear(open)
	}
	open[[2]string{space, id}] = at
}

// has reports whether a hint of the session is open.
func (h *Hints) has(session, space, id string) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	_, ok := h.sessions[session][[2]string{space, id}]
	return ok
}

// Shown returns the hints of a session whose outcome is unknown, in no order.
func (h *Hints) Shown(space, session string) (out []reflector.ShownHint) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for key, at := range h.sessions[session] {
		if key[0] == space {
			out = append(out, reflector.ShownHint{ID: key[1], At: at})
		}
	}
	return out
}

// Complete removes hints whose outcome is known.
func (h *Hints) Complete(space, session string, ids []string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, id := range ids {
		delete(h.sessions[session], [2]string{space, id})
	}
}
