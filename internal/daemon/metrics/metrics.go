// Package metrics serves the state of the daemon over HTTP, to Prometheus and to people. It knows numbers
// and names of methods, jobs, spaces and categories, and no text of any memory. What the numbers are comes from the
// daemon, which is asked when somebody looks.
package metrics

import (
	"cmp"
	"fmt"
	"maps"
	"net"
	"net/http"
	"net/netip"
	"slices"
	"strings"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"
)

// maxLabels bounds the values of a label that users choose: each is a series that somebody keeps. The rest counts as
// "other".
const maxLabels = 50

// Sample is how the daemon does at one moment.
type Sample struct {
	Active          map[string]int64 // active memories by category
	Status          map[string]int64 // memories by state
	Spaces          map[string]int64 // active memories by space
	AverageSalience float64          // of the active memories, 0 to 1
	Accesses        int64            // of the active memories, in all
	LogEntries      int64            // in daily logs

	SessionsWaiting int // ended and not reflected
	EditsWaiting    int // for a person
	ReviewsWaiting  int // proposals for a person
	VectorsWaiting  int // memories without a vector yet
	RecordsToIndex  int // that searches would index first

	LSN             int64 // newest durable position
	JournalBytes    int64 // of the segments kept
	JournalSegments int
	JournalSyncs    int64 // since the start
	// Written is how many bytes were written to files since the start, by kind of file.
	Written map[string]int64

	Publications []Publication
	Share        Share
	Jobs         []Job
	Caches       []Cache
	ReadOnly     bool
	Paused       bool
}

// Publication is how far published files are behind.
type Publication struct {
	Kind    string        // memory.json or logs
	Pending int           // files that something newer is to be written to
	Failed  int           // files that could not be written last time
	Lag     time.Duration // since the oldest change that is not published
}

// Fleet is how a node of a fleet opens spaces.
type Fleet struct {
	Open, Bytes, Opened, Dropped int64
}

// Share is how the exchange of shared spaces goes.
type Share struct {
	Spaces  map[string]int64 // shared spaces by state: ok, failing, stopped
	Waiting int64            // operations that are not sent yet
	Oldest  time.Duration    // age of the oldest of them
	Fleet   *Fleet           // nil when the daemon is not a node of one
}

// Job is a periodic job.
type Job struct {
	Name     string
	Failures int // since the last success
}

// Cache counts what a cache was asked since the start.
type Cache struct {
	Name         string
	Hits, Misses int64
}

// Metrics collects and serves. It is safe for concurrent use.
type Metrics struct {
	registry *prometheus.Registry
	took     *prometheus.HistogramVec
	calls    *prometheus.CounterVec
	ready    func() error
}

// New returns Metrics that ask sample for the state and ready for whether the daemon can do everything; its error
// says what it cannot.
func New(version string, sample func() Sample, ready func() error) *Metrics {
	m := &Metrics{
		registry: prometheus.NewRegistry(), ready: ready,
		took: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name: "memsidecar_call_duration_seconds", Help: "Time that calls took, by method.",
			Buckets: []float64{.0001, .00025, .0005, .001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10, 30},
		}, []string{"method"}),
		calls: prometheus.NewCounterVec(prometheus.CounterOpts{Name: "memsidecar_calls_total",
			Help: "Calls answered, by method and status."}, []string{"method", "code"}),
	}
	info := prometheus.NewGauge(prometheus.GaugeOpts{Name: "memsidecar_info",
		Help: "1; the label says which version runs.", ConstLabels: prometheus.Labels{"version": version}})
	info.Set(1)
	m.registry.MustRegister(m.took, m.calls, info, collector(sample),
		collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	return m
}

// Observe counts a call. The method is its full name, /memsidecar.v1.MemoryService/Add.
func (m *Metrics) Observe(method, code string, took time.Duration) {
	method = strings.TrimPrefix(method[strings.LastIndex(method[:strings.LastIndex(method, "/")+1], ".")+1:], "/")
	m.took.WithLabelValues(method).Observe(took.Seconds())
	m.calls.WithLabelValues(method, code).Inc()
}

