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
	"github.com/memsidecar/memsidecar/internal/backup"
	"github.com/memsidecar/memsidecar/internal/chronicle"
	"github.com/memsidecar/memsidecar/internal/consolidator"
	"github.com/memsidecar/memsidecar/internal/dailylog"
	"github.com/memsidecar/memsidecar/internal/digest"
	"github.com/memsidecar/memsidecar/internal/durable"
	"github.com/memsidecar/memsidecar/internal/edit"
	"github.com/memsidecar/memsidecar/internal/embed"
	"github.com/memsidecar/memsidecar/internal/graph"
	"github.com/memsidecar/memsidecar/internal/jsonstore"
	"github.com/memsidecar/memsidecar/internal/memories"
	"github.com/memsidecar/memsidecar/internal/publish"
	"github.com/memsidecar/memsidecar/internal/purge"
	"github.com/memsidecar/memsidecar/internal/recall"
	"github.com/memsidecar/memsidecar/internal/reflector"
	"github.com/memsidecar/memsidecar/internal/review"
	"github.com/memsidecar/memsidecar/internal/rpc"
	"github.com/memsidecar/memsidecar/internal/schedule"
	"github.com/memsidecar/memsidecar/internal/search"
	"github.com/memsidecar/memsidecar/internal/session"
	"github.com/memsidecar/memsidecar/internal/store"
	"github.com/memsidecar/memsidecar/internal/transfer"
	"github.com/memsidecar/memsidecar/internal/unixsock"
)

// stopWait bounds how long a stop waits for requests in progress, and how long a client may take to say what it is: a stop waits for those who have
// connected and said nothing.
const stopWait = 5 * time.Second

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
	embedder  *embed.Client // nil without one
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

// open builds everything from the bottom up. On an error nothing is left open.
func (d *daemon) open(ctx context.Context) (err error) {
	if err := d.clean(); err != nil {
		return err
	}
	local := func() time.Time { return d.now().In(d.cfg.Location()) }
	searching := search.Config{Lambda: d.cfg.DecayLambda, Now: d.now, Logger: d.log}
	if d.embedder = d.cfg.Embeddings.client(os.Getenv, d.now, d.log); d.embedder != nil {
		searching.Embedder = d.embedder
	}
	d.engine = search.New(searching)
	d.indexed = d.engine.Hold()
	foreign, displaced := func(name string) { d.edits.Foreign(name) }, func(e publish.Edit) { d.edits.Displaced(e) }
	d.memories = jsonstore.NewPublisher(jsonstore.Config{FS: d.fs, Now: d.now, Logger: d.log, Foreign: foreign, Displaced: displaced})
	d.logs = dailylog.NewPublisher(dailylog.Config{FS: d.fs, Now: d.now, Logger: d.log, Foreign: foreign, Displaced: displaced})
	d.finder = chronicle.New(chronicle.Config{Search: d.engine, Now: local})
	d.failed, d.tools = make(chan error, 1), recall.NewTools()
	d.store, err = store.Open(store.Config{
		FS: d.fs, Now: d.now, Elapsed: d.elapsed, Logger: d.log, HistoryDays: d.cfg.HistoryDays,
		Projections: []store.Projection{d.engine, d.memories, d.logs, d.tools, d.finder},
		Failed:      func(err error) { d.failed <- err },
	})
	if err != nil {
		return err
	}
	d.tools.Load(d.store)
	d.finder.Attach(d.store)
	d.memories.Attach(jsonstore.FromStore(d.store))
	d.logs.Attach(dailylog.FromStore(d.store))
	if err := d.adopt(ctx); err != nil {
		return errors.Join(err, d.store.Close(context.WithoutCancel(ctx)))
	}
	d.edits = edit.New(edit.Config{
		Store: d.store, FS: d.fs, Memories: d.memories, Logs: d.logs, Now: d.now, Location: d.cfg.Location(), Logger: d.log, Dir: d.cfg.Data,
	})
	if err := d.openPurges(ctx); err != nil {
		return errors.Join(err, d.store.Close(context.WithoutCancel(ctx)))
	}
	d.paused.Store(readPaused(d.fs))
	d.takeEdits(ctx) // what was edited while no daemon ran is taken over before anything is published
	if d.model, err = d.openModel(); err != nil {
		return errors.Join(err, d.store.Close(context.WithoutCancel(ctx)))
	}

	hints := &recall.Hints{}
	d.recall = d.newRecall(hints)
	d.reviews, d.digest = review.New(d.store), digest.New(d.store, d.now)
	reflecting := reflector.Config{
		Store: d.store, Search: d.engine, Now: d.now, Location: d.cfg.Location(), Logger: d.log, Hints: hints, Reviews: d.reviews,
	}
	consolidating := consolidator.Config{
		Store: d.store, Search: d.engine, Now: d.now, Location: d.cfg.Location(), Logger: d.log, Disabled: d.cfg.ConsolidationDisabled,
		Reviews: d.reviews,
	}
	if d.model != nil {
		reflecting.Model, consolidating.Model = d.model, d.model
	}
	d.learner = consolidator.New(consolidating)
	d.sessions = session.New(session.Config{
		Store: d.store, Reflector: reflector.New(reflecting), Now: d.now, Logger: d.log, Location: d.cfg.Location(), IdleAfter: d.cfg.SessionIdle,
		Paused: d.paused.Load, Stopping: d.stopping,
	})
	d.archiver = archiver.New(d.archiving())
	if err := d.schedule(); err != nil {
		return errors.Join(err, d.store.Close(context.WithoutCancel(ctx)))
	}
	d.monitor = rpc.NewMonitor(d.log, d.now)
	credentials := unixsock.NewCredentials([]uint32{uint32(os.Getuid())}, unixsock.PeerOf, d.log)
	d.counts = memories.New(d.store, local)
	d.server = grpc.NewServer(append(d.monitor.Options(), grpc.Creds(credentials), grpc.WaitForHandlers(true), grpc.ConnectionTimeout(stopWait))...)
	d.health = rpc.Register(d.server, rpc.Deps{
		Store: d.store, Memories: d.counts, Graph: graph.New(d.store, d.now), Search: d.engine, Logs: d.finder, Recall: d.recall, Sessions: d.sessions,
		Consolidator: d.learner, Reviews: d.reviews, Digest: d.digest,
		Backups: &backup.Source{Store: d.store, FS: d.fs, Now: d.now}, Transfer: transfer.New(d.store, d.fs, d.engine, local),
		Archiver: d.archiver, Purges: d.purges, Edits: d.edits, Admin: d.admin(), Monitor: d.monitor, Stopping: d.stopping,
	})
	return nil
}

