// Package daemon wires memsidecar together: it takes the lock, opens the store, starts everything that runs beside it, serves, and
// stops all of it in order. It decides nothing about memories.
package daemon

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"
	"google.golang.org/grpc"
	"google.golang.org/grpc/health"
	healthpb "google.golang.org/grpc/health/grpc_health_v1"

	"github.com/memsidecar/memsidecar/internal/archiver"
	"github.com/memsidecar/memsidecar/internal/chronicle"
	"github.com/memsidecar/memsidecar/internal/consolidator"
	"github.com/memsidecar/memsidecar/internal/dailylog"
	"github.com/memsidecar/memsidecar/internal/digest"
	"github.com/memsidecar/memsidecar/internal/durable"
	"github.com/memsidecar/memsidecar/internal/edit"
	"github.com/memsidecar/memsidecar/internal/embed"
	"github.com/memsidecar/memsidecar/internal/jsonstore"
	"github.com/memsidecar/memsidecar/internal/memories"
	"github.com/memsidecar/memsidecar/internal/purge"
	"github.com/memsidecar/memsidecar/internal/recall"
	"github.com/memsidecar/memsidecar/internal/review"
	"github.com/memsidecar/memsidecar/internal/rpc"
	"github.com/memsidecar/memsidecar/internal/schedule"
	"github.com/memsidecar/memsidecar/internal/search"
	"github.com/memsidecar/memsidecar/internal/session"
	"github.com/memsidecar/memsidecar/internal/store"
	"github.com/memsidecar/memsidecar/internal/unixsock"
)

// stopWait bounds how long a stop waits for requests in progress, and how long a client may take to say what it is: a stop waits for those who have
// connected and said nothing.
const stopWait = 5 * time.Second

// warmWorkers is how many requests at a time find a goroutine whose stack is as large already as requests need.
const warmWorkers = 8

// Options of Run that are not configuration.
type Options struct {
	Logger  *slog.Logger
	Version string
	Ready   func(socket string) // called once requests are answered; may be nil
	Now     func() time.Time    // nil is the real clock

	// Listener is the socket, when somebody else made it and keeps it, such as a service manager; nil makes it at Config.Socket. Run closes it.
	Listener *net.UnixListener
}

// daemon is one running daemon. Its fields are set by open and not changed after.
type daemon struct {
	cfg     Config
	log     *slog.Logger
	now     func() time.Time
	elapsed func() time.Duration // nil with a clock that is not the real one
	version string
	started time.Time
	stop    context.CancelFunc // ends Run

	fs        durable.FS
	store     *store.Store
	engine    *search.Engine
	finder    *chronicle.Finder
	embedder  embedder      // nil without one
	remote    *embed.Client // the same where it is a server, else nil
	tools     *recall.Tools
	indexed   func()     // lets searches go on
	failed    chan error // why the store turned read-only
	memories  *jsonstore.Publisher
	logs      *dailylog.Publisher
	edits     *edit.Service
	recall    *recall.Service
	sessions  *session.Service
	archiver  *archiver.Archiver
	scheduler *schedule.Runner
	purges    *purge.Service
	reviews   *review.Service
	digest    *digest.Service
	learner   *consolidator.Service
	model     *model // nil without one
	monitor   *rpc.Monitor
	server    *grpc.Server
	health    *health.Server
	paused    atomic.Bool
	stopping  chan struct{} // closed when the stop begins

	counts  *memories.Service // what Stats and metrics count with
	metrics *metricsServer    // nil unless metrics are served
}

// Run serves the data directory of cfg until ctx ends or a client asks for a stop, then finishes what is in progress, makes everything durable
// and returns nil. cfg has its defaults.
//
// Errors: memory.ErrLocked (*LockedError), memory.ErrCorrupt, memory.ErrNewerVersion, memory.ErrUnsupportedFS, and those of the socket.
func Run(ctx context.Context, cfg Config, opts Options) (err error) {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	d := &daemon{cfg: cfg, log: opts.Logger, now: opts.Now, version: opts.Version, stop: stop, stopping: make(chan struct{})}
	if d.now == nil {
		d.now, d.elapsed = time.Now, elapsed //nolint:forbidigo // this is where the real clock comes in
	}
	d.started = d.now()
	root, release, err := openData(cfg.Data)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, root.Close(), release()) }()
	d.fs = durable.Dir(root)
	if err := d.open(ctx); err != nil {
		return err
	}
	listener := opts.Listener
	if listener == nil {
		if listener, err = unixsock.Listen(ctx, cfg.Socket); err != nil {
			return errors.Join(err, d.close())
		}
	}
	d.openMetrics(ctx)
	return d.serve(ctx, listener, opts.Ready)
}

