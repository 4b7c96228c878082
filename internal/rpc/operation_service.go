package rpc

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"

	"google.golang.org/grpc"
	"google.golang.org/grpc/metadata"
	"google.golang.org/protobuf/proto"

	pb "github.com/memsidecar/memsidecar/gen/memsidecar/v1"
	"github.com/memsidecar/memsidecar/internal/journal"
	"github.com/memsidecar/memsidecar/internal/memory"
	"github.com/memsidecar/memsidecar/internal/store"
)

// defaultOperations is the number of operations of a page that names none.
const defaultOperations = 50

type operationServer struct {
	pb.UnsafeOperationServiceServer
	store    *store.Store
	stopping <-chan struct{}
}

func (s *operationServer) List(ctx context.Context, req *pb.OperationServiceListRequest) (*pb.OperationServiceListResponse, error) {
	var check memory.Check
	checkSpaces(&check, req.GetSpaces())
	n := pageSize(&check, "page_size", req.GetPageSize(), defaultOperations)
	checkPositive(&check, "from", req.GetFrom())
	checkPositive(&check, "to", req.GetTo())
	to := cmp.Or(req.GetTo(), s.store.LSN())
	if key := pageKey(&check, req, req.GetPageToken()); key != "" {
		last, err := strconv.ParseInt(key, 10, 64)
		if err != nil {
			check.Add("page_token", "INVALID_TOKEN", "is not a token that was returned for this request")
		}
		to = min(to, last-1)
	}
	if err := check.Err(); err != nil {
		return nil, err
	}
	keep := noChanges
	if req.GetIncludeChanges() {
		keep = nil
	}
	res, size := &pb.OperationServiceListResponse{}, 0
	for rec, err := range s.store.Operations(ctx, max(1, req.GetFrom()), to, true, req.GetIncludeAll()) {
		if err != nil {
			return nil, err
		}
		if !inSpaces(req.GetSpaces(), rec.Space) {
			continue
		}
		op := operationToProto(rec, keep)
		if size += proto.Size(op); len(res.Operations) == n || len(res.Operations) > 0 && size > maxPageBytes {
			last := res.Operations[len(res.Operations)-1]
			res.NextPageToken = pageToken(req, strconv.FormatInt(last.GetNumber(), 10))
			break
		}
		res.Operations = append(res.Operations, op)
	}
	return res, nil
}

func (s *operationServer) Get(ctx context.Context, req *pb.OperationServiceGetRequest) (*pb.OperationServiceGetResponse, error) {
	if err := checkNumber(req.GetNumber()); err != nil {
		return nil, err
	}
	rec, err := s.store.Operation(ctx, req.GetNumber())
	if err != nil {
		return nil, err
	}
	return &pb.OperationServiceGetResponse{Operation: operationToProto(rec, nil)}, nil
}

func (s *operationServer) Undo(ctx context.Context, req *pb.OperationServiceUndoRequest) (*pb.OperationServiceUndoResponse, error) {
	if err := checkNumber(req.GetNumber()); err != nil {
		return nil, err
	}
	var check memory.Check
	check.Text("reason", req.GetReason(), memory.MaxTitle, false)
	if err := check.Err(); err != nil {
		return nil, err
	}
	result, err := s.store.Undo(ctx, store.Meta{
		Actor: journal.ActorUndo, Reason: req.GetReason(), Key: req.GetIdempotencyKey(), Request: identify(req, req.GetIdempotencyKey()),
	}, req.GetNumber())
	if err != nil {
		return nil, err
	}
	return &pb.OperationServiceUndoResponse{Result: resultToProto(result)}, nil
}

func (s *operationServer) Watch(req *pb.OperationServiceWatchRequest, stream grpc.ServerStreamingServer[pb.OperationServiceWatchResponse]) error {
	var check memory.Check
	checkSpaces(&check, req.GetSpaces())
	checkPositive(&check, "after", req.GetAfter())
	if err := check.Err(); err != nil {
		return err
	}
	after := s.store.LSN()
	if req.After != nil {
		after = *req.After
	}
	if err := s.sameLine(req.GetEpoch(), after); err != nil {
		return err
	}
	// Whoever has the header knows that nothing from here on is missed.
	if err := stream.SendHeader(metadata.MD{}); err != nil {
		return fmt.Errorf("send header: %w", errors.Join(stream.Context().Err(), err))
	}
	ctx, cancel := context.WithCancel(stream.Context())
	watching := make(chan struct{})
	defer func() { cancel(); <-watching }()
	go func() {
		defer close(watching)
		select {
		case <-s.stopping:
			cancel()
		case <-ctx.Done():
		}
	}()
	for rec, err := range s.store.Watch(ctx, after) {
		if err != nil {
			return err
		}
		if !inSpaces(req.GetSpaces(), rec.Space) || !req.GetIncludeAll() && !store.Significant(rec) {
			continue
		}
		if err := stream.Send(&pb.OperationServiceWatchResponse{Operation: operationToProto(rec, nil)}); err != nil {
			return fmt.Errorf("send operation: %w", errors.Join(stream.Context().Err(), err))
		}
	}
	if err := stream.Context().Err(); err != nil {
		return err
	}
	return memory.ErrShuttingDown
}

// sameLine refuses a client that goes on with a number from another line of history: that of a store of which a backup was restored since.
func (s *operationServer) sameLine(epoch string, after int64) error {
	switch current := s.store.Epoch(); {
	case epoch != "" && epoch != current:
		return fmt.Errorf("%w: %s, not %s; read everything again", memory.ErrEpoch, current, epoch)
	case after > s.store.LSN():
		return fmt.Errorf("%w: it has not reached operation %d; read everything again", memory.ErrEpoch, after)
	}
	return nil
}

func checkSpaces(check *memory.Check, spaces []string) {
	for i, space := range spaces {
		check.Slug(fmt.Sprintf("spaces[%d]", i), space)
	}
}

func inSpaces(spaces []string, space string) bool {
	return len(spaces) == 0 || slices.Contains(spaces, space)
}

func checkPositive(check *memory.Check, field string, n int64) {
	if n < 0 {
		check.Add(field, "OUT_OF_RANGE", "must not be negative")
	}
}

func checkNumber(n int64) error {
	var check memory.Check
	if n < 1 {
		check.Add("number", "OUT_OF_RANGE", "must be 1 or more")
	}
	return check.Err()
}
