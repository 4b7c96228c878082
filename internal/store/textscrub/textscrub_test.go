package textscrub_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/memsidecar/memsidecar/internal/store/textscrub"
)

func TestReplace(t *testing.T) {
	many := []string{"aaaa1", "bbbb2", "cccc3", "dddd4", "eeee5", "café au"}
	for _, tt := range []struct {
		name  string
		texts []string
		in    string
		want  string
	}{
		{"as it stands", []string{"secret"}, "the secret and the secret.", "the [purged] and the [purged]."},
		{"not there", []string{"secret"}, "Secret", "Secret"},
		{"longest first", []string{"port 84", "port 8443"}, "port 8443", "[purged]"},
		{"Chinese", []string{"东方航空"}, "用户偏好东方航空。", "用户偏好[purged]。"},
		{"escaped letters", []string{"café au"}, `say caf\u00e9 au lait`, `say [purged] lait`},
		{"escaped newline and quote", []string{"one\n\"two\""}, `{"a":"one\n\"two\"!"}`, `{"a":"[purged]!"}`},
		{"escaped twice", []string{"caf\u00e9\nau"}, `"{\"a\":\"caf\\u00e9\\nau\"}"`, `"{\"a\":\"[purged]\"}"`},
		{"surrogates", []string{"go 🚀 now"}, `go \ud83d\ude80 now`, `[purged]`},
		{"half a surrogate stays", []string{"nothing"}, `\ud83d nothing`, `\ud83d [purged]`},
		{"many texts", many, `x dddd4 caf\u00e9 au y`, `x [purged] [purged] y`},
		{"many texts, none", many, "aaaa2 bbbb1", "aaaa2 bbbb1"},
		{"a mark that makes a new occurrence", []string{"abcd", "ged] x"}, "abcd x", "[pur[purged]"},
		{"a mark that makes another with its neighbour", []string{"abcd", "]abc", "[pur"}, "abcdabc",
			"[purged[purged]"},
		{"too short to look for", []string{"abc"}, "abc", "abc"},
		{"part of the mark", []string{"purged"}, "[purged]", "[purged]"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			texts := textscrub.New(tt.texts)
			got, changed := texts.Replace(tt.in)
			if got != tt.want || changed != (tt.in != tt.want) {
				t.Errorf("Replace(%q) = %q, %v, want %q", tt.in, got, changed, tt.want)
			}
			if again, changed := texts.Replace(got); changed || again != got {
				t.Errorf("a second time: %q, %v", again, changed)
			}
		})
	}
}

func TestJSON(t *testing.T) {
	texts := textscrub.New([]string{"canary", "5551234", "<a&b>"})
	for _, tt := range []struct{ name, in, want string }{
		{"strings", `{"a":"the canary","b":["canary",1]}`, `{"a":"the [purged]","b":["[purged]",1]}`},
		{"numbers", `{"phone":15551234.0,"n":555}`, `{"phone":"[purged]","n":555}`},
		{"names", `{"canary":1,"b":{"canary":2}}`, `{"[purged]":1,"b":{"[purged] 2":2}}`},
		{"escaped", `{"a":"\u003ca\u0026b\u003e c\u0061nary"}`, `{"a":"[purged] [purged]"}`},
		{"JSON in JSON", `{"a":"{\"b\":\"c\\u0061nary\"}"}`, `{"a":"{\"b\":\"[purged]\"}"}`},
		{"untouched", `{ "a" : 1.50e3 }`, `{ "a" : 1.50e3 }`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got, _ := texts.JSON(json.RawMessage(tt.in))
			if diff := cmp.Diff(tt.want, string(got)); diff != "" {
				t.Error(diff)
			}
			if !json.Valid(got) {
				t.Error("is not JSON")
			}
		})
	}
}

func TestIn(t *testing.T) {
	text := "Zoë's \"key\"\n🚀 <b>"
	texts := textscrub.New([]string{text})
	once, _ := json.Marshal(text)
	twice, _ := json.Marshal(string(once))
	var ascii strings.Builder
	for _, r := range text {
		if r > 0xffff {
			ascii.WriteString(`\uD83D\uDE80`)
			continue
		}
		fmt.Fprintf(&ascii, `\u%04x`, r)
	}
	for name, data := range map[string]string{"raw": "x" + text + "y", "once": string(once), "twice": string(twice),
		"every character": ascii.String()} {
		if !texts.Match([]byte(data)) {
			t.Errorf("%s: not found in %s", name, data)
		}
	}
	if texts.Match([]byte("Zoe's key")) {
		t.Error("found what is not there")
	}
	if (textscrub.Texts{}).Match([]byte("anything")) {
		t.Error("nothing was found")
	}
}

// FuzzReplace requires that no text is left in any form, that the second time changes nothing, and that JSON stays
// JSON.
func FuzzReplace(f *testing.F) {
	f.Add("secret", "the secret", `{"a":"the s\u0065cret"}`)
	f.Add("ged] x", "[purged] x", `[1,2]`)
	f.Add(`a\"b\`, `a\\\"b\\`, `{"a\\\"b\\":1}`)
	f.Fuzz(func(t *testing.T, text, s, raw string) {
		texts := textscrub.New([]string{text, "other"})
		got, changed := texts.Replace(s)
		if texts.Match([]byte(got)) || changed != (got != s) {
			t.Fatalf("Replace(%q) = %q, %v", s, got, changed)
		}
		if !json.Valid([]byte(raw)) || len(raw) > 0 && raw[0] != '{' {
			return
		}
		clean, changed := texts.JSON(json.RawMessage(raw))
		if changed && (texts.Match(clean) || !json.Valid(clean)) {
			t.Fatalf("JSON(%q) = %q", raw, clean)
		}
	})
}
