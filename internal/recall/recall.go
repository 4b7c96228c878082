// Package recall puts together what an agent is told of its memories: for one prompt, within a budget, what fits it, or nothing;
// and at the start of a session, a context that stays as it is. What it returns is fenced as data, so that no memory can pass for
// the words of the user or of the host. It decides what is shown and how; what fits a prompt is decided by search.
//
// What was shown to a session is remembered in memory only: nothing here writes to disk while somebody waits.
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

// Searcher finds memories by what they say.
type Searcher interface {
	Search(ctx context.Context, req search.Request) (*search.Response, error)
}

// Config of a Service. Store, Search and Now are required.
type Config struct {
	Store  *store.Store
	Search Searcher
	Now    func() time.Time
	Nonce  func() string  // of a fence; nil is 16 random hexadecimal digits
	Zone   *time.Location // whose days the daily logs are; nil is UTC
	// TopK is the number of memories that fit a prompt best which are shown unless a request says otherwise; 0 is DefaultTopK.
	TopK int
	// ContextTokens is the budget of a context that names none; 0 is DefaultContextTokens.
	ContextTokens int
	// Arm of the searches for prompts, and ExplicitArm of those that an agent asks for; "" is search.Keyword.
	Arm, ExplicitArm string
	// Disabled leaves prompts unanswered; what an agent asks for explicitly is answered all the same.
	Disabled bool
	// Tools is what follows the procedural memories of the store.
	Tools *Tools
	// Model chooses more memories for a prompt, which come with a later one of its session; nil chooses nothing. It is asked while Run runs.
	Model  Model
	Logger *slog.Logger // of what the model does; nil discards
	// Working is what a session is at work on, which is added to its requests; nil adds nothing. Error: memory.ErrNotFound.
	Working func(space, session string) (*memory.Working, error)
	// Hints keeps what was hinted at, for the reflection that asks what came of it; nil keeps it for this service alone.
	Hints *Hints
}

// Service is safe for concurrent use.
type Service struct {
	store    *store.Store
	search   Searcher
	now      func() time.Time
	nonce    func() string
	zone     *time.Location
	topK     int
	arm      map[bool]string // by whether the agent asks
	disabled bool

	contextTokens int
	tools         *Tools
	workingOf     func(space, session string) (*memory.Working, error)
	selector      *selector // nil without a model

	shown  shown
	traces traces
	hinted *Hints
}

// New returns a Service.
func New(c Config) *Service {
	s := &Service{store: c.Store, search: c.Search, now: c.Now, nonce: c.Nonce, zone: c.Zone, topK: c.TopK, disabled: c.Disabled, tools: c.Tools, workingOf: c.Working, hinted: cmp.Or(c.Hints, &Hints{})}
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
	if s.tools == nil {
		s.tools = NewTools()
	}
	if c.Model != nil {
		s.selector = &selector{service: s, model: c.Model, logger: c.Logger, queue: make(chan selection, selectQueue)}
		if c.Logger == nil {
			s.selector.logger = slog.New(slog.DiscardHandler)
		}
	}
	return s
}

func randomNonce() string {
	var raw [8]byte
	_, _ = rand.Read(raw[:]) // never fails
	return hex.EncodeToString(raw[:])
}

