package web_test

import (
	"encoding/json"
	"log/slog"
	"maps"
	"net/http"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/memsidecar/memsidecar/internal/client/web"
)

// openAPIDocument is what the test needs of an OpenAPI document.
type openAPIDocument struct {
	Paths map[string]map[string]struct {
		Responses map[string]struct {
			Content map[string]struct{ Schema schema }
		}
		RequestBody *struct{ Required bool }
		Description string
		Summary     string
	}
	Components struct{ Schemas map[string]schema }
}

type schema struct {
	Ref        string `json:"$ref"`
	Type       string
	Required   []string
	Properties map[string]schema
	Items      *schema
	Enum       []string
	Additional *bool `json:"-"`
}

func readOpenAPI(t *testing.T) openAPIDocument {
	t.Helper()
	data, err := os.ReadFile("openapi.json")
	if err != nil {
		t.Fatal(err)
	}
	var doc openAPIDocument
	if err := json.Unmarshal(data, &doc); err != nil {
		t.Fatal(err)
	}
	return doc
}

func TestDocumentListsEveryRoute(t *testing.T) {
	doc := readOpenAPI(t)
	var want, got []string
	for _, r := range web.New(web.Config{Logger: slog.New(slog.DiscardHandler), Now: time.Now}).Routes() {
		if strings.Contains(r, " /api/") {
			want = append(want, r)
		}
	}
	for path, methods := range doc.Paths {
		for method := range methods {
			got = append(got, strings.ToUpper(method)+" "+path)
		}
	}
	slices.Sort(want)
	slices.Sort(got)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("served (-) and documented (+) pairs differ:\n%s", diff)
	}
	_, list, _ := strings.Cut(doc.Paths["/api/v1/{service}/{method}"]["post"].Summary, "Methods: ")
	methods := strings.Split(strings.TrimSuffix(list, "."), ", ")
	if diff := cmp.Diff(slices.Sorted(maps.Keys(web.Callable())), methods); diff != "" {
		t.Errorf("callable (-) and documented (+) methods differ:\n%s", diff)
	}
}

// mismatches reports what of v is not as documented.
func (doc openAPIDocument) mismatches(path string, s schema, v any) (wrong []string) {
	if s.Ref != "" {
		s = doc.Components.Schemas[strings.TrimPrefix(s.Ref, "#/components/schemas/")]
	}
	switch v := v.(type) {
	case map[string]any:
		if s.Type != "object" {
			return []string{path + " is an object"}
		}
		for _, name := range s.Required {
			if _, ok := v[name]; !ok {
				wrong = append(wrong, path+"."+name+" is missing")
			}
		}
		for name, value := range v {
			if p, ok := s.Properties[name]; ok {
				wrong = append(wrong, doc.mismatches(path+"."+name, p, value)...)
			} else if s.Properties != nil && s.Required != nil {
				wrong = append(wrong, path+"."+name+" is not documented")
			}
		}
	case []any:
		if s.Type != "array" {
			return []string{path + " is a list"}
		}
		for _, item := range v {
			wrong = append(wrong, doc.mismatches(path+"[]", *s.Items, item)...)
		}
	case string:
		if s.Type != "string" || s.Enum != nil && !slices.Contains(s.Enum, v) {
			wrong = append(wrong, path+" is "+strconv.Quote(v))
		}
	case float64:
		if s.Type != "number" && s.Type != "integer" {
			wrong = append(wrong, path+" is a number")
		}
	case bool:
		if s.Type != "boolean" {
			wrong = append(wrong, path+" is a truth")
		}
	}
	return wrong
}

