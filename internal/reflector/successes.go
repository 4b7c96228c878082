package reflector

import (
	"slices"
	"strings"

	"github.com/memsidecar/memsidecar/internal/memory"
	"github.com/memsidecar/memsidecar/internal/memory/toolcall"
	"github.com/memsidecar/memsidecar/internal/reflector/guard"
	"github.com/memsidecar/memsidecar/internal/store"
)

const (
	// successes in a row, each in a session or a call of its own, after which a rule is retired
	retireAfter = 2
	reasonWorks = "TOOL_WORKS"
)

// sameAction reports whether a rule says of this action, or of all of its shape, that it fails.
func (k *Knowledge) sameAction(tool string, a Action) bool {
	return toolcall.Canonical(tool) == a.tool &&
		(slices.Contains(k.Seen, a.digest) || k.General && k.Shape != "" && k.Shape == a.shape)
}

// workedRules returns the active rules about actions that worked in messages, in order of their ids.
func workedRules(view *store.Space, messages []*memory.Message) (out []*memory.Memory) {
	byTool := map[string][]*memory.Memory{}
	for _, m := range view.Memories() {
		if m.IsActive() && !m.Pinned && m.Context() != nil && m.Context().Signature != "" && m.Context().Tool != "" {
			tool := toolcall.Canonical(m.Context().Tool)
			byTool[tool] = append(byTool[tool], m)
		}
	}
	if len(byTool) == 0 {
		return nil
	}
	digests, shapes := map[string]bool{}, map[string]bool{}
	for _, m := range messages {
		// the rules of a tool that was not called, or that failed, need no look at the arguments
		if m.Tool == nil || byTool[toolcall.Canonical(m.Tool.Name)] == nil || failureClass(m.Tool) != "" {
			continue
		}
		a := ActionOf(m.Tool)
		digests[a.tool+a.digest], shapes[a.tool+a.shape] = true, a.shape != ""
	}
	for tool, rules := range byTool {
		for _, m := range rules {
			k := KnowledgeOf(m)
			if slices.ContainsFunc(k.Seen, func(d string) bool { return digests[tool+d] }) ||
				k.General && shapes[tool+k.Shape] {
				out = append(out, m)
			}
		}
	}
	slices.SortFunc(out, func(a, b *memory.Memory) int { return strings.Compare(a.ID, b.ID) })
	return out
}

// addSuccesses weakens rules whose action worked after all, and retires those whose action worked twice in a row. A
// failure in between counts from the start again.
func (r *planner) addSuccesses() {
	for _, rule := range r.in.Worked {
		k := KnowledgeOf(rule)
		passed, failed := k.Passed, false
		for _, m := range r.in.Messages {
			if m.Tool == nil || !k.sameAction(rule.Context().Tool, ActionOf(m.Tool)) {
				continue
			}
			if passed++; failureClass(m.Tool) != "" {
				passed, failed = 0, true
			}
		}
		switch {
		case passed >= retireAfter:
			r.plan.Items = slices.DeleteFunc(r.plan.Items, func(i guard.Item) bool { return i.Target == rule.ID })
			r.plan.Items = append(r.plan.Items, guard.Item{Action: guard.Delete, Target: rule.ID,
				TargetRevision: rule.Revision, Reason: reasonWorks})
		case passed > 0:
			r.recordPassed(rule, passed, failed)
		}
	}
}

// recordPassed counts a success of a rule's action and takes salience from the rule, unless a hint that was outdated
// has done so, or the action failed in the same session as well.
func (r *planner) recordPassed(rule *memory.Memory, passed int, failed bool) {
	i := slices.IndexFunc(r.plan.Items, func(i guard.Item) bool { return i.Target == rule.ID && i.Action == guard.Update })
	if i < 0 {
		k := KnowledgeOf(rule)
		k.Passed = passed
		r.setSalience(rule, k, max(rule.Salience-hintFailed, minHintSalience), reasonWorks)
		return
	}
	item := &r.plan.Items[i]
	if item.Model {
		return
	}
	k := KnowledgeOf(&item.Memory)
	k.Passed = passed
	item.Memory.SetStructuredData(k.mergeInto(item.Memory.StructuredData()))
	if !failed && item.Reason != reasonHintOutdated {
		item.Memory.Salience, item.Reason = max(item.Memory.Salience-hintFailed, minHintSalience), reasonWorks
	}
}
