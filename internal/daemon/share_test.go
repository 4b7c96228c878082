package daemon

import (
	"strings"
	"testing"
	"time"

	"github.com/memsidecar/memsidecar/internal/rpc"
	"github.com/memsidecar/memsidecar/internal/share"
)

func TestShareSample(t *testing.T) {
	now := time.Date(2026, 2, 21, 10, 0, 0, 0, time.UTC)
	got := shareSample([]share.Status{
		{Space: "a"},
		{Space: "b", Waiting: 2, Oldest: now.Add(-time.Minute), Error: "no answer"},
		{Space: "c", Waiting: 3, Oldest: now.Add(-time.Hour), Error: "damaged", Stopped: true},
	}, now)
	if got.Spaces["ok"] != 1 || got.Spaces["failing"] != 1 || got.Spaces["stopped"] != 1 ||
		got.Waiting != 5 || got.Oldest != time.Hour {
		t.Errorf("%+v", got)
	}
}

// TestShareFindings: Doctor, and the panel with it, shows what `share status` does of fleets and of daily logs.
func TestShareFindings(t *testing.T) {
	at := time.Date(2026, 2, 21, 10, 0, 0, 0, time.UTC)
	for _, tt := range []struct {
		finding rpc.Finding
		level   rpc.Level
		want    string
	}{
		{shareFinding(&share.Status{Space: "a", Database: "db", Logs: true}, time.UTC), rpc.LevelOK,
			"space a is shared with db; 0 operations wait; its daily logs are shared"},
		{shareFinding(&share.Status{Space: "a", Database: "db", ReadOnly: true}, time.UTC), rpc.LevelOK,
			"space a is shared read-only with db: it is received and not changed here; its daily logs are not shared"},
		{shareFinding(&share.Status{Space: "a", Waiting: 2, Oldest: at, Error: "no answer"}, time.UTC), rpc.LevelWarn,
			"space a is not exchanged: no answer; 2 operations wait, the oldest since 2026-02-21"},
		{shareFinding(&share.Status{Space: "a", Waiting: 1, Oldest: at, Error: "no answer"}, time.UTC), rpc.LevelWarn,
			"space a is not exchanged: no answer; 1 operation waits, since 2026-02-21"},
		{fleetFinding(&share.FleetStatus{Database: "db", Open: 3, Waiting: 1, Bytes: 5 << 20, Limit: 1 << 30}), rpc.LevelOK,
			"this is a node of the fleet at db; 3 spaces are open; 1 operation waits; the open spaces take about 5 MiB of 1024 MiB"},
		{fleetFinding(&share.FleetStatus{Database: "db", Open: 1, Waiting: 2, Limit: 1 << 30}), rpc.LevelOK,
			"this is a node of the fleet at db; 1 space is open; 2 operations wait; the open spaces take about 0 MiB of 1024 MiB"},
		{fleetFinding(&share.FleetStatus{Database: "db", Failing: 2, Limit: 1 << 20, Error: "no answer"}), rpc.LevelWarn,
			"this is a node of the fleet at db; 0 spaces are open; 0 operations wait; the open spaces take about 0 MiB of 1 MiB; " +
				"the exchange of 2 of them fails or has stopped; the last space that was asked for could not be opened: no answer"},
	} {
		var pieces []string
		for _, text := range tt.finding.Detail {
			pieces = append(pieces, text.String())
		}
		if got := strings.Join(pieces, "; "); got != tt.want || tt.finding.Level != tt.level {
			t.Errorf("%v %q; want %v %q", tt.finding.Level, got, tt.level, tt.want)
		}
	}
}
