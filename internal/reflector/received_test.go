package reflector_test

import (
	"strings"
	"testing"

	"github.com/memsidecar/memsidecar/internal/memory"
	"github.com/memsidecar/memsidecar/internal/reflector/guard"
	"github.com/memsidecar/memsidecar/internal/store/journal"
)

// TestReflectIntoReceivedSpace: of a session in a space that is shared read-only nothing is learnt, each item says so,
// and the session with its log entries is kept.
func TestReflectIntoReceivedSpace(t *testing.T) {
	b := open(t, t.TempDir())
	b.received = true
	b.say("s1", append(user("I prefer tabs. We use Postgres 14."),
		calls("x", call("fetch_url", `{"url":"https://a.com"}`, "", ""))[1])...)
	res := b.reflect("s1")
	if len(res.Outcomes) != 3 || !strings.Contains(res.Note, "shared read-only") {
		t.Fatalf("%d outcomes, note %q; want three and the reason", len(res.Outcomes), res.Note)
	}
	for _, o := range res.Outcomes {
		if o.Status != journal.Rejected || o.Reason != guard.ReasonReadOnly {
			t.Errorf("outcome %+v", o)
		}
	}
	if got := b.contents(); len(got) != 0 {
		t.Errorf("learnt %q", got)
	}
	s, err := b.store.Space("p").Session("s1")
	if err != nil || s.State != memory.SessionReflected || s.Messages != 2 {
		t.Errorf("session %+v, %v", s, err)
	}
	if _, entries, err := b.store.Space("p").Log("2026-02-21"); err != nil || len(entries) != 2 {
		t.Errorf("log %+v, %v", entries, err)
	}
}
