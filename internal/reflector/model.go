package reflector

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/memsidecar/memsidecar/internal/lazyregexp"
	"github.com/memsidecar/memsidecar/internal/llm"
	"github.com/memsidecar/memsidecar/internal/memory"
	"github.com/memsidecar/memsidecar/internal/redact"
	"github.com/memsidecar/memsidecar/internal/reflector/guard"
	"github.com/memsidecar/memsidecar/internal/store"
)

// Model answers questions. *llm.Client implements it.
type Model interface {
	Do(ctx context.Context, req llm.Request) (llm.Reply, error)
}

// Values of Result.DecidedBy.
const (
	ByModel = "model"
	ByRules = "rules"
)

// maxModelWait is how long after its end a session waits for an unavailable model. After that the rules decide.
const maxModelWait = 3 * 24 * time.Hour

// WaitError says that a session was not reflected because the model is unavailable. Try again later.
type WaitError struct{ Err *llm.Error }

func (e *WaitError) Error() string { return "the session waits for the model: " + e.Err.Error() }

// Unwrap returns the model's error.
func (e *WaitError) Unwrap() error { return e.Err }

const (
	// memories in a question
	maxShown = 30
	// a space with at most so many memories is shown completely
	showAll = 12
	// sentences used as search queries
	maxQueries = 60
	// characters of a user turn that are split into queries
	queryLength = 4000
	// hits per query
	perQuery      = 5
	maxReplyItems = 200
	// failures in a question
	shownFailures = 8
)

// consultation is the question to the model about a range of messages. It survives rebuilt plans, so that the model
// is asked once.
type consultation struct {
	asked bool
	// first sequence number of the range: ReflectedSeq of the session
	fromSeq int64
	// end of the range: NextSeq of the session
	toSeq int64
	// the newest purge before anything was read
	purged        int64
	reply         *reply
	shownMemories []*memory.Memory
	// why the rules decide instead; "" if they do not
	fallbackReason string
}

// askModel asks the model what to keep of messages. It stores the reply, or the reason why there is none, in s.
func (r *Reflector) askModel(ctx context.Context, view *store.Space, session *memory.Session,
	messages []*memory.Message,
	opts Options, s *consultation) error {
	*s = consultation{asked: true, fromSeq: session.ReflectedSeq, toSeq: session.NextSeq}
	if !slices.ContainsFunc(messages, hasUserText) {
		return nil // nothing to learn from
	}
	in, err := r.ruleInput(view, session.ID, messages)
	if err != nil {
		return err
	}
	x := newPlanner(in)
	if s.shownMemories, err = r.relevantMemories(ctx, view, x); err != nil {
		return fmt.Errorf("find memories for the question: %w", err)
	}
	failed := failures(x.in.Messages)
	var got reply
	_, err = r.model.Do(ctx, buildRequest(x, s.shownMemories, failed[:min(len(failed), shownFailures)], got.decode))
	if err == nil {
		s.reply = &got
		return nil
	}
	e, ok := errors.AsType[*llm.Error](err)
	switch {
	case !ok:
		return err
	case e.Later && opts.Open && !opts.DryRun, // the question is repeated at the end of the session at the latest
		e.Later && !opts.DryRun && !session.EndedAt.IsZero() && r.now().Sub(session.EndedAt) < maxModelWait:
		return &WaitError{e}
	}
	s.fallbackReason = e.Error()
	return nil
}

// hasUserText reports whether a message is a turn of the user or a summary of turns, and not empty.
func hasUserText(m *memory.Message) bool {
	return (m.Role == "user" || m.Role == memory.RoleSummary) && m.Tool == nil && strings.TrimSpace(m.Content) != ""
}

