// Package web serves the API as HTTP with JSON, and the panel for the browser. It is a client of the daemon's gRPC
// API: a request has the same limits and the same errors as over gRPC, and no rule about memories is here.
//
// The package decides who may call. It listens on a loopback address or a Unix socket only. Every request to the API
// needs a token in a header. A browser never adds that header by itself, so a page of another site cannot act for the
// user (cross-site request forgery). Host and Origin are checked too, against DNS rebinding. There are no cookies and
// no CORS headers.
package web

import (
	"context"
	"errors"
	"log/slog"
	"net"
	"net/http"
	"time"

	"google.golang.org/grpc"

	pb "github.com/memsidecar/memsidecar/gen/memsidecar/v1"
	pbalpha "github.com/memsidecar/memsidecar/gen/memsidecar/v1alpha1"
)

// Bounds on requests, and timeouts.
const (
	defaultMaxBody = 1 << 20 // bytes of a request
	maxBatchBytes  = 3 << 20 // bytes of a request with many changes; a message of the daemon's API holds 4 MiB
	maxHeaderBytes = 16 << 10
	maxImportBytes = 1 << 30          // of a file to import
	readTimeout    = 15 * time.Second // for a request to arrive
	callTimeout    = 30 * time.Second // for the daemon to answer
	modelTimeout   = 5 * time.Minute  // where a language model may be asked
	mcpTimeout     = 16 * time.Minute // more than the MCP server gives a tool that asks a model
	// an export, a backup or an import: as long as a slow disk and many memories need
	transferTimeout = time.Hour
	writeSlack      = 5 * time.Second // for a response to be sent
	stopTimeout     = 2 * time.Second // for requests in progress at the stop
	maxStreams      = 32              // event streams at once
)

// Config of a Server. All fields but MCP and Machine are required.
type Config struct {
	// Conn is a connection to the daemon. The server does not close it.
	Conn grpc.ClientConnInterface
	// Logger gets one line per request, without its address or body.
	Logger *slog.Logger
	// Now is the current time, for the expiry of codes and sessions.
	Now func() time.Time
	// MCP serves the Model Context Protocol at /mcp, for those who have the token; nil serves none. The server does
	// not end its sessions.
	MCP http.Handler
	// Machine is what the panel shows of this machine.
	Machine Machine
}

// Server answers HTTP requests. It is safe for concurrent use.
type Server struct {
	cfg         Config
	credentials *credentials
	streams     chan struct{} // holds one value for each event stream
	memory      pb.MemoryServiceClient
	search      pb.SearchServiceClient
	admin       pb.AdminServiceClient
	ops         pb.OperationServiceClient
	logs        pb.LogServiceClient
	files       pb.FileServiceClient
	sessions    pb.SessionServiceClient
	usage       pbalpha.UsageServiceClient
	views       pbalpha.ViewServiceClient
	previews    pbalpha.PreviewServiceClient
	graph       pbalpha.GraphServiceClient
	routes      []route
	stopping    chan struct{} // closed when Serve begins to stop
}

// New returns a Server with a new token.
func New(cfg Config) *Server {
	s := &Server{
		cfg: cfg, credentials: newCredentials(cfg.Now), streams: make(chan struct{}, maxStreams),
		stopping: make(chan struct{}),
		memory:   pb.NewMemoryServiceClient(cfg.Conn), search: pb.NewSearchServiceClient(cfg.Conn),
		admin: pb.NewAdminServiceClient(cfg.Conn), ops: pb.NewOperationServiceClient(cfg.Conn),
		logs: pb.NewLogServiceClient(cfg.Conn), files: pb.NewFileServiceClient(cfg.Conn),
		sessions: pb.NewSessionServiceClient(cfg.Conn),
		usage:    pbalpha.NewUsageServiceClient(cfg.Conn), views: pbalpha.NewViewServiceClient(cfg.Conn),
		previews: pbalpha.NewPreviewServiceClient(cfg.Conn), graph: pbalpha.NewGraphServiceClient(cfg.Conn),
	}
	s.routes = s.routeTable()
	return s
}

// Token is the token that clients send as "Authorization: Bearer TOKEN".
func (s *Server) Token() string { return s.credentials.token }

// Login returns a login code: one browser can exchange it for a session, once, within a minute. It is the fragment of
// the panel's address (#code=CODE), which browsers do not send to servers.
func (s *Server) Login() string { return s.credentials.newCode() }

// Serve serves requests on listener until ctx ends. It then ends event streams and waits up to stopTimeout for
// requests in progress. It closes the listener and is called once. The end of ctx is no error.
func (s *Server) Serve(ctx context.Context, listener net.Listener) error {
	server := &http.Server{
		Handler:           s.handler(allowedHosts(listener.Addr())),
		BaseContext:       func(net.Listener) context.Context { return context.WithoutCancel(ctx) },
		ReadHeaderTimeout: readTimeout, ReadTimeout: readTimeout, WriteTimeout: callTimeout + writeSlack,
		IdleTimeout: time.Minute, MaxHeaderBytes: maxHeaderBytes,
		ErrorLog: slog.NewLogLogger(s.cfg.Logger.Handler(), slog.LevelDebug),
	}
	served := make(chan error, 1)
	go func() { served <- server.Serve(listener) }()
	select {
	case err := <-served:
		return err
	case <-ctx.Done():
	}
	// Event streams never end by themselves; Shutdown would wait for them until its timeout.
	close(s.stopping)
	wait, cancel := context.WithTimeout(context.WithoutCancel(ctx), stopTimeout)
	defer cancel()
	err := server.Shutdown(wait)
	if errors.Is(err, context.DeadlineExceeded) {
		err = server.Close()
	}
	if ended := <-served; !errors.Is(ended, http.ErrServerClosed) {
		err = errors.Join(err, ended)
	}
	return err
}
