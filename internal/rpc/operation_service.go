package rpc

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strconv"

	"google.golang.org/grpc"
	"google.golang.org/grpc/metadata"
	"google.golang.org/protobuf/proto"

	pb "github.com/memsidecar/memsidecar/gen/memsidecar/v1"
	"github.com/memsidecar/memsidecar/internal/memory"
	"github.com/memsidecar/memsidecar/internal/store"
	"github.com/memsidecar/memsidecar/internal/store/journal"
)

// defaultOperations is the number of operations of a page that names none.
const defaultOperations = 50

// operationServer serves OperationService.
type operationServer struct {
	pb.UnsafeOperationServiceServer
	encoder
	store    *store.Store
	stopping <-chan struct{}
}

// List returns a page of operations. Operations are numbered, so a page token is the number of the last one.
func (s *operationServer) List(ctx context.Context,
	req *pb.OperationServiceListRequest) (*pb.OperationServiceListResponse, error) {
	first, last, paging, err := s.listBounds(req)
	if err != nil {
		return nil, err
	}
	res, size := &pb.OperationServiceListResponse{}, 0
	lastOp := int64(0)
	for rec, err := range s.store.OperationsBackward(ctx, max(1, first), last) {
		if err != nil {
			return nil, err
		}
		if !allowed(req.GetSpaces(), rec.Space) || !req.GetIncludeBookkeeping() && !store.Significant(rec) {
			continue
		}
		op := s.listed(rec, req.GetIncludeChanges())
		// The loop has read one operation too many; the token names the last one that was sent.
		if size += proto.Size(op); len(res.Operations) == paging.size ||
			len(res.Operations) > 0 && size > maxPageBytes {
			res.NextPageToken = paging.token(strconv.FormatInt(lastOp, 10))
			break
		}
		res.Operations, lastOp = append(res.Operations, op), rec.Op
	}
	return res, nil
}

// listBounds checks a request for a list and returns the oldest and the newest operation of its page.
func (s *operationServer) listBounds(req *pb.OperationServiceListRequest) (first, last int64, p paging, err error) {
	var check memory.Check
	checkSpaces(&check, req.GetSpaces())
	p = pagingOf(&check, req, defaultOperations)
	before := int64(0)
	if !p.first() {
		if before, err = strconv.ParseInt(p.key, 10, 64); err != nil {
			check.Add(invalidToken.Field, invalidToken.Reason, "%s", invalidToken.Detail)
		}
	}
	if err := check.Err(); err != nil {
		return 0, 0, p, err
	}
	if first, err = s.optionalNumber("first_id", req.GetFirstId()); err != nil {
		return 0, 0, p, err
	}
	if last, err = s.optionalNumber("last_id", req.GetLastId()); err != nil {
		return 0, 0, p, err
	}
	// Newest first: a page is bounded from above, so that operations added meanwhile do not shift it.
	last = cmp.Or(last, s.store.LSN())
	if before > 0 {
		last = min(last, before-1)
	}
	return first, last, p, nil
}

// listed converts an operation for a list: with its changes when they are wanted and fit a page.
func (s *operationServer) listed(rec *journal.Record, changes bool) *pb.Operation {
	op := s.operationHeader(rec)
	if !changes {
		return op
	}
	all := s.changes(rec.Changes)
	if _, omitted := fit(newBudget(), all); omitted == 0 {
		op.Changes = all
	}
	return op
}

// Get returns an operation with a page of its changes. Errors: memory.ErrNotFound, memory.ErrTrimmed, memory.ErrEpoch.
func (s *operationServer) Get(ctx context.Context, req *pb.OperationServiceGetRequest) (*pb.OperationServiceGetResponse,
	error) {
	var check memory.Check
	paging := pagingOf(&check, req, memory.MaxPage)
	if err := check.Err(); err != nil {
		return nil, err
	}
	number, err := s.number("id", req.GetId())
	if err != nil {
		return nil, err
	}
	rec, err := s.store.Operation(ctx, number)
	if err != nil {
		return nil, err
	}
	res := &pb.OperationServiceGetResponse{Operation: s.operationHeader(rec)}
	res.Operation.Changes, res.NextPageToken = pageOf(paging, rec.Changes, nil, s.changeOf)
	return res, nil
}

