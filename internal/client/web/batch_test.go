package web_test

import (
	"strings"
	"testing"
)

// statuses are the statuses and reasons of a response of several changes.
func statuses(v any) (out []string) {
	for _, o := range valueAt(v, "outcomes").([]any) {
		out = append(out, strings.TrimSuffix(valueAt(o, "status").(string)+" "+valueAt(o, "reason").(string), " "))
	}
	return out
}

func TestSeveralChangesAreOneOperation(t *testing.T) {
	h := startDaemon(t)
	for _, id := range []string{"a", "b", "c"} {
		h.addMemory(t, `{"id":"`+id+`","content":"memory `+id+`","category":"facts","tags":["old"]}`)
	}
	res := h.requestJSON(t, 200, "POST", "/api/memory/changes", `{"changes":[
		{"update":{"id":"a","patch":{"tags":["old","new"]}}},
		{"update":{"id":"b","expected_revision":99,"patch":{"pinned":true}}},
		{"update":{"id":"c","patch":{},"update_mask":"tags"}},
		{"removal":{"id":"nobody"}}]}`)
	if got := strings.Join(statuses(res), ", "); got != "applied, rejected STALE_REVISION, applied, rejected NOT_FOUND" {
		t.Errorf("outcomes: %s", got)
	}
	operations := valueAt(res, "operation_ids").([]any)
	if len(operations) != 1 {
		t.Fatalf("operations: %v", operations)
	}
	op := h.requestJSON(t, 200, "POST", "/api/v1/OperationService/Get", `{"id":"`+operations[0].(string)+`"}`)
	if actor := valueAt(op, "operation", "actor"); actor != "client" {
		t.Errorf("made by %v", actor)
	}
	h.requestJSON(t, 200, "POST", "/api/v1/OperationService/Undo", `{"id":"`+operations[0].(string)+`"}`)
	for _, id := range []string{"a", "c"} {
		m := h.requestJSON(t, 200, "GET", "/api/memory/entries/"+id, "")
		if tags := valueAt(m, "tags").([]any); len(tags) != 1 || tags[0] != "old" {
			t.Errorf("%s after the undo: tags %v", id, tags)
		}
	}
}

func TestMove(t *testing.T) {
	h := startDaemon(t)
	h.addMemory(t, `{"id":"target","content":"stays here","category":"facts"}`)
	h.addMemory(t, `{"id":"a","content":"stood still","category":"facts","salience":0.7,"tags":["x"],"title":"A",
		"created_at":"2020-01-02T03:04:05Z","pinned":true,"structured_data":{"n":1},
		"relations":[{"type":"supports","target_id":"target"},
		{"type":"refines","target_id":"b"}]}`)
	h.requestJSON(t, 200, "PATCH", "/api/memory/entries/a", `{"content":"moves along"}`)
	h.addMemory(t, `{"id":"b","content":"moves along too","category":"tasks"}`)
	h.addMemory(t, `{"id":"taken","content":"one thing","category":"facts"}`)
	h.addMemory(t, `{"id":"stale","content":"changed meanwhile","category":"facts"}`)
	h.requestJSON(t, 201, "POST", "/api/memory/entries?space=work",
		`{"id":"taken","content":"quite another thing","category":"facts"}`)
	h.requestJSON(t, 201, "POST", "/api/memory/entries?allow_sensitive=true",
		`{"id":"secret","content":"the key is AKIAIOSFODNN7EXAMPLE","category":"facts"}`)
	res := h.requestJSON(t, 200, "POST", "/api/memory/move", `{"to":"work","memories":[{"id":"a"},{"id":"b"},
		{"id":"taken"},{"id":"stale","revision":99},{"id":"nobody"},{"id":"secret"}]}`)
	want := "applied, applied, rejected ID_EXISTS, rejected STALE_REVISION, rejected NOT_FOUND, applied"
	if got := strings.Join(statuses(res), ", "); got != want {
		t.Errorf("outcomes: %s, want %s", got, want)
	}
	was := h.requestJSON(t, 200, "GET", "/api/memory/entries/a", "")
	is := h.requestJSON(t, 200, "GET", "/api/memory/entries/a?space=work", "")
	if valueAt(was, "status") != "retired" || valueAt(is, "status") != "active" {
		t.Errorf("here %v, there %v", valueAt(was, "status"), valueAt(is, "status"))
	}
	if valueAt(was, "content_at") == valueAt(was, "created_at") {
		t.Fatalf("the text has not changed since %v", valueAt(was, "created_at"))
	}
	for _, name := range []string{
		"content", "category", "salience", "title", "pinned", "created_at", "content_at", "source",
	} {
		if valueAt(was, name) != valueAt(is, name) {
			t.Errorf("%s: %v became %v", name, valueAt(was, name), valueAt(is, name))
		}
	}
	if r := valueAt(is, "relations").([]any); len(r) != 1 || valueAt(r[0], "target_id") != "b" {
		t.Errorf("relations: %v", r)
	}
	if s := h.requestJSON(t, 200, "GET", "/api/memory/entries/secret?space=work", ""); !strings.Contains(
		valueAt(s, "content").(string), "AKIA") {
		t.Errorf("what was allowed to be stored is lost: %v", valueAt(s, "content"))
	}
	operations := valueAt(res, "operation_ids").([]any)
	if len(operations) != 2 {
		t.Fatalf("operations: %v", operations)
	}
	for _, op := range operations {
		h.requestJSON(t, 200, "POST", "/api/v1/OperationService/Undo", `{"id":"`+op.(string)+`"}`)
	}
	back := h.requestJSON(t, 200, "GET", "/api/memory/entries/a", "")
	if valueAt(back, "status") != "active" {
		t.Errorf("after the undo: %v", valueAt(back, "status"))
	}
	h.requestJSON(t, 404, "GET", "/api/memory/entries/a?space=work", "")
}
