// Package memsidecar is the Go client of the memsidecar daemon. It finds the daemon, starts it if none runs, retries
// calls where that is safe, and returns errors with a code, a reason and a message.
//
//	c, err := memsidecar.Connect(ctx, memsidecar.Options{})
//	if err != nil { … }
//	defer c.Close()
//	saved, err := c.Remember(ctx, "We deploy with make release", memsidecar.InCategory("facts"))
//	hits, err := c.Search(ctx, "how do we deploy", 5)
//
// The generated clients in [Client] have the whole API; the methods of Client are the calls that agents make most.
package memsidecar

import (
	"context"
	"errors"
	"fmt"
	"time"

	"google.golang.org/grpc"

	pb "github.com/memsidecar/memsidecar/clients/go/gen/memsidecar/v1"
)

// DefaultPatience is how long a call tries to reach a daemon if Options do not say.
const DefaultPatience = 10 * time.Second

// Options select the daemon. The zero value is the user's own daemon and its default space.
type Options struct {
	// Socket is the path of the daemon's socket. The default is $MEMSIDECAR_SOCKET, then what the program prints. The
	// client does not start a daemon for a given socket.
	Socket string
	// Program is the memsidecar program. The default is $MEMSIDECAR_PROGRAM, then memsidecar in PATH.
	Program string
	// NoStart prevents the client from starting a daemon.
	NoStart bool
	// Space is the space for the methods of Client; "" is the default space.
	Space string
	// Patience is how long a call tries to reach a daemon; 0 is DefaultPatience, negative means a single attempt.
	Patience time.Duration
}

// Client is a connection to a daemon. It is safe for concurrent use.
//
// Its fields are the generated clients. While no daemon answers, their calls are retried within Options.Patience
// where that is safe: calls that only read, writes with an idempotency key (one without gets a key), and messages
// with sequence numbers. Their errors are *Error.
type Client struct {
	Memory     pb.MemoryServiceClient
	Searches   pb.SearchServiceClient
	Sessions   pb.SessionServiceClient
	Logs       pb.LogServiceClient
	Operations pb.OperationServiceClient
	Files      pb.FileServiceClient
	Admin      pb.AdminServiceClient

	space string
	after []string // positions that reads include
	conn  *grpc.ClientConn
}

// Connect finds the daemon, starts it if necessary, and checks that it answers. It rejects a daemon that runs as
// another user. Errors: *Error with code Unavailable if no daemon answers; ErrNoProgram if the program is needed
// and cannot be run.
func Connect(ctx context.Context, opts Options) (*Client, error) {
	if opts.Patience == 0 {
		opts.Patience = DefaultPatience
	}
	f := newFinder(opts)
	path, err := f.find(ctx)
	if err != nil {
		return nil, err
	}
	conn, err := dial(path)
	if err != nil {
		return nil, fmt.Errorf("connect to memsidecar: %w", err)
	}
	p := &retrier{conn: conn, finder: f, patience: max(opts.Patience, 0)}
	c := &Client{
		Memory: pb.NewMemoryServiceClient(p), Searches: pb.NewSearchServiceClient(p),
		Sessions: pb.NewSessionServiceClient(p),
		Logs:     pb.NewLogServiceClient(p), Operations: pb.NewOperationServiceClient(p),
		Files: pb.NewFileServiceClient(p), Admin: pb.NewAdminServiceClient(p),
		space: opts.Space, conn: conn,
	}
	if _, err := c.Admin.Info(ctx, &pb.AdminServiceInfoRequest{}); err != nil {
		return nil, errors.Join(err, conn.Close())
	}
	return c, nil
}

// Close closes the connection. The daemon keeps running.
func (c *Client) Close() error { return c.conn.Close() }

// After returns a client on the same connection, which c closes, whose Search and Recall, also those of its sessions,
// include what these positions name: the Positions of what was saved in a shared space, through any machine. They wait
// for it, within the deadline of the call. Errors of those calls: *Error with reason POSITION_NOT_REACHED if it did not
// arrive, and with code InvalidArgument if a position is none of the client's space.
func (c *Client) After(positions ...string) *Client {
	other := *c
	other.after = positions
	return &other
}

// Saved is the outcome of Remember. The memory is durable.
type Saved struct {
	// ID is the id of the memory, new or existing.
	ID string
	// Operation is the id of the operation, for Undo; empty if nothing was written.
	Operation string
	// Duplicate reports whether the same memory existed already.
	Duplicate bool
	// Reason is a remark such as REDACTED; it may be empty.
	Reason string
	// Positions name the memory for After, if the space is shared; else there are none.
	Positions []string
	// Redactions say what was taken out of the text before it was stored, and where. KeepSensitive stores it.
	Redactions []*pb.Redaction
}

