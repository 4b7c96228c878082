package reflector_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/memsidecar/memsidecar/internal/memory"
	"github.com/memsidecar/memsidecar/internal/reflector"
)

// sessionFile reads a session of testdata/sessions and what has to be learnt from it.
func sessionFile(t *testing.T, file string) (messages []*memory.Message, want []utterance) {
	t.Helper()
	raw, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(raw)) {
		kind, text, _ := strings.Cut(strings.TrimSpace(line), " ")
		m := &memory.Message{Seq: int64(len(messages) + 1),
			At: saturday.Add(time.Duration(len(messages)) * time.Minute), Content: text}
		switch kind {
		case "u:":
			m.Role = "user"
		case "a:":
			m.Role = "assistant"
		case "t:":
			call, result, _ := strings.Cut(text, " -> ")
			call, failure, failed := strings.Cut(call, " !! ")
			name, arguments, _ := strings.Cut(call, " ")
			m.Role, m.Content, m.Tool = "tool", "",
				&memory.ToolCall{Name: name, Arguments: arguments, Result: result, Error: failure, Failed: failed}
		case "=":
			categories, words, _ := strings.Cut(text, " | ")
			want = append(want, utterance{"", strings.Fields(categories), strings.Split(words, "; ")})
			continue
		case "#", "":
			continue
		default:
			t.Fatalf("%s: %q", file, line)
		}
		messages = append(messages, m)
	}
	return messages, want
}

// TestSessionsByRules reflects whole sessions, in English and Chinese, that were written down with what a person
// would keep of them, and not for the rules.
func TestSessionsByRules(t *testing.T) {
	files, err := filepath.Glob("testdata/sessions/*.txt")
	if err != nil || len(files) < 10 {
		t.Fatalf("%d sessions, %v", len(files), err)
	}
	learnt, right, wanted, found := 0, 0, 0, 0
	for _, file := range files {
		messages, want := sessionFile(t, file)
		items := reflector.Reflect(reflector.Input{Session: "s", Messages: messages, Now: saturday}).Items
		hit := make([]bool, len(want))
		for _, it := range items {
			learnt++
			ok := false
			for i, w := range want {
				if w.holds(it.Memory.Category, it.Memory.Content) {
					hit[i], ok = true, true
				}
			}
			if ok {
				right++
			} else {
				t.Logf("%s: learnt %s %q", filepath.Base(file), it.Memory.Category, it.Memory.Content)
			}
		}
		for i, h := range hit {
			wanted++
			if h {
				found++
			} else {
				t.Logf("%s: not learnt: %s %q", filepath.Base(file), want[i].categories, want[i].words)
			}
		}
	}
	precision, recall := float64(right)/float64(learnt), float64(found)/float64(wanted)
	t.Logf("%d sessions: precision %.2f (%d of %d), recall %.2f (%d of %d)", len(files), precision, right, learnt,
		recall, found, wanted)
	if precision < 0.9 || recall < 0.6 {
		t.Error("precision must be at least 0.9, recall at least 0.6")
	}
}
