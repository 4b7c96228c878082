// Package daemon wires memsidecar together: it takes the lock of the data directory, opens the store, starts the
// background work and the servers, and stops everything in order. It contains no logic about memories.
package daemon

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"runtime/debug"
	"slices"
	"time"

	"golang.org/x/sync/errgroup"
	"google.golang.org/grpc"
	"google.golang.org/grpc/health"
	healthpb "google.golang.org/grpc/health/grpc_health_v1"

	"github.com/memsidecar/memsidecar/internal/archiver"
	"github.com/memsidecar/memsidecar/internal/archiver/scheduler"
	"github.com/memsidecar/memsidecar/internal/client/web"
	"github.com/memsidecar/memsidecar/internal/dailylog"
	"github.com/memsidecar/memsidecar/internal/jsonstore"
	"github.com/memsidecar/memsidecar/internal/reconcile"
	"github.com/memsidecar/memsidecar/internal/reflector/consolidator"
	"github.com/memsidecar/memsidecar/internal/reflector/review"
	"github.com/memsidecar/memsidecar/internal/reflector/summary"
	"github.com/memsidecar/memsidecar/internal/rpc"
	"github.com/memsidecar/memsidecar/internal/rpc/unixsock/listener"
	"github.com/memsidecar/memsidecar/internal/search"
	"github.com/memsidecar/memsidecar/internal/search/embedding"
	"github.com/memsidecar/memsidecar/internal/search/logindex"
	"github.com/memsidecar/memsidecar/internal/service/memorysvc"
	"github.com/memsidecar/memsidecar/internal/service/recall"
	"github.com/memsidecar/memsidecar/internal/service/session"
	"github.com/memsidecar/memsidecar/internal/share"
	"github.com/memsidecar/memsidecar/internal/store"
	"github.com/memsidecar/memsidecar/internal/store/durable"
	"github.com/memsidecar/memsidecar/internal/store/purge"
)

// stopWait limits how long a stop waits for requests in progress, and how long a new connection may take for its
// handshake, because a stop waits for those, too.
const stopWait = 5 * time.Second

// Limits of a stop and a start with very many files. The journal has everything: what a stop leaves, the next start
// publishes, and what a start has not looked at yet, the daemon looks at while it serves.
const (
	stopEdits   = time.Second
	stopPublish = 2 * time.Second
	startEdits  = time.Second
)

// warmWorkers is the number of pooled goroutines for requests. Their stacks have already grown, which saves copying
// them for each request.
const warmWorkers = 64

// Options of Run that are no configuration.
type Options struct {
	Logger  *slog.Logger
	Version string
	// called when requests are served; may be nil
	Ready func(socket string)
	// Loading is called while a large space is received, until what it returns is called; it may be nil.
	Loading func() (done func())
	// nil means the real clock
	Now func() time.Time

	// Listener is an inherited socket, such as one of a service manager; nil creates Config.Socket. Run closes it.
	Listener *net.UnixListener
	// Command runs the commands of memsidecar-hook; nil refuses them.
	Command rpc.RunCommand
	// Machine is what the panel shows of this machine.
	Machine web.Machine
	// Abort ends the process; it is called when a stop takes longer than StopLimit. nil waits. What a stop still does
	// then is repeated by the next start: everything acknowledged is in the journal.
	Abort func()
}

// StopLimit is how long a stop may take. Service managers and people that wait for 10 seconds see the process end.
const StopLimit = 9 * time.Second

// limitStop calls o.Abort when the function that it returns is not called within StopLimit of the end of ctx.
func (o Options) limitStop(ctx context.Context) (done func()) {
	if o.Abort == nil {
		return func() {}
	}
	returned := make(chan struct{})
	stopWaiting := context.AfterFunc(ctx, func() {
		timer := time.NewTimer(StopLimit)
		defer timer.Stop()
		select {
		case <-returned:
		case <-timer.C:
			o.Logger.Error("the stop takes too long; ending without it, which loses nothing acknowledged", "limit", StopLimit)
			o.Abort()
		}
	})
	return func() {
		stopWaiting()
		close(returned)
	}
}

