package reflector

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"

	"github.com/memsidecar/memsidecar/internal/lazyregexp"
	"github.com/memsidecar/memsidecar/internal/memory"
	"github.com/memsidecar/memsidecar/internal/redact"
	"github.com/memsidecar/memsidecar/internal/reflector/guard"
)

// Input is everything that the rules depend on: equal inputs give equal plans.
type Input struct {
	Space   string
	Session string
	// the messages not reflected yet
	Messages []*memory.Message
	// time zone of dates; nil means UTC
	Location *time.Location
	Now      time.Time

	// memories similar to a text; nil means none
	Similar func(text string) []guard.Neighbour
	// active memories by the signature of their failure, and by its kind
	Rules map[string]*memory.Memory
	// active rules about actions that worked in Messages
	Worked []*memory.Memory
	// earlier failures by signature and by kind, from the daily logs
	Failures map[string]int64
	// rules shown to the session before tool calls
	ShownHints []ShownHint
	// looks a memory up; nil means there are none
	Known func(id string) *memory.Memory
}

const (
	// characters of a transcript that are read
	maxTranscript = 1 << 20
	// signatures recorded per reflection
	maxFailures = 20
	// changes by statements, of guard.MaxItems; the rest is for what tool calls teach
	maxStatements = guard.MaxItems - 16
)

// Reflect proposes what to keep of a session, by deterministic rules. It is a pure function.
func Reflect(in Input) guard.Plan {
	r := newPlanner(in)
	if len(in.Messages) == 0 {
		return r.plan
	}
	r.addStatements()
	r.addFailures()
	r.addWorkflows()
	r.addHintFeedback()
	r.addSuccesses()
	r.limitChanges()
	r.addSummary()
	return r.plan
}

// newPlanner makes a planner with redacted messages and an empty plan.
func newPlanner(in Input) *planner {
	r := &planner{in: in, kinds: map[string]string{}, counted: map[string]bool{}, claims: guard.Claims{}}
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
	r.plan = guard.Plan{Space: in.Space, Session: in.Session, Source: memory.SourceReflection}
	r.chinese = speaksChinese(r.in.Messages)
	return r
}

// planner collects the plan of one call of Reflect.
type planner struct {
	in      Input
	plan    guard.Plan
	chinese bool
	// kinds of the failures in the plan, by signature
	kinds map[string]string
	// signatures of rules in the plan that already count all failures of their kind
	counted map[string]bool
	// what the statements compared so far say
	claims guard.Claims
	// what tools said that no model may repeat as its own; made when it is first needed
	told *toldByTools
	// number of changes proposed by statements
	changes int
	// number of findings that are not in the plan, because a reflection may change only so much
	omitted int
}

// day returns the local time of a message; without a time of its own, of the reflection.
func (r *planner) day(m *memory.Message) time.Time {
	at := m.At
	if at.IsZero() {
		at = r.in.Now
	}
	return at.In(r.in.Location)
}

// addStatements adds the user's statements about themselves, the project and how to work.
func (r *planner) addStatements() {
	var call, answer *memory.Message // the last ones before the user's message
	var done *memory.Message         // the last call since the user spoke
	for _, m := range Reduce(r.in.Messages, maxTranscript) {
		switch {
		case m.Tool != nil:
			call, done = m, m
		case m.Role == "assistant":
			answer = m
		}
		if m.Role != "user" || m.Tool != nil {
			continue
		}
		for _, s := range readMessage(m.Content) {
			about := doneBefore(call, answer)
			if s.refuses && !s.vague {
				if about = (deed{}); done != nil {
					about = doneBefore(done, answer)
				}
			}
			r.addFinding(m, s, about)
		}
		done = nil
	}
}

// deed is what the agent did or said before the user's message; the zero value is nothing.
type deed struct{ tool, text string }

// doneBefore is what "that" refers to after these: the call, also if the agent has told of it since, else the answer.
func doneBefore(call, answer *memory.Message) deed {
	switch {
	case call != nil && (answer == nil || call.Seq > answer.Seq || call.Seq+1 == answer.Seq):
		return deed{call.Tool.Name, call.Tool.Name + withPrefix(" ", readableArguments(call.Tool))}
	case answer != nil:
		return deed{"", firstLine(answer.Content, 160)}
	}
	return deed{}
}

