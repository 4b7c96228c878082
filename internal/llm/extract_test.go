package llm_test

import (
	"encoding/json"
	"errors"
	"os"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/memsidecar/memsidecar/internal/llm"
	"github.com/memsidecar/memsidecar/internal/strictjson"
)

func quoted(s string) string {
	data, err := json.Marshal(s)
	if err != nil {
		panic(err)
	}
	return string(data)
}

func TestExtractJSON(t *testing.T) {
	escaped := strings.Trim(quoted(good), `"`)
	other := `{"title":"b","tags":[],"rank":2}`
	tests := []struct{ name, text, want string }{
		{"alone", good, good},
		{"byte order mark", "\ufeff" + good, good},
		{"byte order mark behind space", " \n\ufeff\n" + good + "\n", good},
		{"code fence", "```json\n" + good + "\n```", good},
		{"code fence within prose", "Here you are:\n\n```\n" + good + "\n```\nAnything else?", good},
		{"prose with brackets before", "I looked at [1] and {x}, [the \"notes\" {too: 1}] and \"this\": " + good, good},
		{"prose with a quote that does not close", `He said "go: ` + good, good},
		{"Chinese prose", "好的，这是结果：" + good + "。还需要什么吗？", good},
		{"reasoning with a draft", "<think>perhaps " + other + "</think>\n" + good, good},
		{"reasoning with an unclosed brace", "<think>perhaps {\"title\": </think>" + good, good},
		{"thinking", "<thinking>" + other + "</thinking>" + good, good},
		{"reasoning that began in the prompt", "perhaps " + other + " then\n</think>\n\n" + good, good},
		{"think tags inside the reply", `{"title":"<think> or </think>","tags":[],"rank":1}`,
			`{"title":"<think> or </think>","tags":[],"rank":1}`},
		{"other tags", "<answer>" + good + "</answer>", good},
		{"tool call tags", `<tool_call>{"name":"reply","arguments":` + good + `}</tool_call>`, good},
		{"tool call with parameters", `{"type":"function","name":"reply","parameters":` + good + `}`, good},
		{"tool call with a string", `{"tool_calls":[{"id":"1","function":{"name":"reply","arguments":` + quoted(good) +
			`}}]}`, good},
		{"several, the first fits", good + other, good},
		{"several, the second fits", `{"title":"incomplete"} ` + good + " " + other, good},
		{"one a line", "{}\n{\"op\":1}\n" + good, good},
		{"within an array", "[" + good + "]", good},
		{"within a string", quoted(good), good},
		{"within a string twice", quoted(quoted(good)), good},
		{"escaped without quotes", escaped, good},
		{"escaped within prose", "Result: " + escaped + " and done", good},
		{"fence within a string", quoted("```json\n" + good + "\n```"), good},
		{"malformed, then right", `{"title":"a",} Sorry: ` + good, good},
		{"duplicate names, then right", `{"title":"a","title":"b","tags":[],"rank":1} ` + good, good},
		{"single quotes, then right", `{'title': 'a'} ` + good, good},
		{"cut behind it", good + ` {"title":"b","ta`, good},
		{"space within", " {\r\n\t\"title\" : \"a\" , \"tags\" : [ \"x\" ] , \"rank\" : 1 } ",
			"{\r\n\t\"title\" : \"a\" , \"tags\" : [ \"x\" ] , \"rank\" : 1 }"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			var out note
			got, err := llm.ExtractJSON(tt.text, llm.Into(&out))
			if err != nil || string(got) != tt.want {
				t.Errorf("found %s, %v", got, err)
			}
		})
	}
}

