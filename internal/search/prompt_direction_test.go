package search_test

import (
	"testing"

	"github.com/memsidecar/memsidecar/internal/search"
)

// TestPromptDirection orders prompts that the fit did not see: those that need a memory come before those that do not.
func TestPromptDirection(t *testing.T) {
	e5 := search.InsideModels(t)[0]
	for _, c := range []struct{ needs, unrelated string }{
		{"which branch do we cut releases from", "what is a release branch"},
		{"order flowers for my wife's birthday", "who wrote Faust"},
		{"pack my bag for the weekend trip", "write a haiku about rain"},
		{"set the retry limit the way we agreed", "explain exponential backoff to a child"},
		{"我们的发布分支叫什么", "什么是发布分支"},
		{"给我老婆订束生日花", "《浮士德》是谁写的"},
		{"按我们商量好的设置重试次数", "给小朋友解释一下指数退避"},
	} {
		if a, b := search.NeedsMemory(t, e5, c.needs), search.NeedsMemory(t, e5, c.unrelated); a <= b {
			t.Errorf("%q has %.3f, no more than %q with %.3f", c.needs, a, c.unrelated, b)
		}
	}
}
