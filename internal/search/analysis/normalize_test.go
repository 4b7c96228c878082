package analysis_test

import (
	"testing"

	"golang.org/x/text/unicode/norm"

	"github.com/memsidecar/memsidecar/internal/search/analysis"
)

// Whatever stands next to it, a text is normalised as NFKC does it.
func TestNormalizeIsNFKC(t *testing.T) {
	beside := []string{"", "a", "部", "，", "\u0301", "\u3099", "ﾞ", "é"}
	for r := rune(0x80); r <= 0xffff; r++ {
		if r > 0x33ff && r < 0x4df0 || r > 0x4e10 && r < 0x9ff0 || r > 0xa010 && r < 0xf900 {
			continue
		}
		for _, b := range beside {
			for _, s := range []string{string(r) + b, b + string(r)} {
				if got, want := analysis.Normalize(s), norm.NFKC.String(s); got != want {
					t.Fatalf("%+q becomes %+q, want %+q", s, got, want)
				}
			}
		}
	}
	for _, s := range []string{"部署\xff，", "\xef\xbc", "，\xe4"} {
		if got, want := analysis.Normalize(s), norm.NFKC.String(s); got != want {
			t.Errorf("%q becomes %q, want %q", s, got, want)
		}
	}
}