func TestExtractNothing(t *testing.T) {
	deep := strings.Repeat(`{"a":`, 65) + "1" + strings.Repeat("}", 65)
	tests := []struct{ name, text, want string }{
		{"nothing", "", "no JSON object"},
		{"prose", "I cannot do that.", "no JSON object"},
		{"a number", "17", "no JSON object"},
		{"only thought", "<think>" + good + "</think>", "no JSON object"},
		{"reasoning without end", "<think>" + good, "ends too early"},
		{"cut in a string", `{"title":"a","tags":["x`, "ends too early"},
		{"cut behind a number", `{"title":"a","tags":[],"rank":1`, "ends too early"},
		{"cut in a word", `{"a":tru`, "ends too early"},
		{"cut in a fence", "```json\n{\"title\":", "ends too early"},
		{"a part that is whole does not count", `{"notes":[` + good + `,{"title":`, "ends too early"},
		{"wrong type", `{"title":1,"tags":[],"rank":1}`, "title: must be a string, found a number"},
		{"the first one's error", `{"title":"a"} {"rank":"x"}`, `the field "tags" is missing`},
		{"a part of what does not fit", `{"note":` + good + `}`, "note: is not a field"},
		{"too deep", deep, "nested deeper than 64"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got, err := llm.ExtractJSON(tt.text, llm.Into(new(note)))
			if err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("found %s, %v", got, err)
			}
		})
	}
}