// Recall returns what an agent should be told for a prompt: the memories that fit best, and rules about the tools it names or
// that are in use. Nothing is a usual result. In a session nothing is shown twice, unless it has changed since, was asked for
// explicitly, or the context of the agent was compacted; then its own summary of its work comes too, once. Accesses are counted later, once for each session and memory.
//
// Errors: *memory.InvalidError, and that of ctx.
func (s *Service) Recall(ctx context.Context, req Request) (*Result, error) {
	if err := req.validate(s.topK); err != nil {
		return nil, err
	}
	if s.disabled && !req.Explicit {
		return &Result{Reason: ReasonDisabled}, nil
	}
	working := s.working(&req)
	seen := s.shown.of(req.Session)
	seen.mu.Lock()
	defer seen.mu.Unlock()
	if working != nil {
		req.join(working)
		seen.compacted(working.Compactions)
	}

	query := queryOf(req.Text)
	chosen, reason, err := s.choose(ctx, &req, query, seen)
	if err != nil {
		return nil, fmt.Errorf("recall: %w", err)
	}
	if err := ctx.Err(); err != nil {
		return nil, err // nobody waits any more, so nothing is shown to anybody
	}
	now := s.now()
	lang := languageOf(query)
	kept := s.again(&req, seen, working)
	req.Tokens -= Tokens(kept)
	res := s.block(&req, chosen, lang, now)
	if res.Reason = reason; len(chosen) > 0 && len(res.Items) == 0 {
		res.Reason = ReasonBudget
	}
	fresh := map[string][]string{}
	for _, it := range res.Items {
		if !seen.counted(it.Space, it.Memory.ID) {
			fresh[it.Space] = append(fresh[it.Space], it.Memory.ID)
		}
		seen.add(it.Space, it.Memory)
	}
	if kept != "" {
		res.Block = kept + res.Block
		res.Tokens = Tokens(res.Block)
		seen.reminded = working.Compactions
	}
	for space, ids := range fresh {
		s.store.Touch(space, ids, now)
	}
	s.selector.ask(&req, query, seen)
	if len(res.Items) > 0 {
		s.traces.add(traceOf(&req, query, res.Items, now))
	}
	return res, nil
}

// choose returns the memories to show, best first, and why there are none.
func (s *Service) choose(ctx context.Context, req *Request, query string, seen *seen) ([]choice, string, error) {
	var out []choice
	taken, passed := map[[2]string]bool{}, false
	take := func(c choice) {
		switch {
		case taken[c.key()]:
		case known(req, seen, c.space, c.memory):
			passed = true
		default:
			taken[c.key()] = true
			out = append(out, c)
		}
	}
	rules := s.rules(req, query)
	found, err := s.fitting(ctx, req, query, seen, func(h *search.Hit) bool {
		c := choice{space: h.Space, memory: h.Memory, score: h.Score}
		if toolOf(h.Memory) == "" || sharesText(h) && !slices.ContainsFunc(rules, func(r choice) bool { return r.key() == c.key() }) {
			take(c) // but the name of its tool alone does not make a rule fit, and the rules about tools have their own places
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
	for _, c := range s.selected(seen, s.now()) {
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

// patience is how long a prompt waits for what it means before it goes by words alone.
const patience = 15 * time.Millisecond

// fitting offers the memories that fit, best first, until enough says so. What the agent knows already takes the place of nothing else. Where files were
// read, which may change the order, a number of them that it does not know is offered at once.
func (s *Service) fitting(ctx context.Context, req *Request, query string, seen *seen, enough func(*search.Hit) bool) (*search.Response, error) {
	want := search.Request{
		Spaces: req.Spaces, Query: query, K: 2 * MaxItems, AsOf: s.now(), Arm: s.arm[req.Explicit],
		Enough: enough,
		Terms:  func(m *memory.Memory) bool { return toolOf(m) != "" },
	}
	if !req.Explicit {
		want.Patience = patience
	}
	if fresh := 0; len(req.FilesRead) > 0 {
		want.Enough = func(h *search.Hit) bool {
			if !known(req, seen, h.Space, h.Memory) {
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

// known reports whether the agent has a memory in its context, unless it asks all the same.
func known(req *Request, seen *seen, space string, m *memory.Memory) bool {
	return !req.Explicit && seen.has(space, m) || read(m, req.FilesRead)
}

// sharesText reports whether a word that was found stands in what the memory says, not only in what is noted beside it.
func sharesText(h *search.Hit) bool {
	text := strings.ToLower(h.Memory.Title + "\n" + h.Memory.Content)
	return slices.ContainsFunc(h.Terms, func(term string) bool { return strings.Contains(text, term) })
}

// rules are procedural memories about the tools in use and those that the prompt names.
func (s *Service) rules(req *Request, query string) (out []choice) {
	now := s.now()
	for _, space := range req.Spaces {
		for _, id := range s.tools.about(space, req.WorkingTools, query) {
			if m, err := s.store.Space(space).Get(id); err == nil && m.IsActive() && !m.Expired(now) && toolOf(m) != "" {
				out = append(out, choice{space: space, memory: m, tool: toolOf(m)})
			}
		}
	}
	sortRules(out)
	return out
}
