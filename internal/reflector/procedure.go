package reflector

import (
	"fmt"
	"strings"
	"time"

	"github.com/memsidecar/memsidecar/internal/memory"
	"github.com/memsidecar/memsidecar/internal/memory/toolcall"
	"github.com/memsidecar/memsidecar/internal/reflector/guard"
	"github.com/memsidecar/memsidecar/internal/store"
)

// ShownHint is a rule that was shown to a session before a tool call.
type ShownHint struct {
	// id of the rule's memory
	ID string
	At time.Time
}

// Hints records which rules were shown to which session.
type Hints interface {
	// Shown returns the hints of a session whose outcome is open.
	Shown(space, session string) []ShownHint
	// Complete is called when the outcome of hints is durable.
	Complete(space, session string, ids []string)
}

const (
	// salience of a rule about what failed once
	firstSalience = 0.6
	// increase of a rule's salience when another action worked after a hint
	hintHelped = 0.05
	// decrease when the same action failed again, or worked
	hintFailed      = 0.15
	maxHintSalience = 0.95
	minHintSalience = 0.05
)

// Reasons of changed rules, besides TOOL_FAILED_AGAIN and TOOL_FIXED.
const (
	reasonFailed          = "TOOL_FAILED"
	reasonHintHelped      = "HINT_HELPED"
	reasonHintFailedAgain = "HINT_FAILED_AGAIN"
	reasonHintOutdated    = "HINT_OUTDATED"
	reasonFailsInGeneral  = "TOOL_FAILS_IN_GENERAL"
)

// knowledgeOfFailure is the knowledge of a new rule about f.
func knowledgeOfFailure(f *failure) Knowledge {
	k := Knowledge{Shape: ActionOf(f.message.Tool).shape, Worked: workedInstead(f)}
	for _, a := range f.actions {
		k.recordAction(a)
	}
	return k
}

// workedInstead describes the call that worked after a failure, "" if none is known.
func workedInstead(f *failure) string {
	switch {
	case f.fix != nil:
		return lastingArguments(f.fix)
	case f.remedy != nil && f.remedy.Name != f.message.Tool.Name:
		return strings.TrimSpace(f.remedy.Name + " " + lastingArguments(f.remedy))
	case f.remedy != nil:
		return lastingArguments(f.remedy)
	}
	return ""
}

// kind is the kindKey of the failure.
func (f *failure) kind() string { return kindKey(ActionOf(f.message.Tool), f.class) }

// findAlternativeTool returns a successful call of another tool with the same main argument.
func findAlternativeTool(failed *memory.ToolCall, next []*memory.Message) *memory.ToolCall {
	what := readableArguments(failed)
	if len(what) < 8 {
		return nil
	}
	for _, m := range next {
		if m.Tool.Name != failed.Name && failureClass(m.Tool) == "" && readableArguments(m.Tool) == what {
			return m.Tool
		}
	}
	return nil
}