// relevantMemories selects the memories of a question: those similar to the user's turns or about the failures, or
// all if there are few. The order is deterministic, best first.
func (r *Reflector) relevantMemories(ctx context.Context, view *store.Space, x *planner) ([]*memory.Memory, error) {
	score := map[string]float64{}
	known := map[string]*memory.Memory{}
	note := func(m *memory.Memory, s float64) {
		known[m.ID] = m
		score[m.ID] = max(score[m.ID], s)
	}
	now := r.now()
	active := slices.DeleteFunc(slices.Clone(view.Memories()), func(m *memory.Memory) bool {
		return !m.IsActive() || m.Expired(now)
	})
	if len(active) <= showAll {
		for _, m := range active {
			note(m, 0)
		}
	}
	for _, m := range x.in.Rules {
		note(m, 1)
	}
	queries := 0
	for _, m := range slices.Backward(x.in.Messages) {
		if !hasUserText(m) {
			continue
		}
		for _, text := range queriesOf(m.Content) {
			if queries++; queries > maxQueries {
				break
			}
			hits, err := r.search.Similar(ctx, view.Name(), text, perQuery)
			if err != nil {
				return nil, err
			}
			for _, h := range hits {
				note(h.Memory, h.Score)
			}
		}
	}
	ids := slices.SortedFunc(maps.Keys(known), func(a, b string) int {
		return cmp.Or(cmp.Compare(score[b], score[a]), strings.Compare(a, b))
	})
	var out []*memory.Memory
	budget := shownTokens
	for _, id := range ids[:min(len(ids), maxShown)] {
		n := llm.EstimateTokens(memoryLine(len(out)+1, known[id])) + 1
		if n > budget {
			break
		}
		budget -= n
		out = append(out, known[id])
	}
	return out, nil
}

// latinWord is a name or term in Chinese text.
var latinWord = lazyregexp.New(`[A-Za-z][\w.+#-]*`)

// queriesOf returns the search queries for a turn: its sentences, and the Latin names in Chinese sentences, which
// memories in other languages share.
func queriesOf(turn string) (out []string) {
	for _, s := range sentences(truncate(turn, queryLength)) {
		text := strings.ToValidUTF8(s.unmask(s.text), "")
		out = append(out, text)
		if names := latinWord.FindAllString(text, -1); containsHan(text) && len(names) > 0 {
			out = append(out, strings.Join(names, " "))
		}
	}
	return out
}

// planFromReply builds the plan from a reply and the rules about failures. Only memories that the model was shown can
// be targets.
func (r *Reflector) planFromReply(ctx context.Context, in Input, s *consultation) (guard.Plan, error) {
	x := newPlanner(in)
	var failed error
	decide := func(item guard.Item) guard.Item {
		if failed != nil {
			return item
		}
		for _, m := range s.shownMemories { // in any category
			if memory.Normalize(m.Content) == memory.Normalize(item.Memory.Content) {
				item.Action, item.Target, item.Reason = guard.Noop, m.ID, guard.ReasonExactDuplicate
				return item
			}
		}
		if strings.TrimSpace(item.Memory.Content) == "" || len(item.Memory.Content) > memory.MaxContent {
			return item
		}
		text, _ := redact.Text(item.Memory.Content)
		hits, err := r.search.Similar(ctx, in.Space, text, maxNeighbours)
		if failed = err; err != nil {
			return item
		}
		var near []guard.Neighbour
		for _, h := range hits {
			if i := slices.IndexFunc(s.shownMemories, func(m *memory.Memory) bool {
				return m.ID == h.Memory.ID
			}); i >= 0 {
				near = append(near, guard.Neighbour{Memory: s.shownMemories[i], Score: h.Score})
			}
		}
		d := guard.Decide(item, near)
		if d.Action != guard.Update {
			return d
		}
		target := s.shownMemories[slices.IndexFunc(s.shownMemories, func(m *memory.Memory) bool {
			return m.ID == d.Target
		})]
		if item.Memory.Category == memory.Procedural && target.Category != memory.Procedural {
			return item // a rule does not replace a fact
		}
		d.Memory.Category = target.Category
		d.Memory.SetStructuredData(nil)
		return d
	}
	x.addFailures()
	x.addWorkflows()
	x.applyReply(s, decide)
	x.addHintFeedback()
	x.addSuccesses()
	if failed != nil {
		return guard.Plan{}, fmt.Errorf("find similar memories: %w", failed)
	}
	return x.plan, nil
}