// Detail sets an optional field of a memory to save, or of the request that saves it.
type Detail func(*pb.MemoryServiceAddRequest)

// ofMemory is a detail of the memory.
func ofMemory(set func(*pb.NewMemory)) Detail {
	return func(r *pb.MemoryServiceAddRequest) { set(r.GetItems()[0]) }
}

// InCategory puts a memory into a category; the default is general.
func InCategory(name string) Detail { return ofMemory(func(m *pb.NewMemory) { m.Category = name }) }

// WithSalience sets the importance of a memory, 0 to 1; the default is 0.5.
func WithSalience(s float64) Detail { return ofMemory(func(m *pb.NewMemory) { m.Salience = &s }) }

// WithTitle names a memory.
func WithTitle(title string) Detail { return ofMemory(func(m *pb.NewMemory) { m.Title = title }) }

// WithTags sets the tags of a memory.
func WithTags(tags ...string) Detail { return ofMemory(func(m *pb.NewMemory) { m.Tags = tags }) }

// KeepSensitive stores what only looks like a secret as it is. Private passages are taken out all the same.
func KeepSensitive() Detail { return func(r *pb.MemoryServiceAddRequest) { r.AllowSensitive = true } }

// Remember saves a memory without changing its text, durably. Errors: *Error, with a violation for each invalid
// field; a rejected memory is an *Error too.
func (c *Client) Remember(ctx context.Context, content string, details ...Detail) (Saved, error) {
	req := &pb.MemoryServiceAddRequest{Space: c.space, Items: []*pb.NewMemory{{Content: content}}}
	for _, d := range details {
		d(req)
	}
	resp, err := c.Memory.Add(ctx, req)
	if err != nil {
		return Saved{}, err
	}
	o := resp.GetResult().GetOutcomes()[0]
	if o.GetStatus() == pb.OutcomeStatus_OUTCOME_STATUS_REJECTED {
		return Saved{}, rejected(o)
	}
	return Saved{
		ID: o.GetId(), Operation: resp.GetResult().GetOperationId(), Reason: o.GetReason(),
		Redactions: o.GetRedactions(), Duplicate: o.GetStatus() == pb.OutcomeStatus_OUTCOME_STATUS_DUPLICATE,
		Positions: resp.GetResult().GetPositions(),
	}, nil
}

// Forget retires a memory and returns the id of the operation. The daemon does not learn its text again. Undo restores
// it.
func (c *Client) Forget(ctx context.Context, id string) (operation string, err error) {
	resp, err := c.Memory.Delete(ctx, &pb.MemoryServiceDeleteRequest{Space: c.space, Ids: []string{id}})
	return resp.GetResult().GetOperationId(), err
}

// Undo undoes an operation, by its id, and returns the id of the new operation that did so.
func (c *Client) Undo(ctx context.Context, operation string) (string, error) {
	resp, err := c.Operations.Undo(ctx, &pb.OperationServiceUndoRequest{Id: operation})
	return resp.GetResult().GetOperationId(), err
}

// Search returns at most limit memories (1 to 200; 0 means 10) for a query, best first; none if nothing is relevant.
func (c *Client) Search(ctx context.Context, query string, limit int) ([]*pb.SearchHit, error) {
	resp, err := c.Searches.Search(ctx, &pb.SearchServiceSearchRequest{
		Spaces: c.spaces(), Query: query, Limit: int32(limit), MinPositions: c.after,
	})
	return resp.GetHits(), err
}

// Recall returns memories to add to a prompt, fenced as data; "" if none is relevant.
func (c *Client) Recall(ctx context.Context, prompt string) (string, error) {
	return c.recall(ctx, prompt, "")
}

// recall is Recall for a session; "" is none.
func (c *Client) recall(ctx context.Context, prompt, session string) (string, error) {
	resp, err := c.Searches.Recall(ctx, &pb.SearchServiceRecallRequest{
		Spaces: c.spaces(), SessionId: session, Text: prompt, MinPositions: c.after,
	})
	return resp.GetBlock(), err
}

// spaces is the space as a list; nil is the default space.
func (c *Client) spaces() []string {
	if c.space == "" {
		return nil
	}
	return []string{c.space}
}