// Replies made to take long are passed over in one go. What is counted is the work that each would cause if parts
// were looked at again: a test that hangs here is one that fails.
func TestExtractIsLinear(t *testing.T) {
	const n = 1 << 18
	for name, unit := range map[string]string{
		"brackets": "[", "braces": "{", "members": `{"a":`, "mixed": `[{"a":`, "quotes": `{"`, "escapes": `{\"`,
		"lists": "[0,", "angles": "<", "thoughts": "<think>",
		"ends": "</think>", "closed": "{}", "arrays": "[[]", "strings": `"{`, "wrapped": `{"arguments":`,
		"backslashes": `\`, "calls": `{"arguments":{}}`,
	} {
		t.Run(name, func(t *testing.T) {
			text := strings.Repeat(unit, n/len(unit))
			if got, err := llm.ExtractJSON(text, llm.Into(new(note))); err == nil {
				t.Errorf("found %s", got)
			}
			if got, err := llm.ExtractJSON(quoted(text), llm.Into(new(note))); err == nil {
				t.Errorf("found %s", got)
			}
		})
	}
}

func FuzzExtractJSON(f *testing.F) {
	f.Add(good)
	f.Add("<think>{}</think>```json\n" + good + "\n```")
	f.Add(quoted(good))
	f.Add(strings.Trim(quoted(good), `"`))
	f.Add(`{"tool_calls":[{"function":{"arguments":` + quoted(good) + `}}]}`)
	f.Add(`x {"title":"a",} [1, {"rank":2}] "`)
	f.Add("\ufeff{\"\\ud800\":1}")
	f.Fuzz(func(t *testing.T, text string) {
		got, err := llm.ExtractJSON(text, nil)
		if err != nil {
			if got != nil {
				t.Errorf("both %s and %v", got, err)
			}
			return
		}
		if got[0] != '{' || strictjson.Check(got) != nil || !utf8.Valid(got) {
			t.Errorf("found %q", got)
		}
		// What was found is found again, alone and in company.
		for _, s := range []string{string(got), "```json\n" + string(got) + "\n```"} {
			if again, err := llm.ExtractJSON(s, nil); err != nil || string(again) != string(got) {
				t.Errorf("found %q, then %q, %v", got, again, err)
			}
		}
		// No beginning of it passes for the whole.
		if _, err := llm.ExtractJSON(string(got[:len(got)-1]), nil); err == nil && !errors.Is(err, llm.ErrTruncatedJSON) {
			t.Errorf("a part of %q was accepted", got)
		}
	})
}

// Whatever a server sends, reading it ends without a panic and yields no more than was sent.
func FuzzResponse(f *testing.F) {
	f.Add([]byte("data: {\"choices\":[{\"delta\":{\"content\":\"{}\"},\"finish_reason\":\"stop\"}],\"usage\":{\"prompt_tokens\":1e3}}\n\ndata: [DONE]\n\n"))
	f.Add([]byte(`{"choices":[{"message":{"content":[{"type":"text","text":"{}"}],` +
		`"tool_calls":[{"function":{"arguments":{"a":1}}}]}}]}`))
	f.Add([]byte("event: message_start\ndata: " +
		"{\"type\":\"message_start\",\"message\":{\"usage\":{\"input_tokens\":-1}}}\r\n\r\nevent: error\ndata: " +
		"{\"type\":\"error\",\"error\":{\"type\":\"overloaded_error\"}}\n\n"))
	f.Add([]byte(`{"type":"message","content":[{"type":"tool_use","input":{}}],"stop_reason":"tool_use",` +
		`"usage":{"output_tokens":99999999999}}`))
	f.Add([]byte(`{"error":"no"}`))
	f.Fuzz(func(t *testing.T, body []byte) {
		for _, provider := range []string{llm.OpenAI, llm.Anthropic} {
			for _, stream := range []bool{true, false} {
				// A byte that is not UTF-8 becomes three.
				if text, _ := llm.ReadResponse(provider, stream, body); len(text) > 3*len(body) {
					t.Errorf("%d bytes became %d", len(body), len(text))
				}
			}
		}
	})
}

func TestInto(t *testing.T) {
	type inner struct {
		Kind string `json:"kind"`
	}
	type all struct {
		S   string            `json:"s"`
		B   bool              `json:"b"`
		N   int8              `json:"n"`
		F   float64           `json:"f"`
		P   *string           `json:"p"`
		L   []inner           `json:"l"`
		M   map[string]int    `json:"m,omitempty"`
		Raw json.RawMessage   `json:"raw,omitempty"`
		O   map[string]string `json:"o,omitzero"`
	}
	const whole = `{"s":"x","b":true,"n":-5,"f":0.5,"p":null,"l":[{"kind":"a"}],"m":{"k":1},"raw":[1,{"z":null}]}`
	var out all
	if err := llm.Into(&out)([]byte(whole)); err != nil {
		t.Fatal(err)
	}
	if out.S != "x" || !out.B || out.N != -5 || out.F != 0.5 || out.P != nil || out.L[0].Kind != "a" ||
		out.M["k"] != 1 || string(out.Raw) != `[1,{"z":null}]` {
		t.Errorf("decoded %+v", out)
	}
	tests := []struct{ name, old, new, want string }{
		{"unknown", `"n":-5`, `"n":-5,"x":1`, "x: is not a field; the fields are s, b, n, f"},
		{"unknown below", `"kind":"a"`, `"kind":"a","more":1`, "l[0].more: is not a field"},
		{"letter case", `"s":"x"`, `"S":"x"`, "S: is not a field"},
		{"missing", `"s":"x",`, ``, `the field "s" is missing`},
		{"missing below", `{"kind":"a"}`, `{"kind":"a"},{}`, `l[1]: the field "kind" is missing`},
		{"duplicate", `"n":-5`, `"n":-5,"n":-5`, `the name "n" occurs twice`},
		{"string for number", `-5`, `"-5"`, "n: must be a number, found a string"},
		{"fraction", `-5`, `-5.5`, "n: must be a whole number"},
		{"range", `-5`, `300`, "n: is out of range"},
		{"null", `"x"`, `null`, "s: must be a string, found null"},
		{"null list", `[{"kind":"a"}]`, `null`, "l: must be an array, found null"},
		{"object for list", `[{"kind":"a"}]`, `{}`, "l: must be an array, found an object"},
		{"in a map", `{"k":1}`, `{"k":"v"}`, "m.k: must be a number"},
		{"trailing", `}]}`, `}]}]`, "something follows"},
		{"surrogate", `"x"`, `"\ud800"`, "half a surrogate pair"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			text := strings.Replace(whole, tt.old, tt.new, 1)
			if text == whole {
				t.Fatal("nothing was replaced")
			}
			v := all{S: "untouched"}
			err := llm.Into(&v)([]byte(text))
			if err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("got %v", err)
			}
			if v.S != "untouched" || v.L != nil {
				t.Errorf("decoded %+v", v)
			}
		})
	}
	for name, check := range map[string]func(json.RawMessage) error{
		"channel": llm.Into(new(struct {
			C chan int `json:"c"`
		})),
		"no tag": llm.Into(new(struct{ C int })),
		"map":    llm.Into(new(map[int]int)),
	} {
		if check([]byte(`{"c":1}`)) == nil {
			t.Errorf("%s: no error", name)
		}
	}
}

