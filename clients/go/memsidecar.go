// Package memsidecar is the Go client of the memsidecar daemon: it finds the daemon, starts it when none runs, repeats calls
// where repeating is safe, and says what went wrong in words and in codes.
//
//	c, err := memsidecar.Connect(ctx, memsidecar.Options{})
//	if err != nil { … }
//	defer c.Close()
//	saved, err := c.Remember(ctx, "We deploy with make release", memsidecar.InCategory("facts"))
//	hits, err := c.Search(ctx, "how do we deploy", 5)
//
// Everything the daemon can do is reached by the generated clients in [Client]; the methods beside them are the calls that
// agents make all the time.
package memsidecar

import (
	"context"
	"errors"
	"fmt"
	"time"

	"google.golang.org/grpc"

	pb "github.com/memsidecar/memsidecar/gen/memsidecar/v1"
	"github.com/memsidecar/memsidecar/internal/unixsock"
)

// DefaultPatience is how long a call goes on trying to reach a daemon, unless Options say otherwise.
const DefaultPatience = 10 * time.Second

// Options say which daemon to talk to. The zero value is the user's own, with its default space.
type Options struct {
	// Socket is the path of the daemon's socket; default $MEMSIDECAR_SOCKET, else what the memsidecar program says. A daemon
	// at a socket that is given here is not started.
	Socket string
	// Program is the memsidecar program; default $MEMSIDECAR_PROGRAM, else memsidecar from PATH.
	Program string
	// NoStart leaves a daemon that does not run alone.
	NoStart bool
	// Space is where the methods of Client work; default the default space.
	Space string
	// Patience is how long a call goes on trying to reach a daemon; default DefaultPatience, negative means a single try.
	Patience time.Duration
}

// Client is a connection to a daemon. It may be used by several goroutines.
//
// Its fields are the generated clients. Calls made by them are repeated while no daemon answers, within the patience of
// Options, when repeating is safe: reading calls are; a write with an idempotency key is, and one without is given one; and
// messages are that carry sequence numbers. Their errors are *Error.
type Client struct {
	Memory     pb.MemoryServiceClient
	Searches   pb.SearchServiceClient
	Sessions   pb.SessionServiceClient
	Logs       pb.LogServiceClient
	Operations pb.OperationServiceClient
	Admin      pb.AdminServiceClient

	space string
	conn  *grpc.ClientConn
}

// Connect finds the daemon, starting it when that is wanted and needed, and makes sure that it answers. A daemon that runs as
// another user is refused. Errors: *Error with code Unavailable when no daemon answers; ErrNoProgram when it was to be started
// and cannot be.
func Connect(ctx context.Context, opts Options) (*Client, error) {
	if opts.Patience == 0 {
		opts.Patience = DefaultPatience
	}
	f := newFinder(opts)
	path, err := f.find(ctx)
	if err != nil {
		return nil, err
	}
	conn, err := unixsock.Dial(path)
	if err != nil {
		return nil, fmt.Errorf("connect to memsidecar: %w", err)
	}
	p := &patient{conn: conn, finder: f, patience: max(opts.Patience, 0)}
	c := &Client{
		Memory: pb.NewMemoryServiceClient(p), Searches: pb.NewSearchServiceClient(p), Sessions: pb.NewSessionServiceClient(p),
		Logs: pb.NewLogServiceClient(p), Operations: pb.NewOperationServiceClient(p), Admin: pb.NewAdminServiceClient(p),
		space: opts.Space, conn: conn,
	}
	if _, err := c.Admin.Info(ctx, &pb.AdminServiceInfoRequest{}); err != nil {
		return nil, errors.Join(err, conn.Close())
	}
	return c, nil
}

// Close ends the connection; the daemon goes on.
func (c *Client) Close() error { return c.conn.Close() }

// Saved is what became of something that was to be remembered. It is durable.
type Saved struct {
	// ID is that of the memory, also when it was known already.
	ID string
	// Operation is what undoes it; 0 when nothing had to be written.
	Operation int64
	// Duplicate says that the same was known already.
	Duplicate bool
	// Reason says what is to be known of it, such as REDACTED; may be empty.
	Reason string
}

// Detail adds something to a memory that is to be saved.
type Detail func(*pb.NewMemory)

// InCategory puts a memory into a category; the default is general.
func InCategory(name string) Detail { return func(m *pb.NewMemory) { m.Category = name } }

// WithSalience says how important a memory is, 0 to 1; the default is 0.5.
func WithSalience(s float64) Detail { return func(m *pb.NewMemory) { m.Salience = &s } }

// WithTitle names a memory.
func WithTitle(title string) Detail { return func(m *pb.NewMemory) { m.Title = title } }

// WithTags marks a memory.
func WithTags(tags ...string) Detail { return func(m *pb.NewMemory) { m.Tags = tags } }

// Remember saves a memory as it is, durably. Errors: *Error, with a violation per field that is not valid; a text that was
// rejected is an *Error too.
func (c *Client) Remember(ctx context.Context, content string, details ...Detail) (Saved, error) {
	item := &pb.NewMemory{Content: content}
	for _, d := range details {
		d(item)
	}
	resp, err := c.Memory.Add(ctx, &pb.MemoryServiceAddRequest{Space: c.space, Items: []*pb.NewMemory{item}})
	if err != nil {
		return Saved{}, err
	}
	o := resp.GetResult().GetOutcomes()[0]
	if o.GetStatus() == pb.OutcomeStatus_OUTCOME_STATUS_REJECTED {
		return Saved{}, rejected(o)
	}
	return Saved{
		ID: o.GetId(), Operation: resp.GetResult().GetOperation(), Reason: o.GetReason(),
		Duplicate: o.GetStatus() == pb.OutcomeStatus_OUTCOME_STATUS_DUPLICATE,
	}, nil
}

// Forget retires a memory and keeps its value from being learnt again. It can be undone by the operation's number.
func (c *Client) Forget(ctx context.Context, id string) (operation int64, err error) {
	resp, err := c.Memory.Delete(ctx, &pb.MemoryServiceDeleteRequest{Space: c.space, Ids: []string{id}})
	return resp.GetResult().GetOperation(), err
}

// Undo takes an operation back, and returns the number of the one that did.
func (c *Client) Undo(ctx context.Context, operation int64) (int64, error) {
	resp, err := c.Operations.Undo(ctx, &pb.OperationServiceUndoRequest{Number: operation})
	return resp.GetResult().GetOperation(), err
}

// Search returns at most k memories (1 to 200; 0 means 10) that fit a query, best first, or none.
func (c *Client) Search(ctx context.Context, query string, k int) ([]*pb.SearchHit, error) {
	resp, err := c.Searches.Search(ctx, &pb.SearchServiceSearchRequest{Spaces: c.spaces(), Query: query, K: int32(k)})
	return resp.GetHits(), err
}

// Recall returns what to put beside a prompt, fenced as data, or nothing when nothing fits.
func (c *Client) Recall(ctx context.Context, prompt string) (string, error) {
	return c.recall(ctx, prompt, "")
}

func (c *Client) recall(ctx context.Context, prompt, session string) (string, error) {
	resp, err := c.Searches.Recall(ctx, &pb.SearchServiceRecallRequest{Spaces: c.spaces(), SessionId: session, Text: prompt})
	return resp.GetBlock(), err
}

func (c *Client) spaces() []string {
	if c.space == "" {
		return nil
	}
	return []string{c.space}
}
