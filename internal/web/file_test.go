package web_test

import (
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

func (h *house) file(t *testing.T) (text, etag string) {
	t.Helper()
	return h.fileAt(t, "/api/memory/file")
}

func (h *house) fileAt(t *testing.T, path string) (text, etag string) {
	t.Helper()
	res := h.ask(t, "GET", path, "")
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

// appendLog writes an entry into the log of a day that is days ago, and returns the day.
func (h *house) appendLog(t *testing.T, days int, content string) (date string) {
	t.Helper()
	at := time.Now().UTC().AddDate(0, 0, -days)
	date = at.Format(time.DateOnly)
	h.get(t, 200, "POST", "/api/v1/LogService/Append", `{"entries":[{"content":"`+content+`","at":"`+at.Format(time.RFC3339)+`"}]}`)
	return date
}

func TestLogIsSavedLikeAnEditByHand(t *testing.T) {
	t.Setenv("TZ", "UTC")
	h := newHouse(t)
	date := h.appendLog(t, 3, "looked at staging")
	path := "/api/memory/file?space=default&date=" + date
	text, tag := h.fileAt(t, path)
	if problems := at(h.get(t, 200, "POST", "/api/memory/file/check?date="+date, text), "problems").([]any); len(problems) != 0 {
		t.Errorf("the file as it is: %v", problems)
	}
	// The daemon writes meanwhile. An old file is refused; with the new tag only what was changed in it is taken over.
	h.appendLog(t, 3, "written meanwhile")
	changed := strings.Replace(text, "staging", "production", 1)
	h.get(t, 409, "PUT", path, changed, ifMatch(tag))
	_, tag = h.fileAt(t, path)
	if saved := h.get(t, 200, "PUT", path, changed, ifMatch(tag)); len(at(saved, "waiting").([]any)) != 0 {
		t.Errorf("waits: %v", saved)
	}
	day := h.get(t, 200, "POST", "/api/v1/LogService/Get", `{"date":"`+date+`"}`)
	if at(day, "entries", 0, "content") != "looked at production" || at(day, "entries", 1, "content") != "written meanwhile" {
		t.Errorf("after the save: %v", day)
	}
	ops := h.get(t, 200, "POST", "/api/v1/OperationService/List", `{"page_size":1}`)
	h.get(t, 200, "POST", "/api/v1/OperationService/Undo", `{"number":"`+jsonText(at(ops, "operations", 0, "number"))+`"}`)
	if day = h.get(t, 200, "POST", "/api/v1/LogService/Get", `{"date":"`+date+`"}`); at(day, "entries", 0, "content") != "looked at staging" {
		t.Errorf("after the undo: %v", day)
	}
}

func TestLogThatCannotBeTakenLosesNothing(t *testing.T) {
	t.Setenv("TZ", "UTC")
	h := newHouse(t)
	date := h.appendLog(t, 3, "looked at staging")
	path := "/api/memory/file?date=" + date
	text, tag := h.fileAt(t, path)
	h.get(t, 400, "PUT", path, text[:len(text)/2], ifMatch(tag))
	wrong := strings.Replace(text, date, "2020-01-01", 1)
	if problem := h.get(t, 200, "POST", "/api/memory/file/check?date="+date, wrong); at(problem, "problems", 0, "refused") != true {
		t.Errorf("the log of another day: %v", problem)
	}
	saved := h.get(t, 200, "PUT", path, wrong, ifMatch(tag))
	if at(saved, "waiting", 0, "kind") != "refused" {
		t.Fatalf("the log of another day: %v", saved)
	}
	if data, err := os.ReadFile(filepath.Join(filepath.Dir(h.socket), "data", at(saved, "waiting", 0, "copy").(string))); err != nil || strings.TrimSpace(string(data)) != strings.TrimSpace(wrong) {
		t.Errorf("in quarantine: %v, %s", err, data)
	}
	if day := h.get(t, 200, "POST", "/api/v1/LogService/Get", `{"date":"`+date+`"}`); at(day, "entries", 0, "content") != "looked at staging" {
		t.Errorf("the log: %v", day)
	}
	h.get(t, 404, "GET", "/api/memory/file?date=2020-01-01", "")
	for _, bad := range []string{"2020-13-01", "archive", "..%2Fmemory", "2020-1-1"} {
		h.get(t, 400, "GET", "/api/memory/file?date="+bad, "")
	}
}

// Days that were archived can be edited; those that were deleted say so.
func TestArchivedLogs(t *testing.T) {
	t.Setenv("TZ", "UTC")
	h := newHouse(t)
	archived, deleted := h.appendLog(t, 40, "looked at staging"), h.appendLog(t, 90, "looked at production")
	h.get(t, 200, "POST", "/api/memory/archive", `{"archive_days":30,"delete_days":60}`)
	h.get(t, 200, "POST", "/api/memory/archive", `{"archive_days":30,"delete_days":60}`)
	path := "/api/memory/file?date=" + archived
	text, tag := h.fileAt(t, path)
	if !strings.Contains(text, `"archived": true`) {
		t.Fatalf("not archived: %s", text)
	}
	if saved := h.get(t, 200, "PUT", path, strings.Replace(text, "looked at staging", "looked at it", 1), ifMatch(tag)); len(at(saved, "waiting").([]any)) != 0 {
		t.Errorf("waits: %v", saved)
	}
	if day := h.get(t, 200, "POST", "/api/v1/LogService/Get", `{"date":"`+archived+`"}`); at(day, "entries", 0, "content") != "looked at it" {
		t.Errorf("after the save: %v", day)
	}
	days := h.get(t, 200, "GET", "/api/memory/figures", "")
	if at(days, "days", 0, "date") != deleted || at(days, "days", 0, "log_entries") != 1.0 {
		t.Errorf("counted: %v", at(days, "days", 0))
	}
	gone := h.get(t, 404, "GET", "/api/memory/file?date="+deleted, "")
	if at(gone, "error", "reason") != "LOG_DELETED" {
		t.Errorf("a deleted log: %v", gone)
	}
}
