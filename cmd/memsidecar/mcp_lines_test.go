package main

import (
	"bufio"
	"io"
	"strings"
	"testing"
	"testing/iotest"
)

// TestMCPLines: what is no JSON gets an answer of its own, and the rest goes on, however the bytes arrive.
func TestMCPLines(t *testing.T) {
	const in = "{\"id\":1}\nnot json\n\n{\"id\":2,\n  {\"id\":3}  \n\xff\n[{\"id\":4}]\n{\"id\":5}"
	for name, r := range map[string]io.Reader{"at once": strings.NewReader(in), "byte by byte": iotest.OneByteReader(strings.NewReader(in))} {
		var out strings.Builder
		got, err := io.ReadAll(&mcpLines{in: bufio.NewReader(r), out: &out})
		if want := "{\"id\":1}\n{\"id\":3}\n[{\"id\":4}]\n{\"id\":5}\n"; err != nil || string(got) != want {
			t.Errorf("%s: passed on %q, %v, want %q", name, got, err, want)
		}
		if out.String() != strings.Repeat(parseError, 3) {
			t.Errorf("%s: answered %q", name, out.String())
		}
	}
}
