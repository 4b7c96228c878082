package reflector

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/memsidecar/memsidecar/internal/lazyregexp"
	"github.com/memsidecar/memsidecar/internal/memory"
	"github.com/memsidecar/memsidecar/internal/reflector/guard"
	"github.com/memsidecar/memsidecar/internal/store"
)

const (
	// minimum length of a workflow
	minSteps = 3
	maxSteps = 12
	// prefix of a skill's signature
	skillPrefix  = "skill!"
	skillArgRune = 300
)

// Reasons of skills.
const (
	reasonSkillAskedFor    = "SKILL_ASKED_FOR"
	reasonSkillWorkedAgain = "SKILL_WORKED_AGAIN"
)

var (
	// Praise at the start of a turn.
	praiseEn = lazyregexp.New(`(?i)^(?:(?:ok|okay|yes|yep|yay|ah|oh|wow|hey)[,.! ]+)*(?:great|perfect|excellent` +
		`|awesome|wonderful|(?:thanks?|thank you|cheers)\b|nice(?:ly done)?\b|well done|(?:that|it|this|everything` +
		`|all)(?:'s| is| has)? (?:works?|worked|fixed|did it|solved|good|well done)\b|works?(?: now| great` +
		`| perfectly| fine)?[.! ]*$|(?:that|it) did the trick)`)
	praiseZh = lazyregexp.New(`^(?:好的?|嗯|是的|哈+)?[，,！!。 ]*(?:谢谢|多谢|感谢|太好了|太棒了|很好|非常好|完美|搞定|成功了|可以了|解决了|没问题了|好用|有效` +
		`|对了，就是这样|就是这样)`)
	// Reservations after praise, or the start of another topic.
	reservationEn = lazyregexp.New(`(?i)\b(?:but|however|not|n't|doesn't|didn't|except|still|wrong|fails?|failed|broken` +
		`|instead|undo|revert)\b`)
	reservationZh = lazyregexp.New(`但是?|不过|可是|然而|还是|仍然|没有|不对|不行|错|失败|撤销|回退`)
	// A request to remember the steps.
	keepRequestEn = lazyregexp.New(`(?i)\b(?:remember|save|note|keep|record|memori[sz]e)\b[^.!?\n]{0,40}\b(?:how (?:you` +
		`|we) did|(?:these|those|the|this) (?:steps|workflow|procedure|process|way|recipe|approach)` +
		`|this (?:as a )?(?:skill|workflow|procedure))`)
	keepRequestZh = lazyregexp.New(`(?:记住|记下|保存|记录)[^。！？\n]{0,12}(?:步骤|流程|做法|方法|过程|操作)|(?:以后|下次)(?:都|就|也)?(?:照这样|这样` +
		`|按这个(?:步骤|流程)|按照这个(?:步骤|流程))(?:做|来|操作)`)
	// The end of the first sentence.
	sentenceEnd = lazyregexp.New(`[.!?。！？\n]`)
)

// workflow is a sequence of calls that achieved what the user wanted.
type workflow struct {
	steps []*memory.ToolCall
	// the user's request
	request string
	at      *memory.Message
	// the user asked to remember it
	asked     bool
	signature string
}

// StepsSignature identifies a workflow by the normalised actions of its steps; "" without a step that names a tool.
func StepsSignature(steps []memory.Step) string {
	h := sha256.New()
	n := 0
	for i := range steps {
		if tool := strings.TrimSpace(steps[i].Tool); tool != "" {
			n++
			h.Write([]byte(ActionOf(&memory.ToolCall{Name: tool, Arguments: steps[i].Arguments}).normal + "\x00"))
		}
	}
	if n == 0 {
		return ""
	}
	return skillPrefix + hex.EncodeToString(h.Sum(nil)[:12])
}