// daemon is one running daemon. Its fields are set by open and not changed after.
type daemon struct {
	cfg     Config
	log     *slog.Logger
	now     func() time.Time
	elapsed func() time.Duration // nil with a test clock
	version string
	command rpc.RunCommand
	machine web.Machine
	loading func() (done func()) // nil does nothing
	started time.Time
	stop    context.CancelFunc // ends Run

	fs      durable.FS
	written *durable.Written // through fs
	store   *store.Store
	engine  *search.Engine
	finder  *logindex.Index
	// none: searches use words alone
	models []embedding.Model
	// embedder if it is a server, else nil
	remote      *embedding.Client
	recallIndex *recall.Index
	// receives the error that made the store read-only
	failed    chan error
	memories  *jsonstore.Publisher
	logs      *dailylog.Publisher
	edits     *reconcile.Service
	recall    *recall.Service
	sessions  *session.Service
	archiver  *archiver.Archiver
	scheduler *scheduler.Runner
	purges    *purge.Service
	share     *share.Service
	reviews   *review.Service
	summaries *summary.Service
	learner   *consolidator.Service
	model     *model // nil without one
	monitor   *rpc.Monitor
	server    *grpc.Server
	// nil with an inherited socket
	socket *listener.Listener
	health *health.Server
	pauses *pauses
	// closed at the start of the stop
	stopping chan struct{}

	// for counts of Stats and metrics
	counts *memorysvc.Service
	// nil if metrics are not served
	metrics *metricsServer
}

// Run serves the data directory of cfg until ctx ends or a client requests a stop. Then it finishes requests in
// progress, publishes everything and returns nil. cfg must have its defaults.
//
// Errors: memory.ErrLocked (*LockedError), memory.ErrCorrupt, memory.ErrNewerVersion, memory.ErrUnsupportedFS, and
// those of the socket.
func Run(ctx context.Context, cfg Config, opts Options) (err error) {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	defer opts.limitStop(ctx)()
	d := &daemon{cfg: cfg, log: opts.Logger, now: opts.Now, version: opts.Version, command: opts.Command,
		machine:  opts.Machine,
		loading:  opts.Loading,
		stop:     stop,
		stopping: make(chan struct{})}
	if d.now == nil {
		d.now, d.elapsed = time.Now, elapsed //nolint:forbidigo // the only use of the real clock
	}
	d.started = d.now()
	root, release, err := openData(cfg.Data)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, root.Close(), release()) }()
	d.fs, d.written = durable.CountWritten(durable.Dir(root))
	if err := d.open(ctx); err != nil {
		return err
	}
	socket, err := d.listen(ctx, opts.Listener)
	if err != nil {
		return errors.Join(err, d.close())
	}
	d.openMetrics(ctx)
	return d.serve(ctx, socket, opts.Ready)
}

// listen returns the inherited socket if there is one, else creates the configured one. Error: *listener.InUseError.
func (d *daemon) listen(ctx context.Context, inherited *net.UnixListener) (net.Listener, error) {
	if inherited != nil {
		return inherited, nil
	}
	socket, err := listener.Listen(ctx, d.cfg.Socket, "the daemon of data directory "+d.cfg.Data)
	if inUse, ok := errors.AsType[*listener.InUseError](err); ok {
		return nil, fmt.Errorf("%w; this daemon is for data directory %s: stop the other one with "+
			"`memsidecar daemon stop --socket %s`, or use another socket with --socket", inUse, d.cfg.Data,
			d.cfg.Socket)
	} else if err != nil {
		return nil, err
	}
	d.socket = socket
	return socket, nil
}

// watchSocket keeps the socket's path. It returns an error, which stops the daemon, when clients cannot reach it any
// more.
func (d *daemon) watchSocket(ctx context.Context) error {
	if d.socket == nil {
		return nil // a service manager's
	}
	return d.socket.Watch(ctx, d.log)
}

