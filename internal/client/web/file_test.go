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

func (h *testDaemon) readFile(t *testing.T) (text, etag string) {
	t.Helper()
	return h.readFileAt(t, "/api/memory/file")
}

func (h *testDaemon) readFileAt(t *testing.T, path string) (text, etag string) {
	t.Helper()
	res := h.request(t, "GET", path, "")
	data, err := io.ReadAll(res.Body)
	if err != nil || res.StatusCode != http.StatusOK {
		t.Fatalf("status %d, %v: %s", res.StatusCode, err, data)
	}
	return string(data), res.Header.Get("ETag")
}

func ifMatch(etag string) func(*http.Request) {
	return func(r *http.Request) { r.Header.Set("If-Match", etag) }
}

func TestPutFileReconciles(t *testing.T) {
	h := startDaemon(t)
	id := h.addMemory(t, `{"content":"We use Postgres 14","category":"facts"}`)
	text, tag := h.readFile(t)
	// Somebody else changes another memory meanwhile; neither is lost.
	other := h.addMemory(t, `{"content":"The office closes at six","category":"facts"}`)
	stale := h.requestJSON(t, 409, "PUT", "/api/memory/file", text, ifMatch(tag))
	if valueAt(stale, "error", "reason") != "FILE_CHANGED" {
		t.Errorf("an old file: %v", stale)
	}
	text, tag = h.readFile(t)
	saved := h.requestJSON(t, 200, "PUT", "/api/memory/file", strings.Replace(text, "Postgres 14", "Postgres 15", 1),
		ifMatch(tag))
	if len(valueAt(saved, "waiting").([]any)) != 0 {
		t.Errorf("waits: %v", saved)
	}
	m := h.requestJSON(t, 200, "GET", "/api/memory/entries/"+id, "")
	if valueAt(m, "content") != "We use Postgres 15" {
		t.Errorf("after the save: %v", m)
	}
	if m := h.requestJSON(t, 200, "GET", "/api/memory/entries/"+other, ""); valueAt(m, "status") != "active" {
		t.Errorf("the other memory: %v", m)
	}
	ops := h.requestJSON(t, 200, "POST", "/api/v1/OperationService/List", `{"page_size":1}`)
	h.requestJSON(t, 200, "POST", "/api/v1/OperationService/Undo", `{"id":`+
		jsonText(valueAt(ops, "operations", 0, "id"))+`}`)
	m = h.requestJSON(t, 200, "GET", "/api/memory/entries/"+id, "")
	if valueAt(m, "content") != "We use Postgres 14" {
		t.Errorf("after the undo: %v", m)
	}
}