// workflowsIn finds sequences of calls between two user turns of which the second one confirms success. Failed calls
// are left out, so the workflow holds what worked.
func workflowsIn(messages []*memory.Message) (out []workflow) {
	var run []*memory.ToolCall
	request := ""
	for _, m := range messages {
		switch {
		case m.Tool != nil:
			run = append(run, m.Tool)
		case m.Role == "user" && strings.TrimSpace(m.Content) != "":
			if w, ok := workflowOf(run, m); ok {
				w.request = request
				out = append(out, w)
			}
			run, request = nil, m.Content
		}
	}
	return out
}

// workflowOf makes a workflow of calls and the user turn after them. ok is false if the turn does not confirm it, or
// it is too short, too long or too uniform.
func workflowOf(run []*memory.ToolCall, verdict *memory.Message) (workflow, bool) {
	kept := keepRequestEn.MatchString(verdict.Content) || keepRequestZh.MatchString(verdict.Content)
	if len(run) < minSteps || failureClass(run[len(run)-1]) != "" || !kept && !isPraise(verdict.Content) {
		return workflow{}, false
	}
	var steps []*memory.ToolCall
	kinds := map[string]bool{}
	for _, tc := range run {
		if failureClass(tc) != "" || tc.Failed || tc.Error != "" {
			continue
		}
		a := ActionOf(tc)
		if len(steps) > 0 && ActionOf(steps[len(steps)-1]).digest == a.digest {
			continue
		}
		kinds[a.normal] = true
		steps = append(steps, tc)
	}
	if len(steps) < minSteps || len(steps) > maxSteps || len(kinds) < 2 {
		return workflow{}, false
	}
	w := workflow{steps: steps, at: verdict, asked: kept}
	w.signature = StepsSignature(stepsOf(steps))
	return w, true
}

// isPraise reports whether a turn starts with praise and contains no reservation or question.
func isPraise(turn string) bool {
	turn = strings.TrimSpace(turn)
	if len(turn) > 2000 || !praiseEn.MatchString(turn) && !praiseZh.MatchString(turn) {
		return false
	}
	first := turn
	if cut := sentenceEnd.FindAllString(turn, 1); len(cut) > 0 {
		if i := strings.Index(turn, cut[0]); i > 0 {
			first = turn[:i]
		}
	}
	return !reservationEn.MatchString(first) && !reservationZh.MatchString(first) &&
		!strings.HasSuffix(strings.TrimRight(turn, " "), "?") && !strings.HasSuffix(turn, "？") &&
		!reservationEn.MatchString(turn) && !reservationZh.MatchString(turn)
}

// stepsOf converts calls to the steps of a skill.
func stepsOf(calls []*memory.ToolCall) []memory.Step {
	out := make([]memory.Step, len(calls))
	for i, tc := range calls {
		out[i] = memory.Step{Tool: truncate(strings.TrimSpace(tc.Name), memory.MaxTitle), Arguments: tc.Arguments}
	}
	return out
}

// addWorkflows logs successful workflows, and adds a skill for those that the user wants to keep or that worked at
// least twice.
func (r *planner) addWorkflows() {
	seen := map[string]int64{}
	for _, w := range workflowsIn(r.in.Messages) {
		seen[w.signature]++
		r.logWorkflow(w)
		if known := r.in.Rules[w.signature]; known != nil {
			if seen[w.signature] == 1 {
				r.recordSuccess(w, known)
			}
			continue
		}
		if !w.asked && r.in.Failures[w.signature]+seen[w.signature] < 2 || r.isPlanned(w.signature) {
			continue
		}
		if item, ok := r.skillOf(w, r.in.Failures[w.signature]+seen[w.signature]); ok {
			r.plan.Items = append(r.plan.Items, item)
		}
	}
}

// isPlanned reports whether the plan has an item with this signature.
func (r *planner) isPlanned(signature string) bool {
	return slices.ContainsFunc(r.plan.Items, func(i guard.Item) bool {
		return i.Memory.Context() != nil && i.Memory.Context().Signature == signature
	})
}

