package mcpserver

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// drainTimeout bounds the wait for pending responses after the input has ended.
const drainTimeout = 10 * time.Second

// drainTransport delays the end of the input until every request has its response. The SDK ends a session at the
// end of the input and drops what is pending; a client that writes its requests into a pipe and closes it would
// then lose the responses.
type drainTransport struct{ mcp.Transport }

// Connect opens the transport and wraps its connection.
func (d drainTransport) Connect(ctx context.Context) (mcp.Connection, error) {
	conn, err := d.Transport.Connect(ctx)
	if err != nil {
		return nil, err
	}
	return &drainConn{Connection: conn, pending: map[string]bool{}, idle: make(chan struct{}, 1)}, nil
}

// drainConn counts the requests without a response. Read and Write may run at the same time.
type drainConn struct {
	mcp.Connection

	mu      sync.Mutex
	pending map[string]bool // requests without a response, by idKey; guarded by mu
	idle    chan struct{}   // receives a signal whenever pending becomes empty
}

// Read returns the next message. At the end of the input it returns io.EOF only after waitIdle.
func (c *drainConn) Read(ctx context.Context) (jsonrpc.Message, error) {
	msg, err := c.Connection.Read(ctx)
	if errors.Is(err, io.EOF) {
		c.waitIdle(ctx)
		return msg, err
	}
	if req, ok := msg.(*jsonrpc.Request); ok && req.ID.IsValid() {
		c.mu.Lock()
		c.pending[idKey(req.ID)] = true
		c.mu.Unlock()
	}
	return msg, err
}

// Write sends a message. A response removes its request from pending, whether or not it could be sent.
func (c *drainConn) Write(ctx context.Context, msg jsonrpc.Message) error {
	err := c.Connection.Write(ctx, msg)
	if res, ok := msg.(*jsonrpc.Response); ok {
		c.mu.Lock()
		delete(c.pending, idKey(res.ID))
		if len(c.pending) == 0 {
			select {
			case c.idle <- struct{}{}:
			default:
			}
		}
		c.mu.Unlock()
	}
	return err
}

// waitIdle returns when no request is pending, ctx has ended or drainTimeout has passed.
func (c *drainConn) waitIdle(ctx context.Context) {
	timer := time.NewTimer(drainTimeout)
	defer timer.Stop()
	for {
		c.mu.Lock()
		left := len(c.pending)
		c.mu.Unlock()
		if left == 0 {
			return
		}
		select {
		case <-c.idle:
		case <-ctx.Done():
			return
		case <-timer.C:
			return
		}
	}
}

// idKey is a map key for a request id. JSON-RPC allows numbers and strings, so 1 and "1" are different ids.
func idKey(id jsonrpc.ID) string { return fmt.Sprintf("%T %[1]v", id.Raw()) }
