package web_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"io"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	pb "github.com/memsidecar/memsidecar/gen/memsidecar/v1"
	"github.com/memsidecar/memsidecar/internal/client/web"
	"github.com/memsidecar/memsidecar/internal/daemon"
	"github.com/memsidecar/memsidecar/internal/rpc/unixsock"
)

// testDaemon is a daemon that serves HTTP for one test.
type testDaemon struct {
	url, token, socket string
	files              web.Files
	log                *lockedBuffer
	client             *http.Client
	stop               func() // ends the daemon, once
}

// lockedBuffer collects a log from several goroutines.
type lockedBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (b *lockedBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.Write(p)
}

func (b *lockedBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.String()
}

func startDaemon(t *testing.T) *testDaemon { return startDaemonOn(t, "127.0.0.1:0") }

func startDaemonOn(t *testing.T, listen string) *testDaemon {
	t.Helper()
	dir, err := os.MkdirTemp("/tmp", "msweb")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	if strings.HasPrefix(listen, "unix") {
		listen = filepath.Join(dir, "h")
	}
	cfg, err := daemon.Config{
		Data: filepath.Join(dir, "data"), Socket: filepath.Join(dir, "m.sock"), HTTPListen: listen,
	}.WithDefaults(
		os.Getenv,
	)
	if err != nil {
		t.Fatal(err)
	}
	h := &testDaemon{
		socket: cfg.Socket, files: web.FilesFor(cfg.Socket), log: &lockedBuffer{},
		client: &http.Client{Transport: &http.Transport{}},
	}
	ctx, cancel := context.WithCancel(context.Background())
	ready, done := make(chan struct{}), make(chan error, 1)
	go func() {
		done <- daemon.Run(ctx, cfg, daemon.Options{Logger: slog.New(slog.NewTextHandler(h.log, nil)), Version: "test",
			Ready: func(string) { close(ready) }})
	}()
	select {
	case <-ready:
	case err := <-done:
		t.Fatalf("daemon: %v", err)
	}
	h.stop = sync.OnceFunc(func() {
		cancel()
		if err := <-done; err != nil {
			t.Errorf("daemon: %v", err)
		}
		for _, name := range []string{h.files.Token, h.files.URL} {
			if _, err := os.Lstat(name); err == nil {
				t.Errorf("%s outlives the daemon", filepath.Base(name))
			}
		}
	})
	t.Cleanup(h.stop)
	if listen != "" {
		if h.token, h.url, err = h.files.Read(); err != nil {
			t.Fatal(err)
		}
	}
	return h
}

// request sends a request with the token, after changes were applied to it.
func (h *testDaemon) request(t *testing.T, method, path, body string, changes ...func(*http.Request)) *http.Response {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), method, h.url+path, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+h.token)
	if body != "" {
		req.Header.Set("Content-Type", "application/json")
	}
	for _, change := range changes {
		change(req)
	}
	res, err := h.client.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = res.Body.Close() })
	return res
}

type object = map[string]any

// requestJSON is request for a response that must have the status want and a JSON object as body, which it returns.
func (h *testDaemon) requestJSON(t *testing.T, want int, method, path, body string,
	changes ...func(*http.Request)) object {
	t.Helper()
	res := h.request(t, method, path, body, changes...)
	data, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	if res.StatusCode != want {
		t.Fatalf("%s %s: status %d, want %d: %s", method, path, res.StatusCode, want, data)
	}
	var out object
	if err := json.Unmarshal(data, &out); err != nil {
		t.Fatalf("%s %s: %v in %s", method, path, err, data)
	}
	return out
}

// valueAt follows names and indexes into JSON; a negative index counts from the end.
func valueAt(v any, path ...any) any {
	for _, p := range path {
		switch p := p.(type) {
		case string:
			o, _ := v.(object)
			v = o[p]
		case int:
			l, _ := v.([]any)
			if p < 0 {
				p += len(l)
			}
			if p < 0 || p >= len(l) {
				return nil
			}
			v = l[p]
		}
	}
	return v
}

func (h *testDaemon) addMemory(t *testing.T, body string) string {
	t.Helper()
	return valueAt(h.requestJSON(t, 201, "POST", "/api/memory/entries", body), "id").(string)
}