// Undo writes the inverse of an operation. Durable on return. Errors: those of Get, memory.ErrNotUndoable.
func (s *operationServer) Undo(ctx context.Context,
	req *pb.OperationServiceUndoRequest) (*pb.OperationServiceUndoResponse, error) {
	var check memory.Check
	check.Text("reason", req.GetReason(), memory.MaxTitle, false)
	if err := check.Err(); err != nil {
		return nil, err
	}
	number, err := s.number("id", req.GetId())
	if err != nil {
		return nil, err
	}
	result, err := s.store.Undo(ctx, store.Meta{
		Actor: journal.ActorUndo, Reason: req.GetReason(), Key: req.GetIdempotencyKey(),
		Request: identify(req, req.GetIdempotencyKey()),
	}, number)
	if err != nil {
		return nil, err
	}
	return &pb.OperationServiceUndoResponse{Result: s.result(result)}, nil
}

// Watch sends operations until the client leaves or the daemon stops, which is memory.ErrShuttingDown. It reads the
// journal, so a slow client holds up nobody. Errors: memory.ErrTrimmed, memory.ErrEpoch.
func (s *operationServer) Watch(req *pb.OperationServiceWatchRequest,
	stream grpc.ServerStreamingServer[pb.OperationServiceWatchResponse]) error {
	var check memory.Check
	checkSpaces(&check, req.GetSpaces())
	if err := check.Err(); err != nil {
		return err
	}
	after, err := s.watchFrom(req.GetCursor())
	if err != nil {
		return err
	}
	// A client that has the header misses nothing from here on.
	if err := stream.SendHeader(metadata.MD{}); err != nil {
		return fmt.Errorf("send header: %w", errors.Join(stream.Context().Err(), err))
	}
	ctx, done := untilStop(stream.Context(), s.stopping)
	defer done()
	for rec, err := range s.store.Watch(ctx, after) {
		if err != nil {
			return err
		}
		if !allowed(req.GetSpaces(), rec.Space) || !req.GetIncludeBookkeeping() && !store.Significant(rec) {
			continue
		}
		if err := s.sendOperation(stream, rec); err != nil {
			return fmt.Errorf("send operation: %w", errors.Join(stream.Context().Err(), err))
		}
	}
	if err := stream.Context().Err(); err != nil {
		return err
	}
	return memory.ErrShuttingDown
}

// watchFrom is the position after which a watch begins.
func (s *operationServer) watchFrom(cursor string) (int64, error) {
	if cursor == "" {
		return s.store.LSN(), nil
	}
	if cursor == "0" {
		return 0, nil // before the first operation
	}
	after, err := s.lsn("cursor", cursor)
	if err == nil && after > s.store.LSN() {
		err = fmt.Errorf("%w: it has not reached %s; read everything again", memory.ErrEpoch, cursor)
	}
	return after, err
}

// sendOperation sends an operation, a large one in several responses of which the last has the cursor.
func (s *operationServer) sendOperation(stream grpc.ServerStreamingServer[pb.OperationServiceWatchResponse],
	rec *journal.Record) error {
	rest := s.changes(rec.Changes)
	for {
		part, _ := fit(newBudget(), rest)
		if len(part) == 0 && len(rest) > 0 {
			part = rest[:1]
		}
		op := s.operationHeader(rec)
		op.Changes, rest = part, rest[len(part):]
		res := &pb.OperationServiceWatchResponse{Operation: op}
		if len(rest) == 0 {
			res.Cursor = op.GetId()
		}
		if err := stream.Send(res); err != nil || len(rest) == 0 {
			return err
		}
	}
}