// addFinding adds a recognised statement to the plan. about is what "that" refers to, or what is refused.
func (r *planner) addFinding(m *memory.Message, s said, about deed) {
	day, f := r.day(m), s.finding
	content := f.content
	switch f.category {
	case memory.Preferences, memory.Procedural, feedback: // "on Friday" is any
	default:
		recurring := f.category != memory.Tasks && (!occasion.MatchString(content) || recurs.MatchString(content))
		content = absoluteDates(content, day, recurring)
	}
	content = s.sentence.unmask(content)
	item := guard.Item{Reason: f.rule, SourceSentence: s.sentence.unmask(s.sentence.text), Memory: memory.Memory{
		Category: f.category, Content: content, Salience: f.salience, Source: f.source, Confidence: 1,
		More: &memory.More{Evidence: []memory.Evidence{{Log: formatDate(day), Session: r.in.Session}}},
	}}
	if f.source == memory.SourceUserCorrection {
		item.Memory.SetContext(&memory.Context{LearnedFrom: learnedFrom(r.in.Session)})
	}
	if f.vague && about.text == "" {
		return // the reference of "that" is unknown
	}
	if f.vague || f.refuses && about.tool != "" {
		item.Memory.Context().Tool = about.tool
		if containsHan(content) {
			item.Memory.Content += "（指：" + about.text + "）"
		} else {
			item.Memory.Content += " (about: " + about.text + ")"
		}
	}
	r.addItem(item)
}

// learnedFrom is the provenance of memories of a session.
func learnedFrom(session string) string { return truncate("session_"+session, memory.MaxTitle) }

// addItem compares an item with known memories and with the plan. Of two contradicting statements the later one counts,
// also when no further change has room. Items that change nothing are not compared: the known memory is, in their
// place.
func (r *planner) addItem(item guard.Item) {
	var planned []guard.Neighbour
	for i, p := range r.plan.Items {
		if p.Action == guard.Noop {
			continue
		}
		m := p.Memory
		m.ID, m.Revision, m.Status = strconv.Itoa(i), 0, memory.Active
		m.Category = cmp.Or(m.Category, item.Memory.Category)
		planned = append(planned, guard.Neighbour{Memory: &m})
	}
	switch d := r.claims.Decide(item, planned); d.Action {
	case guard.Noop:
		return
	case guard.Update, guard.Delete:
		i, err := strconv.Atoi(d.Target)
		if err != nil {
			return // cannot be: the targets were named above
		}
		if r.plan.Items[i] = r.decide(item); r.plan.Items[i].Action == guard.Noop {
			r.changes--
		}
	default:
		if r.changes >= maxStatements {
			r.omitted++
			return
		}
		item = r.decide(item)
		r.plan.Items = append(r.plan.Items, item)
		if item.Action != guard.Noop {
			r.changes++
		}
	}
}

// decide compares an item with known memories.
func (r *planner) decide(item guard.Item) guard.Item {
	if r.in.Similar == nil {
		item.Action = guard.Add
		return item
	}
	return r.claims.Decide(item, r.in.Similar(item.Memory.Content))
}

// limitChanges drops what a reflection may not change any more, and says so in the daily log. The transcript has it.
func (r *planner) limitChanges() {
	changes := 0
	r.plan.Items = slices.DeleteFunc(r.plan.Items, func(item guard.Item) bool {
		if item.Action == guard.Noop {
			return false
		}
		changes++
		return changes > guard.MaxItems
	})
	if r.omitted += max(0, changes-guard.MaxItems); r.omitted == 0 {
		return
	}
	text := fmt.Sprintf("%d more things to remember were found and not kept: one reflection changes at most %d memories. "+
		"They are in the transcript of session %s", r.omitted, guard.MaxItems, r.in.Session)
	if r.chinese {
		text = fmt.Sprintf("另有 %d 条值得记住的内容未保存：一次反思最多改动 %d 条记忆。原文在会话 %s 的记录中", r.omitted, guard.MaxItems,
			r.in.Session)
	}
	r.addEntry(r.day(r.in.Messages[len(r.in.Messages)-1]), memory.Entry{Type: memory.EntryReflection, Content: text})
}

