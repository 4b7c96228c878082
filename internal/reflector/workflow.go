package reflector

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/memsidecar/memsidecar/internal/memory"
	"github.com/memsidecar/memsidecar/internal/pattern"
	"github.com/memsidecar/memsidecar/internal/plan"
	"github.com/memsidecar/memsidecar/internal/store"
)

const (
	leastSteps   = 3 // of a workflow that is worth keeping
	mostSteps    = 12
	skillPrefix  = "skill!" // of the signature of a skill
	skillArgRune = 300
)

// Why skills are kept.
const (
	whySkillAsked = "SKILL_ASKED_FOR"
	whySkillAgain = "SKILL_WORKED_AGAIN"
)

var (
	worksEn = pattern.New(`(?i)^(?:(?:ok|okay|yes|yep|yay|ah|oh|wow|hey)[,.! ]+)*(?:great|perfect|excellent|awesome|wonderful|(?:thanks?|thank you|cheers)\b|nice(?:ly done)?\b|well done|(?:that|it|this|everything|all)(?:'s| is| has)? (?:works?|worked|fixed|did it|solved|good|well done)\b|works?(?: now| great| perfectly| fine)?[.! ]*$|(?:that|it) did the trick)`)
	worksZh = pattern.New(`^(?:好的?|嗯|是的|哈+)?[，,！!。 ]*(?:谢谢|多谢|感谢|太好了|太棒了|很好|非常好|完美|搞定|成功了|可以了|解决了|没问题了|好用|有效|对了，就是这样|就是这样)`)
	// What takes the praise back, or begins something else.
	butEn    = pattern.New(`(?i)\b(?:but|however|not|n't|doesn't|didn't|except|still|wrong|fails?|failed|broken|instead|undo|revert)\b`)
	butZh    = pattern.New(`但是?|不过|可是|然而|还是|仍然|没有|不对|不行|错|失败|撤销|回退`)
	keepEn   = pattern.New(`(?i)\b(?:remember|save|note|keep|record|memori[sz]e)\b[^.!?\n]{0,40}\b(?:how (?:you|we) did|(?:these|those|the|this) (?:steps|workflow|procedure|process|way|recipe|approach)|this (?:as a )?(?:skill|workflow|procedure))`)
	keepZh   = pattern.New(`(?:记住|记下|保存|记录)[^。！？\n]{0,12}(?:步骤|流程|做法|方法|过程|操作)|(?:以后|下次)(?:都|就|也)?(?:照这样|这样|按这个(?:步骤|流程)|按照这个(?:步骤|流程))(?:做|来|操作)`)
	endsTurn = pattern.New(`[.!?。！？\n]`)
)

// workflow is some calls that did what the user wanted.
type workflow struct {
	steps     []*memory.ToolCall
	request   string // what the user had asked for
	at        *memory.Message
	asked     bool // the user wants it kept
	signature string
}

// StepsSignature identifies a workflow by what its steps ask, as a Signature does. "" when it has no step with a tool.
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

// workflowsIn finds the runs of calls between two turns of the user, of which the second one says that it works. Calls that failed on the way are left out:
// what is kept is what worked in the end.
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

