package reflector_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/memsidecar/memsidecar/internal/memory"
	"github.com/memsidecar/memsidecar/internal/reflector/guard"
	"github.com/memsidecar/memsidecar/internal/store/journal"
)

// longSession is a session of 2,000 messages, in which the user states 606 different things.
func longSession() (messages []*memory.Message) {
	statements := []string{
		"I prefer notes in the %s style.", "From now on, always run the %s check before you commit.",
		"Remember that the %s service listens on port 8%03d.", "Our %s importer restarts every hour.",
		"Our %s worker restarts every night.", "Please never delete the %s directory.",
	}
	for i := range 1000 {
		text := fmt.Sprintf("Look at part %d again and tell me what you see there.", i)
		if name := fmt.Sprintf("quartz%03d", i); i < 606 {
			text = fmt.Sprintf(statements[i%len(statements)], name)
			if i%len(statements) == 2 {
				text = fmt.Sprintf(statements[2], name, i)
			}
		}
		messages = append(messages, &memory.Message{Role: "user", Content: text},
			&memory.Message{Role: "assistant", Content: fmt.Sprintf("Part %d reads the file and returns its rows.", i)})
	}
	return messages
}

// A session with more to remember than one reflection may change: the first things are kept, a later correction of one
// of them is, too, and the log says how much is left in the transcript.
func TestReflectLong(t *testing.T) {
	w := open(t, t.TempDir())
	messages := append(longSession(), &memory.Message{Role: "user",
		Content: "Remember that the quartz002 service listens on port 9002."})
	w.say("long", messages...)
	res := w.reflect("long")
	changed := 0
	for _, o := range res.Outcomes {
		switch o.Status {
		case journal.Applied:
			changed++
		case journal.Rejected:
			t.Errorf("outcome %+v: the plan itself must respect the limit", o)
		case journal.Duplicate:
		}
	}
	if changed == 0 || changed > guard.MaxItems {
		t.Errorf("%d memories changed, want 1 to %d", changed, guard.MaxItems)
	}
	got := strings.Join(w.contents(), "\n")
	for text, want := range map[string]bool{"quartz000": true, "port 9002": true, "port 8002": false} {
		if strings.Contains(got, text) != want {
			t.Errorf("%q kept: %v, want %v:\n%s", text, !want, want, got)
		}
	}
	_, entries, err := w.store.Space("p").Log("2026-02-21")
	if err != nil {
		t.Fatal(err)
	}
	said := ""
	for _, e := range entries {
		if e.Type == memory.EntryReflection {
			said = e.Content
		}
	}
	if want := fmt.Sprintf("%d more things to remember were found and not kept", 606-changed); !strings.HasPrefix(said, want) {
		t.Errorf("the log says %q, want %q", said, want)
	}
	if kept, err := w.store.Space("p").Messages("long", 0); err != nil || len(kept) != len(messages) {
		t.Errorf("%d messages are left of %d, %v", len(kept), len(messages), err)
	}
}

// BenchmarkReflectLong reflects a long session full of statements.
func BenchmarkReflectLong(b *testing.B) {
	messages := longSession()
	for b.Loop() {
		b.StopTimer()
		w := open(b, b.TempDir())
		w.say("long", messages...)
		b.StartTimer()
		res := w.reflect("long")
		b.ReportMetric(float64(len(res.Plan.Items)), "items")
	}
}
