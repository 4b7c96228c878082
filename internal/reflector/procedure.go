package reflector

import (
	"fmt"
	"strings"
	"time"

	"github.com/memsidecar/memsidecar/internal/memory"
	"github.com/memsidecar/memsidecar/internal/plan"
	"github.com/memsidecar/memsidecar/internal/store"
)

// Hinted is a rule that a session was shown before an action.
type Hinted struct {
	ID string // of the memory
	At time.Time
}

// Hints knows what sessions were hinted at.
type Hints interface {
	// Hinted lists the hints of a session whose outcome is not settled.
	Hinted(space, session string) []Hinted
	// Settled says that the outcome of hints is durable.
	Settled(space, session string, ids []string)
}

const (
	hintHelped  = 0.05 // a rule's salience grows by so much when something else worked after a hint
	hintFailed  = 0.15 // and falls by so much when the same failed again, or what it warns of worked
	mostUseful  = 0.95
	leastUseful = 0.05
)

// Why rules change, beside TOOL_FAILED_AGAIN and TOOL_FIXED.
const (
	whyHelped   = "HINT_HELPED"
	whyIgnored  = "HINT_FAILED_AGAIN"
	whyOutdated = "HINT_OUTDATED"
	whyGeneral  = "TOOL_FAILS_IN_GENERAL"
)

func knowledgeOfFailure(f *failure) Knowledge {
	k := Knowledge{Shape: ActionOf(f.message.Tool).shape, Worked: readableWorked(f)}
	for _, a := range f.actions {
		k.saw(a)
	}
	return k
}

// readableWorked is what worked after a failure, "" when nothing is known to have.
func readableWorked(f *failure) string {
	switch {
	case f.fix != nil:
		return readable(f.fix.Arguments)
	case f.remedy != nil && f.remedy.Name != f.message.Tool.Name:
		return strings.TrimSpace(f.remedy.Name + " " + readable(f.remedy.Arguments))
	case f.remedy != nil:
		return readable(f.remedy.Arguments)
	}
	return ""
}

func (f *failure) kind() string { return kindKey(ActionOf(f.message.Tool), f.class) }

// insteadOf finds the call of another tool that got what a failed call was after: it worked, on the very same thing.
func insteadOf(failed *memory.ToolCall, next []*memory.Message) *memory.ToolCall {
	what := readable(failed.Arguments)
	if len(what) < 8 {
		return nil
	}
	for _, m := range next {
		if m.Tool.Name != failed.Name && failureClass(m.Tool) == "" && readable(m.Tool.Arguments) == what {
			return m.Tool
		}
	}
	return nil
}

// generalise makes one rule of failures that differ in what was asked, where they have a shape in common that explains them: it widens a rule that is known or
// in the plan, or adds one when two such failures were seen, each of them once. It reports whether it dealt with f.
func (r *reflection) generalise(f *failure, all []*failure) bool {
	kind := f.kind()
	if kind == "" {
		return false
	}
	for i := range r.plan.Items {
		item := &r.plan.Items[i]
		if x := item.Memory.Context; x != nil && r.kinds[x.Signature] == kind {
			k := KnowledgeOf(&item.Memory)
			if x.Signature != f.signature && !k.General {
				item.Memory.Content, k.General = r.widened(item.Memory.Content, k.Shape), true
				item.Why = whyGeneral
			}
			r.extend(item, k, f, r.counted[x.Signature])
			return true
		}
	}
	if known := r.in.Rules[kind]; known != nil {
		r.seenAgain(f, known)
		item := &r.plan.Items[len(r.plan.Items)-1]
		if k := KnowledgeOf(&item.Memory); !k.General {
			k.General = true
			item.Memory.Content, item.Why = r.widened(known.Content, k.Shape), whyGeneral
			item.Memory.StructuredData = k.with(item.Memory.StructuredData)
		}
		r.kinds[known.Context.Signature] = kind
		return true
	}
	seen := r.in.Failures[kind]
	for _, other := range all {
		if other.kind() == kind {
			seen += other.count
		}
	}
	if seen < 2 || r.in.Failures[f.signature]+f.count >= 2 { // enough by itself
		return false
	}
	item := r.ruleOf(f, seen)
	k := KnowledgeOf(&item.Memory)
	k.General = true
	item.Memory.Content, item.Why = r.widened(item.Memory.Content, k.Shape), whyGeneral
	item.Memory.StructuredData = k.with(item.Memory.StructuredData)
	r.kinds[f.signature], r.counted[f.signature] = kind, true
	r.plan.Items = append(r.plan.Items, item)
	return true
}

// extend adds a failure to an item of the plan that speaks of its kind, and counts it unless that was done.
func (r *reflection) extend(item *plan.Item, k Knowledge, f *failure, counted bool) {
	for _, a := range f.actions {
		k.saw(a)
	}
	if !counted {
		x := *item.Memory.Context
		x.Occurrences += f.count
		item.Memory.Context = &x
	}
	item.Memory.StructuredData = k.with(item.Memory.StructuredData)
}

// widened says of a rule that it holds for all of a shape.
func (r *reflection) widened(content, shape string) string {
	content = strings.TrimRight(content, " .。")
	if r.chinese {
		return fmt.Sprintf("%s。%s 都会这样失败", content, shape)
	}
	return fmt.Sprintf("%s. It fails like this for %s in general", content, shape)
}

