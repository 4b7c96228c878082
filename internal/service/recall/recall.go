// Package recall selects and writes the memories that an agent sees: for one prompt, the relevant ones within a token
// budget, or nothing (Recall); at the start of a session, a context that does not change (Context); before a tool call,
// known failures of exactly that call (Hint). Search decides which memories are relevant; this package decides which of
// them are shown and in which form.
//
// Every result is fenced as data, so that a memory cannot pass for the words of the user or the host: the fence has a
// nonce, and nothing inside it can open or close a tag.
//
// The package writes nothing to disk while a caller waits. What a session has seen is kept in RAM, within bounds.
package recall

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/hex"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"time"

	"github.com/memsidecar/memsidecar/internal/memory"
	"github.com/memsidecar/memsidecar/internal/search"
	"github.com/memsidecar/memsidecar/internal/store"
)

// Searcher finds memories by their content. *search.Engine is one.
type Searcher interface {
	Search(ctx context.Context, req search.Request) (*search.Response, error)
}

// Config of a Service. Store, Search, Now and Index are required.
type Config struct {
	Store  *store.Store
	Search Searcher
	Now    func() time.Time
	Nonce  func() string  // makes the nonce of a fence; nil makes 16 random hexadecimal digits
	Zone   *time.Location // time zone of the daily logs; nil is UTC
	// TopK is the number of relevant memories per prompt for requests that set none; 0 is DefaultTopK.
	TopK int
	// ContextTokens is the budget of a context whose request sets none; 0 is DefaultContextTokens.
	ContextTokens int
	// LogDays is the number of days, today included, whose log entries a context lists; 0 is DefaultLogDays.
	LogDays int
	// Arm selects the search arm for prompts, ExplicitArm the one for questions of the agent itself; "" is
	// search.Keyword.
	Arm, ExplicitArm string
	// Disabled answers prompts with nothing. Explicit requests are still answered.
	Disabled bool
	Index    *Index // of Store, loaded by the caller and attached to it as a projection
	// Model selects additional memories for a prompt in the background; they are shown with a later prompt of the
	// session. nil selects none. Run makes the calls.
	Model  Model
	Logger *slog.Logger // for failures of Model; nil discards
	// Working returns the working memory of a session, which is added to its requests; nil adds nothing. Error:
	// memory.ErrNotFound.
	Working func(space, session string) (*memory.Working, error)
	// Hints records the hints that were given, for the reflection that checks their outcome; nil records them for this
	// service only.
	Hints *Hints
}

// Service answers recalls, contexts and hints. It is safe for concurrent use.
type Service struct {
	store    *store.Store
	search   Searcher
	now      func() time.Time
	nonce    func() string
	zone     *time.Location
	topK     int
	arm      map[bool]string // by Request.Explicit
	disabled bool

	contextTokens int
	logDays       int
	index         *Index
	workingMemory func(space, session string) (*memory.Working, error)
	selector      *selector // nil without a model

	cleanTexts   *cleanTexts
	seenSessions seenSessions
	traces       traces
	hints        *Hints
}

// New returns a Service.
func New(c Config) *Service {
	s := &Service{store: c.Store, search: c.Search, now: c.Now, nonce: c.Nonce, zone: c.Zone, topK: c.TopK,
		disabled: c.Disabled, index: c.Index, workingMemory: c.Working, hints: cmp.Or(c.Hints, &Hints{}),
		cleanTexts: newCleanTexts()}
	s.arm = map[bool]string{false: c.Arm, true: c.ExplicitArm}
	if s.nonce == nil {
		s.nonce = randomNonce
	}
	if s.zone == nil {
		s.zone = time.UTC
	}
	if s.topK == 0 {
		s.topK = DefaultTopK
	}
	if s.contextTokens = c.ContextTokens; s.contextTokens == 0 {
		s.contextTokens = DefaultContextTokens
	}
	s.logDays = cmp.Or(c.LogDays, DefaultLogDays)
	if c.Model != nil {
		s.selector = &selector{service: s, model: c.Model, logger: c.Logger, queue: make(chan selection, selectQueue)}
		if c.Logger == nil {
			s.selector.logger = slog.New(slog.DiscardHandler)
		}
	}
	return s
}

