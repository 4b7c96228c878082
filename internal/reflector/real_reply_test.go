package reflector_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/memsidecar/memsidecar/internal/llm"
	"github.com/memsidecar/memsidecar/internal/memtest"
	"github.com/memsidecar/memsidecar/internal/memtest/realllm"
	"github.com/memsidecar/memsidecar/internal/reflector"
)

// realRepair has the model fail the check first. It is told so once, and does better; what it wrote first is not taken.
func realRepair(t *testing.T, s *realllm.Server) {
	s.NeedOwn(t, "another model does not know what [[empty]] means")
	for _, tt := range []struct {
		name, order string
		refuse      []string
		first       string
	}{
		{"the schema is kept, and the text is not", "[[empty]]", nil, `{"summary":"","history":""`},
		{"another object", "[[empty]]", []string{"json_schema"}, `{"summary":""`},
		{"no object", "[[prose]]", []string{"json_schema", "json_object"}, "I would rather talk about the weather"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r := openReal(t, s, conversation+" "+tt.order, nil)
			r.proxy.Refuse(tt.refuse...)
			res := r.reflected()
			r.books(len(tt.refuse) + 2)
			book := r.proxy.Exchanges()[len(tt.refuse):]
			first, _, _, _ := book[0].Reply()
			if !strings.HasPrefix(first, tt.first) || strings.Contains(string(book[0].Request), "could not be used") ||
				!strings.Contains(string(book[1].Request), "could not be used") {
				t.Errorf("the first reply is %q", first)
			}
			if res.DecidedBy != reflector.ByModel || r.texts()["m1"] != "We use Postgres 16" {
				t.Errorf("decided by the %s, %q, m1 is %q", res.DecidedBy, res.Note, r.texts()["m1"])
			}
			r.undoes(res.Op, r.before)
		})
	}
}

// realForbidden has the model propose what a reflection must not do. With the schema the server does not even let it
// say so; without, a guard refuses it.
func realForbidden(t *testing.T, s *realllm.Server) {
	s.NeedOwn(t, "another model does not know what [[delete]] means")
	for _, mode := range []string{"json_schema", "json_object"} {
		t.Run(mode, func(t *testing.T) {
			r := openReal(t, s, conversation+" [[delete]]", nil)
			if mode == "json_object" {
				r.proxy.Refuse("json_schema")
			}
			res := r.reflected()
			book := r.proxy.Exchanges()
			r.books(len(book))
			said, _, _, _ := book[len(book)-1].Reply()
			if strings.Contains(said, `"action":"DELETE"`) != (mode == "json_object") {
				t.Errorf("it said %s", said)
			}
			if r.texts()["m1"] == "" {
				t.Error("m1 is gone")
			}
			r.undoes(res.Op, r.before)
		})
	}
}

// realRepeated has the model say the same until it is stopped.
func realRepeated(t *testing.T, s *realllm.Server) {
	s.NeedOwn(t, "another model does not know what [[loop]] means")
	const limit = 400
	r := openReal(t, s, conversation+" [[loop]]", func(c *llm.Config) { c.MaxOutputTokens = limit })
	res := r.reflected()
	r.books(1)
	if text, finish, _, output := r.proxy.Exchanges()[0].Reply(); finish != "length" || output != limit ||
		strings.Count(text, " and over") != limit-1 {
		t.Errorf("%d tokens, ended with %q: %.100q…", output, finish, text)
	}
	if res.DecidedBy != reflector.ByRules || !strings.Contains(res.Note, "cut off") ||
		strings.Contains(res.Summary, "over and over") {
		t.Errorf("decided by the %s, %q, summary %q", res.DecidedBy, res.Note, res.Summary)
	}
	r.undoes(res.Op, r.before)
}

// realSecrets puts 200 made-up secrets into a session. None reaches the server.
func realSecrets(t *testing.T, s *realllm.Server) {
	r := openReal(t, s, "", nil)
	secrets := memtest.Secrets(11, 200)
	for i := 0; i < len(secrets); i += 20 {
		id := fmt.Sprint("s", i)
		var texts []string
		for _, secret := range secrets[i : i+20] {
			texts = append(texts, "Remember that "+secret.Text)
		}
		r.say(id, user(texts...)...)
		if res, err := r.Reflect(t.Context(), "p", id, reflector.Options{}); err != nil {
			t.Fatal(err)
		} else if res.DecidedBy != reflector.ByModel && s.Own() {
			t.Errorf("%s: decided by the %s, %s", id, res.DecidedBy, res.Note)
		}
	}
	book := r.proxy.Exchanges()
	bytes := 0
	for i, x := range book {
		bytes += len(x.Request)
		for _, secret := range secrets {
			quoted, _ := json.Marshal(secret.Value)
			if strings.Contains(string(x.Request), secret.Value) ||
				strings.Contains(string(x.Request), strings.Trim(string(quoted), `"`)) {
				t.Errorf("request %d holds %q", i+1, secret.Value)
			}
		}
	}
	for _, content := range r.contents() {
		for _, secret := range secrets {
			if strings.Contains(content, secret.Value) {
				t.Errorf("%q is remembered", content)
			}
		}
	}
	if len(book) < 10 || bytes < 10_000 {
		t.Errorf("%d requests with %d bytes were looked at", len(book), bytes)
	}
	t.Logf("%d secrets, %d requests with %d bytes", len(secrets), len(book), bytes)
}
