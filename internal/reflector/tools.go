package reflector

import (
	"slices"
	"strings"
	"unicode"

	"github.com/memsidecar/memsidecar/internal/lazyregexp"
	"github.com/memsidecar/memsidecar/internal/memory"
)

// failure collects the failures with one signature in a reflection.
type failure struct {
	signature string
	class     string
	// the first failure
	message *memory.Message
	// the failed actions
	actions []Action
	count   int64
	// how often the same action worked after it failed last in the session
	passes int
	// a later successful call of the same tool with corrected arguments
	fix *memory.ToolCall
	// a later successful call that contains the failed command, or another tool's call for the same thing
	remedy *memory.ToolCall
}

// fixable are the error classes that corrected arguments can fix.
var fixable = map[string]bool{"command_not_found": true, "not_found": true, "syntax": true, "invalid_argument": true,
	"no_match": false}

// maxRemark is how much of a message is read for a remark on the call before it, in characters.
const maxRemark = 160

// asMeant is what a user says of an outcome that only looks like a failure.
var asMeant = lazyregexp.New(`(?i)\b(?:on purpose|intentional(?:ly)?|by design|as (?:expected|intended|designed)|(?:is|was|that's)` +
	` (?:expected|supposed to (?:be|fail)|deliberate)|meant to (?:be|fail)|should (?:be empty|fail))\b|故意|本来就|就是空的|就该|预期(?:之内|的|内)|是正常的|应该失败`)

// fixWithin is the number of calls after a failure that are searched for its fix.
const fixWithin = 4

// failures returns the failures in messages, in order of their first occurrence.
func failures(messages []*memory.Message) (out []*failure) {
	var calls []*memory.Message
	var last *memory.Message
	meant := map[*memory.Message]bool{} // what the user called right
	for _, m := range messages {
		switch {
		case m.Tool != nil:
			last, calls = m, append(calls, m)
		case m.Role == "user":
			meant[last] = asMeant.MatchString(truncate(m.Content, maxRemark))
			last = nil
		}
	}
	// A failure comes by a hook at once and an earlier success by the transcript, so they may be recorded in the other
	// order. A success before the failure is no fix of it.
	slices.SortStableFunc(calls, func(a, b *memory.Message) int { return a.At.Compare(b.At) })
	byName := map[string]*failure{}
	for i, m := range calls {
		signature := Signature(m.Tool)
		if signature == "" || meant[m] {
			continue
		}
		f := byName[signature]
		if f == nil {
			f = &failure{signature: signature, class: failureClass(m.Tool), message: m}
			byName[signature] = f
			out = append(out, f)
		}
		f.count++
		f.actions = append(f.actions, ActionOf(m.Tool))
		if f.fix == nil && fixable[f.class] {
			f.fix = findFix(m.Tool, calls[i+1:min(len(calls), i+1+fixWithin)])
		}
	}
	for _, f := range out {
		f.passes = passesLater(f.message, calls)
		if f.fix == nil {
			f.remedy = findRemedy(f.message.Tool, calls, f.message)
		}
		if i := slices.Index(calls, f.message); f.fix == nil && f.remedy == nil {
			f.remedy = findAlternativeTool(f.message.Tool, calls[i+1:min(len(calls), i+1+fixWithin)])
		}
	}
	return out
}

// passesLater counts how often a failed action was done again unchanged and worked since it failed last: it failed by
// chance, or by what has been put right.
func passesLater(failed *memory.Message, calls []*memory.Message) (n int) {
	a := ActionOf(failed.Tool)
	for _, m := range calls[slices.Index(calls, failed)+1:] {
		if m.Tool.Name != failed.Tool.Name || ActionOf(m.Tool).digest != a.digest {
			continue
		}
		if n++; failureClass(m.Tool) != "" {
			n = 0
		}
	}
	return n
}

// findRemedy returns a successful call of the same tool whose command contains the failed command and more.
func findRemedy(failed *memory.ToolCall, calls []*memory.Message, at *memory.Message) *memory.ToolCall {
	what := readableArguments(failed)
	i := slices.Index(calls, at)
	for _, m := range calls[i+1 : min(len(calls), i+1+fixWithin)] {
		if c := readableArguments(m.Tool); m.Tool.Name == failed.Name && failureClass(m.Tool) == "" &&
			len(what) > 3 &&
			c != what && strings.Contains(c, what) {
			return m.Tool
		}
	}
	return nil
}

// findFix returns the next call of the same tool if it succeeded with similar arguments.
func findFix(failed *memory.ToolCall, next []*memory.Message) *memory.ToolCall {
	for _, m := range next {
		if m.Tool.Name != failed.Name {
			continue
		}
		if failureClass(m.Tool) != "" || m.Tool.Arguments == failed.Arguments ||
			!similarArguments(failed.Arguments, m.Tool.Arguments) {
			return nil
		}
		return m.Tool
	}
	return nil
}

// similarArguments reports whether two short argument texts share at least half of their words.
func similarArguments(a, b string) bool {
	if len(a) > 300 || len(b) > 300 {
		return false
	}
	split := func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) }
	x, y := strings.FieldsFunc(a, split), strings.FieldsFunc(b, split)
	shared := 0
	for _, w := range x {
		if slices.Contains(y, w) {
			shared++
		}
	}
	return 2*shared >= max(len(x), len(y)) && shared > 0
}
