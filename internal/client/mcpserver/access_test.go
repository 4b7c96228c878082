package mcpserver_test

import (
	"fmt"
	"testing"
)

// TestAccessCountsOnce: a connection is a session, so however often it finds a memory and by whatever tool, that is one
// access, which a look at the memory shows at once.
func TestAccessCountsOnce(t *testing.T) {
	d := newTestDaemon(t)
	a := d.connectAgent(t, "")
	_, out := a.call(t, "memory_write", args{"content": "The staging gateway listens on port 8443.", "category": "facts"})
	id := out["id"]
	accesses := func() string {
		t.Helper()
		_, out := a.call(t, "memory_read", args{"ids": []any{id}})
		return fmt.Sprint(out["memories"].([]any)[0].(map[string]any)["accesses"])
	}
	for range 3 {
		if _, out := a.call(t, "memory_search", args{"query": "staging gateway port"}); len(out["memories"].([]any)) != 1 {
			t.Fatalf("found %v", out["memories"])
		}
		if n := accesses(); n != "1" {
			t.Errorf("%s accesses, want 1", n)
		}
	}
	d.connectAgent(t, "memory-tools").call(t, "MemorySearch", args{"query": "staging gateway port", "scope": "user"})
	if n := accesses(); n != "2" {
		t.Errorf("after another session %s accesses, want 2", n)
	}
}
