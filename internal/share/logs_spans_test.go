package share

import (
	"slices"
	"testing"

	"github.com/memsidecar/memsidecar/internal/share/pglog"
)

// TestLogSpans: the ranges in which daily logs were shared are kept as long as something of them may wait to be sent.
func TestLogSpans(t *testing.T) {
	t.Parallel()
	var l *logs
	for i := range int64(100) { // on and off again, and everything but the newest range is sent
		l = l.switched(true, 10*i, 10*i-6, pglog.Space{})
		l = l.switched(false, 10*i+5, 10*i-6, pglog.Space{})
	}
	if want := []logSpan{{980, 985}, {990, 995}}; !slices.Equal(l.Sent, want) {
		t.Errorf("ranges: %v; want %v", l.Sent, want)
	}
	for op, want := range map[int64]bool{980: false, 981: true, 985: true, 986: false, 995: true, 996: false} {
		if l.sends(op) != want {
			t.Errorf("the entries of operation %d are sent: %v", op, !want)
		}
	}
	if l.on() || !l.switched(true, 1000, 1000, pglog.Space{}).on() {
		t.Error("logs are on when they were switched off, or the reverse")
	}
}