func TestEntries(t *testing.T) {
	h := startDaemon(t)
	added := h.requestJSON(t, 201, "POST", "/api/memory/entries",
		`{"content":"用户偏好东方航空，尤其是早班机","category":"preferences","salience":0.85}`)
	id := valueAt(added, "id").(string)
	for _, c := range []struct{ name, want any }{{"salience", 0.85}, {"access_count", 0.0}, {"category", "preferences"},
		{"source", "user_explicit"}, {"status", "active"}} {
		if diff := cmp.Diff(c.want, valueAt(added, "memory", c.name)); diff != "" {
			t.Errorf("%s: %s", c.name, diff)
		}
	}
	again := h.requestJSON(t, 200, "POST", "/api/memory/entries",
		`{"content":"用户偏好东方航空，尤其是早班机","category":"preferences"}`)
	if valueAt(again, "status") != "duplicate" ||
		valueAt(again, "id") != id {
		t.Errorf("added twice: %v", again)
	}
	h.addMemory(t, `{"content":"fetch_url returns nothing for single-page sites","category":"procedural",`+
		`"salience":0.9}`)

	list := h.requestJSON(t, 200, "GET", "/api/memory/entries?category=preferences", "")
	if valueAt(list, "total") != 1.0 || valueAt(list, "memories", 0, "id") != id {
		t.Errorf("filtered by category: %v", list)
	}
	procedural := h.requestJSON(t, 200, "GET", "/api/memory/procedural", "")
	if valueAt(procedural, "total") != 1.0 ||
		valueAt(procedural, "memories", 0, "category") != "procedural" {
		t.Errorf("procedural: %v", procedural)
	}
	page := h.requestJSON(t, 200, "GET", "/api/memory/entries?page_size=1&order=salience", "")
	next := h.requestJSON(t, 200, "GET", "/api/memory/entries?page_size=1&order=salience&page_token="+
		valueAt(page, "next_page_token").(string), "")
	if valueAt(page, "memories", 0, "salience") != 0.9 || valueAt(next, "memories", 0, "salience") != 0.85 ||
		valueAt(next, "next_page_token") != "" {
		t.Errorf("pages: %v then %v", page, next)
	}

	revision := valueAt(added, "memory", "revision")
	changed := h.requestJSON(t, 200, "PATCH", "/api/memory/entries/"+id+"?expected_revision="+jsonText(revision),
		`{"pinned":true,"salience":1}`)
	if valueAt(changed, "memory", "pinned") != true || valueAt(changed, "memory", "salience") != 1.0 {
		t.Errorf("changed: %v", changed)
	}
	stale := h.requestJSON(t, 409, "PATCH", "/api/memory/entries/"+id+"?expected_revision="+jsonText(revision),
		`{"pinned":false}`)
	if valueAt(stale, "error", "reason") != "STALE_REVISION" {
		t.Errorf("stale: %v", stale)
	}
	forgotten := h.requestJSON(t, 200, "DELETE", "/api/memory/entries/"+id, "")
	if gone := h.requestJSON(t, 200, "GET", "/api/memory/entries/"+id, ""); valueAt(gone, "status") != "retired" {
		t.Errorf("forgotten: %v", gone)
	}
	undo := `{"id":` + jsonText(valueAt(forgotten, "operation_id")) + `}`
	h.requestJSON(t, 200, "POST", "/api/v1/OperationService/Undo", undo)
	if back := h.requestJSON(t, 200, "GET", "/api/memory/entries/"+id, ""); valueAt(back, "status") != "active" {
		t.Errorf("after the undo: %v", back)
	}
}

func jsonText(v any) string {
	data, _ := json.Marshal(v)
	return string(data)
}

