package web

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"time"

	"google.golang.org/grpc"

	pb "github.com/memsidecar/memsidecar/gen/memsidecar/v1"
	"github.com/memsidecar/memsidecar/internal/client/jsonout"
)

// The stream follows the WHATWG specification of server-sent events. The panel reads it with fetch, because
// EventSource cannot send the token in a header.

// keepAliveInterval is the longest silence on an event stream. A comment line is sent then, so that both sides notice
// when the other has gone.
const keepAliveInterval = 15 * time.Second

// event is the data of a server-sent event: which things an operation changed, for the client to load again. It has
// no memory text.
type event struct {
	ID       string   `json:"id"`
	Space    string   `json:"space"`
	Actor    string   `json:"actor"`
	Undoes   string   `json:"undoes_operation_id"`
	Changes  int32    `json:"change_count"`
	Memories []string `json:"memories"`
	Days     []string `json:"days"`
	Sessions []string `json:"sessions"`
	Summary  bool     `json:"summary"`
}

// watchOperations serves GET /api/events: operations as server-sent events, each after it is durable, until the
// client disconnects or the daemon stops. A client that reconnects gives the last id that it saw, in Last-Event-ID
// or in the parameter cursor, and misses nothing.
func (s *Server) watchOperations(w http.ResponseWriter, r *http.Request) error {
	q := newQueryParams(r, "cursor", "space")
	req := &pb.OperationServiceWatchRequest{
		Spaces: q.list("space"), Cursor: cmp.Or(r.Header.Get("Last-Event-ID"), q.text("cursor")),
	}
	if q.err != nil {
		return q.err
	}
	select {
	// A stream holds a connection for as long as its client likes, so their number is bounded.
	case s.streams <- struct{}{}:
		defer func() { <-s.streams }()
	default:
		return &httpError{
			http.StatusTooManyRequests, "BUSY", fmt.Sprintf("there are %d event streams already", maxStreams),
		}
	}
	ctx, cancel := context.WithCancel(r.Context())
	defer cancel()
	r = r.WithContext(ctx)
	stream, err := s.ops.Watch(ctx, req)
	if err != nil {
		return err
	}
	// The daemon sends its header when it has the position to watch from. An operation between ": connected" and that
	// would be in no event.
	if _, err := stream.Header(); err != nil {
		return err
	}
	return s.sendOperations(w, r, stream)
}

// sendOperations writes the operations of a stream as events. Its goroutine ends with the request: cancelling the
// context ends Recv, and the buffered channel takes its error even if nobody reads it.
//
// An event has an id only if a client may resume after it. A large operation comes in several responses, and only the
// last one has a cursor: a client that loses the connection in between gets the whole operation again.
func (s *Server) sendOperations(
	w http.ResponseWriter, r *http.Request, stream grpc.ServerStreamingClient[pb.OperationServiceWatchResponse],
) error {
	rc := http.NewResponseController(w)
	responses, failed := make(chan *pb.OperationServiceWatchResponse), make(chan error, 1)
	go func() {
		for {
			res, err := stream.Recv()
			if err != nil {
				failed <- err
				return
			}
			select {
			case responses <- res:
			case <-r.Context().Done():
				failed <- r.Context().Err()
				return
			}
		}
	}()
	ticker := time.NewTicker(keepAliveInterval)
	defer ticker.Stop()
	write := func(text string) error {
		_ = rc.SetWriteDeadline(s.cfg.Now().Add(2 * keepAliveInterval)) // an error means a writer without deadlines
		if _, err := io.WriteString(w, text); err != nil {
			return err
		}
		return rc.Flush()
	}
	w.Header().Set("Content-Type", "text/event-stream; charset=utf-8")
	if err := write(": connected\n\n"); err != nil {
		return nil //nolint:nilerr // the client has gone
	}
	for {
		text := ": keep-alive\n\n"
		select {
		case <-r.Context().Done():
			return nil
		case <-s.stopping:
			return nil
		case err := <-failed:
			if errors.Is(err, io.EOF) || r.Context().Err() != nil {
				return nil
			}
			_, body := errorResponse(err)
			data, err := json.Marshal(body)
			if err != nil {
				return err
			}
			_ = write("event: error\ndata: " + string(data) + "\n\n") // the stream ends either way
			return nil
		case res := <-responses:
			data, err := json.Marshal(eventOf(res.GetOperation()))
			if err != nil {
				return err
			}
			text = fmt.Sprintf("event: operation\ndata: %s\n\n", data)
			if res.GetCursor() != "" { // else further parts of this operation follow
				text = "id: " + res.GetCursor() + "\n" + text
			}
		case <-ticker.C:
		}
		if err := write(text); err != nil {
			return nil //nolint:nilerr // the client has gone
		}
	}
}

// eventOf converts an operation. Its lists are [] when they are empty.
func eventOf(op *pb.Operation) event {
	out := event{
		ID: op.GetId(), Space: op.GetSpace(), Actor: jsonout.Word(op.GetActor().Descriptor(), op.GetActor().Number()),
		Undoes: op.GetUndoesOperationId(), Changes: op.GetChangeCount(), Memories: []string{}, Days: []string{}, Sessions: []string{},
	}
	for _, c := range op.GetChanges() {
		switch s := c.GetSubject().(type) {
		case *pb.Change_Memory:
			out.Memories = append(out.Memories, s.Memory.GetId())
		case *pb.Change_Entry:
			out.Days = append(out.Days, s.Entry.GetDate())
		case *pb.Change_Day:
			out.Days = append(out.Days, s.Day.GetDate())
		case *pb.Change_Session:
			out.Sessions = append(out.Sessions, s.Session.GetId())
		case *pb.Change_Summary:
			out.Summary = true
		}
	}
	return out
}