// Handler serves /metrics, /healthz (the daemon answers) and /readyz (it can do everything; else 503 and why). With
// tcp, requests that came by another name than that of this machine itself are refused: a page in a browser must not
// read this by a name of its own.
func (m *Metrics) Handler(tcp bool) http.Handler {
	mux := http.NewServeMux()
	mux.Handle("GET /metrics", promhttp.HandlerFor(m.registry,
		promhttp.HandlerOpts{ErrorHandling: promhttp.ContinueOnError, MaxRequestsInFlight: 4}))
	mux.HandleFunc("GET /healthz", func(w http.ResponseWriter, _ *http.Request) { say(w, http.StatusOK, "ok") })
	mux.HandleFunc("GET /readyz", func(w http.ResponseWriter, _ *http.Request) {
		if err := m.ready(); err != nil {
			say(w, http.StatusServiceUnavailable, err.Error())
			return
		}
		say(w, http.StatusOK, "ok")
	})
	if !tcp {
		return mux
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !isLoopback(r.Host) {
			say(w, http.StatusForbidden, "ask for localhost")
			return
		}
		mux.ServeHTTP(w, r)
	})
}

// say answers in plain text.
func say(w http.ResponseWriter, code int, text string) {
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	w.WriteHeader(code)
	fmt.Fprintln(w, text)
}

// isLoopback reports whether a host, with or without a port, is this machine itself.
func isLoopback(host string) bool {
	if h, _, err := net.SplitHostPort(host); err == nil {
		host = h
	}
	if strings.EqualFold(host, "localhost") {
		return true
	}
	addr, err := netip.ParseAddr(strings.Trim(host, "[]"))
	return err == nil && addr.Unmap().IsLoopback()
}

// CheckAddress reports whether listening at addr keeps within this machine: the absolute path of a Unix socket, or
// host and port of a loopback address.
func CheckAddress(addr string) error {
	if strings.HasPrefix(addr, "/") {
		return nil
	}
	host, port, err := net.SplitHostPort(addr)
	if err != nil || port == "" || !isLoopback(host) {
		return fmt.Errorf("is %q; it must be the path of a Unix socket, or a loopback address such as 127.0.0.1:9464",
			addr)
	}
	return nil
}

// collector asks for a sample each time somebody looks.
type collector func() Sample

// The state's metrics. Those with labels name them.
func desc(name, help string, labels ...string) *prometheus.Desc {
	return prometheus.NewDesc("memsidecar_"+name, help, labels, nil)
}

// Describe describes nothing: which series there are depends on the state.
func (collector) Describe(chan<- *prometheus.Desc) {}