func TestSearch(t *testing.T) {
	h := startDaemon(t)
	h.addMemory(
		t,
		`{"content":"We deploy with make release from the main branch","category":"facts",`+
			`"last_accessed":"2020-01-01T00:00:00Z","created_at":"2020-01-01T00:00:00Z"}`,
	)
	h.addMemory(t, `{"id":"mondays","content":"Prefers to deploy on Mondays","category":"preferences"}`)
	res := h.requestJSON(t, 200, "POST", "/api/memory/search",
		`{"query":"how do we deploy","category":"facts","explain":true,"profile":"product","no_touch":true}`)
	if len(valueAt(res, "results").([]any)) != 1 || valueAt(res, "results", 0, "memory", "category") != "facts" ||
		valueAt(res, "results", 0, "components", 0, "name") == nil {
		t.Fatalf("search: %v", res)
	}
	fresh := h.requestJSON(t, 200, "POST", "/api/memory/search",
		`{"query":"how do we deploy","category":"facts","profile":"product","use_decay":false,"no_touch":true}`)
	with, without := valueAt(res, "results", 0, "score").(float64), valueAt(fresh, "results", 0, "score").(float64)
	if with >= without {
		t.Errorf("a score of %v with decay, %v without", with, without)
	}
	none := h.requestJSON(t, 200, "POST", "/api/memory/search", `{"query":"asteroid mining taxes"}`)
	if len(valueAt(none, "results").([]any)) != 0 ||
		valueAt(none, "reason") == "" {
		t.Errorf("nothing fits: %v", none)
	}
	h.requestJSON(t, 200, "POST", "/api/v1/LogService/Append",
		`{"entries":[{"content":"The auditors asked about invoices"}]}`)
	logged := h.requestJSON(t, 200, "POST", "/api/memory/search", `{"query":"auditors invoices","include_logs":true}`)
	if valueAt(logged, "results", 0, "log", "entry", "content") == nil ||
		valueAt(logged, "results", 0, "memory") != nil {
		t.Errorf("in the logs: %v", logged)
	}
	// In one session a memory is used once, however often it is found.
	for range 3 {
		h.requestJSON(t, 200, "POST", "/api/memory/search",
			`{"query":"prefers Mondays","category":"preferences","session_id":"s1"}`)
	}
	used := h.requestJSON(t, 200, "GET", "/api/memory/entries/mondays", "")
	if n := valueAt(used, "access_count"); n != 1.0 {
		t.Errorf("three searches of a session are %v accesses, want 1", n)
	}
	one := h.requestJSON(t, 200, "POST", "/api/memory/search", `{"query":"deploy","top_k":1}`)
	if len(valueAt(one, "results").([]any)) != 1 {
		t.Errorf("top_k: %v", one)
	}
}

func TestMaintenance(t *testing.T) {
	h := startDaemon(t)
	first := h.requestJSON(t, 200, "POST", "/api/memory/consolidate",
		`{"content":"We use Postgres 14","category":"facts","salience":0.6}`)
	if valueAt(first, "items", 0, "decision") != "add" {
		t.Errorf("new text: %v", first)
	}
	same := h.requestJSON(t, 200, "POST", "/api/memory/consolidate",
		`{"content":"we use  Postgres 14.","category":"facts"}`)
	if valueAt(same, "items", 0, "decision") != "noop" {
		t.Errorf("known text: %v", same)
	}
	daily := h.requestJSON(t, 200, "POST", "/api/memory/consolidate",
		`{"content":"met the auditors","write_to":"daily"}`)
	if valueAt(daily, "items", 0, "decision") != "add" {
		t.Errorf("into the log: %v", daily)
	}
	h.requestJSON(t, 200, "POST", "/api/v1/LogService/Append",
		`{"entries":[{"type":"auto_extract","content":"用户喜欢在下午3点开会","category":"preferences"}]}`)
	all := h.requestJSON(t, 200, "POST", "/api/memory/consolidate", "")
	if valueAt(all, "items", 0, "decision") != "add" {
		t.Errorf("without a body: %v", all)
	}
	again := h.requestJSON(t, 200, "POST", "/api/memory/consolidate", "")
	if len(valueAt(again, "items").([]any)) != 0 {
		t.Errorf("without a body, again: %v", again)
	}
	none := h.requestJSON(t, 200, "POST", "/api/memory/archive", "")
	if valueAt(none, "days", 0, "action") != "keep" {
		t.Errorf("archive without a body: %v", none)
	}
	dry := h.requestJSON(t, 200, "POST", "/api/memory/archive", `{"archive_days":1,"delete_days":2,"dry_run":true}`)
	if valueAt(dry, "days", 0, "operation_id") != "" {
		t.Errorf("archive: %v", dry)
	}
}

