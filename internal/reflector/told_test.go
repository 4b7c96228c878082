package reflector

import (
	"fmt"
	"strings"
	"testing"

	"github.com/memsidecar/memsidecar/internal/memory"
)

// BenchmarkRefusal is one reflection's check of 20 proposals against a page of 2 MB.
func BenchmarkRefusal(b *testing.B) {
	var page strings.Builder
	for i := 0; page.Len() < 2<<20; i++ {
		fmt.Fprintf(&page, "The ferry number %d leaves the harbour of the old town at nine on every day of week %d.\n",
			i, i%53)
	}
	messages := []*memory.Message{
		{Role: "user", Content: "Read the page."},
		{Role: "tool", Tool: &memory.ToolCall{Name: "fetch_url", Result: page.String()}},
	}
	b.ReportAllocs()
	for b.Loop() {
		r := &planner{in: Input{Messages: messages}}
		for i := range 20 {
			text := fmt.Sprintf("The user has an account with the bank number %d and likes it. ", i)
			m := &memory.Memory{Content: strings.Repeat(text, 4)}
			if why := r.refusal(m); why != "" {
				b.Fatal(why)
			}
		}
	}
}
