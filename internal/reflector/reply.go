package reflector

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/memsidecar/memsidecar/internal/llm"
	"github.com/memsidecar/memsidecar/internal/memory"
	"github.com/memsidecar/memsidecar/internal/redact"
	"github.com/memsidecar/memsidecar/internal/reflector/guard"
)

// reply is the model's reply about a range of messages; replySchema describes it.
type reply struct {
	Summary string     `json:"summary"`
	History string     `json:"history"`
	Items   []proposal `json:"items"`
	Rules   []lesson   `json:"rules"`
}

// proposal is a memory that the model adds, changes or knows already.
type proposal struct {
	Action string `json:"action"`
	// ordinal of a known memory, 0 for none
	Target   int     `json:"target"`
	Category string  `json:"category"`
	Title    string  `json:"title"`
	Content  string  `json:"content"`
	Salience float64 `json:"salience"`
	Why      string  `json:"why"`
}

// lesson is a procedural rule of the model.
type lesson struct {
	// ordinal of a listed failure, 0 for a correction by the user
	Failure  int     `json:"failure"`
	Title    string  `json:"title"`
	Content  string  `json:"content"`
	Salience float64 `json:"salience"`
	Why      string  `json:"why"`
}

// decode checks the form of a reply. An item or rule of another form becomes one that the guards refuse, so that the
// others are kept; only if all are, the reply is an error and the model is asked to repair it.
func (r *reply) decode(raw json.RawMessage) error {
	var v struct {
		Summary string            `json:"summary"`
		History string            `json:"history"`
		Items   []json.RawMessage `json:"items"`
		Rules   []json.RawMessage `json:"rules"`
	}
	if err := llm.Into(&v)(raw); err != nil {
		return err
	}
	if strings.TrimSpace(v.Summary) == "" {
		return errors.New("summary: must not be empty")
	}
	items, errItems := eachOf[proposal]("items", v.Items)
	rules, errRules := eachOf[lesson]("rules", v.Rules)
	if err := errors.Join(errItems, errRules); err != nil {
		return err
	}
	*r = reply{v.Summary, v.History, items, rules}
	return nil
}

// eachOf decodes the members of a list; one of another form is a zero value. Errors: that of the first member if none
// has the form; too many members.
func eachOf[T any](name string, list []json.RawMessage) ([]T, error) {
	if len(list) > maxReplyItems {
		return nil, fmt.Errorf("%s: has %d, at most %d are allowed", name, len(list), maxReplyItems)
	}
	out, bad := make([]T, len(list)), 0
	var first error
	for i, raw := range list {
		if err := llm.Into(&out[i])(raw); err != nil {
			if bad++; first == nil {
				first = fmt.Errorf("%s[%d]: %w", name, i, err)
			}
		}
	}
	if bad > 0 && bad == len(list) {
		return nil, first
	}
	return out, nil
}

// applyReply adds a reply to the plan. decide compares an ADD with the memories that the model was shown.
func (r *planner) applyReply(s *consultation, decide func(guard.Item) guard.Item) {
	for _, p := range s.reply.Items {
		r.addProposal(p, s.shownMemories, decide)
	}
	failed := failures(r.in.Messages)
	for _, l := range s.reply.Rules {
		var f *failure
		if l.Failure > 0 && l.Failure <= min(len(failed), shownFailures) {
			f = failed[l.Failure-1]
		}
		r.addLesson(l, f, decide)
	}
	at := r.day(r.in.Messages[len(r.in.Messages)-1])
	if text := strings.TrimSpace(s.reply.History); text != "" && !r.repeatsTool(text) {
		r.addEntry(at, memory.Entry{Type: memory.EntryReflection, Content: r.withAbsoluteDates(text, true)})
	}
	r.addEntry(at, memory.Entry{Type: memory.EntrySessionSummary, Content: r.summaryOf(s.reply.Summary)})
}

// summaryOf returns the model's summary, redacted and cut, or the rules' summary if it is empty or repeats a tool.
func (r *planner) summaryOf(text string) string {
	if r.repeatsTool(text) {
		return r.summaryText()
	}
	text, _ = redact.Text(truncate(strings.ToValidUTF8(text, ""), maxModelSummary))
	if text = strings.TrimSpace(text); text == "" {
		return r.summaryText()
	}
	return r.withAbsoluteDates(text, true)
}

// maxModelSummary limits a summary, in characters.
const maxModelSummary = 2000

// withAbsoluteDates replaces relative dates that the model left in a text.
func (r *planner) withAbsoluteDates(text string, recurring bool) string {
	return absoluteDates(text, r.day(r.in.Messages[len(r.in.Messages)-1]), recurring)
}

// addProposal turns a proposal into an item of the plan.
func (r *planner) addProposal(p proposal, shown []*memory.Memory, decide func(guard.Item) guard.Item) {
	salience, why := clampSalience(p.Salience)
	item := guard.Item{Action: guard.Action(p.Action), Reason: why, Model: true, Said: r.said(),
		Memory: r.candidate(modelCategory(p.Category), p.Title, p.Content, salience, p.Why)}
	var target *memory.Memory
	if p.Target > 0 && p.Target <= len(shown) {
		target = shown[p.Target-1]
		item.Target, item.TargetRevision = target.ID, target.Revision
	}
	switch item.Action {
	case guard.Add:
		item.Target, item.TargetRevision = "", 0
		item = decide(item)
	case guard.Update:
		item.Memory.SetStructuredData(nil) // the reason of the first version stays
		if strings.TrimSpace(p.Content) == "" {
			item.Memory.Content = " " // rejected as EMPTIED; "" would keep the old text
		}
		if target != nil {
			item.Memory.Category = target.Category // an update does not move the memory to another category
			item.Memory.Salience = max(salience, target.Salience)
		}
	case guard.Noop: // nothing is stored, so no guard cleans what the caller is shown
		item.Memory.Content, _ = redact.Text(item.Memory.Content)
		item.Memory.Title, _ = redact.Text(item.Memory.Title)
	default:
		item.Action = "REFUSED" // a reflection retires nothing, so the guards reject it as UNKNOWN_ACTION
	}
	item.Refused = r.refusal(&item.Memory)
	r.plan.Items = append(r.plan.Items, item)
}

