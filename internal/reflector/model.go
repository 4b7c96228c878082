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

	"github.com/memsidecar/memsidecar/internal/llm"
	"github.com/memsidecar/memsidecar/internal/memory"
	"github.com/memsidecar/memsidecar/internal/pattern"
	"github.com/memsidecar/memsidecar/internal/plan"
	"github.com/memsidecar/memsidecar/internal/redact"
	"github.com/memsidecar/memsidecar/internal/store"
)

// Model answers questions. *llm.Client is one.
type Model interface {
	Do(ctx context.Context, req llm.Request) (llm.Reply, error)
}

// Who decided, as Result.DecidedBy.
const (
	ByModel = "model"
	ByRules = "rules"
)

// patience is how long after its end a session waits for a model that cannot be asked. Then the rules do.
const patience = 3 * 24 * time.Hour

// WaitError says that a session was not reflected because the model cannot be asked now. It can be tried again.
type WaitError struct{ Err *llm.Error }

func (e *WaitError) Error() string { return "the session waits for the model: " + e.Err.Error() }

// Unwrap returns the model's error.
func (e *WaitError) Unwrap() error { return e.Err }

const (
	maxShown      = 30   // memories shown beside a session
	showAll       = 12   // a space with so few memories is shown whole
	maxQueries    = 60   // sentences that neighbours are searched for
	queryLength   = 4000 // characters of a turn that are looked at for them
	perQuery      = 5    // neighbours of each
	maxReplyItems = 200
	shownFailures = 8 // kinds
)

// stretch is what was asked about, kept while plans are made anew: a model is asked once.
type stretch struct {
	asked   bool
	from    int64 // ReflectedSeq of the session
	upTo    int64 // its NextSeq
	purged  int64 // the newest purge before anything was read
	reply   *reply
	shown   []*memory.Memory
	instead string // why the rules decide
}

// ask has the model say what to keep of messages, once. The result is in s: a reply, or why there is none.
func (r *Reflector) ask(ctx context.Context, view *store.Space, session *memory.Session, messages []*memory.Message, opts Options, s *stretch) error {
	*s = stretch{asked: true, from: session.ReflectedSeq, upTo: session.NextSeq}
	if !slices.ContainsFunc(messages, worthwhile) {
		return nil // nobody said anything
	}
	in, err := r.input(view, session.ID, messages)
	if err != nil {
		return err
	}
	x := newReflection(in)
	if s.shown, err = r.neighbours(ctx, view, x); err != nil {
		return fmt.Errorf("find memories to show: %w", err)
	}
	failed := failures(x.in.Messages)
	var got reply
	_, err = r.model.Do(ctx, question(x, s.shown, failed[:min(len(failed), shownFailures)], got.check))
	if err == nil {
		s.reply = &got
		return nil
	}
	e, ok := errors.AsType[*llm.Error](err)
	switch {
	case !ok:
		return err
	case e.Later && opts.Open && !opts.DryRun, // asked about again at its end at the latest
		e.Later && !opts.DryRun && !session.EndedAt.IsZero() && r.now().Sub(session.EndedAt) < patience:
		return &WaitError{e}
	}
	s.instead = e.Error()
	return nil
}

// worthwhile reports whether a message may hold what is worth keeping: a turn of the user, or a summary of many turns.
func worthwhile(m *memory.Message) bool {
	return (m.Role == "user" || m.Role == memory.RoleSummary) && m.Tool == nil && strings.TrimSpace(m.Content) != ""
}

// neighbours chooses the memories to show: those that the user's turns and the failures are about, or all when there are few.
func (r *Reflector) neighbours(ctx context.Context, view *store.Space, x *reflection) ([]*memory.Memory, error) {
	score := map[string]float64{}
	known := map[string]*memory.Memory{}
	note := func(m *memory.Memory, s float64) {
		known[m.ID] = m
		score[m.ID] = max(score[m.ID], s)
	}
	now := r.now()
	active := slices.DeleteFunc(slices.Clone(view.Memories()), func(m *memory.Memory) bool { return !m.IsActive() || m.Expired(now) })
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
		if !worthwhile(m) {
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
		n := llm.EstimateTokens(shownAs(len(out)+1, known[id])) + 1
		if n > budget {
			break
		}
		budget -= n
		out = append(out, known[id])
	}
	return out, nil
}

var latinWord = pattern.New(`[A-Za-z][\w.+#-]*`)

// queriesOf lists what of a turn memories are looked for by: its sentences, and the names in Chinese ones, which memories in another
// language have too.
func queriesOf(turn string) (out []string) {
	for _, s := range sentences(head(turn, queryLength)) {
		text := strings.ToValidUTF8(s.restore(s.text), "")
		out = append(out, text)
		if names := latinWord.FindAllString(text, -1); isHan(text) && len(names) > 0 {
			out = append(out, strings.Join(names, " "))
		}
	}
	return out
}

// planFrom turns a reply into a plan, beside what the rules know of failures. Whatever the reply says, only shown memories are its targets.
func (r *Reflector) planFrom(ctx context.Context, in Input, s *stretch) (plan.Plan, error) {
	x := newReflection(in)
	var failed error
	decide := func(item plan.Item) plan.Item {
		if failed != nil {
			return item
		}
		for _, m := range s.shown { // whatever its category
			if memory.Normalize(m.Content) == memory.Normalize(item.Memory.Content) {
				item.Action, item.Target, item.Why = plan.Noop, m.ID, plan.ReasonExactDuplicate
				return item
			}
		}
		if strings.TrimSpace(item.Memory.Content) == "" || len(item.Memory.Content) > memory.MaxContent {
			return item
		}
		text, _ := redact.Text(item.Memory.Content)
		hits, err := r.search.Similar(ctx, in.Space, text, neighbours)
		if failed = err; err != nil {
			return item
		}
		var near []plan.Neighbour
		for _, h := range hits {
			if i := slices.IndexFunc(s.shown, func(m *memory.Memory) bool { return m.ID == h.Memory.ID }); i >= 0 {
				near = append(near, plan.Neighbour{Memory: s.shown[i], Score: h.Score})
			}
		}
		d := plan.Decide(item, near)
		if d.Action != plan.Update {
			return d
		}
		target := s.shown[slices.IndexFunc(s.shown, func(m *memory.Memory) bool { return m.ID == d.Target })]
		if item.Memory.Category == memory.Procedural && target.Category != memory.Procedural {
			return item // a rule takes no fact's place
		}
		d.Memory.Category, d.Memory.StructuredData = target.Category, nil
		return d
	}
	x.failures()
	x.workflows()
	x.take(s, decide)
	x.feedback()
	if failed != nil {
		return plan.Plan{}, fmt.Errorf("find similar memories: %w", failed)
	}
	return x.plan, nil
}
