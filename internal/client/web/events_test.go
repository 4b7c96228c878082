package web_test

import (
	"bufio"
	"context"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/metadata"

	"github.com/memsidecar/memsidecar/internal/client/web"
	"github.com/memsidecar/memsidecar/internal/rpc/unixsock"
)

// heldConn is a connection whose streams give their header when released.
type heldConn struct {
	grpc.ClientConnInterface
	asked   chan struct{} // closed when somebody waits for a header
	release chan struct{}
}

func (c *heldConn) NewStream(ctx context.Context, desc *grpc.StreamDesc, method string,
	opts ...grpc.CallOption) (grpc.ClientStream, error) {
	s, err := c.ClientConnInterface.NewStream(ctx, desc, method, opts...)
	return &heldStream{s, c}, err
}

type heldStream struct {
	grpc.ClientStream
	conn *heldConn
}

func (s *heldStream) Header() (metadata.MD, error) {
	close(s.conn.asked)
	<-s.conn.release
	return s.ClientStream.Header()
}

// TestConnectedWhenWatching: a stream of events says that it is connected when the daemon has the position to watch
// from, and not before.
func TestConnectedWhenWatching(t *testing.T) {
	conn, err := unixsock.Dial(startDaemon(t).socket)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	held := &heldConn{conn, make(chan struct{}), make(chan struct{})}
	s := web.New(web.Config{Conn: held, Logger: slog.New(slog.DiscardHandler), Now: time.Now})
	server := httptest.NewUnstartedServer(nil)
	server.Config.Handler = s.Handler(server.Listener.Addr().String())
	server.Start()
	defer server.Close()

	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, "GET", server.URL+"/api/events", nil)
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+s.Token())
	answered := make(chan *http.Response, 1)
	go func() {
		if res, err := server.Client().Do(req); err == nil {
			answered <- res
		}
		close(answered)
	}()
	select {
	case <-held.asked:
	case res := <-answered:
		t.Fatalf("it answered without waiting for the daemon: %v", res)
	}
	close(held.release)
	res := <-answered
	if res == nil {
		t.Fatal("no answer")
	}
	defer res.Body.Close()
	if line, _ := bufio.NewReader(res.Body).ReadString('\n'); strings.TrimSpace(line) != ": connected" {
		t.Errorf("begins with %q", line)
	}
}