// clean removes what a crash may have left of files being written.
func (d *daemon) clean() error {
	if err := publish.Clean(d.fs); err != nil {
		return fmt.Errorf("remove left-over files: %w", err)
	}
	for _, dir := range []string{"journal", "snapshots"} {
		if _, err := durable.CleanTemp(d.fs, dir); err != nil {
			return fmt.Errorf("remove left-over files: %w", err)
		}
	}
	return nil
}

// adopt takes over a directory in the published layout or the oldest one, once: when the journal is new, or when a crash interrupted it.
func (d *daemon) adopt(ctx context.Context) error {
	unfinished, err := jsonstore.Unfinished(d.fs)
	if err != nil {
		return fmt.Errorf("look for files to adopt: %w", err)
	}
	if d.store.LSN() > 0 && !unfinished {
		return nil
	}
	report, err := jsonstore.Adopt(ctx, d.store, d.fs, d.cfg.Location())
	if err != nil {
		return err
	}
	switch {
	case unfinished && len(report.Spaces) == 0:
		d.log.Info("ended an adoption that a crash had interrupted", "migrated", len(report.Migrated))
	case len(report.Spaces) > 0:
		d.log.Info("adopted the files found in the data directory", "memories", report.Memories, "logs", report.Days, "entries", report.Entries,
			"migrated", len(report.Migrated), "notes", report.Places(), "report", d.path(jsonstore.ReportName))
	}
	return nil
}

// takeEdits takes over what people wrote into the published files. What cannot be taken over now is not published over, and is tried again.
func (d *daemon) takeEdits(ctx context.Context) {
	if _, err := d.edits.Look(ctx, true); err != nil {
		d.log.Warn("cannot look for edits of published files", "err", err)
	}
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
