package guard_test

import (
	"testing"

	"github.com/memsidecar/memsidecar/internal/reflector/guard"
)

func TestSource(t *testing.T) {
	source := guard.NewSource("Mei moved the API of harbour-2 to port 8460, using PostgreSQL. 小美把《时刻表》移到了第十五号泊位")
	for _, tt := range []struct {
		text string
		want bool
	}{
		{"Mei moved the API to port 8460.", false},
		{"The APIs of harbour-2 use postgresql.", false},
		{"Moved to port 8461.", true},
		{"Two APIs moved.", true},
		{"Then Ivan moved it.", true},
		{"Ivan moved it.", true},
		{"Team decided to move it.", true},
		{"Moving the API went on. Work on it ended. The rest of harbour-2 was moved.", false},
		{"Work on the API ended.", false},
		{"harbour-3 was moved.", true},
		{"小美移动了《时刻表》，15 号泊位", false},
		{"小美移动了《手册》", true},
		{"十六号泊位", true},
	} {
		if got := source.FindUnsupported(tt.text); (got != "") != tt.want {
			t.Errorf("%q: invented %q, want some: %v", tt.text, got, tt.want)
		}
	}
	for text, want := range map[string]bool{"It did not fail": true, "It failed": false, "没有失败": true, "特别好": false} {
		if guard.Negates(text) != want {
			t.Errorf("%q negates: %v", text, !want)
		}
	}
}
