// Package web serves the API as HTTP with JSON, and a panel for people in the browser. It is a client of the daemon's own gRPC API, so a request
// takes the same way, meets the same limits and fails for the same reasons as any other; nothing is decided here about memories.
//
// What it does decide is who may ask. It listens on a loopback address or a Unix socket and nowhere else. Every request to the API needs
// a token as a header, which no browser adds by itself, so no page elsewhere can act for the user; Host and Origin are checked as well, so
// a name that is made to point here leads nowhere. There are no cookies and no headers that let other origins in.
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
)

// Bounds on what a client may take.
const (
	maxBody    = 1 << 20 // bytes of a request
	maxHeader  = 16 << 10
	readWait   = 15 * time.Second // for a request to arrive
	callWait   = 30 * time.Second // for the daemon to answer
	longWait   = 5 * time.Minute  // where a language model may be asked
	writeSlack = 5 * time.Second  // for an answer to leave
	stopWait   = 2 * time.Second  // for requests in progress at the stop
	maxStreams = 32               // event streams at once
)

// Config of a Server. All fields are required.
type Config struct {
	// Conn leads to the daemon. The server does not close it.
	Conn grpc.ClientConnInterface
	// Logger gets one line for each request, without any text of its content or its address.
	Logger *slog.Logger
	// Now is the time by which tokens expire.
	Now func() time.Time
}

// Server answers HTTP requests. It is safe for concurrent use.
type Server struct {
	cfg       Config
	keys      *keys
	streams   chan struct{} // holds one value for each event stream
	memory    pb.MemoryServiceClient
	search    pb.SearchServiceClient
	admin     pb.AdminServiceClient
	ops       pb.OperationServiceClient
	learn     pb.LearningServiceClient
	logs      pb.LogServiceClient
	published pb.FileServiceClient
	figures   pb.FigureServiceClient
	routes    []route
	ending    chan struct{} // closed when Serve begins to stop
}

// New returns a Server with a token of its own.
func New(cfg Config) *Server {
	s := &Server{
		cfg: cfg, keys: newKeys(cfg.Now), streams: make(chan struct{}, maxStreams), ending: make(chan struct{}),
		memory: pb.NewMemoryServiceClient(cfg.Conn), search: pb.NewSearchServiceClient(cfg.Conn),
		admin: pb.NewAdminServiceClient(cfg.Conn), ops: pb.NewOperationServiceClient(cfg.Conn),
		learn: pb.NewLearningServiceClient(cfg.Conn), logs: pb.NewLogServiceClient(cfg.Conn), published: pb.NewFileServiceClient(cfg.Conn), figures: pb.NewFigureServiceClient(cfg.Conn),
	}
	s.routes = s.table()
	return s
}

// Token is what a client sends as "Authorization: Bearer TOKEN".
func (s *Server) Token() string { return s.keys.token }

// Login returns a code that lets one browser in, once, within a minute. It stands behind the # of the panel's address.
func (s *Server) Login() string { return s.keys.newCode() }

// Serve answers requests on listener until ctx ends, and then ends event streams and waits shortly for requests in progress. It closes the
// listener, and is called once. The error is that of the listener; an end by ctx is none.
func (s *Server) Serve(ctx context.Context, listener net.Listener) error {
	server := &http.Server{
		Handler: s.handler(hostsOf(listener.Addr())), BaseContext: func(net.Listener) context.Context { return context.WithoutCancel(ctx) },
		ReadHeaderTimeout: readWait, ReadTimeout: readWait, WriteTimeout: callWait + writeSlack, IdleTimeout: time.Minute, MaxHeaderBytes: maxHeader,
		ErrorLog: slog.NewLogLogger(s.cfg.Logger.Handler(), slog.LevelDebug),
	}
	served := make(chan error, 1)
	go func() { served <- server.Serve(listener) }()
	select {
	case err := <-served:
		return err
	case <-ctx.Done():
	}
	close(s.ending)
	wait, cancel := context.WithTimeout(context.WithoutCancel(ctx), stopWait)
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