func workflowOf(run []*memory.ToolCall, verdict *memory.Message) (workflow, bool) {
	kept := keepEn.MatchString(verdict.Content) || keepZh.MatchString(verdict.Content)
	if len(run) < leastSteps || failureClass(run[len(run)-1]) != "" || !kept && !satisfied(verdict.Content) {
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
	if len(steps) < leastSteps || len(steps) > mostSteps || len(kinds) < 2 {
		return workflow{}, false
	}
	w := workflow{steps: steps, at: verdict, asked: kept}
	w.signature = StepsSignature(stepsOf(steps))
	return w, true
}

// satisfied reports whether a turn says, at its beginning, that all is well, and nothing to the contrary in that sentence.
func satisfied(turn string) bool {
	turn = strings.TrimSpace(turn)
	if len(turn) > 2000 || !worksEn.MatchString(turn) && !worksZh.MatchString(turn) {
		return false
	}
	first := turn
	if cut := endsTurn.FindAllString(turn, 1); len(cut) > 0 {
		if i := strings.Index(turn, cut[0]); i > 0 {
			first = turn[:i]
		}
	}
	return !butEn.MatchString(first) && !butZh.MatchString(first) && !strings.HasSuffix(strings.TrimRight(turn, " "), "?") && !strings.HasSuffix(turn, "？") &&
		!butEn.MatchString(turn) && !butZh.MatchString(turn)
}

func stepsOf(calls []*memory.ToolCall) []memory.Step {
	out := make([]memory.Step, len(calls))
	for i, tc := range calls {
		out[i] = memory.Step{Tool: head(strings.TrimSpace(tc.Name), memory.MaxTitle), Arguments: tc.Arguments}
	}
	return out
}

// workflows notes in the log what worked, and makes a skill of what the user wants kept or what worked at least twice.
func (r *reflection) workflows() {
	seen := map[string]int64{}
	for _, w := range workflowsIn(r.in.Messages) {
		seen[w.signature]++
		r.logWorkflow(w)
		if known := r.in.Rules[w.signature]; known != nil {
			if seen[w.signature] == 1 {
				r.workedAgain(w, known)
			}
			continue
		}
		if !w.asked && r.in.Failures[w.signature]+seen[w.signature] < 2 || r.planned(w.signature) {
			continue
		}
		if item, ok := r.skillOf(w, r.in.Failures[w.signature]+seen[w.signature]); ok {
			r.plan.Items = append(r.plan.Items, item)
		}
	}
}

func (r *reflection) planned(signature string) bool {
	return slices.ContainsFunc(r.plan.Items, func(i plan.Item) bool { return i.Memory.Context != nil && i.Memory.Context.Signature == signature })
}

func (r *reflection) logWorkflow(w workflow) {
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
	r.entry(r.day(w.at), memory.Entry{Type: memory.EntrySkillRun, Content: content, Extra: map[string]json.RawMessage{extraSignature: quote(w.signature), extraCount: quote(1)}})
}

// skillOf is the memory that a workflow becomes.
func (r *reflection) skillOf(w workflow, times int64) (plan.Item, bool) {
	name := firstLine(w.request, 120)
	if name == "" {
		return plan.Item{}, false
	}
	s := &memory.Skill{Name: name, Steps: stepsOf(w.steps)}
	for i := range s.Steps {
		if args := s.Steps[i].Arguments; len([]rune(args)) > skillArgRune {
			s.Steps[i].Arguments = head(args, skillArgRune-1) + "…"
		}
	}
	data, err := s.Data(nil)
	if err != nil {
		return plan.Item{}, false // cannot be: strings only
	}
	text := &memory.Skill{Name: s.Name, Steps: slices.Clone(s.Steps)}
	for i := range text.Steps {
		text.Steps[i].Arguments = readable(text.Steps[i].Arguments)
	}
	item := plan.Item{Action: plan.Add, Why: whySkillAgain, Memory: memory.Memory{
		Category: memory.Procedural, Title: head(name, memory.MaxTitle), Content: text.Text(r.chinese), Salience: 0.7, Confidence: 1, Source: memory.SourceReflection,
		Context:  &memory.Context{LearnedFrom: learnedFrom(r.in.Session), Signature: w.signature, Occurrences: times},
		Evidence: []memory.Evidence{{Log: date(r.day(w.at)), Session: r.in.Session}}, StructuredData: data,
	}}
	if w.asked {
		item.Why, item.Memory.Salience = whySkillAsked, 0.85
	}
	return item, true
}

// workedAgain counts a success on the memory of a skill.
func (r *reflection) workedAgain(w workflow, known *memory.Memory) {
	x := *known.Context
	x.Occurrences++
	r.plan.Items = append(r.plan.Items, plan.Item{
		Action: plan.Update, Target: known.ID, TargetRevision: known.Revision, Why: whySkillAgain,
		Memory: memory.Memory{Content: known.Content, Salience: max(known.Salience, min(known.Salience+hintHelped, mostUseful)), Context: &x,
			Evidence: []memory.Evidence{{Log: date(r.day(w.at)), Session: r.in.Session}}},
	})
}

// seenBefore counts failures, kinds of failures and workflows in the newest daily logs.
func seenBefore(view *store.Space, wanted map[string]bool) (map[string]int64, error) {
	out := map[string]int64{}
	days := view.Days()
	for _, d := range days[max(0, len(days)-lookBack):] {
		_, entries, err := view.Log(d.Date)
		if errors.Is(err, memory.ErrNotFound) { // archived away meanwhile
			continue
		}
		if err != nil {
			return nil, fmt.Errorf("read the log of %s: %w", d.Date, err)
		}
		for _, e := range entries {
			if e.Type != memory.EntryToolFailure && e.Type != memory.EntrySkillRun {
				continue
			}
			var count int64 = 1
			if json.Unmarshal(e.Extra[extraCount], &count) != nil || count < 1 { // edited by hand
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
