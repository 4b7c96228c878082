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

// drainWait bounds how long answers are waited for when nobody asks any more.
const drainWait = 10 * time.Second

// draining is a transport whose end is told only when everything that was asked is answered: who writes requests and closes, as a pipe does, still gets
// the answers.
type draining struct{ mcp.Transport }

// Connect wraps the connection.
func (d draining) Connect(ctx context.Context) (mcp.Connection, error) {
	conn, err := d.Transport.Connect(ctx)
	if err != nil {
		return nil, err
	}
	return &drainingConn{Connection: conn, asked: map[string]bool{}, idle: make(chan struct{}, 1)}, nil
}

type drainingConn struct {
	mcp.Connection

	mu    sync.Mutex
	asked map[string]bool // requests that are not answered, by id; guarded by mu
	idle  chan struct{}   // gets a signal when there are none
}

// Read returns the next message.
func (c *drainingConn) Read(ctx context.Context) (jsonrpc.Message, error) {
	msg, err := c.Connection.Read(ctx)
	if errors.Is(err, io.EOF) {
		c.wait(ctx)
		return msg, err
	}
	if req, ok := msg.(*jsonrpc.Request); ok && req.ID.IsValid() {
		c.mu.Lock()
		c.asked[idText(req.ID)] = true
		c.mu.Unlock()
	}
	return msg, err
}

// Write sends a message.
func (c *drainingConn) Write(ctx context.Context, msg jsonrpc.Message) error {
	err := c.Connection.Write(ctx, msg)
	if res, ok := msg.(*jsonrpc.Response); ok {
		c.mu.Lock()
		delete(c.asked, idText(res.ID))
		if len(c.asked) == 0 {
			select {
			case c.idle <- struct{}{}:
			default:
			}
		}
		c.mu.Unlock()
	}
	return err
}

func (c *drainingConn) wait(ctx context.Context) {
	timer := time.NewTimer(drainWait)
	defer timer.Stop()
	for {
		c.mu.Lock()
		left := len(c.asked)
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

// idText tells the ids 1 and "1" apart.
func idText(id jsonrpc.ID) string { return fmt.Sprintf("%T %[1]v", id.Raw()) }
