package agentstate_test

import (
	"strings"
	"testing"
	"time"

	"github.com/memsidecar/memsidecar/internal/memory/agentstate"
)

func TestDateTime(t *testing.T) {
	at := time.Date(2026, 2, 22, 9, 5, 0, 0, time.UTC)
	for chinese, want := range map[bool]string{false: "Sunday, February 22, 2026 09:05", true: "2026年2月22日 星期日 09:05"} {
		if got := agentstate.DateTime(at, chinese); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

// TestIntro: the name of the state is the same in both languages, as agents are told of it.
func TestIntro(t *testing.T) {
	for _, chinese := range []bool{false, true} {
		if !strings.HasPrefix(agentstate.Intro(chinese), "Current agent state") {
			t.Errorf("it begins %q", agentstate.Intro(chinese))
		}
	}
}
