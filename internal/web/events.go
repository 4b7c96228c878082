package web

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"time"

	"google.golang.org/grpc"

	pb "github.com/memsidecar/memsidecar/gen/memsidecar/v1"
)

// beat is how often something is sent on a quiet stream, so that both sides notice when the other has gone.
const beat = 15 * time.Second

// event is what is told of an operation: what to look at again, and no text.
type event struct {
	Number   int64    `json:"number"`
	Space    string   `json:"space"`
	Actor    string   `json:"actor"`
	Undoes   int64    `json:"undoes"`
	Changes  int32    `json:"change_count"`
	Memories []string `json:"memories"`
	Days     []string `json:"days"`
	Sessions []string `json:"sessions"`
	Summary  bool     `json:"summary"`
}

// events sends operations as they become durable, until the client or the daemon goes. A client that comes back says in Last-Event-ID, or
// with after, what it saw last, and misses nothing.
func (s *Server) events(w http.ResponseWriter, r *http.Request) error {
	q := queryOf(r, "after", "space")
	req := &pb.OperationServiceWatchRequest{Spaces: q.list("space")}
	if n, given := q.large("after"); given {
		req.After = &n
	}
	if last, err := strconv.ParseInt(r.Header.Get("Last-Event-ID"), 10, 64); err == nil {
		req.After = &last
	}
	if q.err != nil {
		return q.err
	}
	select {
	case s.streams <- struct{}{}:
		defer func() { <-s.streams }()
	default:
		return &problem{http.StatusTooManyRequests, "BUSY", fmt.Sprintf("there are %d event streams already", maxStreams)}
	}
	ctx, cancel := context.WithCancel(r.Context())
	defer cancel()
	r = r.WithContext(ctx)
	stream, err := s.ops.Watch(ctx, req)
	if err != nil {
		return err
	}
	return s.send(w, r, stream)
}

// send passes operations on. The goroutine that receives them ends with the request.
func (s *Server) send(w http.ResponseWriter, r *http.Request, stream grpc.ServerStreamingClient[pb.OperationServiceWatchResponse]) error {
	rc := http.NewResponseController(w)
	ops, failed := make(chan *pb.Operation), make(chan error, 1)
	go func() {
		for {
			res, err := stream.Recv()
			if err != nil {
				failed <- err
				return
			}
			select {
			case ops <- res.GetOperation():
			case <-r.Context().Done():
				failed <- r.Context().Err()
				return
			}
		}
	}()
	ticker := time.NewTicker(beat)
	defer ticker.Stop()
	write := func(text string) error {
		_ = rc.SetWriteDeadline(s.cfg.Now().Add(2 * beat)) // not every writer has deadlines
		if _, err := io.WriteString(w, text); err != nil {
			return err
		}
		return rc.Flush()
	}
	w.Header().Set("Content-Type", "text/event-stream; charset=utf-8")
	if err := write(": listening\n\n"); err != nil {
		return nil //nolint:nilerr // the client has gone
	}
	for {
		text := ": still here\n\n"
		select {
		case <-r.Context().Done():
			return nil
		case <-s.ending:
			return nil
		case err := <-failed:
			if errors.Is(err, io.EOF) || r.Context().Err() != nil {
				return nil
			}
			_, body := describe(err)
			data, err := json.Marshal(body)
			if err != nil {
				return err
			}
			_ = write("event: error\ndata: " + string(data) + "\n\n") // the stream ends either way
			return nil
		case op := <-ops:
			data, err := json.Marshal(eventOf(op))
			if err != nil {
				return err
			}
			text = fmt.Sprintf("id: %d\nevent: operation\ndata: %s\n\n", op.GetNumber(), data)
		case <-ticker.C:
		}
		if err := write(text); err != nil {
			return nil //nolint:nilerr // the client has gone
		}
	}
}

func eventOf(op *pb.Operation) event {
	out := event{
		Number: op.GetNumber(), Space: op.GetSpace(), Actor: op.GetActor(), Undoes: op.GetUndoes(), Changes: op.GetChangeCount(),
		Memories: []string{}, Days: []string{}, Sessions: []string{},
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
