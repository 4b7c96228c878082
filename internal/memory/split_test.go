package memory_test

import (
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"github.com/memsidecar/memsidecar/internal/memory"
)

func TestSplit(t *testing.T) {
	full := strings.Repeat("字", memory.MaxContent)
	for _, tt := range []struct {
		name, text string
		want       []string
	}{
		{"short", "a", []string{"a"}},
		{"blank", " ", []string{" "}},
		{"just fits", full, []string{full}},
		{"one more", full + "x", []string{full, "x"}},
		{"only blanks beyond", full + " \n", []string{full}},
		{"at a line", full[:3*7500] + "\n" + full[:3*600], []string{full[:3*7500] + "\n", full[:3*600]}},
		{"at a word", full[:3*7500] + " " + full[:3*600], []string{full[:3*7500] + " ", full[:3*600]}},
		{"a line too far back", full[:3*100] + "\n" + full, []string{full[:3*100] + "\n" + full[:3*7899], full[:3*101]}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got := memory.SplitContent(tt.text)
			if diff := cmp.Diff(lengths(tt.want), lengths(got)); diff != "" || strings.Join(got, "") != strings.Join(tt.want, "") {
				t.Errorf("characters of the parts (-want +got):\n%s", diff)
			}
		})
	}
}

func lengths(list []string) (n []int) {
	for _, s := range list {
		n = append(n, utf8.RuneCountInString(s))
	}
	return n
}
