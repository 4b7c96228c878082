package rpc

import (
	"cmp"
	"context"
	"slices"
	"strconv"

	pb "github.com/memsidecar/memsidecar/gen/memsidecar/v1"
	"github.com/memsidecar/memsidecar/internal/memory"
	"github.com/memsidecar/memsidecar/internal/service/memorysvc"
	"github.com/memsidecar/memsidecar/internal/service/recall"
	"github.com/memsidecar/memsidecar/internal/service/session"
	"github.com/memsidecar/memsidecar/internal/store"
	"github.com/memsidecar/memsidecar/internal/store/journal"
)

// defaultSessions is the number of sessions of a page that names none.
const defaultSessions = 100

// sessionServer serves SessionService.
type sessionServer struct {
	pb.UnsafeSessionServiceServer
	encoder
	sessions *session.Service
	recall   *recall.Service
	memories *memorysvc.Service
	keyed    *keyedCalls
}

// Append adds messages. Durable on return. Errors: memory.ErrPaused, *memory.InvalidError for a gap.
func (s *sessionServer) Append(ctx context.Context,
	req *pb.SessionServiceAppendRequest) (*pb.SessionServiceAppendResponse, error) {
	var check memory.Check
	first, messages := messagesFromProto(&check, req.GetMessages())
	if len(messages) == 0 && req.GetContextSummary() == "" {
		check.Add("messages", "REQUIRED", "must have 1 to %d items", memory.MaxBatch)
	}
	if err := check.Err(); err != nil {
		return nil, err
	}
	done, err := s.sessions.Append(ctx, session.AppendRequest{
		Space: req.GetSpace(), ID: req.GetSessionId(), FirstSeq: first, Messages: messages,
		Summary: req.GetContextSummary(), Key: req.GetIdempotencyKey(),
	})
	if err != nil {
		return nil, err
	}
	return &pb.SessionServiceAppendResponse{
		Result:  s.result(store.Result{Op: done.Op, Replayed: done.Replayed, Outcomes: done.Outcomes}),
		NextSeq: done.NextSeq, Redacted: int32(done.Redacted), ContextRedactions: redactionsToProto(done.Summary),
	}, nil
}

// Reflect reflects a session, or messages given directly. A reflection that has begun goes on when the client leaves.
// Durable on return, unless it is pending. Errors: memory.ErrNotFound, memory.ErrPaused.
func (s *sessionServer) Reflect(ctx context.Context,
	req *pb.SessionServiceReflectRequest) (*pb.SessionServiceReflectResponse, error) {
	var check memory.Check
	first, messages := messagesFromProto(&check, req.GetMessages())
	if first > 1 {
		check.Add("messages[0].seq", "OUT_OF_ORDER", "must be 1: all messages of the session are needed")
	}
	if err := check.Err(); err != nil {
		return nil, err
	}
	done, err := s.sessions.Reflect(ctx, session.ReflectRequest{
		Space: req.GetSpace(), ID: req.GetSessionId(), Messages: messages, Host: req.GetHost(), Cwd: req.GetCwd(),
		DryRun: req.GetDryRun(), Wait: !req.GetAsync(), Key: req.GetIdempotencyKey(),
	})
	if err != nil {
		return nil, err
	}
	// Another request may have run the reflection.
	store.NoteWrite(ctx, store.Write{Space: cmp.Or(req.GetSpace(), memory.DefaultSpace), Op: done.Reflection.Op})
	return s.reflection(&done), nil
}

