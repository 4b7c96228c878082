package reflector

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/memsidecar/memsidecar/internal/llm"
	"github.com/memsidecar/memsidecar/internal/memory"
	"github.com/memsidecar/memsidecar/internal/plan"
	"github.com/memsidecar/memsidecar/internal/redact"
)

// reply is what a model says of a stretch; replySchema describes it.
type reply struct {
	Summary string     `json:"summary"`
	History string     `json:"history"`
	Items   []proposal `json:"items"`
	Rules   []lesson   `json:"rules"`
}

// proposal is a memory to add, change or leave.
type proposal struct {
	Action   string  `json:"action"`
	Target   int     `json:"target"` // ordinal of a shown memory, 0 for none
	Category string  `json:"category"`
	Title    string  `json:"title"`
	Content  string  `json:"content"`
	Salience float64 `json:"salience"`
	Why      string  `json:"why"`
}

// lesson is a procedural rule.
type lesson struct {
	Failure  int     `json:"failure"` // ordinal of a listed failure, 0 for a correction
	Title    string  `json:"title"`
	Content  string  `json:"content"`
	Salience float64 `json:"salience"`
	Why      string  `json:"why"`
}

// check decodes a reply. What is wrong with a single item is for the guards: they refuse it and keep the others.
func (r *reply) check(raw json.RawMessage) error {
	var v reply
	if err := llm.Into(&v)(raw); err != nil {
		return err
	}
	switch {
	case strings.TrimSpace(v.Summary) == "":
		return errors.New("summary: must not be empty")
	case len(v.Items) > maxReplyItems:
		return fmt.Errorf("items: has %d, at most %d are allowed", len(v.Items), maxReplyItems)
	case len(v.Rules) > maxReplyItems:
		return fmt.Errorf("rules: has %d, at most %d are allowed", len(v.Rules), maxReplyItems)
	}
	*r = v
	return nil
}

// take adds what the model said to the plan. decide looks for what an ADD repeats or changes among the memories that were shown.
func (r *reflection) take(s *stretch, decide func(plan.Item) plan.Item) {
	for _, p := range s.reply.Items {
		r.propose(p, s.shown, decide)
	}
	failed := failures(r.in.Messages)
	for _, l := range s.reply.Rules {
		var f *failure
		if l.Failure > 0 && l.Failure <= min(len(failed), shownFailures) {
			f = failed[l.Failure-1]
		}
		r.learn(l, f, decide)
	}
	at := r.day(r.in.Messages[len(r.in.Messages)-1])
	if text := strings.TrimSpace(s.reply.History); text != "" {
		r.entry(at, memory.Entry{Type: memory.EntryReflection, Content: r.dated(text, true)})
	}
	r.entry(at, memory.Entry{Type: memory.EntrySessionSummary, Content: r.summaryOf(s.reply.Summary)})
}

// summaryOf is the model's summary, fit to be stored in the session too.
func (r *reflection) summaryOf(text string) string {
	text, _ = redact.Text(head(strings.ToValidUTF8(text, ""), maxModelSummary))
	if text = strings.TrimSpace(text); text == "" {
		return r.summaryText()
	}
	return r.dated(text, true)
}

// maxModelSummary bounds a summary, in characters.
const maxModelSummary = 2000

// dated makes the dates of a text absolute, should the model have left them relative.
func (r *reflection) dated(text string, recurring bool) string {
	return absolute(text, r.day(r.in.Messages[len(r.in.Messages)-1]), recurring)
}

