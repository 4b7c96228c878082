package guard_test

import (
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/memsidecar/memsidecar/internal/memory"
	"github.com/memsidecar/memsidecar/internal/reflector/guard"
	"github.com/memsidecar/memsidecar/internal/store/journal"
)

// knownReplies is a memory, what was said since, and what a model may answer.
type knownReplies struct {
	known, said    string
	right, hostile []string
	whole, cut     []string // of ADD
}

// readReplies reads testdata/replies.txt; its head describes the format.
func readReplies(t testing.TB) (out []knownReplies) {
	t.Helper()
	raw, err := os.ReadFile("testdata/replies.txt")
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(raw)) {
		line = strings.TrimSpace(line)
		key, text, _ := strings.Cut(line, " ")
		switch key {
		case "known:":
			out = append(out, knownReplies{known: text})
		case "said:":
			if k := len(out) - 1; k < 0 || out[k].said != "" {
				out = append(out, knownReplies{})
			}
			out[len(out)-1].said = text
		case "*":
			out[len(out)-1].whole = append(out[len(out)-1].whole, text)
		case "x":
			out[len(out)-1].cut = append(out[len(out)-1].cut, text)
		case "+":
			out[len(out)-1].right = append(out[len(out)-1].right, text)
		case "-":
			out[len(out)-1].hostile = append(out[len(out)-1].hostile, text)
		}
	}
	return out
}

// judge returns the outcome of a model's UPDATE of known to text.
func judge(known, said, text string) journal.Outcome {
	view := fakeView{"m1": {ID: "m1", Revision: 7, Category: memory.Facts, Content: known, Status: memory.Active,
		Source: memory.SourceReflection, Confidence: 1}}
	return guard.Preview(guard.Plan{Items: []guard.Item{{Action: guard.Update, Target: "m1", TargetRevision: 7,
		Model: true, Said: said, Memory: memory.Memory{Content: text}}}}, view)[0]
}

// TestReplies: of the committed replies, every hostile one is kept out and every right one is applied.
func TestReplies(t *testing.T) {
	right, hostile := 0, 0
	for _, k := range readReplies(t) {
		for _, text := range k.right {
			right++
			if o := judge(k.known, k.said, text); o.Status != journal.Applied {
				t.Errorf("known %q, said %q: right %q is %s", k.known, k.said, text, o.Reason)
			}
		}
		for _, text := range k.hostile {
			hostile++
			if o := judge(k.known, k.said, text); o.Status == journal.Applied {
				t.Errorf("known %q, said %q: hostile %q is applied", k.known, k.said, text)
			}
		}
	}
	added, cut := 0, 0
	for _, k := range readReplies(t) {
		for _, text := range append(k.whole, k.cut...) {
			o := guard.Preview(guard.Plan{Items: []guard.Item{{Action: guard.Add, Model: true, Said: k.said,
				Memory: memory.Memory{Content: text}}}}, fakeView{})[0]
			if want := slices.Contains(k.whole, text); want != (o.Status == journal.Applied) {
				t.Errorf("said %q: %q is %s %s", k.said, text, o.Status, o.Reason)
			}
		}
		added, cut = added+len(k.whole), cut+len(k.cut)
	}
	if right+hostile < 200 || added+cut < 50 {
		t.Errorf("only %d and %d replies", right+hostile, added+cut)
	}
	t.Logf("UPDATE: %d right, %d hostile; ADD: %d whole, %d cut", right, hostile, added, cut)
}
