package rpc

import (
	"context"
	"slices"
	"strconv"

	"google.golang.org/protobuf/proto"

	pb "github.com/memsidecar/memsidecar/gen/memsidecar/v1"
	"github.com/memsidecar/memsidecar/internal/journal"
	"github.com/memsidecar/memsidecar/internal/memory"
	"github.com/memsidecar/memsidecar/internal/recall"
	"github.com/memsidecar/memsidecar/internal/session"
)

// defaultSessions is the number of sessions of a page that names none.
const defaultSessions = 100

type sessionServer struct {
	pb.UnsafeSessionServiceServer
	sessions *session.Service
	recall   *recall.Service
}

func (s *sessionServer) Append(ctx context.Context, req *pb.SessionServiceAppendRequest) (*pb.SessionServiceAppendResponse, error) {
	var check memory.Check
	first, messages := messagesFromProto(&check, req.GetMessages())
	if len(messages) == 0 && req.GetContextSummary() == "" {
		check.Add("messages", "REQUIRED", "must have 1 to %d items", memory.MaxBatch)
	}
	if err := check.Err(); err != nil {
		return nil, err
	}
	done, err := s.sessions.Append(ctx, session.AppendRequest{
		Space: req.GetSpace(), ID: req.GetSessionId(), FirstSeq: first, Messages: messages, Summary: req.GetContextSummary(),
	})
	if err != nil {
		return nil, err
	}
	return &pb.SessionServiceAppendResponse{
		Result:  &pb.WriteResult{Operation: done.Op, Outcomes: outcomesToProto(appendOutcomes(done, len(messages)))},
		NextSeq: done.NextSeq, Redacted: int32(done.Redacted),
	}, nil
}

// appendOutcomes says what became of each of n messages: those known already are always the first ones.
func appendOutcomes(done session.AppendResult, n int) []journal.Outcome {
	out := make([]journal.Outcome, n)
	for i := range out {
		out[i].Status = journal.Applied
		if i < done.Duplicates {
			out[i].Status = journal.Duplicate
		} else {
			out[i].ID = strconv.FormatInt(done.NextSeq-int64(n-i), 10)
		}
	}
	return out
}

func (s *sessionServer) Reflect(ctx context.Context, req *pb.SessionServiceReflectRequest) (*pb.SessionServiceReflectResponse, error) {
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
		DryRun: req.GetDryRun(), Wait: req.Wait == nil || *req.Wait, Key: req.GetIdempotencyKey(),
	})
	if err != nil {
		return nil, err
	}
	return reflectionToProto(&done), nil
}

func (s *sessionServer) End(ctx context.Context, req *pb.SessionServiceEndRequest) (*pb.SessionServiceEndResponse, error) {
	header, err := s.sessions.End(ctx, req.GetSpace(), req.GetSessionId(), req.GetReason())
	if err != nil {
		return nil, err
	}
	return &pb.SessionServiceEndResponse{Session: sessionToProto(header)}, nil
}

func (s *sessionServer) Get(_ context.Context, req *pb.SessionServiceGetRequest) (*pb.SessionServiceGetResponse, error) {
	var check memory.Check
	space := spaceOf(&check, req.GetSpace())
	check.ID("session_id", req.GetSessionId())
	checkPositive(&check, "from_seq", req.GetFromSeq())
	limit := pageSize(&check, "max_messages", req.GetMaxMessages(), memory.MaxPage)
	if err := check.Err(); err != nil {
		return nil, err
	}
	header, err := s.sessions.Get(space, req.GetSessionId())
	if err != nil {
		return nil, err
	}
	res := &pb.SessionServiceGetResponse{Session: sessionToProto(header)}
	if header.Summaries > 0 {
		if res.ContextSummary, err = s.sessions.ContextSummary(space, req.GetSessionId()); err != nil {
			return nil, err
		}
	}
	if !req.GetIncludeMessages() {
		return res, nil
	}
	messages, err := s.sessions.Messages(space, req.GetSessionId(), req.GetFromSeq())
	if err != nil {
		return nil, err
	}
	size := 0
	for _, m := range messages[:min(limit, len(messages))] {
		one := messageToProto(m)
		if size += proto.Size(one); len(res.Messages) > 0 && size > maxPageBytes {
			break
		}
		res.Messages = append(res.Messages, one)
	}
	return res, nil
}

func (s *sessionServer) List(_ context.Context, req *pb.SessionServiceListRequest) (*pb.SessionServiceListResponse, error) {
	var check memory.Check
	space := spaceOf(&check, req.GetSpace())
	n := pageSize(&check, "page_size", req.GetPageSize(), defaultSessions)
	after := pageKey(&check, req, req.GetPageToken())
	if err := check.Err(); err != nil {
		return nil, err
	}
	all := s.sessions.List(space, "")
	if after != "" { // sessions stay in the order of their start, and none is ever taken out before the last one seen
		if i := slices.IndexFunc(all, func(h *memory.Session) bool { return h.ID == after }); i >= 0 {
			all = all[i+1:]
		}
	}
	res := &pb.SessionServiceListResponse{}
	for _, h := range all {
		if len(req.GetStates()) > 0 && !slices.Contains(req.GetStates(), sessionStates[h.State]) {
			continue
		}
		if len(res.Sessions) == n {
			res.NextPageToken = pageToken(req, res.Sessions[n-1].GetId())
			break
		}
		res.Sessions = append(res.Sessions, sessionToProto(h))
	}
	return res, nil
}
