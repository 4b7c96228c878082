package daemon

import (
	"context"
	"errors"
	"log/slog"
	"net"
	"net/http"
	"path"
	"strings"
	"time"

	"github.com/memsidecar/memsidecar/internal/daemon/metrics"
	"github.com/memsidecar/memsidecar/internal/memory"
	"github.com/memsidecar/memsidecar/internal/publish"
	"github.com/memsidecar/memsidecar/internal/rpc/unixsock/listener"
)

// httpWait limits each step of a request for metrics.
const httpWait = 10 * time.Second

// metricsServer serves metrics and health over HTTP.
type metricsServer struct {
	listener net.Listener
	http     *http.Server
}

// openMetrics starts to count calls and to listen, if configured. The daemon does not depend on it, so errors are
// only logged.
func (d *daemon) openMetrics(ctx context.Context) {
	addr := d.cfg.MetricsListen
	if addr == "" {
		return
	}
	listener, err := listenForMetrics(ctx, addr)
	if err != nil {
		d.log.Error("metrics are not served", "metrics_listen", addr, "origin", d.cfg.origin("metrics_listen"), "err",
			err)
		return
	}
	m := metrics.New(d.version, d.sample, d.readiness)
	d.monitor.Observe(m.Observe)
	d.metrics = &metricsServer{listener: listener, http: &http.Server{
		Handler: m.Handler(listener.Addr().Network() == "tcp"), ReadHeaderTimeout: httpWait, ReadTimeout: httpWait,
		WriteTimeout: httpWait,
		IdleTimeout:  time.Minute, MaxHeaderBytes: 16 << 10,
		ErrorLog: slog.NewLogLogger(d.log.Handler(), slog.LevelDebug),
	}}
	d.log.Info("serving metrics", "address", listener.Addr().String())
}

// listenForMetrics listens on addr.
func listenForMetrics(ctx context.Context, addr string) (net.Listener, error) {
	if !strings.HasPrefix(addr, "/") {
		return new(net.ListenConfig).Listen(ctx, "tcp", addr)
	}
	return listener.Listen(ctx, addr, "the metrics of another daemon")
}

// serveMetrics serves until ctx ends. Errors are only logged.
func (d *daemon) serveMetrics(ctx context.Context) error {
	if d.metrics == nil {
		return nil
	}
	served := make(chan error, 1)
	go func() { served <- d.metrics.http.Serve(d.metrics.listener) }()
	select {
	case err := <-served: // the rest goes on without
		d.log.Error("metrics server failed", "err", err)
		return nil
	case <-ctx.Done():
	}
	err := d.metrics.http.Close()
	if ended := <-served; !errors.Is(ended, http.ErrServerClosed) {
		err = errors.Join(err, ended)
	}
	return err
}

// readiness returns why the daemon is not fully functional, nil if it is.
func (d *daemon) readiness() error {
	select {
	case <-d.stopping:
		return errors.New("the daemon is stopping")
	default:
	}
	return d.store.Err()
}

// sample collects the values of the metrics. It reads the header of every memory.
func (d *daemon) sample() metrics.Sample {
	s := metrics.Sample{Status: map[string]int64{}, Spaces: map[string]int64{}, ReadOnly: d.store.Err() != nil,
		Paused: d.pauses.Capture()}
	if stats, err := d.counts.Stats(nil); err == nil { // all spaces: there is no name that could be wrong
		s.Active, s.AverageSalience, s.Accesses, s.LogEntries, s.LSN = stats.ByCategory, stats.AverageSalience,
			stats.Accesses, stats.LogEntries, stats.LSN
		for status, n := range stats.ByStatus {
			s.Status[string(status)] = n
		}
		for _, space := range stats.Spaces {
			s.Spaces[space.Name] = space.Active
		}
	}
	for _, space := range d.store.Spaces() {
		s.SessionsWaiting += len(d.sessions.List(space, memory.SessionEnded))
		s.VectorsWaiting += d.engine.EmbeddingCoverage(space).Waiting
	}
	if waiting, err := d.edits.List(); err == nil {
		s.EditsWaiting = len(waiting)
	}
	if waiting, err := d.reviews.Pending(); err == nil {
		s.ReviewsWaiting = waiting
	}
	s.RecordsToIndex = d.engine.QueuedRecords()
	figures := d.store.JournalStats()
	s.JournalSyncs, s.JournalSegments, s.JournalBytes = figures.Syncs, figures.Segments, d.journalSize()
	s.Written = d.written.Bytes()
	s.Publications = []metrics.Publication{d.publication("memory.json", d.memories.Status()),
		d.publication("logs", d.logs.Status())}
	s.Share = shareSample(d.share.Status(), d.now())
	if f := d.share.FleetStatus(); f != nil {
		s.Share.Fleet = &metrics.Fleet{Open: int64(f.Open), Bytes: f.Bytes, Opened: f.Opened, Dropped: f.Dropped}
	}
	for _, job := range d.scheduler.Status() {
		s.Jobs = append(s.Jobs, metrics.Job{Name: job.Name, Failures: job.Failures})
	}
	hits, misses := d.sessions.ContextCache()
	s.Caches = []metrics.Cache{{Name: "session_context", Hits: hits, Misses: misses}}
	return s
}

// publication summarises the state of the files of one kind.
func (d *daemon) publication(kind string, status []publish.Status) metrics.Publication {
	p := metrics.Publication{Kind: kind}
	for _, s := range status {
		if s.Pending {
			p.Pending++
			p.Lag = max(p.Lag, d.now().Sub(s.Since))
		}
		if s.Err != nil {
			p.Failed++
		}
	}
	return p
}

// journalSize returns the bytes of the journal's segments on disk, 0 if they cannot be read.
func (d *daemon) journalSize() (bytes int64) {
	entries, err := d.fs.ReadDir("journal")
	if err != nil {
		return 0
	}
	for _, e := range entries {
		if info, err := d.fs.Lstat(path.Join("journal", e.Name())); err == nil {
			bytes += info.Size()
		}
	}
	return bytes
}