// randomNonce makes the id of a fence. A memory cannot contain it, since it is drawn after the memory was
// stored, so that no recalled text can close the fence that it is in.
func randomNonce() string {
	var raw [8]byte
	_, _ = rand.Read(raw[:]) // never fails
	return hex.EncodeToString(raw[:])
}

// Recall returns the memories for a prompt: the most relevant ones, and rules about the tools that the prompt names or
// that are in use. An empty result is common. A session sees a memory once, unless the memory has changed, the request
// is explicit, or the agent's context was compacted; after a compaction the session's state comes first, once.
// Accesses are counted once per session and memory, and journaled later.
//
// Errors: *memory.InvalidError, and the error of ctx.
func (s *Service) Recall(ctx context.Context, req Request) (*Result, error) {
	if err := req.validate(s.topK); err != nil {
		return nil, err
	}
	if s.disabled && !req.Explicit {
		return &Result{Reason: ReasonDisabled}, nil
	}
	if req.FailedTool != nil {
		req.WorkingTools = union(req.WorkingTools, []string{req.FailedTool.Name})
	}
	working := s.workingFor(&req)
	seen := s.seenSessions.forSession(req.Session)
	seen.mu.Lock()
	defer seen.mu.Unlock()
	if working != nil {
		req.addWorking(working)
		seen.observeCompactions(working.Compactions)
	}

	query := req.query()
	chosen, reason, err := s.selectMemories(ctx, &req, query, seen)
	if err != nil {
		return nil, fmt.Errorf("recall: %w", err)
	}
	if err := ctx.Err(); err != nil {
		return nil, err // the caller is gone, so nothing counts as shown
	}
	now := s.now()
	lang := languageOf(query)
	kept := s.compactionState(&req, seen, working)
	req.Tokens -= Tokens(kept)
	res := s.block(&req, chosen, lang, now)
	if res.Reason = reason; len(chosen) > 0 && len(res.Items) == 0 {
		res.Reason = ReasonBudget
	}
	for _, it := range res.Items {
		s.store.CountAccess(it.Space, seen.firstAccesses(it.Space, []string{it.Memory.ID}), now)
		seen.markShown(it.Space, it.Memory)
	}
	if kept != "" {
		res.Block = kept + res.Block
		res.Tokens = Tokens(res.Block)
		seen.stateShownAt = working.Compactions
	}
	s.selector.enqueue(&req, query, seen)
	if len(res.Items) > 0 {
		s.traces.add(traceOf(&req, query, res.Items, now))
	}
	return res, nil
}

// CountAccess counts an access of memories that a session found in another way than by a recall. Like every access it
// counts once per session and memory; without a session it always counts.
func (s *Service) CountAccess(session, space string, ids ...string) {
	if session != "" {
		seen := s.seenSessions.forSession(session)
		seen.mu.Lock()
		defer seen.mu.Unlock()
		ids = seen.firstAccesses(space, ids)
	}
	s.store.CountAccess(space, ids, s.now())
}