func TestSummarySurvivesReflection(t *testing.T) {
	h := startDaemon(t)
	const summary = "用户是一名 Python 开发者，偏好简洁代码风格"
	put := h.requestJSON(t, 200, "PUT", "/api/memory/rolling-summary", `{"summary":"`+summary+`"}`)
	if valueAt(put, "status") != "applied" {
		t.Errorf("put: %v", put)
	}
	conn, err := unixsock.Dial(h.socket)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close() }()
	res, err := pb.NewSessionServiceClient(conn).
		Reflect(t.Context(), &pb.SessionServiceReflectRequest{SessionId: "s1", Messages: []*pb.SessionMessage{
			{
				Role: pb.Role_ROLE_USER, Content: "Please remember that the staging server is staging.example.com",
			}, {Role: pb.Role_ROLE_ASSISTANT, Content: "I will."},
		}})
	if err != nil || len(res.GetItems()) == 0 {
		t.Fatalf("reflected: %v, %v", res, err)
	}
	if got := h.requestJSON(t, 200, "GET", "/api/memory/rolling-summary", ""); valueAt(got, "summary") != summary {
		t.Errorf("after a reflection: %v", got)
	}
	h.requestJSON(t, 200, "PUT", "/api/memory/rolling-summary", `{"summary":""}`)
	if got := h.requestJSON(t, 200, "GET", "/api/memory/rolling-summary", ""); valueAt(got, "summary") != "" {
		t.Errorf("cleared: %v", got)
	}
}

func TestSpacesAreSeparate(t *testing.T) {
	h := startDaemon(t)
	h.requestJSON(t, 201, "POST", "/api/memory/entries?space=work", `{"content":"The office closes at six"}`)
	if list := h.requestJSON(t, 200, "GET", "/api/memory/entries", ""); valueAt(list, "total") != 0.0 {
		t.Errorf("default space: %v", list)
	}
	if list := h.requestJSON(t, 200, "GET", "/api/memory/entries?space=work", ""); valueAt(list, "total") != 1.0 {
		t.Errorf("space work: %v", list)
	}
}

func TestIdempotencyKey(t *testing.T) {
	h := startDaemon(t)
	key := func(r *http.Request) { r.Header.Set("Idempotency-Key", "k1") }
	first := h.requestJSON(t, 201, "POST", "/api/memory/entries", `{"content":"once"}`, key)
	again := h.requestJSON(t, 201, "POST", "/api/memory/entries", `{"content":"once"}`, key)
	if valueAt(first, "operation_id") != valueAt(again, "operation_id") {
		t.Errorf("operations %v and %v", valueAt(first, "operation_id"), valueAt(again, "operation_id"))
	}
	other := h.requestJSON(t, 409, "POST", "/api/memory/entries", `{"content":"other"}`, key)
	if valueAt(other, "error", "reason") != "IDEMPOTENCY_KEY_REUSED" {
		t.Errorf("%v", other)
	}
}

