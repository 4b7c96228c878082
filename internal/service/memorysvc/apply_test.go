package memorysvc_test

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/memsidecar/memsidecar/internal/service/memorysvc"
	"github.com/memsidecar/memsidecar/internal/store"
	"github.com/memsidecar/memsidecar/internal/store/journal"
)

func TestApply(t *testing.T) {
	b := newBench(t)
	b.add(t, draft("a", "facts", "one"), draft("b", "facts", "two"), draft("c", "facts", "three"),
		draft("d", "facts", "four"))
	retire := func(id string, rev int64) memorysvc.Step { return memorysvc.Step{ID: id, Expected: rev} }
	change := func(id string, rev int64, content string) memorysvc.Step {
		return memorysvc.Step{ID: id, Expected: rev, Patch: &memorysvc.Patch{Content: &content}}
	}
	add := func(id, content string) memorysvc.Step {
		return memorysvc.Step{Draft: new(draft(id, "facts", content))}
	}
	if _, err := b.Delete(t.Context(), store.Meta{}, []string{"d"}, 0, true); err != nil {
		t.Fatal(err)
	}
	before := b.store.LSN()
	got, err := b.Apply(t.Context(), store.Meta{Actor: journal.ActorView, Reason: "notes.md edited"}, []memorysvc.Step{
		add("e", "one"),                // what a says until this very operation
		retire("a", 1),                 //
		change("b", 1, "two, changed"), //
		change("b", 99, "never"),       //
		change("c", 1, "two"),          // what b said before
		change("c", 0, "two, changed"), // what b says now
		change("c", 0, ""),             //
		add("f", ""),                   //
		add("g", "three and "+secret),  //
		retire("d", 0),                 //
		retire("x", 0),                 //
		add("", "two, changed"),        //
	})
	if err != nil {
		t.Fatal(err)
	}
	want := []string{
		"e applied ", "a applied ", "b applied ", "b rejected STALE_REVISION", "c applied ",
		"b rejected EXACT_DUPLICATE",
		"c rejected REQUIRED", "f rejected REQUIRED",
		"g applied REDACTED", "d rejected NOT_ACTIVE", "x rejected NOT_FOUND", "b duplicate EXACT_DUPLICATE",
	}
	var said []string
	for _, o := range got.Outcomes {
		said = append(said, fmt.Sprintf("%s %s %s", o.ID, o.Status, o.Reason))
	}
	if diff := cmp.Diff(want, said); diff != "" {
		t.Errorf("outcomes (-want +got):\n%s", diff)
	}
	rec, err := b.store.Operation(t.Context(), got.Op)
	if err != nil || rec.Actor != "view" || rec.Reason != "notes.md edited" || got.Op <= before {
		t.Errorf("operation %+v, %v", rec, err)
	}
	if _, err := b.store.Undo(t.Context(), store.Meta{}, got.Op); err != nil {
		t.Fatal(err)
	}
	found, _, err := b.Get("", []string{"a", "b", "c"})
	if err != nil {
		t.Fatal(err)
	}
	for i, content := range []string{"one", "two", "three"} {
		if found[i].Content != content || !found[i].IsActive() {
			t.Errorf("after the undo %s says %q, %s", found[i].ID, found[i].Content, found[i].Status)
		}
	}
	if _, err := b.Apply(t.Context(), store.Meta{}, nil); err == nil {
		t.Error("no changes are no request")
	}
}