// logWorkflow adds a skill_run entry.
func (r *planner) logWorkflow(w workflow) {
	var names []string
	for _, tc := range w.steps {
		names = append(names, tc.Name)
	}
	content := fmt.Sprintf("A workflow of %d steps worked: %s", len(w.steps), strings.Join(names, " → "))
	if r.chinese {
		content = fmt.Sprintf("%d 步的流程成功：%s", len(w.steps), strings.Join(names, " → "))
	}
	if what := firstLine(w.request, 120); what != "" {
		content += " [" + what + "]"
	}
	r.addEntry(r.day(w.at), memory.Entry{Type: memory.EntrySkillRun, Content: content,
		Extra: map[string]json.RawMessage{extraSignature: mustMarshal(w.signature), extraCount: mustMarshal(1)}})
}

// skillOf returns the ADD of a workflow's skill; ok is false without a request to name it after.
func (r *planner) skillOf(w workflow, times int64) (guard.Item, bool) {
	name := firstLine(w.request, 120)
	if name == "" {
		return guard.Item{}, false
	}
	s := &memory.Skill{Name: name, Steps: stepsOf(w.steps)}
	for i := range s.Steps {
		if args := s.Steps[i].Arguments; len([]rune(args)) > skillArgRune {
			s.Steps[i].Arguments = truncate(args, skillArgRune-1) + "…"
		}
	}
	data, err := s.Data(nil)
	if err != nil {
		return guard.Item{}, false // impossible for strings
	}
	text := &memory.Skill{Name: s.Name, Steps: slices.Clone(s.Steps)}
	for i := range text.Steps {
		text.Steps[i].Arguments = readableArguments(&memory.ToolCall{Name: text.Steps[i].Tool,
			Arguments: text.Steps[i].Arguments})
	}
	item := guard.Item{Action: guard.Add, Reason: reasonSkillWorkedAgain, Memory: memory.Memory{
		Category: memory.Procedural, Title: truncate(name, memory.MaxTitle), Content: text.Text(r.chinese),
		Salience:   0.7,
		Confidence: 1, Source: memory.SourceReflection,
		More: &memory.More{
			Context:        &memory.Context{LearnedFrom: learnedFrom(r.in.Session), Signature: w.signature, Occurrences: times},
			Evidence:       []memory.Evidence{{Log: formatDate(r.day(w.at)), Session: r.in.Session}},
			StructuredData: data},
	}}
	if w.asked {
		item.Reason, item.Memory.Salience = reasonSkillAskedFor, 0.85
	}
	return item, true
}

// recordSuccess adds an UPDATE that counts a success of a known skill.
func (r *planner) recordSuccess(w workflow, known *memory.Memory) {
	x := *known.Context()
	x.Occurrences++
	r.plan.Items = append(r.plan.Items, guard.Item{
		Action: guard.Update, Target: known.ID, TargetRevision: known.Revision, Reason: reasonSkillWorkedAgain,
		Memory: memory.Memory{Content: known.Content,
			Salience: max(known.Salience, min(known.Salience+hintHelped, maxHintSalience)),
			More: &memory.More{Context: &x,
				Evidence: []memory.Evidence{{Log: formatDate(r.day(w.at)), Session: r.in.Session}}}},
	})
}

// pastCounts counts failures, kinds of failures and workflows in the newest daily logs, of this machine.
func pastCounts(view *store.Space, wanted map[string]bool) (map[string]int64, error) {
	out := map[string]int64{}
	days := view.Days()
	for _, d := range days[max(0, len(days)-failureLogDays):] {
		_, entries, err := view.Log(d.Date)
		if errors.Is(err, memory.ErrNotFound) { // deleted concurrently
			continue
		}
		if err != nil {
			return nil, fmt.Errorf("read the log of %s: %w", d.Date, err)
		}
		for _, e := range entries {
			if e.Type != memory.EntryToolFailure && e.Type != memory.EntrySkillRun || e.IsReceived() {
				continue
			}
			var count int64 = 1
			if json.Unmarshal(e.Extra[extraCount], &count) != nil || count < 1 { // may be edited by hand
				count = 1
			}
			for _, name := range []string{extraSignature, extraKind} {
				var value string
				if json.Unmarshal(e.Extra[name], &value) == nil && wanted[value] {
					out[value] += count
				}
			}
		}
	}
	return out, nil
}
