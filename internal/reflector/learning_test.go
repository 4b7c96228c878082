package reflector_test

import (
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/memsidecar/memsidecar/internal/memory"
	"github.com/memsidecar/memsidecar/internal/store/durable/crashfs"
)

// lesson is a case of testdata/learning.txt, whose head describes the form.
type lesson struct {
	line     int
	sessions [][]*memory.Message
	want     []wanted
}

// wanted is one memory that a lesson leaves.
type wanted struct {
	categories []string
	above      float64 // of its salience, both exclusive
	below      float64
	exact      string
	holds      []string
	lacks      []string
}

// lessons reads the cases of a file.
func lessons(t *testing.T, file string) (out []*lesson) {
	t.Helper()
	raw, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var l *lesson
	for i, line := range strings.Split(string(raw), "\n") {
		kind, text, _ := strings.Cut(strings.TrimSpace(line), " ")
		text = strings.ReplaceAll(text, `\n`, "\n")
		switch {
		case kind == "":
			l = nil
			continue
		case strings.HasPrefix(kind, "#"):
			continue
		case l == nil:
			l = &lesson{line: i + 1, sessions: [][]*memory.Message{nil}}
			out = append(out, l)
		}
		m := &memory.Message{At: saturday, Content: text}
		switch kind {
		case "u:":
			m.Role = "user"
		case "a:":
			m.Role = "assistant"
		case "t:":
			m.Role, m.Content, m.Tool = "tool", "", toolEvent(text)
		case "--":
			l.sessions = append(l.sessions, nil)
			continue
		case "=", "==":
			l.want = append(l.want, parseWanted(kind, text))
			continue
		default:
			t.Fatalf("%s:%d: %q", file, i+1, line)
		}
		last := len(l.sessions) - 1
		m.At = m.At.Add(time.Duration(len(l.sessions[last])) * time.Minute)
		l.sessions[last] = append(l.sessions[last], m)
	}
	return out
}

// toolEvent parses "NAME ARGUMENTS -> RESULT" or "NAME ARGUMENTS !! ERROR".
func toolEvent(text string) *memory.ToolCall {
	said, failure, failed := strings.Cut(text, " !! ")
	said, result, _ := strings.Cut(said+" ", " -> ")
	name, arguments, _ := strings.Cut(strings.TrimSpace(said), " ")
	return &memory.ToolCall{Name: name, Arguments: arguments, Result: strings.TrimSpace(result), Error: failure,
		Failed: failed}
}

func parseWanted(kind, text string) wanted {
	kinds, content, _ := strings.Cut(text, " | ")
	w := wanted{below: 2}
	for k := range strings.FieldsSeq(kinds) {
		bound, err := strconv.ParseFloat(strings.TrimLeft(k, "<>"), 64)
		switch {
		case err != nil:
			w.categories = append(w.categories, k)
		case k[0] == '<':
			w.below = bound
		default:
			w.above = bound
		}
	}
	if kind == "==" {
		w.exact = content
		return w
	}
	for part := range strings.SplitSeq(content, "; ") {
		if lacking, ok := strings.CutPrefix(part, "!"); ok {
			w.lacks = append(w.lacks, lacking)
		} else {
			w.holds = append(w.holds, part)
		}
	}
	return w
}

// is reports whether a memory is the one that is wanted.
func (w wanted) is(m *memory.Memory) bool {
	in := func(part string) bool { return strings.Contains(strings.ToLower(m.Content), strings.ToLower(part)) }
	return slices.Contains(w.categories, m.Category) && m.Salience > w.above && m.Salience < w.below &&
		(w.exact == "" || m.Content == w.exact) && !slices.ContainsFunc(w.lacks, in) &&
		!slices.ContainsFunc(w.holds, func(part string) bool { return !in(part) })
}

// learnLessons teaches the cases of a file to a store each, session by session, and counts: what is active in the end
// and right of all that is active, and what is wanted and found. report tells of single cases.
func learnLessons(t *testing.T, file string, report func(format string, args ...any)) (precision, recall float64) {
	t.Helper()
	cases := lessons(t, file)
	kept, right, want, found, traps := 0, 0, 0, 0, 0
	for _, l := range cases {
		b := openOn(t, crashfs.New())
		for i, messages := range l.sessions {
			id := fmt.Sprintf("s%d", i+1)
			b.say(id, messages...)
			b.reflect(id)
		}
		open := slices.Clone(l.want)
		for _, m := range b.store.Space("p").Memories() {
			if !m.IsActive() {
				continue
			}
			kept++
			if i := slices.IndexFunc(open, func(w wanted) bool { return w.is(m) }); i >= 0 {
				right, found, open = right+1, found+1, slices.Delete(open, i, i+1)
			} else {
				report("%s:%d: learnt %s %.2f %q", file, l.line, m.Category, m.Salience, m.Content)
			}
		}
		for _, w := range open {
			report("%s:%d: not learnt: %v %q %q", file, l.line, w.categories, w.exact, w.holds)
		}
		want += len(l.want)
		if len(l.want) == 0 {
			traps++
		}
	}
	precision, recall = float64(right)/float64(kept), float64(found)/float64(want)
	t.Logf("%s: %d cases, %d of them traps: precision %.3f (%d of %d), recall %.3f (%d of %d)", file, len(cases),
		traps, precision, right, kept, recall, found, want)
	return precision, recall
}

// checkLearning holds the rules to a table.
func checkLearning(t *testing.T, file string, report func(format string, args ...any)) {
	t.Helper()
	if precision, recall := learnLessons(t, "testdata/"+file, report); precision < 0.95 || recall < 0.8 {
		t.Errorf("%s: precision %.3f, want at least 0.95; recall %.3f, want at least 0.8", file, precision, recall)
	}
}

// TestLearning: what the rules were written against. The third table was written before they were looked at; precision
// and recall on it were .854 and .583 then. The fourth came after what the third had brought: .854 and .745. The
// sixth was written by the same rule, and on it they were 1 and .706.
func TestLearning(t *testing.T) {
	checkLearning(t, "learning.txt", t.Errorf)
	checkLearning(t, "learning-third.txt", t.Logf)
	checkLearning(t, "learning-fourth.txt", t.Logf)
	checkLearning(t, "learning-sixth.txt", t.Errorf)
}

// TestLearningApart: what they were not written against. It tells of no single case, so that nothing is tuned on it.
func TestLearningApart(t *testing.T) {
	checkLearning(t, "learning-apart.txt", func(string, ...any) {})
	checkLearning(t, "learning-fifth.txt", func(string, ...any) {})
	checkLearning(t, "learning-seventh.txt", func(string, ...any) {})
}