func TestRejectedFileLosesNothing(t *testing.T) {
	h := startDaemon(t)
	id := h.addMemory(t, `{"content":"We use Postgres 14","category":"facts"}`)
	text, tag := h.readFile(t)
	for _, bad := range []string{text[:len(text)/2], `[]`, `"x"`, text + "}"} {
		got := h.requestJSON(t, 400, "PUT", "/api/memory/file", bad, ifMatch(tag))
		if !strings.Contains(valueAt(got, "error", "message").(string), "nothing was written") {
			t.Errorf("%q: %v", bad[:2], got)
		}
	}
	h.requestJSON(t, 428, "PUT", "/api/memory/file", text)
	h.requestJSON(t, 404, "GET", "/api/memory/file?space=nowhere", "")
	h.requestJSON(t, 400, "GET", "/api/memory/file?space=..%2F..", "")
	if now, _ := h.readFile(t); now != text {
		t.Error("the file has changed")
	}
	// JSON that is no memory.json waits for a person, and the memories stay.
	saved := h.requestJSON(t, 200, "PUT", "/api/memory/file",
		strings.Replace(text, `"version": 2`, `"version": "two"`, 1), ifMatch(tag))
	if valueAt(saved, "waiting", 0, "kind") != "refused" {
		t.Fatalf("an impossible version: %v", saved)
	}
	if m := h.requestJSON(t, 200, "GET", "/api/memory/entries/"+id, ""); valueAt(m, "salience") != 0.5 {
		t.Errorf("the memory: %v", m)
	}
	reject := `{"resolution":"RESOLUTION_REJECT","id":` + jsonText(valueAt(saved, "waiting", 0, "id")) + `}`
	h.requestJSON(t, 200, "POST", "/api/v1/FileService/ResolveEdit", reject)
	if now, _ := h.readFile(t); !strings.Contains(now, `"salience": 0.5`) {
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
func (h *testDaemon) appendLog(t *testing.T, days int, content string) (date string) {
	t.Helper()
	at := time.Now().UTC().AddDate(0, 0, -days)
	date = at.Format(time.DateOnly)
	h.requestJSON(t, 200, "POST", "/api/v1/LogService/Append", `{"entries":[{"content":"`+content+`","at":"`+
		at.Format(time.RFC3339)+`"}]}`)
	return date
}

func TestPutLogReconciles(t *testing.T) {
	t.Setenv("TZ", "UTC")
	h := startDaemon(t)
	date := h.appendLog(t, 3, "looked at staging")
	path := "/api/memory/file?space=default&date=" + date
	text, tag := h.readFileAt(t, path)
	problems := valueAt(h.requestJSON(t, 200, "POST", "/api/memory/file/check?date="+date, text), "problems").([]any)
	if len(problems) != 0 {
		t.Errorf("the file as it is: %v", problems)
	}
	// The daemon writes meanwhile. An old file is refused; with the new tag only what was changed in it is taken
	// over.
	h.appendLog(t, 3, "written meanwhile")
	changed := strings.Replace(text, "staging", "production", 1)
	h.requestJSON(t, 409, "PUT", path, changed, ifMatch(tag))
	_, tag = h.readFileAt(t, path)
	saved := h.requestJSON(t, 200, "PUT", path, changed, ifMatch(tag))
	if len(valueAt(saved, "waiting").([]any)) != 0 {
		t.Errorf("waits: %v", saved)
	}
	day := h.requestJSON(t, 200, "POST", "/api/v1/LogService/Get", `{"date":"`+date+`"}`)
	if valueAt(day, "entries", 0, "content") != "looked at production" ||
		valueAt(day, "entries", 1, "content") != "written meanwhile" {
		t.Errorf("after the save: %v", day)
	}
	ops := h.requestJSON(t, 200, "POST", "/api/v1/OperationService/List", `{"page_size":1}`)
	h.requestJSON(t, 200, "POST", "/api/v1/OperationService/Undo", `{"id":`+
		jsonText(valueAt(ops, "operations", 0, "id"))+`}`)
	day = h.requestJSON(t, 200, "POST", "/api/v1/LogService/Get", `{"date":"`+date+`"}`)
	if valueAt(day, "entries", 0, "content") != "looked at staging" {
		t.Errorf("after the undo: %v", day)
	}
}

func TestRejectedLogLosesNothing(t *testing.T) {
	t.Setenv("TZ", "UTC")
	h := startDaemon(t)
	date := h.appendLog(t, 3, "looked at staging")
	path := "/api/memory/file?date=" + date
	text, tag := h.readFileAt(t, path)
	h.requestJSON(t, 400, "PUT", path, text[:len(text)/2], ifMatch(tag))
	wrong := strings.Replace(text, date, "2020-01-01", 1)
	problem := h.requestJSON(t, 200, "POST", "/api/memory/file/check?date="+date, wrong)
	if valueAt(problem, "problems", 0, "refused") != true {
		t.Errorf("the log of another day: %v", problem)
	}
	saved := h.requestJSON(t, 200, "PUT", path, wrong, ifMatch(tag))
	if valueAt(saved, "waiting", 0, "kind") != "refused" {
		t.Fatalf("the log of another day: %v", saved)
	}
	data, err := os.ReadFile(filepath.Join(filepath.Dir(h.socket), "data",
		valueAt(saved, "waiting", 0, "quarantine_path").(string)))
	if err != nil ||
		strings.TrimSpace(string(data)) != strings.TrimSpace(wrong) {
		t.Errorf("in quarantine: %v, %s", err, data)
	}
	day := h.requestJSON(t, 200, "POST", "/api/v1/LogService/Get", `{"date":"`+date+`"}`)
	if valueAt(day, "entries", 0, "content") != "looked at staging" {
		t.Errorf("the log: %v", day)
	}
	h.requestJSON(t, 404, "GET", "/api/memory/file?date=2020-01-01", "")
	for _, bad := range []string{"2020-13-01", "archive", "..%2Fmemory", "2020-1-1"} {
		h.requestJSON(t, 400, "GET", "/api/memory/file?date="+bad, "")
	}
}

// Days that were archived can be edited; those that were deleted say so.
func TestDeletedLogIsReported(t *testing.T) {
	t.Setenv("TZ", "UTC")
	h := startDaemon(t)
	archived, deleted := h.appendLog(t, 40, "looked at staging"), h.appendLog(t, 90, "looked at production")
	h.requestJSON(t, 200, "POST", "/api/memory/archive", `{"archive_days":30,"delete_days":60}`)
	h.requestJSON(t, 200, "POST", "/api/memory/archive", `{"archive_days":30,"delete_days":60}`)
	path := "/api/memory/file?date=" + archived
	text, tag := h.readFileAt(t, path)
	if !strings.Contains(text, `"archived": true`) {
		t.Fatalf("not archived: %s", text)
	}
	saved := h.requestJSON(t, 200, "PUT", path, strings.Replace(text, "looked at staging", "looked at it", 1),
		ifMatch(tag))
	if len(valueAt(saved, "waiting").([]any)) != 0 {
		t.Errorf("waits: %v", saved)
	}
	day := h.requestJSON(t, 200, "POST", "/api/v1/LogService/Get", `{"date":"`+archived+`"}`)
	if valueAt(day, "entries", 0, "content") != "looked at it" {
		t.Errorf("after the save: %v", day)
	}
	days := h.requestJSON(t, 200, "GET", "/api/memory/usage", "")
	if valueAt(days, "days", -1, "date") != deleted || valueAt(days, "days", -1, "log_entries") != 1.0 {
		t.Errorf("counted: %v", valueAt(days, "days", -1))
	}
	gone := h.requestJSON(t, 404, "GET", "/api/memory/file?date="+deleted, "")
	if valueAt(gone, "error", "reason") != "LOG_DELETED" {
		t.Errorf("a deleted log: %v", gone)
	}
}
