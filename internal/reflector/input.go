package reflector

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"
	"unicode"

	"github.com/memsidecar/memsidecar/internal/memory"
	"github.com/memsidecar/memsidecar/internal/plan"
	"github.com/memsidecar/memsidecar/internal/redact"
)

// Input is all that a reflection depends on: the same input gives the same plan.
type Input struct {
	Space    string
	Session  string
	Messages []*memory.Message // the stretch of the session that was not reflected yet
	Location *time.Location    // of dates; nil is UTC
	Now      time.Time

	Similar  func(text string) []plan.Neighbour // memories near to a text; nil: there are none
	Rules    map[string]*memory.Memory          // active memories by the signature of the failure they are about, and by its kind
	Failures map[string]int64                   // how often a signature failed before, by the daily logs; and a kind
	Hinted   []Hinted                           // rules shown in the session before actions
	Known    func(id string) *memory.Memory     // a memory of the space; nil: there is none
}

const (
	maxTranscript = 1 << 20 // characters of a transcript that are looked at
	maxFailures   = 20      // signatures of one stretch that are recorded
)

// Reflect proposes what to keep of a session, by deterministic rules. It is pure: it changes and remembers nothing.
func Reflect(in Input) plan.Plan {
	r := newReflection(in)
	if len(in.Messages) == 0 {
		return r.plan
	}
	r.statements()
	r.failures()
	r.workflows()
	r.feedback()
	r.summary()
	return r.plan
}

// newReflection prepares a run: the messages are cleaned of secrets, the plan is empty.
func newReflection(in Input) *reflection {
	r := &reflection{in: in, kinds: map[string]string{}, counted: map[string]bool{}}
	if in.Known == nil {
		r.in.Known = func(string) *memory.Memory { return nil }
	}
	if in.Location == nil {
		r.in.Location = time.UTC
	}
	r.in.Messages = make([]*memory.Message, len(in.Messages))
	for i, m := range in.Messages {
		r.in.Messages[i], _ = redact.Message(m)
	}
	r.plan = plan.Plan{Space: in.Space, Session: in.Session, Source: memory.SourceReflection}
	r.chinese = speaksChinese(r.in.Messages)
	return r
}

// reflection is one run of Reflect.
type reflection struct {
	in      Input
	plan    plan.Plan
	chinese bool
	kinds   map[string]string // kinds of the failures that the plan speaks of, by signature
	counted map[string]bool   // rules of the plan that count all failures of their kind already, by signature
}

func (r *reflection) day(m *memory.Message) time.Time {
	at := m.At
	if at.IsZero() {
		at = r.in.Now
	}
	return at.In(r.in.Location)
}

// statements keeps what the user said of themselves, of the project and of how to work.
func (r *reflection) statements() {
	var call, answer *memory.Message // the last ones before the message
	for _, m := range Reduce(r.in.Messages, maxTranscript) {
		switch {
		case m.Tool != nil:
			call = m
		case m.Role == "assistant":
			answer = m
		}
		if m.Role != "user" || m.Tool != nil {
			continue
		}
		for _, s := range sentences(m.Content) {
			for _, f := range find(&s) {
				r.keep(m, &s, f, call, answer)
			}
		}
	}
}

// keep adds a finding to the plan.
func (r *reflection) keep(m *memory.Message, s *sentence, f finding, call, answer *memory.Message) {
	day := r.day(m)
	content := f.content
	if f.category != memory.Preferences && f.category != memory.Procedural {
		content = absolute(content, day, f.category != memory.Tasks)
	}
	content = s.restore(content)
	item := plan.Item{Why: f.rule, Said: s.restore(s.text), Memory: memory.Memory{
		Category: f.category, Content: content, Salience: f.salience, Source: f.source, Confidence: 1,
		Evidence: []memory.Evidence{{Log: date(day), Session: r.in.Session}},
	}}
	if f.source == memory.SourceUserCorrection {
		item.Memory.Context = &memory.Context{LearnedFrom: learnedFrom(r.in.Session)}
	}
	if f.vague {
		about := ""
		switch {
		case call != nil && (answer == nil || call.Seq > answer.Seq || call.Seq+1 == answer.Seq):
			about = call.Tool.Name + prefixed(" ", readable(call.Tool.Arguments))
			item.Memory.Context.Tool = call.Tool.Name
		case answer != nil:
			about = firstLine(answer.Content, 160)
		}
		if about == "" {
			return // nobody could tell what "that" was
		}
		if isHan(content) {
			item.Memory.Content += "（指：" + about + "）"
		} else {
			item.Memory.Content += " (about: " + about + ")"
		}
	}
	r.add(item)
}

func learnedFrom(session string) string { return head("session_"+session, memory.MaxTitle) }

