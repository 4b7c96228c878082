package main

import (
	"strings"
	"testing"
	"time"
)

// TestVisible: nothing that a terminal obeys or hides gets through, and texts of every script stay as they are.
func TestVisible(t *testing.T) {
	for _, tt := range []struct {
		in                string
		colours, terminal bool
		want              string
	}{
		{"plain\ttext\n", true, true, "plain\ttext\n"},
		{"中文 عربي עברית 👩‍💻 café\u0301", true, true, "中文 عربي עברית 👩‍💻 café\u0301"},
		{"\x1b]0;title\x07", false, false, `\u001b]0;title\u0007`},
		{"\x1b[31mred\x1b[0m", true, true, "\x1b[31mred\x1b[0m"},
		{"\x1b[31mred\x1b[0m", false, true, `\u001b[31mred\u001b[0m`},
		{"\x1b[8mhidden\x1b[2J", true, true, `\u001b[8mhidden\u001b[2J`},
		{"a\u202eb\u2066c\u200fd", false, true, `a\u202eb\u2066c\u200fd`},
		{"a\u202eb", false, false, "a\u202eb"}, // another program may want it
		{"x\U000e0041y", false, true, `x\U000e0041y`},
		{"\u009b31m\r\x00\x7f", false, false, `\u009b31m\u000d\u0000\u007f`},
		{"\xff\x1b", false, true, "\ufffd" + `\u001b`},
	} {
		if got := visible(tt.in, tt.colours, tt.terminal); got != tt.want {
			t.Errorf("visible(%q, %v, %v) = %q, want %q", tt.in, tt.colours, tt.terminal, got, tt.want)
		}
	}
}

// TestOutputIsVisible: every way to print for people goes through visible.
func TestOutputIsVisible(t *testing.T) {
	const evil = "\x1b]0;x\x07"
	var out, errs strings.Builder
	o := newOutput(&out, &errs, func(string) string { return "" }, time.Now)
	o.printf("%s", evil)
	o.table([]string{"HOST", "X"}, [][]string{{evil, evil}})
	o.fields([][2]string{{"host", evil}})
	o.note("%s", evil)
	o.fail(&cliError{what: evil, hint: evil, code: exitError})
	if got := out.String() + errs.String(); strings.ContainsAny(got, "\x1b\x07") || strings.Count(got, `\u001b`) != 7 {
		t.Errorf("printed %q", got)
	}
}