func TestErrors(t *testing.T) {
	h := startDaemon(t)
	tests := []struct {
		name, method, path, body string
		status                   int
		reason                   string
	}{
		{"salience too large", "POST", "/api/memory/entries", `{"content":"x","salience":2}`, 400, "INVALID_REQUEST"},
		{"no body", "POST", "/api/memory/entries", "", 400, "INVALID_REQUEST"},
		{"unknown name", "POST", "/api/memory/entries", `{"content":"x","colour":"red"}`, 400, "INVALID_REQUEST"},
		{"a name twice", "POST", "/api/memory/entries", `{"content":"x","content":"y"}`, 400, "INVALID_REQUEST"},
		{"two objects", "POST", "/api/memory/search", `{"query":"x"}{}`, 400, "INVALID_REQUEST"},
		{"not an object", "POST", "/api/memory/search", `["x"]`, 400, "INVALID_REQUEST"},
		{"wrong type", "POST", "/api/memory/search", `{"query":7}`, 400, "INVALID_REQUEST"},
		{"broken JSON", "PUT", "/api/memory/rolling-summary", `{"summary":`, 400, "INVALID_REQUEST"},
		{"no summary", "PUT", "/api/memory/rolling-summary", `{}`, 400, "INVALID_REQUEST"},
		{"no query", "POST", "/api/memory/search", `{}`, 400, "INVALID_REQUEST"},
		{
			"two spaces", "POST", "/api/memory/consolidate?space=a", `{"content":"x","space":"b"}`, 400,
			"INVALID_REQUEST",
		},
		{"top_k too large", "POST", "/api/memory/search", `{"query":"x","top_k":201}`, 400, "INVALID_REQUEST"},
		{"unknown parameter", "GET", "/api/memory/entries?colour=red", "", 400, "INVALID_REQUEST"},
		{"unknown profile", "POST", "/api/memory/search", `{"query":"x","profile":"best"}`, 400, "INVALID_REQUEST"},
		{
			"deletion before archiving", "POST", "/api/memory/archive", `{"archive_days":5,"delete_days":3}`, 400,
			"INVALID_REQUEST",
		},
		{"unknown memory", "GET", "/api/memory/entries/nobody", "", 404, "NOT_FOUND"},
		{"forget an unknown memory", "DELETE", "/api/memory/entries/nobody", "", 404, "NOT_FOUND"},
		{"change an unknown memory", "PATCH", "/api/memory/entries/nobody", `{"pinned":true}`, 404, "NOT_FOUND"},
		{"unknown path", "GET", "/api/memory/nothing", "", 404, "NO_SUCH_PATH"},
		{"unknown method of the API", "POST", "/api/v1/AdminService/Stop", "", 404, "NO_SUCH_METHOD"},
		{"unknown service of the API", "POST", "/api/v1/../Stop", "", 404, "NO_SUCH_PATH"},
		{"wrong method", "DELETE", "/api/memory/search", "", 405, "METHOD_NOT_ALLOWED"},
		{"preflight", "OPTIONS", "/api/memory/entries", "", 405, "METHOD_NOT_ALLOWED"},
		{
			"too large", "PUT", "/api/memory/rolling-summary", `{"summary":"` + strings.Repeat("x", 1<<20) + `"}`,
			413, "REQUEST_TOO_LARGE",
		},
		{"code that was never given", "POST", "/api/login", `{"code":"x"}`, 401, "CODE_USED"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got := h.requestJSON(t, tt.status, tt.method, tt.path, tt.body)
			if reason := valueAt(got, "error", "reason"); reason != tt.reason {
				t.Errorf("reason %v, want %s", reason, tt.reason)
			}
		})
	}
	got := h.requestJSON(t, 415, "PUT", "/api/memory/rolling-summary", `{"summary":"x"}`, func(r *http.Request) {
		r.Header.Set("Content-Type", "text/plain")
	})
	if valueAt(got, "error", "reason") != "NOT_JSON" {
		t.Errorf("a form of a page: %v", got)
	}
	violation := h.requestJSON(t, 400, "POST", "/api/memory/entries", `{"content":"","salience":2}`)
	var fields []string
	for _, v := range valueAt(violation, "error", "violations").([]any) {
		fields = append(fields, valueAt(v, "field").(string))
	}
	slices.Sort(fields)
	if diff := cmp.Diff([]string{"content", "salience"}, fields); diff != "" {
		t.Errorf("violations: %s", diff)
	}
}

func TestEvents(t *testing.T) {
	h := startDaemon(t)
	res := h.request(t, "GET", "/api/events", "")
	lines := bufio.NewScanner(res.Body)
	if !lines.Scan() || lines.Text() != ": connected" {
		t.Fatalf("begins with %q", lines.Text())
	}
	first := h.addMemory(t, `{"content":"a new thing that nobody may read in a log"}`)
	eventID, data, text := nextEvent(t, lines)
	if valueAt(data, "memories", 0) != first || valueAt(data, "actor") != "client" || eventID != valueAt(data, "id") {
		t.Errorf("event %q: %v", eventID, data)
	}
	if strings.Contains(text, "nobody may read") {
		t.Errorf("the event has the memory's text: %q", text)
	}
	second := h.addMemory(t, `{"content":"another thing"}`)
	resume := func(r *http.Request) { r.Header.Set("Last-Event-ID", eventID) }
	again := h.request(t, "GET", "/api/events", "", resume)
	if _, data, _ := nextEvent(t, bufio.NewScanner(again.Body)); valueAt(data, "memories", 0) != second {
		t.Errorf("first event after a reconnect: %v, want memory %s", data, second)
	}
	if log := h.log.String(); strings.Contains(log, "nobody may read") {
		t.Error("the log holds the text of a memory")
	}
}

// nextEvent reads the next event of a stream: its id, its data, and all of its text.
func nextEvent(t *testing.T, lines *bufio.Scanner) (id string, data object, text string) {
	t.Helper()
	for lines.Scan() {
		text += lines.Text() + "\n"
		if rest, ok := strings.CutPrefix(lines.Text(), "id: "); ok {
			id = rest
		}
		if rest, ok := strings.CutPrefix(lines.Text(), "data: "); ok {
			if err := json.Unmarshal([]byte(rest), &data); err != nil {
				t.Fatal(err)
			}
			return id, data, text
		}
	}
	t.Fatalf("the stream ended after %q: %v", text, lines.Err())
	return "", nil, ""
}