// addFailures logs tool failures, and adds a rule for each kind of them: a weak one for what was seen once, unless the
// same call worked later in the session; none for what worked twice since. Failing tests are normal work, not a lesson.
func (r *planner) addFailures() {
	failed := failures(r.in.Messages)
	failed = failed[:min(len(failed), maxFailures)]
	firstRules := 0
	for _, f := range failed {
		r.logFailure(f)
		if known := r.in.Rules[f.signature]; known != nil {
			r.recordRepeat(f, known)
			r.kinds[f.signature] = f.kind()
			continue
		}
		if r.generalizeFailure(f, failed) {
			continue
		}
		seen := r.in.Failures[f.signature] + f.count
		once := seen < 2 && f.fix == nil
		if f.class == classTests || f.passes > 1 || once && (f.passes > 0 || firstRules == maxFirstRules) {
			continue
		}
		if once {
			firstRules++
		}
		r.plan.Items = append(r.plan.Items, r.ruleOf(f, seen))
		r.kinds[f.signature] = f.kind()
	}
}

// logFailure adds a tool_failure entry with the failure's signature, kind and count.
func (r *planner) logFailure(f *failure) {
	tc, at := f.message.Tool, r.day(f.message)
	content := fmt.Sprintf("%s failed: %s", tc.Name, cmp.Or(inQuotes(quotedError(tc)), f.class))
	if r.chinese {
		content = fmt.Sprintf("%s 失败：%s", tc.Name, cmp.Or(inQuotes(quotedError(tc)), f.class))
	}
	if args := lastingArguments(tc); args != "" {
		content += " [" + args + "]"
	}
	extra := map[string]json.RawMessage{extraSignature: mustMarshal(f.signature), extraCount: mustMarshal(f.count)}
	if kind := f.kind(); kind != "" {
		extra[extraKind] = mustMarshal(kind)
	}
	r.addEntry(at, memory.Entry{Type: memory.EntryToolFailure, Content: content, Category: memory.Procedural,
		Tool: tc.Name, Error: f.class,
		Extra: extra})
}

// Extra members of a tool_failure entry.
const (
	extraSignature = "signature" // string
	// number of failures in this reflection
	extraCount = "count"
	// string: the kind shared with similar failures; missing if there is none
	extraKind = "kind"
)

// mustMarshal encodes a value whose type cannot fail.
func mustMarshal(v any) json.RawMessage {
	b, err := json.Marshal(v)
	if err != nil {
		return nil // cannot be: strings and numbers only
	}
	return b
}

// addEntry adds a log entry under the date of at.
func (r *planner) addEntry(at time.Time, e memory.Entry) {
	e.At, e.Time, e.Session = at, at.Format(time.TimeOnly), r.in.Session
	r.plan.Entries = append(r.plan.Entries, guard.DatedEntry{Date: formatDate(at), Entry: e})
}

// addSummary adds the session_summary entry.
func (r *planner) addSummary() {
	last := r.in.Messages[len(r.in.Messages)-1]
	r.addEntry(r.day(last), memory.Entry{Type: memory.EntrySessionSummary, Content: r.summaryText()})
}

// summaryText describes the session: number of turns, first request and tool calls.
func (r *planner) summaryText() string {
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
		return fmt.Sprintf("会话 %d 轮", turns) + withPrefix("；首个请求：", request) +
			withPrefix("；工具：", strings.Join(tools, "、"))
	}
	turnWord := "turns"
	if turns == 1 {
		turnWord = "turn"
	}
	return fmt.Sprintf("Session of %d user %s", turns, turnWord) + withPrefix("; first request: ", request) +
		withPrefix("; tools: ", strings.Join(tools, ", "))
}

// bareSummary matches what summaryText says of a session with one request or none.
var bareSummary = lazyregexp.New(`^Session of (?:[01] user turns?\b|\d+ user turns(?:; tools: .*)?$)` +
	`|^会话 (?:[01] 轮|\d+ 轮(?:；工具：.*)?$)`)

// IsBareSummary reports whether a session_summary entry only counts: a text of the rules about a session in which one
// thing or nothing was asked. What came of it stands in memories and in entries of its own.
func IsBareSummary(content string) bool { return bareSummary.MatchString(content) }

// speaksChinese reports whether at least a fifth of the user's letters are Chinese. A Chinese character says more
// than a letter, and Chinese messages contain many Latin names.
func speaksChinese(messages []*memory.Message) bool {
	han, letters := 0, 0
	for _, m := range messages {
		if m.Role != "user" || m.Tool != nil {
			continue
		}
		for _, c := range truncate(m.Content, 20000) {
			if unicode.Is(unicode.Han, c) {
				han++
			} else if unicode.IsLetter(c) {
				letters++
			}
		}
	}
	return han > 0 && 5*han >= han+letters
}
