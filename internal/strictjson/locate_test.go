package strictjson_test

import (
	"testing"

	"github.com/memsidecar/memsidecar/internal/strictjson"
)

func TestLocate(t *testing.T) {
	const text = "{\n  \"a\": [\n    {\"名\": \"值\", \"b\": 1},\n    {\"b\": [10,\n      20]}\n  ],\n  \"c\": {\"d\": null}\n}\n"
	for _, tt := range []struct {
		name, text, path string
		line, column     int
	}{
		{"a value", text, "a[0].b", 3, 21},
		{"within a list within a list", text, "a[1].b[1]", 5, 7},
		{"an object", text, "c", 7, 8},
		{"a name that is not there: what should hold it", text, "a[1].missing", 4, 5},
		{"an ordinal that is not there", text, "a[7].b", 2, 8},
		{"below a value that holds nothing", text, "c.d.e", 7, 14},
		{"nothing of it", text, "x.y", 1, 1},
		{"the whole", text, "", 1, 1},
		{"behind white space", "\n\n  {}", "x", 3, 3},
		{"as far as it can be read", "{\"a\": {\"b\": 1, \"c\" 2}}", "a.c", 1, 7},
		{"no text", "\xff", "a", 1, 1},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if line, column := strictjson.Locate([]byte(tt.text), tt.path); line != tt.line || column != tt.column {
				t.Errorf("at %d:%d, want %d:%d", line, column, tt.line, tt.column)
			}
		})
	}
}