// openData makes the data directory if need be, takes its lock and opens it.
func openData(data string) (root *os.Root, release func() error, err error) {
	if err := os.MkdirAll(data, 0o700); err != nil {
		return nil, nil, fmt.Errorf("make data directory: %w", err)
	}
	if err := keepPrivate(data); err != nil {
		return nil, nil, err
	}
	if err := durable.CheckFilesystem(data); err != nil {
		return nil, nil, err
	}
	release, err = Lock(data)
	if err != nil {
		return nil, nil, err
	}
	root, err = os.OpenRoot(data)
	if err != nil {
		return nil, nil, errors.Join(fmt.Errorf("open data directory: %w", err), release())
	}
	return root, release, nil
}

// keepPrivate takes the data directory from other users.
func keepPrivate(data string) error {
	info, err := os.Stat(data)
	if err != nil {
		return fmt.Errorf("look at data directory: %w", err)
	}
	if info.Mode().Perm() == 0o700 {
		return nil
	}
	if err := os.Chmod(data, 0o700); err != nil {
		return fmt.Errorf("data directory %s is open to others and its mode cannot be changed (%w); make it yours, or use another with --data", data, err)
	}
	return nil
}

// watchFailure tells health checks when nothing can be written any more. Reads go on.
func (d *daemon) watchFailure(ctx context.Context) error {
	select {
	case err := <-d.failed:
		d.log.Error("health is NOT_SERVING for everything that writes", "err", err)
		for name := range d.server.GetServiceInfo() {
			if name != "memsidecar.v1.SearchService" && name != "memsidecar.v1.AdminService" && name != "memsidecar.v1.OperationService" {
				d.health.SetServingStatus(name, healthpb.HealthCheckResponse_NOT_SERVING)
			}
		}
	case <-ctx.Done():
	}
	return nil
}

// serve answers requests until ctx ends and stops everything in the order: new requests, background work, requests in progress, files.
func (d *daemon) serve(ctx context.Context, listener net.Listener, ready func(string)) error {
	work, stopWork := context.WithCancel(context.WithoutCancel(ctx))
	group, work := errgroup.WithContext(work)
	for _, run := range []func(context.Context) error{d.store.Run, d.edits.Run, d.memories.Run, d.logs.Run, d.scheduler.Run, d.engine.Run, d.finder.Run, d.learner.Run, d.embed, d.loadIndex, d.watchFailure, d.serveMetrics} {
		group.Go(func() error { return run(work) })
	}
	group.Go(func() error { return d.recall.Run(work) })
	http := d.openHTTP(ctx)
	group.Go(func() error { return d.serveHTTP(work, http) })
	if !d.cfg.ReflectDisabled {
		group.Go(func() error { return d.sessions.Run(work) })
	}
	served := make(chan error, 1)
	go func() { served <- d.server.Serve(listener) }()
	d.log.Info("serving", "socket", d.cfg.Socket, "data", d.cfg.Data, "lsn", d.store.LSN(), "version", d.version, "pid", os.Getpid())
	if ready != nil {
		ready(d.cfg.Socket)
	}
	var err error
	select {
	case <-ctx.Done():
	case <-work.Done(): // a part failed
	case err = <-served:
		served <- nil
	}
	d.log.Info("stopping", "cause", context.Cause(ctx))
	d.health.Shutdown()
	close(d.stopping)
	stopWork()
	err = errors.Join(err, group.Wait())
	d.stopServer()
	return errors.Join(err, <-served, d.close())
}

// loadIndex makes the memories searchable. Searches wait for it.
func (d *daemon) loadIndex(context.Context) error {
	defer d.indexed()
	for _, name := range d.store.Spaces() {
		if err := d.engine.Load(name, d.store.Space(name).Memories(), d.fs); err != nil {
			return fmt.Errorf("index space %s: %w", name, err)
		}
	}
	return nil
}

// stopServer lets requests in progress end, but not for ever: a stream that is being watched never ends by itself.
func (d *daemon) stopServer() {
	done := make(chan struct{})
	go func() { defer close(done); d.server.GracefulStop() }()
	timer := time.NewTimer(stopWait)
	defer timer.Stop()
	select {
	case <-done:
	case <-timer.C:
		d.server.Stop()
		<-done
	}
}

// close writes everything out. What cannot be written is in the journal, and the next start goes on from there.
func (d *daemon) close() error {
	ctx := context.Background()
	if d.store.Err() == nil {
		err := d.store.FlushTouches(ctx)
		d.takeEdits(ctx)
		if err = errors.Join(err, d.memories.PublishAll(ctx), d.logs.PublishAll(ctx), d.engine.Save(d.fs)); err != nil {
			d.log.Warn("not everything was published at the stop; the next start will do it", "err", err)
		}
	}
	err := d.store.Close(ctx)
	d.log.Info("stopped", "lsn", d.store.LSN())
	return err
}

// path of a file of the data directory, for messages.
func (d *daemon) path(name string) string { return filepath.Join(d.cfg.Data, name) }
