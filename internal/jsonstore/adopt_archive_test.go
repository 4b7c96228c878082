package jsonstore_test

import (
	"testing"

	"github.com/memsidecar/memsidecar/internal/memtest"
	"github.com/memsidecar/memsidecar/internal/store/durable/crashfs"
)

// TestAdoptArchive: what is left of deleted logs comes along with a directory; the operations, which belonged to
// its journal, do not.
func TestAdoptArchive(t *testing.T) {
	fsys := crashfs.New()
	write(t, fsys, "logs/archive.json", `{"version":1,"logs":[{"id":"2026-01-03","date":"2026-01-03","entries":3,"summary":"quiet",
		"archived_at":"2026-02-02T09:00:00Z","archive_operation":7,"deleted_at":"2026-03-04T09:00:00Z","delete_operation":9}],"revision":9}`)
	st := memtest.OpenStore(t, fsys)
	adopt(t, st, fsys)
	got := st.Space("").ArchivedOn("2026-01-03")
	if len(got) != 1 || got[0].Summary != "quiet" || got[0].Entries != 3 || !got[0].Deleted() || got[0].Op != 0 || got[0].DeletedOp != 0 {
		t.Errorf("adopted %+v", got)
	}
}
