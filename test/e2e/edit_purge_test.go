package e2e_test

import (
	"bytes"
	"os"
	"strings"
	"testing"

	pb "github.com/memsidecar/memsidecar/gen/memsidecar/v1"
)

// An edit that was just saved is erased from the store too; one that waits is not erased with all it holds.
func TestPurgeOfAnEditedFile(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	data := appended(t, d.published(), "the canary sings")
	d.write(d.file, data)
	d.Succeeds(t, "memory", "purge", "--text", "canary sings", "--yes")
	if got, _ := os.ReadFile(d.file); bytes.Contains(got, []byte("canary sings")) {
		t.Error("the text is still published")
	}
	if got := values(d.contents()); strings.Contains(strings.Join(got, "\n"), "canary sings") || len(got) < 5 {
		t.Errorf("after the purge: %q", got)
	}

	d.published("m5")
	d.write(d.file, append(appended(t, d.published(), "the canary sings"), "}}"...))
	id := d.waiting("refused")
	if out := d.Fails(t, 1, "memory", "purge", "--text", "canary sings", "--yes"); !strings.Contains(out,
		"memory.json") {
		t.Errorf("refused with %s", out)
	}
	d.Succeeds(t, "edits", "reject", id)
	d.Succeeds(t, "memory", "purge", "--text", "canary sings", "--yes")
	if out := d.Succeeds(t, "memory", "purge", "--text", "canary sings", "--dry-run", "--json"); strings.Contains(out,
		`"count"`) {
		t.Errorf("the text is still found: %s", out)
	}
	if _, err := d.client.Get(t.Context(), &pb.MemoryServiceGetRequest{Ids: []string{"m1", "m5"}}); err != nil {
		t.Error(err)
	}
}