// End ends a session. Ending a session that has ended is a duplicate. Durable on return. Error: memory.ErrNotFound.
func (s *sessionServer) End(ctx context.Context, req *pb.SessionServiceEndRequest) (*pb.SessionServiceEndResponse,
	error) {
	var header *memory.Session
	result, err := s.keyed.run(ctx, keyedMeta(req, req.GetSpace(), "end session"), func() (store.Result, error) {
		ended, err := s.sessions.End(ctx, req.GetSpace(), req.GetSessionId(), req.GetEndReason())
		header = ended.Session
		outcome := journal.Outcome{ID: req.GetSessionId(), Status: journal.Applied}
		if ended.Op == 0 {
			outcome.Status = journal.Duplicate
		}
		return store.Result{Op: ended.Op, Outcomes: []journal.Outcome{outcome}}, err
	})
	if err != nil {
		return nil, err
	}
	if header == nil { // a repeat
		if header, err = s.sessions.Get(cmp.Or(req.GetSpace(), memory.DefaultSpace), req.GetSessionId()); err != nil {
			return nil, err
		}
	}
	return &pb.SessionServiceEndResponse{Result: s.result(result), Session: s.session(header)}, nil
}

// Get returns a session. Error: memory.ErrNotFound.
func (s *sessionServer) Get(_ context.Context, req *pb.SessionServiceGetRequest) (*pb.SessionServiceGetResponse,
	error) {
	var check memory.Check
	space := spaceOf(&check, req.GetSpace())
	check.ID("session_id", req.GetSessionId())
	if err := check.Err(); err != nil {
		return nil, err
	}
	header, err := s.sessions.Get(space, req.GetSessionId())
	if err != nil {
		return nil, err
	}
	res := &pb.SessionServiceGetResponse{Session: s.session(header)}
	if header.Summaries > 0 {
		if res.ContextSummary, err = s.sessions.ContextSummary(space, req.GetSessionId()); err != nil {
			return nil, err
		}
	}
	if req.GetIncludeContext() {
		if res.Context, _, err = s.sessions.Context(space, req.GetSessionId()); err != nil {
			return nil, err
		}
	}
	return res, nil
}

// ListMessages returns a page of messages. Sequence numbers identify them, so that new messages come on later pages.
// Error: memory.ErrNotFound.
func (s *sessionServer) ListMessages(_ context.Context,
	req *pb.SessionServiceListMessagesRequest) (*pb.SessionServiceListMessagesResponse, error) {
	var check memory.Check
	space := spaceOf(&check, req.GetSpace())
	check.ID("session_id", req.GetSessionId())
	if req.GetFirstSeq() < 0 {
		check.Add("first_seq", "OUT_OF_RANGE", "must not be negative")
	}
	paging := pagingOf(&check, req, memory.MaxPage)
	if err := check.Err(); err != nil {
		return nil, err
	}
	messages, err := s.sessions.Messages(space, req.GetSessionId(), req.GetFirstSeq())
	if err != nil {
		return nil, err
	}
	seq := func(m *memory.Message) string { return strconv.FormatInt(m.Seq, 10) }
	res := &pb.SessionServiceListMessagesResponse{}
	res.Messages, res.NextPageToken = pageOf(paging, messages, seq, messageToProto)
	return res, nil
}

// List returns a page of sessions, newest first. Sessions keep the order of their start, so that new ones do not shift
// the next page.
func (s *sessionServer) List(_ context.Context, req *pb.SessionServiceListRequest) (*pb.SessionServiceListResponse,
	error) {
	var check memory.Check
	space := spaceOf(&check, req.GetSpace())
	paging := pagingOf(&check, req, defaultSessions)
	if len(req.GetShortIds()) > memory.MaxBatch {
		check.Add("short_ids", "TOO_MANY", "must have at most %d items", memory.MaxBatch)
	}
	if err := check.Err(); err != nil {
		return nil, err
	}
	all := slices.DeleteFunc(s.sessions.List(space, ""), func(h *memory.Session) bool {
		return len(req.GetStates()) > 0 && !slices.Contains(req.GetStates(), sessionStates[h.State]) ||
			len(req.GetShortIds()) > 0 && !slices.ContainsFunc(req.GetShortIds(), func(short string) bool {
				return memory.AnswersTo(h.ID, short)
			})
	})
	res := &pb.SessionServiceListResponse{}
	res.Sessions, res.NextPageToken = pageOf(paging, all, func(h *memory.Session) string { return h.ID }, s.session)
	return res, nil
}
