package redact_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/memsidecar/memsidecar/internal/memtest"
	"github.com/memsidecar/memsidecar/internal/redact"
)

// TestMembers: the name of a member of a model's reply makes no secret harmless.
func TestMembers(t *testing.T) {
	for _, s := range memtest.Secrets(7, 200) {
		for _, name := range []string{"summary", "history", "title", "content", "why"} {
			text, err := json.Marshal("It was said: " + s.Text)
			if err != nil {
				t.Fatal(err)
			}
			reply := fmt.Sprintf(`{"category":"facts",%q:%s,"salience":0.5}`, name, text)
			if clean, _ := redact.Text(reply); strings.Contains(clean, s.Value) {
				t.Errorf("%q stays in %s", s.Value, clean)
			}
		}
	}
}