// selectMemories returns the memories to show, best first, or the reason why there are none. Relevant memories come
// first, then rules about tools, then memories that a model selected for an earlier prompt. The caller holds seen.mu.
func (s *Service) selectMemories(ctx context.Context, req *Request, query string, seen *sessionSeen) ([]candidate,
	string, error) {
	var out []candidate
	taken, passed := map[[2]string]bool{}, false
	take := func(c candidate) {
		switch {
		case taken[c.key()]:
		case alreadyKnown(req, seen, c.space, c.memory):
			passed = true
		default:
			taken[c.key()] = true
			out = append(out, c)
		}
	}
	rules := s.toolRules(req, query)
	found, err := s.searchRelevant(ctx, req, query, seen, func(h *search.Hit) bool {
		c := candidate{space: h.Space, memory: h.Memory, score: h.Score, strength: h.Strength}
		if toolOf(h.Memory) == "" || matchesContent(h) &&
			!slices.ContainsFunc(rules, func(r candidate) bool { return r.key() == c.key() }) {
			// The name of its tool alone does not make a rule relevant, and rules about tools have places of their own.
			take(c)
		}
		return len(out) == req.Items
	})
	if err != nil {
		return nil, "", err
	}
	relevant := len(out)
	for _, c := range rules {
		if len(out) == MaxItems || len(out)-relevant == maxRules {
			break
		}
		take(c)
	}
	for _, c := range s.selectedByModel(seen, s.now()) {
		if !req.Explicit && len(out) < MaxItems {
			take(c)
		}
	}
	switch {
	case len(out) > 0:
		return out, "", nil
	case passed:
		return nil, ReasonShown, nil
	case len(found.Hits) > 0:
		return nil, search.ReasonWeak, nil
	}
	return nil, found.Reason, nil
}

// queryEmbedTimeout is how long a prompt waits for its embedding before the search uses words alone.
const queryEmbedTimeout = 25 * time.Millisecond

// searchRelevant passes relevant memories to enough, best first, until it returns true. Memories that the agent already
// knows do not use up results, so one search suffices. If files were read, the hits are collected first and reordered
// by the files that they name.
func (s *Service) searchRelevant(ctx context.Context, req *Request, query string, seen *sessionSeen,
	enough func(*search.Hit) bool) (*search.Response, error) {
	want := search.Request{
		Spaces: req.Spaces, Query: query, K: 2 * MaxItems, AsOf: s.now(), Arm: s.arm[req.Explicit], Implicit: !req.Explicit,
		StopAfter: enough,
		WantTerms: func(m *memory.Memory) bool { return toolOf(m) != "" },
	}
	if !req.Explicit {
		want.EmbedTimeout = queryEmbedTimeout
	}
	// What the agent has already seen does not count as one of the results that it gets.
	if fresh := 0; len(req.FilesRead) > 0 {
		want.StopAfter = func(h *search.Hit) bool {
			if !alreadyKnown(req, seen, h.Space, h.Memory) {
				fresh++
			}
			return fresh == want.K
		}
	}
	found, err := s.search.Search(ctx, want)
	if err != nil {
		return nil, err
	}
	if len(req.FilesRead) == 0 {
		return found, nil
	}
	for _, h := range aboutFiles(found.Hits, req.FilesRead) {
		if enough(&h) {
			break
		}
	}
	return found, nil
}

// alreadyKnown reports whether the agent has m in its context. An explicit request gets what the session has seen.
func alreadyKnown(req *Request, seen *sessionSeen, space string, m *memory.Memory) bool {
	return !req.Explicit && seen.contains(space, m) || fromReadFile(m, req.FilesRead)
}

// matchesContent reports whether a matched term occurs in the title or content of the memory, and not only in its other
// fields.
func matchesContent(h *search.Hit) bool {
	text := strings.ToLower(h.Memory.Title + "\n" + h.Memory.Content)
	return slices.ContainsFunc(h.Terms, func(term string) bool { return strings.Contains(text, term) })
}

// toolRules returns the procedural memories about the tools in use and the tools that the prompt names, best first.
func (s *Service) toolRules(req *Request, query string) (out []candidate) {
	now := s.now()
	for _, space := range req.Spaces {
		for _, id := range s.index.tools.about(s.store, space, req.WorkingTools, query) {
			if m, err := s.store.Space(space).Get(id); err == nil && m.IsActive() && !m.Expired(now) &&
				toolOf(m) != "" {
				out = append(out, candidate{space: space, memory: m, tool: toolOf(m)})
			}
		}
	}
	sortRules(out)
	return out
}
