package recall_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/memsidecar/memsidecar/internal/memory"
	"github.com/memsidecar/memsidecar/internal/service/recall"
)

// A preview says what a recall would say, why the rest is left out, and leaves no trace.
func TestPreview(t *testing.T) {
	all := []*memory.Memory{rule("r1", "Browser", "Screenshots need the flag headless")}
	for i := range 5 {
		all = append(all, old(fmt.Sprint("f", i), fmt.Sprintf("Deploys of service%d need the tunnel", i), i))
	}
	all = append(all, old("long", "The tunnel for deploys: "+strings.Repeat("word ", 200), 1))
	w := newWorld(t, recall.Config{}, all...)
	req := recall.Request{Session: "s1", Text: "deploys need the tunnel"}
	before, left, err := w.Preview(t.Context(), req)
	if err != nil {
		t.Fatal(err)
	}
	again, _, err := w.Preview(t.Context(), req)
	if err != nil {
		t.Fatal(err)
	}
	told, err := w.Recall(t.Context(), req)
	if err != nil {
		t.Fatal(err)
	}
	want := fmt.Sprint(idsOf(told))
	if len(told.Items) != recall.DefaultTopK || fmt.Sprint(idsOf(before)) != want || fmt.Sprint(idsOf(again)) != want {
		t.Errorf("previews %v and %v, recalled %v", idsOf(before), idsOf(again), want)
	}
	if n := len(w.Traces(recall.TraceFilter{})); n != 1 {
		t.Errorf("%d traces, want that of the recall alone", n)
	}
	listed := map[string]bool{}
	for _, id := range idsOf(before) {
		listed[id] = true
	}
	limited := 0
	for _, l := range left {
		if listed[l.Memory.ID] {
			t.Errorf("%s is listed twice", l.Memory.ID)
		}
		listed[l.Memory.ID] = true
		if l.Reason == recall.LeftOutLimit {
			limited++
		}
	}
	if limited < 2 {
		t.Errorf("left out: %v", left)
	}
	if m, err := w.store.Space(memory.DefaultSpace).Get(before.Items[0].Memory.ID); err != nil || m.AccessCount() > 1 {
		t.Errorf("accesses of a previewed memory: %v, %v", m, err)
	}
	small, left, err := w.Preview(t.Context(), recall.Request{Text: "deploys need the tunnel", Tokens: recall.MinTokens})
	if err != nil || len(left) == 0 || left[0].Reason != recall.LeftOutBudget {
		t.Errorf("with a small budget %v, left out %v, %v", idsOf(small), left, err)
	}
	off := newWorld(t, recall.Config{Disabled: true}, all...)
	if res, _, err := off.Preview(t.Context(), req); err != nil || res.Reason != recall.ReasonDisabled {
		t.Errorf("disabled: %v, %v", res, err)
	}
}