// add decides an item beside what is known and what the plan holds already: the later of two statements counts.
func (r *reflection) add(item plan.Item) {
	mine := make([]plan.Neighbour, len(r.plan.Items))
	for i, p := range r.plan.Items {
		m := p.Memory
		m.ID, m.Revision, m.Status = fmt.Sprint(i), 0, memory.Active
		m.Category = cmp.Or(m.Category, item.Memory.Category)
		mine[i] = plan.Neighbour{Memory: &m}
	}
	switch d := plan.Decide(item, mine); d.Action {
	case plan.Noop:
		return
	case plan.Update:
		var i int
		if _, err := fmt.Sscan(d.Target, &i); err != nil {
			return // cannot be: the targets were named above
		}
		r.plan.Items[i] = r.decide(item)
	default:
		r.plan.Items = append(r.plan.Items, r.decide(item))
	}
}

func (r *reflection) decide(item plan.Item) plan.Item {
	if r.in.Similar == nil {
		item.Action = plan.Add
		return item
	}
	return plan.Decide(item, r.in.Similar(item.Memory.Content))
}

// failures writes tool failures to the log, and makes a rule of those that came again or have a clear fix.
func (r *reflection) failures() {
	failed := failures(r.in.Messages)
	failed = failed[:min(len(failed), maxFailures)]
	for _, f := range failed {
		r.logFailure(f)
		if known := r.in.Rules[f.signature]; known != nil {
			r.seenAgain(f, known)
			r.kinds[f.signature] = f.kind()
			continue
		}
		if r.generalise(f, failed) {
			continue
		}
		seen := r.in.Failures[f.signature] + f.count
		if f.class == classTests || seen < 2 && f.fix == nil { // failing tests are work, not a lesson
			continue
		}
		r.plan.Items = append(r.plan.Items, r.ruleOf(f, seen))
		r.kinds[f.signature] = f.kind()
	}
}

func (r *reflection) logFailure(f *failure) {
	tc, at := f.message.Tool, r.day(f.message)
	content := fmt.Sprintf("%s failed: %s", tc.Name, cmp.Or(firstLine(tc.Error, 200), f.class))
	if r.chinese {
		content = fmt.Sprintf("%s 失败：%s", tc.Name, cmp.Or(firstLine(tc.Error, 200), f.class))
	}
	if args := readable(tc.Arguments); args != "" {
		content += " [" + args + "]"
	}
	extra := map[string]json.RawMessage{extraSignature: quote(f.signature), extraCount: quote(f.count)}
	if kind := f.kind(); kind != "" {
		extra[extraKind] = quote(kind)
	}
	r.entry(at, memory.Entry{Type: memory.EntryToolFailure, Content: content, Category: memory.Procedural, Tool: tc.Name, Error: f.class,
		Extra: extra})
}

// Members of a tool_failure entry beside the published ones.
const (
	extraSignature = "signature" // string
	extraCount     = "count"     // failures of the signature in the stretch
	extraKind      = "kind"      // string: what the failure has in common with others; missing when it says nothing of them
)

func quote(v any) json.RawMessage {
	b, err := json.Marshal(v)
	if err != nil {
		return nil // cannot be: strings and numbers only
	}
	return b
}

func (r *reflection) entry(at time.Time, e memory.Entry) {
	e.At, e.Time, e.Session = at, at.Format(time.TimeOnly), r.in.Session
	r.plan.Entries = append(r.plan.Entries, plan.DatedEntry{Date: date(at), Entry: e})
}

// summary adds the one session_summary entry.
func (r *reflection) summary() {
	last := r.in.Messages[len(r.in.Messages)-1]
	r.entry(r.day(last), memory.Entry{Type: memory.EntrySessionSummary, Content: r.summaryText()})
}

func (r *reflection) summaryText() string {
	turns, calls, failed := 0, map[string]int{}, map[string]int{}
	request := ""
	for _, m := range r.in.Messages {
		if m.Tool != nil {
			calls[m.Tool.Name]++
			if failureClass(m.Tool) != "" {
				failed[m.Tool.Name]++
			}
			continue
		}
		if m.Role == "user" && strings.TrimSpace(m.Content) != "" {
			turns++
			if request == "" {
				request = firstLine(m.Content, 200)
			}
		}
	}
	var tools []string
	for _, name := range slices.Sorted(maps.Keys(calls)) {
		t := fmt.Sprintf("%s ×%d", name, calls[name])
		if n := failed[name]; n > 0 && r.chinese {
			t += fmt.Sprintf("（失败 %d 次）", n)
		} else if n > 0 {
			t += fmt.Sprintf(" (%d failed)", n)
		}
		tools = append(tools, t)
		if len(tools) == 20 {
			break
		}
	}
	if r.chinese {
		return fmt.Sprintf("会话 %d 轮", turns) + prefixed("；首个请求：", request) + prefixed("；工具：", strings.Join(tools, "、"))
	}
	return fmt.Sprintf("Session of %d user turns", turns) + prefixed("; first request: ", request) + prefixed("; tools: ", strings.Join(tools, ", "))
}

// speaksChinese: a fifth of what the user wrote is Chinese.
func speaksChinese(messages []*memory.Message) bool {
	han, letters := 0, 0
	for _, m := range messages {
		if m.Role != "user" || m.Tool != nil {
			continue
		}
		for _, c := range head(m.Content, 20000) {
			if unicode.Is(unicode.Han, c) {
				han++
			} else if unicode.IsLetter(c) {
				letters++
			}
		}
	}
	return han > 0 && 5*han >= han+letters
}