// openData creates the data directory if it is missing, takes its lock and opens it.
func openData(data string) (root *os.Root, release func() error, err error) {
	if err := os.MkdirAll(data, 0o700); err != nil {
		return nil, nil, fmt.Errorf("create data directory: %w", err)
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

// keepPrivate removes the permissions of other users from the data directory.
func keepPrivate(data string) error {
	info, err := os.Stat(data)
	if err != nil {
		return fmt.Errorf("examine data directory: %w", err)
	}
	if info.Mode().Perm() == 0o700 {
		return nil
	}
	if err := os.Chmod(data, 0o700); err != nil {
		return fmt.Errorf("data directory %s is accessible to other users and its mode cannot be changed (%w); take "+
			"ownership of it, "+"or use another one with --data", data, err)
	}
	return nil
}

// watchFailure sets the health of writing services to NOT_SERVING when the store becomes read-only. Reads continue.
func (d *daemon) watchFailure(ctx context.Context) error {
	select {
	case err := <-d.failed:
		d.log.Error("store is read-only; health is NOT_SERVING for services that write", "err", err)
		for name := range d.server.GetServiceInfo() {
			if name != "memsidecar.v1.SearchService" && name != "memsidecar.v1.AdminService" &&
				name != "memsidecar.v1.OperationService" {
				d.health.SetServingStatus(name, healthpb.HealthCheckResponse_NOT_SERVING)
			}
		}
		if errors.Is(err, durable.ErrDetached) {
			d.rescueDetached(context.WithoutCancel(ctx))
		}
	case <-ctx.Done():
	}
	return nil
}

// serve answers requests until ctx ends. Then it stops, in this order: new requests, background work, requests in
// progress, files.
func (d *daemon) serve(ctx context.Context, socket net.Listener, ready func(string)) error {
	work, stopWork := context.WithCancel(context.WithoutCancel(ctx))
	group, work := errgroup.WithContext(work)
	for _, run := range []func(context.Context) error{
		d.store.Run, d.edits.Run, d.memories.Run, d.logs.Run, d.scheduler.Run, d.engine.RunIndexing, d.engine.RunClosing, d.finder.Run,
		d.learner.Run, d.share.Run, d.embed, d.loadIndex, d.watchFailure, d.watchSocket, d.serveMetrics} {
		group.Go(func() error { return run(work) })
	}
	group.Go(func() error { return d.recall.Run(work) })
	http := d.openHTTP(ctx)
	group.Go(func() error { return d.serveHTTP(work, http) })
	if !d.cfg.ReflectDisabled {
		group.Go(func() error { return d.sessions.Run(work) })
	}
	served := make(chan error, 1)
	go func() { served <- d.server.Serve(socket) }()
	for _, w := range d.cfg.Warnings() {
		d.log.Warn("a setting has no effect", "detail", w)
	}
	d.log.Info("serving", "socket", d.cfg.Socket, "data", d.cfg.Data, "lsn", d.store.LSN(), "version", d.version, "pid",
		os.Getpid())
	if ready != nil {
		ready(d.cfg.Socket)
	}
	var err error
	select {
	case <-ctx.Done():
	case <-work.Done(): // a background task failed
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

// startedFor is how long after a start the memory that reading the files took is given back: until then there may be
// requests of the hook that started the daemon.
const startedFor = 2 * time.Second

// smallAtStart is how many spaces have their index built at the start even if they are small. Few of many spaces are
// used soon, and an open one takes many times the memory of one that is not.
const smallAtStart = 32

// loadIndex builds the search index of the largest spaces before they are searched, and then gives memory back. The
// other spaces are small: they are opened when they are searched.
func (d *daemon) loadIndex(ctx context.Context) error {
	names := d.store.Spaces()
	if len(names) > smallAtStart {
		size := make(map[string]int, len(names))
		for name := range d.store.SpacesAtLeisure() {
			size[name] = d.store.Space(name).Count()
		}
		names = openedAtStart(names, size)
	}
	for _, name := range names {
		if d.engine.Open(ctx, name) != nil {
			return nil // it is stopping
		}
	}
	timer := time.NewTimer(startedFor)
	defer timer.Stop()
	select {
	case <-timer.C:
		debug.FreeOSMemory() // the files were about as large as what is used of them, and an idle daemon collects nothing
	case <-ctx.Done():
	}
	return nil
}

// openedAtStart returns the largest of the named spaces, largest first. size is their number of memories. It returns at
// most search.MaxOpen, and small ones only among the first smallAtStart.
func openedAtStart(names []string, size map[string]int) []string {
	largestFirst := func(a, b string) int { return cmp.Compare(size[b], size[a]) }
	names = slices.SortedStableFunc(slices.Values(names), largestFirst)
	names = names[:min(len(names), search.MaxOpen)]
	for len(names) > smallAtStart && size[names[len(names)-1]] <= search.MaxSmall {
		names = names[:len(names)-1]
	}
	return names
}

// stopServer waits at most stopWait for requests in progress. Watch streams never end by themselves.
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

// close publishes everything and closes the store. Failures to publish are only logged: the journal has everything,
// and the next start publishes it.
func (d *daemon) close() error {
	ctx := context.Background()
	if d.store.Err() == nil {
		err := d.store.FlushAccesses(ctx)
		d.takeEdits(ctx, stopEdits)
		err = errors.Join(err, d.publishPending(ctx), d.engine.Save(d.fs))
		if err != nil {
			d.log.Warn("publishing at the stop failed; the next start will retry", "err", err)
		}
	}
	err := d.store.Close(ctx)
	d.log.Info("stopped", "lsn", d.store.LSN())
	return err
}

// publishPending publishes what changed last, for stopPublish at most.
func (d *daemon) publishPending(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, stopPublish)
	defer cancel()
	return errors.Join(d.logs.PublishPending(ctx), d.memories.PublishPending(ctx))
}

// path returns the path of a file in the data directory, for messages.
func (d *daemon) path(name string) string { return filepath.Join(d.cfg.Data, name) }