// ruleOf is the rule that a failure becomes.
func (r *reflection) ruleOf(f *failure, seen int64) plan.Item {
	tc := f.message.Tool
	item := plan.Item{Action: plan.Add, Why: "TOOL_FAILED_AGAIN", Memory: memory.Memory{
		Category: memory.Procedural, Content: ruleText(f, r.chinese), Salience: 0.8, Source: memory.SourceReflection, Confidence: 1,
		Context: &memory.Context{Tool: head(tc.Name, memory.MaxTitle), ErrorType: f.class, LearnedFrom: learnedFrom(r.in.Session),
			Signature: f.signature, Occurrences: seen},
		Evidence:       []memory.Evidence{{Log: date(r.day(f.message)), Session: r.in.Session}},
		StructuredData: knowledgeOfFailure(f).with(nil),
	}}
	if f.fix != nil {
		item.Why = "TOOL_FIXED"
		if seen < 2 {
			item.Memory.Salience, item.Memory.Confidence = 0.6, 0.8
		}
	}
	return item
}

// seenAgain counts a failure on the memory that is about it, and adds what worked this time when nothing was known to.
func (r *reflection) seenAgain(f *failure, known *memory.Memory) {
	x, k := *known.Context, KnowledgeOf(known)
	x.Occurrences += f.count
	for _, a := range f.actions {
		k.saw(a)
	}
	if k.Shape == "" {
		k.Shape = ActionOf(f.message.Tool).shape
	}
	item := plan.Item{
		Action: plan.Update, Target: known.ID, TargetRevision: known.Revision, Why: "TOOL_FAILED_AGAIN",
		Memory: memory.Memory{Content: known.Content, Salience: max(known.Salience, 0.8), Context: &x,
			Evidence: []memory.Evidence{{Log: date(r.day(f.message)), Session: r.in.Session}}},
	}
	if k.Failed > 0 { // what lost salience because it did not help does not get it back by failing more
		item.Memory.Salience = known.Salience
	}
	if worked := readableWorked(f); k.Worked == "" && worked != "" && !strings.Contains(known.Content, worked) {
		k.Worked, item.Why = worked, "TOOL_FIXED"
		text := ". What worked: "
		if r.chinese {
			text = "。可行的做法："
		}
		item.Memory.Content = strings.TrimRight(known.Content, " .。") + text + worked
	}
	item.Memory.StructuredData = k.with(known.StructuredData)
	r.plan.Items = append(r.plan.Items, item)
}

// settled lists the hints of which messages tell what came of them.
func settled(messages []*memory.Message, hints []Hinted, view *store.Space) (ids []string) {
	r := newReflection(Input{Messages: messages})
	for _, h := range hints {
		rule, err := view.Get(h.ID)
		if err != nil || rule.Context == nil || r.nextCall(rule, h.At) != nil {
			ids = append(ids, h.ID)
		}
	}
	return ids
}

// feedback changes the salience of rules that were hinted at, by what the next call of the tool came to: the same failure again, or success of what the rule
// warns of, takes some; something else that worked gives a little.
func (r *reflection) feedback() {
	for _, h := range r.in.Hinted {
		rule := r.in.Known(h.ID)
		if rule == nil || rule.Context == nil || rule.Pinned || !rule.IsActive() {
			continue
		}
		call := r.nextCall(rule, h.At)
		if call == nil {
			continue
		}
		class, same := failureClass(call), ActionOf(call).Matches(rule)
		k, salience, why := KnowledgeOf(rule), rule.Salience, ""
		switch {
		case same && class != "" && class != rule.Context.ErrorType, !same && class != "":
		case same && class != "":
			k.Failed, salience, why = k.Failed+1, max(salience-hintFailed, leastUseful), whyIgnored
		case same:
			k.Failed, salience, why = k.Failed+1, max(salience-hintFailed, leastUseful), whyOutdated
		default:
			k.Helped, salience, why = k.Helped+1, max(salience, min(salience+hintHelped, mostUseful)), whyHelped
		}
		if why != "" {
			r.revalue(rule, k, salience, why)
		}
	}
}

// nextCall is the first call of a rule's tool from a time on, nil when nobody can tell which one that is: messages that came together without times of their
// own have the same one.
func (r *reflection) nextCall(rule *memory.Memory, from time.Time) *memory.ToolCall {
	var first *memory.Message
	for _, m := range r.in.Messages {
		if m.Tool == nil || !strings.EqualFold(m.Tool.Name, rule.Context.Tool) {
			continue
		}
		at, about := r.day(m), ActionOf(m.Tool).Matches(rule)
		switch {
		case first != nil && !at.Equal(r.day(first)):
			return first.Tool
		case first != nil:
			if ActionOf(first.Tool).Matches(rule) != about {
				return nil
			}
		case !at.Before(from):
			first = m
		case about && at.Nanosecond() == 0 && !at.Before(from.Truncate(time.Second)): // by a host that notes whole seconds
			return m.Tool
		}
	}
	if first == nil {
		return nil
	}
	return first.Tool
}

// revalue gives a rule another salience, in the item about it if there is one.
func (r *reflection) revalue(rule *memory.Memory, k Knowledge, salience float64, why string) {
	for i := range r.plan.Items {
		item := &r.plan.Items[i]
		if item.Target != rule.ID || item.Action != plan.Update || item.Model {
			continue
		}
		now := KnowledgeOf(&item.Memory)
		now.Failed, now.Helped = k.Failed, k.Helped
		item.Memory.Salience, item.Memory.StructuredData, item.Why = salience, now.with(item.Memory.StructuredData), why
		return
	}
	r.plan.Items = append(r.plan.Items, plan.Item{
		Action: plan.Update, Target: rule.ID, TargetRevision: rule.Revision, Why: why,
		Memory: memory.Memory{Content: rule.Content, Salience: salience, StructuredData: k.with(rule.StructuredData)},
	})
}