// generalizeFailure makes one rule for different failures of a kind. It widens a known rule or one in the plan, or
// adds a rule when two such failures occurred, each of them once. It reports whether f is covered.
func (r *planner) generalizeFailure(f *failure, all []*failure) bool {
	kind := f.kind()
	if kind == "" {
		return false
	}
	for i := range r.plan.Items {
		item := &r.plan.Items[i]
		if x := item.Memory.Context(); x != nil && r.kinds[x.Signature] == kind {
			k := KnowledgeOf(&item.Memory)
			if x.Signature != f.signature && !k.General {
				item.Memory.Content, k.General = r.widenedText(repeatedText(item.Memory.Content, x), k.Shape), true
				item.Reason, item.Memory.Salience = reasonFailsInGeneral, max(item.Memory.Salience, 0.8)
			}
			r.extend(item, k, f, r.counted[x.Signature])
			return true
		}
	}
	if known := r.in.Rules[kind]; known != nil {
		r.recordRepeat(f, known)
		item := &r.plan.Items[len(r.plan.Items)-1]
		if k := KnowledgeOf(&item.Memory); !k.General {
			k.General = true
			item.Memory.Content, item.Reason = r.widenedText(item.Memory.Content, k.Shape), reasonFailsInGeneral
			item.Memory.SetStructuredData(k.mergeInto(item.Memory.StructuredData()))
		}
		r.kinds[known.Context().Signature] = kind
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
	item.Memory.Content, item.Reason = r.widenedText(item.Memory.Content, k.Shape), reasonFailsInGeneral
	item.Memory.SetStructuredData(k.mergeInto(item.Memory.StructuredData()))
	r.kinds[f.signature], r.counted[f.signature] = kind, true
	r.plan.Items = append(r.plan.Items, item)
	return true
}

// extend adds a failure to the item about its kind, and counts it unless counted is set.
func (r *planner) extend(item *guard.Item, k Knowledge, f *failure, counted bool) {
	for _, a := range f.actions {
		k.recordAction(a)
	}
	if !counted {
		x := *item.Memory.Context()
		x.Occurrences += f.count
		item.Memory.SetContext(&x)
	}
	item.Memory.SetStructuredData(k.mergeInto(item.Memory.StructuredData()))
}

// widenedText extends a rule's text to all actions of a shape.
func (r *planner) widenedText(content, shape string) string {
	content = strings.TrimRight(content, " .。")
	if r.chinese {
		return fmt.Sprintf("%s。%s 都会这样失败", content, shape)
	}
	return fmt.Sprintf("%s. It fails like this for %s in general", content, shape)
}

// ruleOf returns the ADD of a rule about f, which was seen so often.
func (r *planner) ruleOf(f *failure, seen int64) guard.Item {
	tc := f.message.Tool
	item := guard.Item{Action: guard.Add, Reason: "TOOL_FAILED_AGAIN", Memory: memory.Memory{
		Category: memory.Procedural, Content: ruleText(f, seen, r.chinese), Salience: 0.8, Source: memory.SourceReflection,
		Confidence: 1,
		More: &memory.More{
			Context: &memory.Context{Tool: truncate(tc.Name, memory.MaxTitle), ErrorType: f.class,
				LearnedFrom: learnedFrom(r.in.Session), Signature: f.signature, Occurrences: seen},
			Evidence:       []memory.Evidence{{Log: formatDate(r.day(f.message)), Session: r.in.Session}},
			StructuredData: knowledgeOfFailure(f).mergeInto(nil)},
	}}
	if seen < 2 {
		item.Reason, item.Memory.Salience, item.Memory.Confidence = reasonFailed, firstSalience, 0.8
	}
	if f.fix != nil {
		item.Reason = "TOOL_FIXED"
	}
	return item
}

// recordRepeat adds an UPDATE that counts a failure on its known rule, with the fix if this session found the first
// one.
func (r *planner) recordRepeat(f *failure, known *memory.Memory) {
	x, k := *known.Context(), KnowledgeOf(known)
	x.Occurrences += f.count
	k.Passed = 0
	for _, a := range f.actions {
		k.recordAction(a)
	}
	if k.Shape == "" {
		k.Shape = ActionOf(f.message.Tool).shape
	}
	item := guard.Item{
		Action: guard.Update, Target: known.ID, TargetRevision: known.Revision, Reason: "TOOL_FAILED_AGAIN",
		Memory: memory.Memory{Content: repeatedText(known.Content, known.Context()), Salience: max(known.Salience, 0.8),
			More: &memory.More{Context: &x,
				Evidence: []memory.Evidence{{Log: formatDate(r.day(f.message)), Session: r.in.Session}}}},
	}
	if k.Failed > 0 { // a rule that lost salience because it did not help must not regain it through more failures
		item.Memory.Salience = known.Salience
	}
	if worked := workedInstead(f); k.Worked == "" && worked != "" && !strings.Contains(known.Content, worked) {
		k.Worked, item.Reason = worked, "TOOL_FIXED"
		text := whatWorked
		if r.chinese {
			text = whatWorkedZh
		}
		item.Memory.Content = strings.TrimRight(item.Memory.Content, " .。") + text + worked
	}
	item.Memory.SetStructuredData(k.mergeInto(known.StructuredData()))
	r.plan.Items = append(r.plan.Items, item)
}

// decidedHints returns the ids of hints whose outcome the messages show, or whose rule is gone.
func decidedHints(messages []*memory.Message, hints []ShownHint, view *store.Space) (ids []string) {
	r := newPlanner(Input{Messages: messages})
	for _, h := range hints {
		rule, err := view.Get(h.ID)
		if err != nil || rule.Context() == nil || r.firstCallAfter(rule, h.At) != nil {
			ids = append(ids, h.ID)
		}
	}
	return ids
}

// addHintFeedback adjusts the salience of shown rules by the next call of their tool: down if the same action failed
// again or worked after all, up a little if another action worked.
func (r *planner) addHintFeedback() {
	for _, h := range r.in.ShownHints {
		rule := r.in.Known(h.ID)
		if rule == nil || rule.Context() == nil || rule.Pinned || !rule.IsActive() {
			continue
		}
		call := r.firstCallAfter(rule, h.At)
		if call == nil {
			continue
		}
		class, same := failureClass(call), ActionOf(call).Matches(rule)
		k, salience, why := KnowledgeOf(rule), rule.Salience, ""
		switch {
		case same && class != "" && class != rule.Context().ErrorType, !same && class != "":
		case same && class != "":
			k.Failed, salience, why = k.Failed+1, max(salience-hintFailed, minHintSalience), reasonHintFailedAgain
		case same:
			k.Failed, salience, why = k.Failed+1, max(salience-hintFailed, minHintSalience), reasonHintOutdated
		default:
			k.Helped, salience, why = k.Helped+1, max(salience, min(salience+hintHelped, maxHintSalience)),
				reasonHintHelped
		}
		if why != "" {
			r.setSalience(rule, k, salience, why)
		}
	}
}

// firstCallAfter returns the first call of a rule's tool at or after from, nil if it is ambiguous. Messages that were
// appended together without times have the same time.
func (r *planner) firstCallAfter(rule *memory.Memory, from time.Time) *memory.ToolCall {
	var first *memory.Message
	for _, m := range r.in.Messages {
		if m.Tool == nil || toolcall.Canonical(m.Tool.Name) != toolcall.Canonical(rule.Context().Tool) {
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
		// hosts may report whole seconds
		case about && at.Nanosecond() == 0 && !at.Before(from.Truncate(time.Second)):
			return m.Tool
		}
	}
	if first == nil {
		return nil
	}
	return first.Tool
}

// setSalience changes the salience of a rule, in the rule's existing item if there is one.
func (r *planner) setSalience(rule *memory.Memory, k Knowledge, salience float64, why string) {
	for i := range r.plan.Items {
		item := &r.plan.Items[i]
		if item.Target != rule.ID || item.Action != guard.Update || item.Model {
			continue
		}
		now := KnowledgeOf(&item.Memory)
		now.Failed, now.Helped = k.Failed, k.Helped
		item.Memory.Salience, item.Reason = salience, why
		item.Memory.SetStructuredData(now.mergeInto(item.Memory.StructuredData()))
		return
	}
	r.plan.Items = append(r.plan.Items, guard.Item{
		Action: guard.Update, Target: rule.ID, TargetRevision: rule.Revision, Reason: why,
		Memory: memory.Memory{Content: rule.Content, Salience: salience,
			More: &memory.More{StructuredData: k.mergeInto(rule.StructuredData())}},
	})
}
