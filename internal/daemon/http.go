package daemon

import (
	"context"
	"errors"
	"fmt"
	"net"
	"time"

	"google.golang.org/grpc"

	"github.com/memsidecar/memsidecar/internal/client/mcpserver"
	"github.com/memsidecar/memsidecar/internal/client/web"
	"github.com/memsidecar/memsidecar/internal/rpc/unixsock"
)

// mcpCallTimeout bounds a tool call over HTTP that asks no language model, as the command line's --timeout does.
const mcpCallTimeout = 30 * time.Second

// httpServer is the HTTP interface of the daemon. It is a client of the daemon's socket.
type httpServer struct {
	web      *web.Server
	mcp      *mcpserver.HTTP
	listener net.Listener
	conn     *grpc.ClientConn
	files    web.Files
}

// openHTTP starts to listen for HTTP, if configured, and writes the token file beside the socket. Agents do not
// depend on HTTP, so errors are only logged. The caller holds the lock of the data directory and listens on its
// socket.
func (d *daemon) openHTTP(ctx context.Context) *httpServer {
	files := web.FilesFor(d.cfg.Socket)
	if err := files.Remove(); err != nil { // left by a killed daemon
		d.log.Warn("token file of an earlier daemon not removed; the token is invalid", "err", err)
	}
	if d.cfg.HTTPListen == "" {
		return nil
	}
	h, err := d.listenHTTP(ctx, files)
	if err != nil {
		d.log.Error("HTTP is not served", "http_listen", d.cfg.HTTPListen, "origin", d.cfg.origin("http_listen"), "err",
			err)
		return nil
	}
	d.log.Info("serving HTTP", "address", web.URL(h.listener.Addr()), "token_file", files.Token)
	return h
}

// listenHTTP opens the listener and writes the token file.
func (d *daemon) listenHTTP(ctx context.Context, files web.Files) (*httpServer, error) {
	listener, err := web.Listen(ctx, d.cfg.HTTPListen)
	if err != nil {
		return nil, err
	}
	conn, err := unixsock.Dial(d.cfg.Socket)
	if err != nil {
		return nil, errors.Join(err, listener.Close())
	}
	h := &httpServer{listener: listener, conn: conn, files: files}
	h.mcp = mcpserver.NewHTTP(mcpserver.Config{
		// Each session has a connection of its own, so that its end is the end of its calls.
		Connect: func(context.Context) (*grpc.ClientConn, error) { return unixsock.Dial(d.cfg.Socket) },
		Logger:  d.log, Now: d.now, Version: d.version, Timeout: mcpCallTimeout,
	})
	h.web = web.New(web.Config{Conn: conn, Logger: d.log, Now: d.now, MCP: h.mcp, Machine: d.machine})
	if err := files.Write(h.web.Token(), web.URL(listener.Addr())); err != nil {
		return nil, errors.Join(fmt.Errorf("write the token file: %w", err), files.Remove(), conn.Close(),
			listener.Close())
	}
	return h, nil
}

// serveHTTP serves until ctx ends. Errors are only logged.
func (d *daemon) serveHTTP(ctx context.Context, h *httpServer) error {
	if h == nil {
		return nil
	}
	if err := h.web.Serve(ctx, h.listener); err != nil {
		d.log.Error("HTTP server failed", "err", err)
	}
	h.mcp.Close()
	if err := errors.Join(h.files.Remove(), h.conn.Close()); err != nil {
		d.log.Warn("HTTP cleanup failed", "err", err)
	}
	return nil
}
