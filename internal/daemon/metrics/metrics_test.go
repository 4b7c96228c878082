package metrics_test

import (
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/memsidecar/memsidecar/internal/daemon/metrics"
)

func sample() metrics.Sample {
	return metrics.Sample{
		Active: map[string]int64{"facts": 3, "preferences": 1}, Spaces: map[string]int64{"default": 4},
		Status:          map[string]int64{"active": 4, "retired": 2},
		AverageSalience: 0.75, SessionsWaiting: 2, RecordsToIndex: 5, JournalBytes: 4096, JournalSyncs: 7, LSN: 11,
		Written:      map[string]int64{"journal": 300, "memory.json": 8192},
		Publications: []metrics.Publication{{Kind: "memory.json", Pending: 1, Lag: 1500 * time.Millisecond}},
		Share:        metrics.Share{Spaces: map[string]int64{"ok": 2, "stopped": 1}, Waiting: 6, Oldest: time.Minute},
		Jobs:         []metrics.Job{{Name: "archive", Failures: 1}},
		Caches:       []metrics.Cache{{Name: "session_context", Hits: 9, Misses: 1}},
	}
}

func get(t *testing.T, h http.Handler, target, host string) (int, string) {
	t.Helper()
	req := httptest.NewRequestWithContext(t.Context(), http.MethodGet, target, nil)
	req.Host = host
	rec := httptest.NewRecorder()
	h.ServeHTTP(rec, req)
	return rec.Code, rec.Body.String()
}

func TestMetrics(t *testing.T) {
	m := metrics.New("v1.2.3", sample, func() error { return nil })
	m.Observe("/memsidecar.v1.MemoryService/Add", "OK", 3*time.Millisecond)
	m.Observe("/memsidecar.v1.MemoryService/Add", "NotFound", time.Second)
	code, body := get(t, m.Handler(true), "/metrics", "localhost:9464")
	if code != http.StatusOK {
		t.Fatalf("status %d: %s", code, body)
	}
	for _, want := range []string{
		`memsidecar_info{version="v1.2.3"} 1`,
		`memsidecar_calls_total{code="OK",method="MemoryService/Add"} 1`,
		`memsidecar_calls_total{code="NotFound",method="MemoryService/Add"} 1`,
		`memsidecar_call_duration_seconds_bucket{method="MemoryService/Add",le="0.005"} 1`,
		`memsidecar_call_duration_seconds_count{method="MemoryService/Add"} 2`,
		`memsidecar_memories{category="facts"} 3`,
		`memsidecar_space_memories{space="default"} 4`,
		`memsidecar_status_memories{status="retired"} 2`,
		`memsidecar_average_salience 0.75`,
		`memsidecar_sessions_waiting 2`,
		`memsidecar_index_backlog 5`,
		`memsidecar_journal_bytes 4096`,
		`memsidecar_journal_syncs_total 7`,
		`memsidecar_written_bytes_total{file="memory.json"} 8192`,
		`memsidecar_publication_lag_seconds{kind="memory.json"} 1.5`,
		`memsidecar_share_spaces{state="stopped"} 1`,
		`memsidecar_share_waiting 6`,
		`memsidecar_share_oldest_waiting_seconds 60`,
		`memsidecar_job_failures{job="archive"} 1`,
		`memsidecar_cache_requests_total{cache="session_context",result="hit"} 9`,
		`memsidecar_read_only 0`,
		`go_goroutines `,
	} {
		if !strings.Contains(body, "\n"+want) {
			t.Errorf("there is no %s", want)
		}
	}
}

func TestHealth(t *testing.T) {
	var broken error
	m := metrics.New("v", sample, func() error { return broken })
	for _, tt := range []struct {
		path, host string
		broken     error
		code       int
	}{
		{"/healthz", "localhost", nil, 200},
		{"/healthz", "localhost", errors.New("read-only"), 200},
		{"/readyz", "127.0.0.1:9464", nil, 200},
		{"/readyz", "[::1]:9464", errors.New("read-only"), 503},
		{"/metrics", "evil.example:9464", nil, 403},
		{"/metrics", "localhost.evil.example", nil, 403},
		{"/nothing", "localhost", nil, 404},
	} {
		t.Run(fmt.Sprint(tt.path, tt.host, tt.broken), func(t *testing.T) {
			broken = tt.broken
			code, body := get(t, m.Handler(true), tt.path, tt.host)
			if code != tt.code || tt.code == 503 && !strings.Contains(body, "read-only") {
				t.Errorf("status %d, want %d: %s", code, tt.code, body)
			}
		})
	}
	if code, _ := get(t, m.Handler(false), "/healthz", "any-name-on-a-socket"); code != 200 {
		t.Errorf("over a Unix socket: status %d", code)
	}
}

// TestManyCategories makes more categories than may be labels: the largest have their own, all are counted.
func TestManyCategories(t *testing.T) {
	m := metrics.New("v", func() metrics.Sample {
		s := metrics.Sample{Active: map[string]int64{}}
		for i := range 200 {
			s.Active[fmt.Sprintf("category-%03d", i)] = int64(i + 1)
		}
		return s
	}, func() error { return nil })
	_, body := get(t, m.Handler(false), "/metrics", "")
	if n := strings.Count(body, "\nmemsidecar_memories{"); n != 51 {
		t.Errorf("%d series, want 51", n)
	}
	for _, want := range []string{`{category="category-199"} 200`, `{category="other"} 11325`} {
		if !strings.Contains(body, want) {
			t.Errorf("there is no %s", want)
		}
	}
}

func TestCheckAddress(t *testing.T) {
	for addr, ok := range map[string]bool{
		"/run/user/1000/m.sock": true, "127.0.0.1:9464": true, "[::1]:9464": true, "localhost:9464": true,
		"127.1.2.3:0":  true,
		"0.0.0.0:9464": false, ":9464": false, "192.168.0.1:9464": false, "example.com:9464": false, "m.sock": false,
		"": false, "127.0.0.1": false,
	} {
		if err := metrics.CheckAddress(addr); (err == nil) != ok {
			t.Errorf("%q: %v", addr, err)
		}
	}
}
