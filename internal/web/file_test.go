package web_test

import (
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func (h *house) file(t *testing.T) (text, etag string) {
	t.Helper()
	res := h.ask(t, "GET", "/api/memory/file", "")
	data, err := io.ReadAll(res.Body)
	if err != nil || res.StatusCode != http.StatusOK {
		t.Fatalf("status %d, %v: %s", res.StatusCode, err, data)
	}
	return string(data), res.Header.Get("ETag")
}

func ifMatch(etag string) func(*http.Request) {
	return func(r *http.Request) { r.Header.Set("If-Match", etag) }
}

func TestFileIsSavedLikeAnEditByHand(t *testing.T) {
	h := newHouse(t)
	id := h.add(t, `{"content":"We use Postgres 14","category":"facts"}`)
	text, tag := h.file(t)
	// Somebody else changes another memory meanwhile; neither is lost.
	other := h.add(t, `{"content":"The office closes at six","category":"facts"}`)
	stale := h.get(t, 409, "PUT", "/api/memory/file", text, ifMatch(tag))
	if at(stale, "error", "reason") != "FILE_CHANGED" {
		t.Errorf("an old file: %v", stale)
	}
	text, tag = h.file(t)
	if saved := h.get(t, 200, "PUT", "/api/memory/file", strings.Replace(text, "Postgres 14", "Postgres 15", 1), ifMatch(tag)); len(at(saved, "waiting").([]any)) != 0 {
		t.Errorf("waits: %v", saved)
	}
	if m := h.get(t, 200, "GET", "/api/memory/entries/"+id, ""); at(m, "content") != "We use Postgres 15" {
		t.Errorf("after the save: %v", m)
	}
	if m := h.get(t, 200, "GET", "/api/memory/entries/"+other, ""); at(m, "status") != "active" {
		t.Errorf("the other memory: %v", m)
	}
	ops := h.get(t, 200, "POST", "/api/v1/OperationService/List", `{"page_size":1}`)
	h.get(t, 200, "POST", "/api/v1/OperationService/Undo", `{"number":"`+jsonText(at(ops, "operations", 0, "number"))+`"}`)
	if m := h.get(t, 200, "GET", "/api/memory/entries/"+id, ""); at(m, "content") != "We use Postgres 14" {
		t.Errorf("after the undo: %v", m)
	}
}

func TestFileThatCannotBeTakenLosesNothing(t *testing.T) {
	h := newHouse(t)
	id := h.add(t, `{"content":"We use Postgres 14","category":"facts"}`)
	text, tag := h.file(t)
	for _, bad := range []string{text[:len(text)/2], `[]`, `"x"`, text + "}"} {
		if got := h.get(t, 400, "PUT", "/api/memory/file", bad, ifMatch(tag)); !strings.Contains(at(got, "error", "message").(string), "nothing was written") {
			t.Errorf("%q: %v", bad[:2], got)
		}
	}
	h.get(t, 428, "PUT", "/api/memory/file", text)
	h.get(t, 404, "GET", "/api/memory/file?space=nowhere", "")
	h.get(t, 400, "GET", "/api/memory/file?space=..%2F..", "")
	if now, _ := h.file(t); now != text {
		t.Error("the file has changed")
	}
	// JSON that is no memory.json waits for a person, and the memories stay.
	saved := h.get(t, 200, "PUT", "/api/memory/file", strings.Replace(text, `"version": 2`, `"version": "two"`, 1), ifMatch(tag))
	if at(saved, "waiting", 0, "kind") != "refused" {
		t.Fatalf("an impossible version: %v", saved)
	}
	if m := h.get(t, 200, "GET", "/api/memory/entries/"+id, ""); at(m, "salience") != 0.5 {
		t.Errorf("the memory: %v", m)
	}
	h.get(t, 200, "POST", "/api/v1/AdminService/ResolveEdit", `{"id":"`+at(saved, "waiting", 0, "id").(string)+`"}`)
	if now, _ := h.file(t); !strings.Contains(now, `"salience": 0.5`) {
		t.Error("the file is not published anew")
	}
	left, err := filepath.Glob(filepath.Join(filepath.Dir(h.socket), "data", "*.tmp-*"))
	if err != nil || len(left) > 0 {
		t.Errorf("left behind: %v, %v", left, err)
	}
	if _, err := os.Stat(filepath.Join(filepath.Dir(h.socket), "data", "memory.json")); err != nil {
		t.Error(err)
	}
}