// Collect sends the state.
func (sample collector) Collect(ch chan<- prometheus.Metric) {
	s := sample()
	out := emitter{ch}
	out.byName("memories", "Active memories, by category.", "category", s.Active)
	out.byName("space_memories", "Active memories, by space.", "space", s.Spaces)
	out.byName("status_memories", "Memories, by state.", "status", s.Status)
	out.gauge("average_salience", "Mean salience of the active memories, 0 to 1.", s.AverageSalience)
	out.gauge("memory_accesses", "Accesses of the active memories.", float64(s.Accesses))
	out.gauge("log_entries", "Entries of daily logs.", float64(s.LogEntries))
	out.gauge("sessions_waiting", "Sessions that have ended and are not learnt from.", float64(s.SessionsWaiting))
	out.gauge("edits_waiting", "Edits of published files that wait for a person.", float64(s.EditsWaiting))
	out.gauge("reviews_waiting", "Proposed changes that wait for a person.", float64(s.ReviewsWaiting))
	out.gauge("vectors_waiting", "Memories that are not embedded yet.",
		float64(s.VectorsWaiting))
	out.gauge("index_backlog", "Changes that are not in the search index yet; a search indexes them first.",
		float64(s.RecordsToIndex))
	out.gauge("journal_position", "Newest durable position of the journal.", float64(s.LSN))
	out.gauge("journal_bytes", "Size of the journal on disk.", float64(s.JournalBytes))
	out.gauge("journal_segments", "Files of the journal.", float64(s.JournalSegments))
	out.send("journal_syncs_total", "Times the journal was written and synced.", prometheus.CounterValue,
		float64(s.JournalSyncs))
	for _, kind := range slices.Sorted(maps.Keys(s.Written)) {
		out.send("written_bytes_total", "Bytes written to files, by kind of file; the disk gets whole pages.",
			prometheus.CounterValue, float64(s.Written[kind]), "file", kind)
	}
	for _, p := range s.Publications {
		out.gauge("publication_lag_seconds",
			"Age of the oldest change, accesses aside, that is not in the published files.", p.Lag.Seconds(), "kind", p.Kind)
		out.gauge("publication_pending", "Published files that are behind.", float64(p.Pending), "kind", p.Kind)
		out.gauge("publication_failed", "Published files that could not be written last time.", float64(p.Failed),
			"kind", p.Kind)
	}
	for _, state := range slices.Sorted(maps.Keys(s.Share.Spaces)) {
		out.gauge("share_spaces", "Shared spaces, by state: ok, failing (tried again), stopped (needs a person).",
			float64(s.Share.Spaces[state]), "state", state)
	}
	out.gauge("share_waiting", "Operations of shared spaces that are not sent yet.", float64(s.Share.Waiting))
	out.gauge("share_oldest_waiting_seconds", "Age of the oldest of them.", s.Share.Oldest.Seconds())
	if f := s.Share.Fleet; f != nil {
		out.gauge("fleet_open_spaces", "Spaces that are open on this node.", float64(f.Open))
		out.gauge("fleet_open_bytes", "About what they take, in RAM and on disk.", float64(f.Bytes))
		out.send("fleet_opened_total", "Spaces that were opened.", prometheus.CounterValue, float64(f.Opened))
		out.send("fleet_dropped_total", "Spaces that were dropped.", prometheus.CounterValue, float64(f.Dropped))
	}
	for _, j := range s.Jobs {
		out.gauge("job_failures", "Failures of a periodic job since its last success.", float64(j.Failures), "job",
			j.Name)
	}
	for _, c := range s.Caches {
		const name, help = "cache_requests_total",
			"What a cache was asked; the rate of hits is that of result=\"hit\" among all."
		out.send(name, help, prometheus.CounterValue, float64(c.Hits), "cache", c.Name, "result", "hit")
		out.send(name, help, prometheus.CounterValue, float64(c.Misses), "cache", c.Name, "result", "miss")
	}
	out.gauge("read_only", "1 when nothing can be written any more.", flag(s.ReadOnly))
	out.gauge("paused", "1 while capture is paused.", flag(s.Paused))
}

// flag is a boolean as Prometheus has them: 1 or 0.
func flag(b bool) float64 {
	if b {
		return 1
	}
	return 0
}

type emitter struct{ ch chan<- prometheus.Metric }

// send sends one value; labels are names and values in turn.
func (e emitter) send(name, help string, kind prometheus.ValueType, value float64, labels ...string) {
	var names, values []string
	for i := 0; i+1 < len(labels); i += 2 {
		names, values = append(names, labels[i]), append(values, strings.ToValidUTF8(labels[i+1], "\uFFFD"))
	}
	e.ch <- prometheus.MustNewConstMetric(desc(name, help, names...), kind, value, values...)
}

func (e emitter) gauge(name, help string, value float64, labels ...string) {
	e.send(name, help, prometheus.GaugeValue, value, labels...)
}

// byName sends a value for each name, the largest maxLabels of them by themselves.
func (e emitter) byName(name, help, label string, values map[string]int64) {
	names := slices.SortedFunc(maps.Keys(values), func(a, b string) int {
		return cmp.Or(cmp.Compare(values[b], values[a]), cmp.Compare(a, b))
	})
	rest := int64(0)
	for i, n := range names {
		if i < maxLabels && n != otherLabel {
			e.gauge(name, help, float64(values[n]), label, n)
		} else {
			rest += values[n]
		}
	}
	if rest > 0 {
		e.gauge(name, help, float64(rest), label, otherLabel)
	}
}

// otherLabel stands for all names beyond maxLabels.
const otherLabel = "other"