func (r *reflection) propose(p proposal, shown []*memory.Memory, decide func(plan.Item) plan.Item) {
	item := plan.Item{Action: plan.Action(p.Action), Why: plan.WhyModel, Model: true, Memory: r.candidate(p.Category, p.Title, p.Content, p.Salience, p.Why)}
	var target *memory.Memory
	if p.Target > 0 && p.Target <= len(shown) {
		target = shown[p.Target-1]
		item.Target, item.TargetRevision = target.ID, target.Revision
	}
	switch item.Action {
	case plan.Add:
		item.Target, item.TargetRevision = "", 0
		item = decide(item)
	case plan.Update:
		item.Memory.StructuredData = nil // of the memory as it was first kept
		if strings.TrimSpace(p.Content) == "" {
			item.Memory.Content = " " // refused, where nothing at all would mean the old text
		}
		if target != nil {
			item.Memory.Category = target.Category // a memory keeps the place people know it in
			if p.Salience >= 0 && p.Salience <= 1 {
				item.Memory.Salience = max(p.Salience, target.Salience)
			}
		}
	case plan.Noop:
	default:
		item.Action = "REFUSED" // a reflection retires nothing
	}
	r.plan.Items = append(r.plan.Items, item)
}

// candidate is a memory as a model describes it.
func (r *reflection) candidate(category, title, content string, salience float64, why string) memory.Memory {
	last := r.day(r.in.Messages[len(r.in.Messages)-1])
	m := memory.Memory{
		Category: category, Title: head(strings.TrimSpace(title), memory.MaxTitle), Content: content, Salience: salience, Source: memory.SourceReflection, Confidence: 1,
		Evidence: []memory.Evidence{{Log: date(last), Session: r.in.Session}},
	}
	if category != memory.Procedural && utf8.RuneCountInString(content) <= memory.MaxContent { // what is longer is refused
		m.Content = r.dated(content, category != memory.Tasks)
	}
	if why, _ = redact.Text(strings.TrimSpace(why)); why != "" {
		m.StructuredData = encodeWhy(head(why, 500))
	}
	return m
}

func encodeWhy(why string) json.RawMessage {
	return json.RawMessage(encodeLine(map[string]string{"why": strings.ToValidUTF8(why, "")}))
}

// learn adds a rule of the model. What the rules know of a failure stays: how often it was seen, and that it was.
func (r *reflection) learn(l lesson, f *failure, decide func(plan.Item) plan.Item) {
	item := plan.Item{Action: plan.Add, Why: plan.WhyModel, Model: true, Memory: r.candidate(memory.Procedural, l.Title, l.Content, l.Salience, l.Why)}
	item.Memory.Context = &memory.Context{LearnedFrom: learnedFrom(r.in.Session)}
	if f == nil {
		r.plan.Items = append(r.plan.Items, decide(item))
		return
	}
	item.Memory.Context = &memory.Context{Tool: head(f.message.Tool.Name, memory.MaxTitle), ErrorType: f.class, LearnedFrom: learnedFrom(r.in.Session),
		Signature: f.signature, Occurrences: r.in.Failures[f.signature] + f.count}
	known := knowledgeOfFailure(f)
	item.Memory.StructuredData = known.with(item.Memory.StructuredData)
	for i, other := range r.plan.Items {
		if x := other.Memory.Context; x == nil || x.Signature != f.signature {
			continue
		}
		switch {
		case other.Action == plan.Update || other.Model: // known already, or taught already
			item.Action, item.Target = plan.Noop, other.Target
			r.plan.Items = append(r.plan.Items, item)
		case allowed(item):
			item.Memory.Salience = max(item.Memory.Salience, other.Memory.Salience)
			item.Memory.StructuredData = KnowledgeOf(&other.Memory).with(item.Memory.StructuredData)
			r.plan.Items[i] = item
		default:
			r.plan.Items = append(r.plan.Items, item) // refused with its reason; the rule stays
		}
		return
	}
	r.plan.Items = append(r.plan.Items, item)
}

// allowed reports whether an ADD passes the guards of an empty space.
func allowed(item plan.Item) bool {
	_, rejected := plan.Guard(plan.Plan{Items: []plan.Item{item}}, nothing{})
	return len(rejected) == 0
}

// nothing is an empty space.
type nothing struct{}

func (nothing) Memory(string) *memory.Memory        { return nil }
func (nothing) Equal(string, string) *memory.Memory { return nil }
func (nothing) IsForgotten(string) bool             { return false }
