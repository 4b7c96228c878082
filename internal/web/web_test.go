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
	"github.com/memsidecar/memsidecar/internal/daemon"
	"github.com/memsidecar/memsidecar/internal/unixsock"
	"github.com/memsidecar/memsidecar/internal/web"
)

// house is a daemon of the test's own that serves HTTP.
type house struct {
	url, token, socket string
	files              web.Files
	log                *buffer
	client             *http.Client
	stop               func() // ends the daemon, once
}

// buffer collects a log.
type buffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (b *buffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.Write(p)
}

func (b *buffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.String()
}

func newHouse(t *testing.T) *house { return newHouseAt(t, "127.0.0.1:0") }

func newHouseAt(t *testing.T, listen string) *house {
	t.Helper()
	dir, err := os.MkdirTemp("/tmp", "msweb")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	if strings.HasPrefix(listen, "unix") {
		listen = filepath.Join(dir, "h")
	}
	cfg, err := daemon.Config{Data: filepath.Join(dir, "data"), Socket: filepath.Join(dir, "m.sock"), HTTPListen: listen}.WithDefaults(os.Getenv)
	if err != nil {
		t.Fatal(err)
	}
	h := &house{socket: cfg.Socket, files: web.FilesFor(cfg.Socket), log: &buffer{}, client: &http.Client{Transport: &http.Transport{}}}
	ctx, cancel := context.WithCancel(context.Background())
	ready, done := make(chan struct{}), make(chan error, 1)
	go func() {
		done <- daemon.Run(ctx, cfg, daemon.Options{Logger: slog.New(slog.NewTextHandler(h.log, nil)), Version: "test", Ready: func(string) { close(ready) }})
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

// ask makes a request with the token. A change sees it before it is sent.
func (h *house) ask(t *testing.T, method, path, body string, changes ...func(*http.Request)) *http.Response {
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

// get is ask for an answer that must have a status and is JSON.
func (h *house) get(t *testing.T, want int, method, path, body string, changes ...func(*http.Request)) object {
	t.Helper()
	res := h.ask(t, method, path, body, changes...)
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

// at follows names and indexes into JSON.
func at(v any, path ...any) any {
	for _, p := range path {
		switch p := p.(type) {
		case string:
			o, _ := v.(object)
			v = o[p]
		case int:
			l, _ := v.([]any)
			if p >= len(l) {
				return nil
			}
			v = l[p]
		}
	}
	return v
}

func (h *house) add(t *testing.T, body string) string {
	t.Helper()
	return at(h.get(t, 201, "POST", "/api/memory/entries", body), "id").(string)
}

func TestEntries(t *testing.T) {
	h := newHouse(t)
	added := h.get(t, 201, "POST", "/api/memory/entries", `{"content":"用户偏好东方航空，尤其是早班机","category":"preferences","salience":0.85}`)
	id := at(added, "id").(string)
	for _, c := range []struct{ name, want any }{{"salience", 0.85}, {"access_count", 0.0}, {"category", "preferences"}, {"source", "user_explicit"}, {"status", "active"}} {
		if diff := cmp.Diff(c.want, at(added, "memory", c.name)); diff != "" {
			t.Errorf("%s: %s", c.name, diff)
		}
	}
	if again := h.get(t, 200, "POST", "/api/memory/entries", `{"content":"用户偏好东方航空，尤其是早班机","category":"preferences"}`); at(again, "status") != "duplicate" || at(again, "id") != id {
		t.Errorf("added twice: %v", again)
	}
	h.add(t, `{"content":"fetch_url returns nothing for single-page sites","category":"procedural","salience":0.9}`)

	list := h.get(t, 200, "GET", "/api/memory/entries?category=preferences", "")
	if at(list, "total") != 1.0 || at(list, "memories", 0, "id") != id {
		t.Errorf("filtered by category: %v", list)
	}
	if procedural := h.get(t, 200, "GET", "/api/memory/procedural", ""); at(procedural, "total") != 1.0 || at(procedural, "memories", 0, "category") != "procedural" {
		t.Errorf("procedural: %v", procedural)
	}
	page := h.get(t, 200, "GET", "/api/memory/entries?page_size=1&order=salience", "")
	next := h.get(t, 200, "GET", "/api/memory/entries?page_size=1&order=salience&page_token="+at(page, "next_page_token").(string), "")
	if at(page, "memories", 0, "salience") != 0.9 || at(next, "memories", 0, "salience") != 0.85 || at(next, "next_page_token") != "" {
		t.Errorf("pages: %v then %v", page, next)
	}

	revision := at(added, "memory", "revision")
	changed := h.get(t, 200, "PATCH", "/api/memory/entries/"+id+"?expected_revision="+jsonText(revision), `{"pinned":true,"salience":1}`)
	if at(changed, "memory", "pinned") != true || at(changed, "memory", "salience") != 1.0 {
		t.Errorf("changed: %v", changed)
	}
	stale := h.get(t, 409, "PATCH", "/api/memory/entries/"+id+"?expected_revision="+jsonText(revision), `{"pinned":false}`)
	if at(stale, "error", "reason") != "STALE_REVISION" {
		t.Errorf("stale: %v", stale)
	}
	h.get(t, 200, "DELETE", "/api/memory/entries/"+id, "")
	if gone := h.get(t, 200, "GET", "/api/memory/entries/"+id, ""); at(gone, "status") != "retired" {
		t.Errorf("forgotten: %v", gone)
	}
	op := at(changed, "operation").(float64)
	h.get(t, 200, "POST", "/api/v1/OperationService/Undo", `{"number":`+jsonText(op+1)+`}`)
	if back := h.get(t, 200, "GET", "/api/memory/entries/"+id, ""); at(back, "status") != "active" {
		t.Errorf("after the undo: %v", back)
	}
}

func jsonText(v any) string {
	data, _ := json.Marshal(v)
	return string(data)
}

func TestSearch(t *testing.T) {
	h := newHouse(t)
	h.add(t, `{"content":"We deploy with make release from the main branch","category":"facts","last_accessed":"2020-01-01T00:00:00Z","created_at":"2020-01-01T00:00:00Z"}`)
	h.add(t, `{"content":"Prefers to deploy on Mondays","category":"preferences"}`)
	res := h.get(t, 200, "POST", "/api/memory/search", `{"query":"how do we deploy","category":"facts","explain":true,"profile":"product","touch":false}`)
	if len(at(res, "results").([]any)) != 1 || at(res, "results", 0, "memory", "category") != "facts" || at(res, "results", 0, "components", 0, "name") == nil {
		t.Fatalf("search: %v", res)
	}
	fresh := h.get(t, 200, "POST", "/api/memory/search", `{"query":"how do we deploy","category":"facts","profile":"product","use_decay":false,"touch":false}`)
	if with, without := at(res, "results", 0, "score").(float64), at(fresh, "results", 0, "score").(float64); with >= without {
		t.Errorf("a score of %v with decay, %v without", with, without)
	}
	if none := h.get(t, 200, "POST", "/api/memory/search", `{"query":"asteroid mining taxes"}`); len(at(none, "results").([]any)) != 0 || at(none, "reason") == "" {
		t.Errorf("nothing fits: %v", none)
	}
	h.get(t, 200, "POST", "/api/v1/LogService/Append", `{"entries":[{"content":"The auditors asked about invoices"}]}`)
	if logged := h.get(t, 200, "POST", "/api/memory/search", `{"query":"auditors invoices","include_logs":true}`); at(logged, "results", 0, "log", "entry", "content") == nil || at(logged, "results", 0, "memory") != nil {
		t.Errorf("in the logs: %v", logged)
	}
	if one := h.get(t, 200, "POST", "/api/memory/search", `{"query":"deploy","top_k":1}`); len(at(one, "results").([]any)) != 1 {
		t.Errorf("top_k: %v", one)
	}
}

func TestUpkeep(t *testing.T) {
	h := newHouse(t)
	first := h.get(t, 200, "POST", "/api/memory/consolidate", `{"content":"We use Postgres 14","category":"facts","salience":0.6}`)
	if at(first, "decision") != "add" {
		t.Errorf("new text: %v", first)
	}
	if same := h.get(t, 200, "POST", "/api/memory/consolidate", `{"content":"we use  Postgres 14.","category":"facts"}`); at(same, "decision") != "noop" {
		t.Errorf("known text: %v", same)
	}
	if daily := h.get(t, 200, "POST", "/api/memory/consolidate", `{"content":"met the auditors","write_to":"daily"}`); at(daily, "decision") != "add" {
		t.Errorf("into the log: %v", daily)
	}
	h.get(t, 200, "POST", "/api/v1/LogService/Append", `{"entries":[{"type":"auto_extract","content":"用户喜欢在下午3点开会","category":"preferences"}]}`)
	if all := h.get(t, 200, "POST", "/api/memory/consolidate", ""); at(all, "entries", 0, "decision") != "add" {
		t.Errorf("without a body: %v", all)
	}
	if again := h.get(t, 200, "POST", "/api/memory/consolidate", ""); len(at(again, "entries").([]any)) != 0 {
		t.Errorf("without a body, again: %v", again)
	}
	if none := h.get(t, 200, "POST", "/api/memory/archive", ""); at(none, "days", 0, "action") != "keep" {
		t.Errorf("archive without a body: %v", none)
	}
	if dry := h.get(t, 200, "POST", "/api/memory/archive", `{"archive_days":1,"delete_days":2,"dry_run":true}`); at(dry, "days", 0, "operation") != 0.0 {
		t.Errorf("archive: %v", dry)
	}
}

func TestSummarySurvivesReflection(t *testing.T) {
	h := newHouse(t)
	const summary = "用户是一名 Python 开发者，偏好简洁代码风格"
	if put := h.get(t, 200, "PUT", "/api/memory/rolling-summary", `{"summary":"`+summary+`"}`); at(put, "status") != "applied" {
		t.Errorf("put: %v", put)
	}
	conn, err := unixsock.Dial(h.socket)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close() }()
	res, err := pb.NewSessionServiceClient(conn).Reflect(t.Context(), &pb.SessionServiceReflectRequest{SessionId: "s1", Messages: []*pb.SessionMessage{
		{Role: "user", Content: "Please remember that the staging server is staging.example.com"}, {Role: "assistant", Content: "I will."},
	}})
	if err != nil || len(res.GetItems()) == 0 {
		t.Fatalf("reflected: %v, %v", res, err)
	}
	if got := h.get(t, 200, "GET", "/api/memory/rolling-summary", ""); at(got, "summary") != summary {
		t.Errorf("after a reflection: %v", got)
	}
	h.get(t, 200, "PUT", "/api/memory/rolling-summary", `{"summary":""}`)
	if got := h.get(t, 200, "GET", "/api/memory/rolling-summary", ""); at(got, "summary") != "" {
		t.Errorf("cleared: %v", got)
	}
}

func TestOtherSpacesAreApart(t *testing.T) {
	h := newHouse(t)
	h.get(t, 201, "POST", "/api/memory/entries?space=work", `{"content":"The office closes at six"}`)
	if list := h.get(t, 200, "GET", "/api/memory/entries", ""); at(list, "total") != 0.0 {
		t.Errorf("default space: %v", list)
	}
	if list := h.get(t, 200, "GET", "/api/memory/entries?space=work", ""); at(list, "total") != 1.0 {
		t.Errorf("space work: %v", list)
	}
}

func TestRepeatedWriteIsOne(t *testing.T) {
	h := newHouse(t)
	key := func(r *http.Request) { r.Header.Set("Idempotency-Key", "k1") }
	first := h.get(t, 201, "POST", "/api/memory/entries", `{"content":"once"}`, key)
	again := h.get(t, 201, "POST", "/api/memory/entries", `{"content":"once"}`, key)
	if at(first, "operation") != at(again, "operation") {
		t.Errorf("operations %v and %v", at(first, "operation"), at(again, "operation"))
	}
	if other := h.get(t, 409, "POST", "/api/memory/entries", `{"content":"other"}`, key); at(other, "error", "reason") != "IDEMPOTENCY_KEY_REUSED" {
		t.Errorf("%v", other)
	}
}

func TestErrors(t *testing.T) {
	h := newHouse(t)
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
		{"two spaces", "POST", "/api/memory/consolidate?space=a", `{"content":"x","space":"b"}`, 400, "INVALID_REQUEST"},
		{"top_k too large", "POST", "/api/memory/search", `{"query":"x","top_k":201}`, 400, "INVALID_REQUEST"},
		{"unknown parameter", "GET", "/api/memory/entries?colour=red", "", 400, "INVALID_REQUEST"},
		{"unknown profile", "POST", "/api/memory/search", `{"query":"x","profile":"best"}`, 400, "INVALID_REQUEST"},
		{"deletion before archiving", "POST", "/api/memory/archive", `{"archive_days":5,"delete_days":3}`, 400, "INVALID_REQUEST"},
		{"unknown memory", "GET", "/api/memory/entries/nobody", "", 404, "NOT_FOUND"},
		{"forget an unknown memory", "DELETE", "/api/memory/entries/nobody", "", 404, "NOT_FOUND"},
		{"change an unknown memory", "PATCH", "/api/memory/entries/nobody", `{"pinned":true}`, 404, "NOT_FOUND"},
		{"unknown path", "GET", "/api/memory/nothing", "", 404, "NO_SUCH_PATH"},
		{"unknown method of the API", "POST", "/api/v1/AdminService/Stop", "", 404, "NO_SUCH_METHOD"},
		{"unknown service of the API", "POST", "/api/v1/../Stop", "", 404, "NO_SUCH_PATH"},
		{"wrong method", "DELETE", "/api/memory/search", "", 405, "METHOD_NOT_ALLOWED"},
		{"preflight", "OPTIONS", "/api/memory/entries", "", 405, "METHOD_NOT_ALLOWED"},
		{"too large", "PUT", "/api/memory/rolling-summary", `{"summary":"` + strings.Repeat("x", 1<<20) + `"}`, 413, "REQUEST_TOO_LARGE"},
		{"code that was never given", "POST", "/api/login", `{"code":"x"}`, 401, "CODE_USED"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got := h.get(t, tt.status, tt.method, tt.path, tt.body)
			if reason := at(got, "error", "reason"); reason != tt.reason {
				t.Errorf("reason %v, want %s", reason, tt.reason)
			}
		})
	}
	if got := h.get(t, 415, "PUT", "/api/memory/rolling-summary", `{"summary":"x"}`, func(r *http.Request) { r.Header.Set("Content-Type", "text/plain") }); at(got, "error", "reason") != "NOT_JSON" {
		t.Errorf("a form of a page: %v", got)
	}
	violation := h.get(t, 400, "POST", "/api/memory/entries", `{"content":"","salience":2}`)
	var fields []string
	for _, v := range at(violation, "error", "violations").([]any) {
		fields = append(fields, at(v, "field").(string))
	}
	slices.Sort(fields)
	if diff := cmp.Diff([]string{"content", "salience"}, fields); diff != "" {
		t.Errorf("violations: %s", diff)
	}
}

func TestEvents(t *testing.T) {
	h := newHouse(t)
	res := h.ask(t, "GET", "/api/events", "")
	lines := bufio.NewScanner(res.Body)
	if !lines.Scan() || lines.Text() != ": listening" {
		t.Fatalf("begins with %q", lines.Text())
	}
	id := h.add(t, `{"content":"a new thing that nobody may read in a log"}`)
	var data object
	for lines.Scan() {
		if rest, ok := strings.CutPrefix(lines.Text(), "data: "); ok {
			if err := json.Unmarshal([]byte(rest), &data); err != nil {
				t.Fatal(err)
			}
			break
		}
	}
	if at(data, "memories", 0) != id || strings.Contains(lines.Text(), "nobody may read") {
		t.Errorf("told of the new memory: %q", lines.Text())
	}
	again := h.ask(t, "GET", "/api/events", "", func(r *http.Request) { r.Header.Set("Last-Event-ID", "0") })
	past := bufio.NewScanner(again.Body)
	found := false
	for !found && past.Scan() {
		found = strings.Contains(past.Text(), id)
	}
	if !found {
		t.Error("a client that comes back is not told what it has missed")
	}
	if log := h.log.String(); strings.Contains(log, "nobody may read") {
		t.Error("the log holds the text of a memory")
	}
}
