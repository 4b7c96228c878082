package daemon

import (
	"context"
	"errors"
	"fmt"
	"net"

	"google.golang.org/grpc"

	"github.com/memsidecar/memsidecar/internal/unixsock"
	"github.com/memsidecar/memsidecar/internal/web"
)

// httpServer is the HTTP interface of a running daemon: a client of its socket.
type httpServer struct {
	web      *web.Server
	listener net.Listener
	conn     *grpc.ClientConn
	files    web.Files
}

// openHTTP begins to listen for HTTP, if that is configured, and leaves the token beside the socket. Agents do not depend on it: what fails
// is logged, and the daemon serves without. The caller holds the lock of the data directory and listens on its socket.
func (d *daemon) openHTTP(ctx context.Context) *httpServer {
	files := web.FilesFor(d.cfg.Socket)
	if err := files.Remove(); err != nil { // of a daemon that was killed
		d.log.Warn("a token of an earlier daemon stays; it opens nothing", "err", err)
	}
	if d.cfg.HTTPListen == "" {
		return nil
	}
	h, err := d.listenHTTP(ctx, files)
	if err != nil {
		d.log.Error("HTTP is not served", "http_listen", d.cfg.HTTPListen, "origin", d.cfg.origin("http_listen"), "err", err)
		return nil
	}
	d.log.Info("serving HTTP", "address", web.URL(h.listener.Addr()), "token_file", files.Token)
	return h
}

func (d *daemon) listenHTTP(ctx context.Context, files web.Files) (*httpServer, error) {
	listener, err := web.Listen(ctx, d.cfg.HTTPListen)
	if err != nil {
		return nil, err
	}
	conn, err := unixsock.Dial(d.cfg.Socket)
	if err != nil {
		return nil, errors.Join(err, listener.Close())
	}
	h := &httpServer{web: web.New(web.Config{Conn: conn, Logger: d.log, Now: d.now}), listener: listener, conn: conn, files: files}
	if err := files.Write(h.web.Token(), web.URL(listener.Addr())); err != nil {
		return nil, errors.Join(fmt.Errorf("leave the token for programs: %w", err), files.Remove(), conn.Close(), listener.Close())
	}
	return h, nil
}

// serveHTTP answers until ctx ends. That it cannot go on is no reason to stop the rest.
func (d *daemon) serveHTTP(ctx context.Context, h *httpServer) error {
	if h == nil {
		return nil
	}
	if err := h.web.Serve(ctx, h.listener); err != nil {
		d.log.Error("HTTP is not served any more", "err", err)
	}
	if err := errors.Join(h.files.Remove(), h.conn.Close()); err != nil {
		d.log.Warn("HTTP was not put away", "err", err)
	}
	return nil
}