// Every pair of method and path answers with a status that is documented, and with what is documented for it.
func TestResponsesMatchDocument(t *testing.T) {
	doc, h := readOpenAPI(t), startDaemon(t)
	id := h.addMemory(
		t,
		`{"content":"We deploy with make release from main","category":"facts","tags":["deploy"],"title":"deploy"}`,
	)
	h.addMemory(
		t,
		`{"content":"fetch_url returns nothing for single-page sites","category":"procedural",`+
			`"context":{"tool":"fetch_url"}}`,
	)
	code := valueAt(h.requestJSON(t, 201, "POST", "/api/login-codes", ""), "code").(string)
	tests := map[string]struct {
		path   string
		bodies []string
	}{
		"GET /api/memory/entries": {
			"/api/memory/entries?category=facts&status=active&min_salience=0.1&created_from=2020-01-01T00:00:00Z&order=updated&ascending=true&page_size=5",
			[]string{""},
		},
		"POST /api/memory/entries": {
			"", []string{`{"content":"new","salience":0.9}`, `{"content":"new"}`, `{"salience":9}`, ""},
		},
		"GET /api/memory/entries/{id}": {"/api/memory/entries/" + id, []string{""}},
		"PATCH /api/memory/entries/{id}": {
			"/api/memory/entries/" + id, []string{`{"salience":0.95}`, `{"salience":-1}`},
		},
		"DELETE /api/memory/entries/{id}": {"/api/memory/entries/" + id, []string{""}},
		"POST /api/memory/search": {
			"",
			[]string{
				`{"query":"deploy","top_k":3,"use_decay":false,"category":"facts","explain":true}`,
				`{"query":"asteroids"}`, `{}`,
			},
		},
		"POST /api/memory/changes": {
			"/api/memory/changes?space=default", []string{
				`{"changes":[{"update":{"id":"` + id + `","patch":{"tags":["a"]}}},{"removal":{"id":"nobody"}}]}`,
				`{"changes":[]}`, `{"changes":[{"colour":{}}]}`,
			},
		},
		"POST /api/memory/move": {
			"", []string{`{"to":"work","memories":[{"id":"nobody"}]}`, `{"to":"default","memories":[]}`, `{}`},
		},
		"POST /api/memory/consolidate": {
			"", []string{"", `{"content":"We deploy on Mondays","dry_run":true}`, `{"content":""}`},
		},
		"POST /api/memory/archive":        {"", []string{"", `{"dry_run":true}`, `{"archive_days":-1}`}},
		"GET /api/memory/procedural":      {"", []string{""}},
		"GET /api/memory/rolling-summary": {"", []string{""}},
		"PUT /api/memory/rolling-summary": {"", []string{`{"summary":"s"}`, `{}`}},
		"GET /api/memory/file":            {"", []string{""}},
		"PUT /api/memory/file":            {"", []string{`{}`, `{"memories":`}},
		"POST /api/memory/file/check": {
			"/api/memory/file/check?date=", []string{`{"version":2,"memories":[{"content":""}]}`, `{"memories":`},
		},
		"GET /api/memory/usage": {"/api/memory/usage?space=default&start_date=2020-01-01", []string{""}},
		"GET /api/events":       {"/api/events?space=nobody", []string{""}},
		"POST /api/v1/{service}/{method}": {
			"/api/v1/MemoryService/Stats", []string{"", `{"spaces":["default"]}`, `{"colour":1}`},
		},
		"POST /api/memory/recall-preview": {
			"", []string{`{"text":"how do we deploy"}`, `{"text":"how do we deploy","explicit":true}`, `{"colour":1}`},
		},
		"GET /api/memory/graph":          {"/api/memory/graph?contains=a", []string{""}},
		"GET /api/memory/session-starts": {"/api/memory/session-starts?limit=5", []string{""}},
		"GET /api/export":                {"/api/export?space=default", []string{""}},
		"GET /api/backup":                {"", []string{""}},
		"POST /api/import":               {"", []string{`{}`}},
		"GET /api/hosts":                 {"", []string{""}},
		"GET /api/settings":              {"", []string{""}},
		"POST /api/login-codes":          {"", []string{""}},
		"POST /api/login":                {"", []string{`{"code":"` + code + `"}`, `{"code":"x"}`}},
		"GET /api/openapi.json":          {"", []string{""}},
	}
	for path, methods := range doc.Paths {
		for method, operation := range methods {
			pair := strings.ToUpper(method) + " " + path
			tt, ok := tests[pair]
			if !ok {
				t.Errorf("%s is not tested", pair)
				continue
			}
			if tt.path == "" {
				tt.path = path
			}
			for _, body := range tt.bodies {
				res := h.request(t, strings.ToUpper(method), tt.path, body)
				response, ok := operation.Responses[strconv.Itoa(res.StatusCode)]
				if !ok {
					t.Errorf("%s with %s: status %d is not documented", pair, body, res.StatusCode)
					continue
				}
				content, ok := response.Content["application/json"]
				if !ok {
					continue
				}
				var v any
				if err := json.NewDecoder(res.Body).Decode(&v); err != nil {
					t.Errorf("%s with %s: %v", pair, body, err)
				}
				for _, wrong := range doc.mismatches(pair, content.Schema, v) {
					t.Errorf("%s with %s: %s", pair, body, wrong)
				}
			}
			if len(operation.Responses) < 2 {
				t.Errorf("%s: no errors are documented", pair)
			}
		}
	}
}

func TestServedMethodsWork(t *testing.T) {
	h := startDaemon(t)
	for name := range web.Callable() {
		res := h.request(t, "POST", "/api/v1/"+name, `{}`)
		if res.StatusCode >= http.StatusInternalServerError {
			t.Errorf("%s: status %d", name, res.StatusCode)
		}
	}
}
