package daemon

import (
	"testing"
	"time"

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
