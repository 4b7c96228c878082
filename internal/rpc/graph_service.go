package rpc

import (
	"context"

	"google.golang.org/grpc"

	pb "github.com/memsidecar/memsidecar/gen/memsidecar/v1"
	"github.com/memsidecar/memsidecar/internal/graph"
)

// graphPiece is how much of a graph one message of a stream holds at most: entities or relations, or bytes of observations.
const (
	graphPiece      = 500
	graphPieceBytes = 1 << 20
)

type graphServer struct {
	pb.UnsafeGraphServiceServer
	graph *graph.Service
}

func (s *graphServer) CreateEntities(ctx context.Context, req *pb.GraphServiceCreateEntitiesRequest) (*pb.GraphServiceCreateEntitiesResponse, error) {
	entities := make([]graph.Entity, len(req.GetEntities()))
	for i, e := range req.GetEntities() {
		entities[i] = graph.Entity{Name: e.GetName(), Type: e.GetEntityType(), Observations: append([]string(nil), e.GetObservations()...)}
	}
	result, created, err := s.graph.CreateEntities(ctx, metaOf(req), entities)
	if err != nil {
		return nil, err
	}
	return &pb.GraphServiceCreateEntitiesResponse{Result: resultToProto(result), Created: entitiesToProto(created)}, nil
}

func (s *graphServer) CreateRelations(ctx context.Context, req *pb.GraphServiceCreateRelationsRequest) (*pb.GraphServiceCreateRelationsResponse, error) {
	result, created, err := s.graph.CreateRelations(ctx, metaOf(req), graphRelations(req.GetRelations()))
	if err != nil {
		return nil, err
	}
	return &pb.GraphServiceCreateRelationsResponse{Result: resultToProto(result), Created: graphRelationsToProto(created)}, nil
}

func (s *graphServer) AddObservations(ctx context.Context, req *pb.GraphServiceAddObservationsRequest) (*pb.GraphServiceAddObservationsResponse, error) {
	result, added, err := s.graph.AddObservations(ctx, metaOf(req), graphObservations(req.GetObservations()))
	if err != nil {
		return nil, err
	}
	res := &pb.GraphServiceAddObservationsResponse{Result: resultToProto(result)}
	for _, o := range added {
		res.Added = append(res.Added, &pb.GraphObservations{EntityName: o.Entity, Contents: o.Contents})
	}
	return res, nil
}

func (s *graphServer) DeleteEntities(ctx context.Context, req *pb.GraphServiceDeleteEntitiesRequest) (*pb.GraphServiceDeleteEntitiesResponse, error) {
	result, err := s.graph.DeleteEntities(ctx, metaOf(req), append([]string(nil), req.GetNames()...))
	if err != nil {
		return nil, err
	}
	return &pb.GraphServiceDeleteEntitiesResponse{Result: resultToProto(result)}, nil
}

func (s *graphServer) DeleteObservations(ctx context.Context, req *pb.GraphServiceDeleteObservationsRequest) (*pb.GraphServiceDeleteObservationsResponse, error) {
	result, missing, err := s.graph.DeleteObservations(ctx, metaOf(req), graphObservations(req.GetObservations()))
	if err != nil {
		return nil, err
	}
	return &pb.GraphServiceDeleteObservationsResponse{Result: resultToProto(result), MissingEntities: missing}, nil
}

func (s *graphServer) DeleteRelations(ctx context.Context, req *pb.GraphServiceDeleteRelationsRequest) (*pb.GraphServiceDeleteRelationsResponse, error) {
	result, err := s.graph.DeleteRelations(ctx, metaOf(req), graphRelations(req.GetRelations()))
	if err != nil {
		return nil, err
	}
	return &pb.GraphServiceDeleteRelationsResponse{Result: resultToProto(result)}, nil
}

func (s *graphServer) Read(req *pb.GraphServiceReadRequest, stream grpc.ServerStreamingServer[pb.GraphServiceReadResponse]) error {
	entities, relations, err := s.graph.Read(graph.Query{Space: req.GetSpace(), Names: req.GetNames(), Contains: req.GetContains()})
	if err != nil {
		return err
	}
	for len(entities) > 0 {
		n, size := 0, 0
		for n < min(len(entities), graphPiece) && size < graphPieceBytes {
			for _, o := range entities[n].Observations {
				size += len(o)
			}
			n++
		}
		if err := stream.Send(&pb.GraphServiceReadResponse{Entities: entitiesToProto(entities[:n])}); err != nil {
			return err
		}
		entities = entities[n:]
	}
	for len(relations) > 0 {
		n := min(len(relations), graphPiece)
		if err := stream.Send(&pb.GraphServiceReadResponse{Relations: graphRelationsToProto(relations[:n])}); err != nil {
			return err
		}
		relations = relations[n:]
	}
	return nil
}

func entitiesToProto(in []graph.Entity) []*pb.GraphEntity {
	out := make([]*pb.GraphEntity, len(in))
	for i, e := range in {
		out[i] = &pb.GraphEntity{Name: e.Name, EntityType: e.Type, Observations: e.Observations}
	}
	return out
}

func graphRelationsToProto(in []graph.Relation) []*pb.GraphRelation {
	out := make([]*pb.GraphRelation, len(in))
	for i, r := range in {
		out[i] = &pb.GraphRelation{From: r.From, To: r.To, RelationType: r.Type}
	}
	return out
}

func graphRelations(in []*pb.GraphRelation) []graph.Relation {
	out := make([]graph.Relation, len(in))
	for i, r := range in {
		out[i] = graph.Relation{From: r.GetFrom(), To: r.GetTo(), Type: r.GetRelationType()}
	}
	return out
}

func graphObservations(in []*pb.GraphObservations) []graph.Observations {
	out := make([]graph.Observations, len(in))
	for i, o := range in {
		out[i] = graph.Observations{Entity: o.GetEntityName(), Contents: append([]string(nil), o.GetContents()...)}
	}
	return out
}