func TestKeys(t *testing.T) {
	dir := t.TempDir()
	file := func(name, text string, mode os.FileMode) string {
		path := dir + "/" + name
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Chmod(path, mode); err != nil {
			t.Fatal(err)
		}
		return path
	}
	env := func(name string) string {
		return map[string]string{"KEY": " abc ", "TWO": "abc def", "BAD": "abc\r\nX-Other: 1"}[name]
	}
	tests := []struct {
		name string
		key  func() (string, error)
		want string // "error: ..." for an error that says so
	}{
		{"environment", llm.KeyFromEnv(env, "KEY"), "abc"},
		{"not set", llm.KeyFromEnv(env, "NONE"), "error: environment variable NONE is empty"},
		{"two words", llm.KeyFromEnv(env, "TWO"), "error: must contain one line"},
		{"header injection", llm.KeyFromEnv(env, "BAD"), "error: must contain one line"},
		{"file", llm.KeyFromFile(file("good", "abc\n", 0o600)), "abc"},
		{"file for reading alone", llm.KeyFromFile(file("read", "abc\n", 0o400)), "abc"},
		{"readable by others", llm.KeyFromFile(file("open", "abc\n", 0o644)), "error: mode 0644"},
		{"readable by the group", llm.KeyFromFile(file("group", "abc\n", 0o640)), "error: chmod 600"},
		{"empty", llm.KeyFromFile(file("empty", "\n", 0o600)), "error: is empty"},
		{"large", llm.KeyFromFile(file("large", strings.Repeat("a", 9000), 0o600)), "error: too long"},
		{"binary", llm.KeyFromFile(file("binary", "ab\x00c", 0o600)), "error: must contain one line"},
		{"directory", llm.KeyFromFile(dir), "error: not a regular file"},
		{"missing", llm.KeyFromFile(dir + "/none"), "error: cannot be opened: no such file"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got, err := tt.key()
			want, wrong := strings.CutPrefix(tt.want, "error: ")
			switch {
			case !wrong && (err != nil || got != want):
				t.Errorf("got %q, %v", got, err)
			case wrong && (err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "abc")):
				t.Errorf("got %v", err)
			}
		})
	}
}

func TestBaseURL(t *testing.T) {
	tests := []struct {
		base  string
		allow bool
		want  string // part of the error
	}{
		{"https://api.example.com/v1", false, ""},
		{"http://localhost:11434/v1", false, ""},
		{"http://127.0.0.9:8080", false, ""},
		{"http://[::1]:8080", false, ""},
		{"http://gpu.lan:8080/v1", false, "plain http to another machine (gpu.lan)"},
		{"http://localhost.evil.example/v1", false, "plain http"},
		{"http://gpu.lan:8080/v1", true, ""},
		{"https://user:hunter2@api.example.com", false, "user or password"},
		{"https://api.example.com/v1?key=hunter2", false, "? or #"},
		{"https://api.example.com/v1#x", false, "? or #"},
		{"ftp://api.example.com", false, "such as"},
		{"api.example.com/v1", false, "such as"},
		{"https://", false, "such as"},
		{"http://%zz", false, "such as"},
	}
	for _, tt := range tests {
		err := llm.CheckBaseURL(tt.base, tt.allow)
		if (err == nil) != (tt.want == "") ||
			err != nil && (!strings.Contains(err.Error(), tt.want) || strings.Contains(err.Error(), "hunter2")) {
			t.Errorf("%s: got %v", tt.base, err)
		}
	}
}

func TestNewRefuses(t *testing.T) {
	_, err := llm.New(llm.Config{Provider: "openai", BaseURL: "http://far.example", Concurrency: -1,
		Headers: map[string][]string{"Authorization": {secret}, "X-Ok": {"a\nb"}}})
	for _, want := range []string{"plain http", "model is not set", "concurrency", "Authorization", "X-Ok", "clock is not set"} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q is not in %v", want, err)
		}
	}
	if err != nil && strings.Contains(err.Error(), secret) {
		t.Errorf("the key is in %v", err)
	}
}