// clampSalience brings a model's salience into its range and returns the reason of its item, which says so.
func clampSalience(v float64) (salience float64, why string) {
	if salience = min(max(v, 0), 1); salience != v {
		return salience, guard.ReasonModelClamped
	}
	return v, guard.ReasonModel
}

// categoriesOfModels are the categories that a model may choose; some sources name them in the singular.
var categoriesOfModels = map[string]string{
	memory.Preferences: memory.Preferences, "preference": memory.Preferences,
	memory.Facts: memory.Facts, "fact": memory.Facts,
	"patterns": "patterns", "pattern": "patterns",
	memory.Procedural: memory.Procedural, "skill": memory.Procedural, "skills": memory.Procedural,
	memory.Tasks: memory.Tasks, memory.Reflections: memory.Reflections,
	"user": "user", feedback: feedback, "project": "project", "reference": "reference",
}

// modelCategory is the category that a model's name for one means; general for any other name.
func modelCategory(name string) string {
	return cmp.Or(categoriesOfModels[strings.ToLower(strings.TrimSpace(name))], memory.General)
}

// said is what the user said in this session: the only words that can give a known memory a new value.
func (r *planner) said() string {
	var b strings.Builder
	for _, m := range r.in.Messages {
		if m.Role == "user" && m.Tool == nil {
			b.WriteString(m.Content + "\n")
		}
	}
	return b.String()
}

// candidate makes a memory of a model's description.
func (r *planner) candidate(category, title, content string, salience float64, why string) memory.Memory {
	last := r.day(r.in.Messages[len(r.in.Messages)-1])
	m := memory.Memory{
		Category: category, Title: truncate(strings.TrimSpace(title), memory.MaxTitle), Content: content,
		Salience: salience, Source: memory.SourceReflection, Confidence: 1,
		More: &memory.More{Evidence: []memory.Evidence{{Log: formatDate(last), Session: r.in.Session}}},
	}
	// longer texts are rejected later
	if category != memory.Procedural && utf8.RuneCountInString(content) <= memory.MaxContent {
		m.Content = r.withAbsoluteDates(content, category != memory.Tasks)
	}
	if why, _ = redact.Text(strings.TrimSpace(why)); why != "" {
		m.SetStructuredData(encodeWhy(truncate(why, 500)))
	}
	return m
}

// encodeWhy encodes the model's reason as structured data.
func encodeWhy(why string) json.RawMessage {
	return json.RawMessage(encodeLine(map[string]string{"why": strings.ToValidUTF8(why, "")}))
}

// addLesson adds a rule of the model. If it is about a failure of this session, counts and digests come from the
// rules, not from the model.
func (r *planner) addLesson(l lesson, f *failure, decide func(guard.Item) guard.Item) {
	salience, why := clampSalience(l.Salience)
	item := guard.Item{Action: guard.Add, Reason: why, Model: true, Said: r.said(),
		Memory: r.candidate(memory.Procedural, l.Title, l.Content, salience, l.Why)}
	item.Memory.SetContext(&memory.Context{LearnedFrom: learnedFrom(r.in.Session)})
	if item.Refused = r.refusal(&item.Memory); item.Refused != "" {
		r.plan.Items = append(r.plan.Items, item) // that of the rules stays
		return
	}
	if f == nil {
		r.plan.Items = append(r.plan.Items, decide(item))
		return
	}
	item.Memory.SetContext(&memory.Context{Tool: truncate(f.message.Tool.Name, memory.MaxTitle), ErrorType: f.class,
		LearnedFrom: learnedFrom(r.in.Session),
		Signature:   f.signature, Occurrences: r.in.Failures[f.signature] + f.count})
	known := knowledgeOfFailure(f)
	item.Memory.SetStructuredData(known.mergeInto(item.Memory.StructuredData()))
	for i, other := range r.plan.Items {
		if x := other.Memory.Context(); x == nil || x.Signature != f.signature {
			continue
		}
		switch {
		case other.Action == guard.Update || other.Model: // a known rule, or another lesson about it
			item.Action, item.Target = guard.Noop, other.Target
			r.plan.Items = append(r.plan.Items, item)
		case passesGuards(item):
			item.Memory.Salience = max(item.Memory.Salience, other.Memory.Salience)
			item.Memory.SetStructuredData(KnowledgeOf(&other.Memory).mergeInto(item.Memory.StructuredData()))
			r.plan.Items[i] = item
		default:
			r.plan.Items = append(r.plan.Items, item) // reported as rejected; the rule of the rules stays
		}
		return
	}
	r.plan.Items = append(r.plan.Items, item)
}

// passesGuards reports whether an ADD would be accepted in an empty space.
func passesGuards(item guard.Item) bool {
	_, rejected := guard.Guard(guard.Plan{Items: []guard.Item{item}}, emptyView{})
	return len(rejected) == 0
}

// emptyView is the guard.View of an empty space.
type emptyView struct{}

func (emptyView) Memory(string) *memory.Memory        { return nil }
func (emptyView) Equal(string, string) *memory.Memory { return nil }
func (emptyView) IsForgotten(string) bool             { return false }
func (emptyView) ReadOnly() bool                      { return false }
