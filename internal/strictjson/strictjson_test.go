package strictjson_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/memsidecar/memsidecar/internal/strictjson"
)

// Any string is written so that encoding/json and this package read the same back, and readable characters are not
// escaped.
func TestStrings(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		want := rapid.String().Draw(t, "text")
		written := strictjson.AppendString(nil, want)
		var standard string
		if err := json.Unmarshal(written, &standard); err != nil || standard != want {
			t.Fatalf("encoding/json reads %q of %s, %v", standard, written, err)
		}
		escaped, err := json.Marshal(want) // escapes more
		if err != nil {
			t.Fatal(err)
		}
		for _, text := range [][]byte{written, escaped} {
			d, err := strictjson.NewDecoder(text)
			if err != nil {
				t.Fatal(err)
			}
			if got, err := d.String(); err != nil || got != want || d.End() != nil {
				t.Fatalf("read %q of %s, %v", got, text, err)
			}
		}
	})
	if got := string(strictjson.AppendString(nil, "<喜>& \u2028\x00\xff")); got != "\"<喜>& \u2028\\u0000\uFFFD\"" {
		t.Errorf("got %s", got)
	}
}

// What is accepted is a part of what encoding/json accepts.
func TestCheck(t *testing.T) {
	names := func(n int, more string) string {
		var b strings.Builder
		for i := range n {
			fmt.Fprintf(&b, `"k%d":%d,`, i, i)
		}
		return "{" + b.String() + more + "}"
	}
	for _, tt := range []struct {
		in string
		ok bool
	}{
		{`{}`, true}, {` [ ] `, true}, {`-0.5e-3`, true}, {`"\u00e9\ud83d\ude00\/"`, true}, {`{"a":{"b":1},"b":{"b":1}}`, true}, {names(100, `"z":1`), true},
		{``, false}, {`nul`, false}, {`nullx`, false}, {`[1 2]`, false}, {`[,1]`, false}, {`[1,]`, false}, {`{"a" 1}`, false}, {`{a:1}`, false}, {`-`, false},
		{`1.`, false}, {`.5`, false}, {`+1`, false}, {`1e`, false}, {`00`, false}, {`"\x"`, false}, {`"\u12g4"`, false}, {`"\ud83d\u0041"`, false}, {`"\ude00"`, false},
		{"\"\t\"", false}, {`"a`, false}, {`{"a":1`, false}, {`[`, false}, {names(100, `"k3":1`), false}, {names(100, `"z":1,"z":2`), false}, {"\"\xff\"", false},
	} {
		err := strictjson.Check([]byte(tt.in))
		if (err == nil) != tt.ok {
			t.Errorf("%.40s: %v", tt.in, err)
		}
		if err == nil && !json.Valid([]byte(tt.in)) {
			t.Errorf("%.40s: accepted what is not JSON", tt.in)
		}
	}
}

type failing struct{}

var errFull = errors.New("full")

func (failing) Write([]byte) (int, error) { return 0, errFull }

func TestEncoder(t *testing.T) {
	script := func(e *strictjson.Encoder) error {
		e.Begin('{')
		e.Field("list")
		e.Begin('[')
		for range 3 {
			e.Item()
			e.BeginInline('{')
			e.Field("a")
			e.Strings([]string{"x", "y"})
			e.Field("b")
			e.Float(0.5)
			e.End('}')
		}
		e.End(']')
		e.Field("none")
		e.Begin('[')
		e.End(']')
		e.End('}')
		return e.Close()
	}
	var b bytes.Buffer
	if err := script(strictjson.NewEncoder(&b)); err != nil {
		t.Fatal(err)
	}
	line := `    {"a": ["x", "y"], "b": 0.5}`
	want := "{\n  \"list\": [\n" + line + ",\n" + line + ",\n" + line + "\n  ],\n  \"none\": []\n}\n"
	if b.String() != want {
		t.Errorf("got\n%swant\n%s", b.String(), want)
	}
	if err := script(strictjson.NewEncoder(failing{})); !errors.Is(err, errFull) {
		t.Errorf("got %v", err)
	}
}
