package rpc

import (
	"context"

	"google.golang.org/grpc"

	pb "github.com/memsidecar/memsidecar/gen/memsidecar/v1alpha1"
	"github.com/memsidecar/memsidecar/internal/service/graph"
)

// graphPiece is how much of a graph one message of a stream holds at most: entities or relations, or bytes of
// observations.
const (
	graphPiece      = 500
	graphPieceBytes = 1 << 20
)

// graphServer serves GraphService of memsidecar.v1alpha1.
type graphServer struct {
	pb.UnsafeGraphServiceServer
	encoder
	graph *graph.Service
}

// CreateEntities adds entities. Names and observations are copied, because the service redacts them in place. Durable
// on return.
func (s *graphServer) CreateEntities(ctx context.Context,
	req *pb.GraphServiceCreateEntitiesRequest) (*pb.GraphServiceCreateEntitiesResponse, error) {
	entities := make([]graph.Entity, len(req.GetEntities()))
	for i, e := range req.GetEntities() {
		entities[i] = graph.Entity{Name: e.GetName(), Type: e.GetEntityType(),
			Observations: append([]string(nil), e.GetObservations()...)}
	}
	result, created, err := s.graph.CreateEntities(ctx, metaOf(req), entities)
	if err != nil {
		return nil, err
	}
	res := &pb.GraphServiceCreateEntitiesResponse{Result: s.result(result)}
	res.Created, res.OmittedCreated = fit(newBudget(), entitiesToProto(created))
	return res, nil
}

// CreateRelations adds relations. Durable on return. Error: memory.ErrNotFound when an entity is missing.
func (s *graphServer) CreateRelations(ctx context.Context,
	req *pb.GraphServiceCreateRelationsRequest) (*pb.GraphServiceCreateRelationsResponse, error) {
	result, created, err := s.graph.CreateRelations(ctx, metaOf(req), graphRelations(req.GetRelations()))
	if err != nil {
		return nil, err
	}
	return &pb.GraphServiceCreateRelationsResponse{Result: s.result(result), Created: graphRelationsToProto(created)},
		nil
}

// AddObservations adds observations to entities. Durable on return. Error: memory.ErrNotFound when an entity is
// missing.
func (s *graphServer) AddObservations(ctx context.Context,
	req *pb.GraphServiceAddObservationsRequest) (*pb.GraphServiceAddObservationsResponse, error) {
	result, added, err := s.graph.AddObservations(ctx, metaOf(req), graphObservations(req.GetObservations()))
	if err != nil {
		return nil, err
	}
	res := &pb.GraphServiceAddObservationsResponse{Result: s.result(result)}
	for _, o := range added {
		res.Added = append(res.Added, &pb.GraphObservations{EntityName: o.Entity, Contents: o.Contents})
	}
	res.Added, res.OmittedAdded = fit(newBudget(), res.Added)
	return res, nil
}

// DeleteEntities retires entities with their observations and relations. Durable on return.
func (s *graphServer) DeleteEntities(ctx context.Context,
	req *pb.GraphServiceDeleteEntitiesRequest) (*pb.GraphServiceDeleteEntitiesResponse, error) {
	result, err := s.graph.DeleteEntities(ctx, metaOf(req), append([]string(nil), req.GetNames()...))
	if err != nil {
		return nil, err
	}
	return &pb.GraphServiceDeleteEntitiesResponse{Result: s.result(result)}, nil
}

// DeleteObservations retires observations, and names the entities that do not exist. Durable on return.
func (s *graphServer) DeleteObservations(ctx context.Context,
	req *pb.GraphServiceDeleteObservationsRequest) (*pb.GraphServiceDeleteObservationsResponse, error) {
	result, missing, err := s.graph.DeleteObservations(ctx, metaOf(req), graphObservations(req.GetObservations()))
	if err != nil {
		return nil, err
	}
	return &pb.GraphServiceDeleteObservationsResponse{Result: s.result(result), MissingEntities: missing}, nil
}

// DeleteRelations retires relations. Durable on return.
func (s *graphServer) DeleteRelations(ctx context.Context,
	req *pb.GraphServiceDeleteRelationsRequest) (*pb.GraphServiceDeleteRelationsResponse, error) {
	result, err := s.graph.DeleteRelations(ctx, metaOf(req), graphRelations(req.GetRelations()))
	if err != nil {
		return nil, err
	}
	return &pb.GraphServiceDeleteRelationsResponse{Result: s.result(result)}, nil
}

// Read sends the graph as of one moment: it is read as a whole first, then sent in pieces that fit a default client.
func (s *graphServer) Read(req *pb.GraphServiceReadRequest,
	stream grpc.ServerStreamingServer[pb.GraphServiceReadResponse]) error {
	entities, relations, err := s.graph.Read(graph.Query{Space: req.GetSpace(), Names: req.GetNames(),
		Contains: req.GetContains()})
	if err != nil {
		return err
	}
	// An entity may have more observations than one message may hold.
	entities = splitLarge(entities)
	for len(entities) > 0 {
		n, size := 0, 0
		for n < min(len(entities), graphPiece) && size < graphPieceBytes {
			size += observationBytes(entities[n].Observations)
			n++
		}
		if err := stream.Send(&pb.GraphServiceReadResponse{Entities: entitiesToProto(entities[:n])}); err != nil {
			return err
		}
		entities = entities[n:]
	}
	for len(relations) > 0 {
		n := min(len(relations), graphPiece)
		if err := stream.Send(&pb.GraphServiceReadResponse{
			Relations: graphRelationsToProto(relations[:n])}); err != nil {
			return err
		}
		relations = relations[n:]
	}
	return nil
}

// splitLarge splits entities with more than graphPieceBytes of observations into several of the same name.
func splitLarge(in []graph.Entity) (out []graph.Entity) {
	for _, e := range in {
		for observationBytes(e.Observations) > graphPieceBytes {
			n, size := 0, 0
			for n < len(e.Observations) && size+len(e.Observations[n]) <= graphPieceBytes {
				size += len(e.Observations[n])
				n++
			}
			n = max(n, 1)
			out = append(out, graph.Entity{Name: e.Name, Type: e.Type, Observations: e.Observations[:n]})
			if e.Observations = e.Observations[n:]; len(e.Observations) == 0 {
				break
			}
		}
		if len(e.Observations) > 0 || len(out) == 0 || out[len(out)-1].Name != e.Name {
			out = append(out, e)
		}
	}
	return out
}

// observationBytes is the size of observations, without their encoding.
func observationBytes(observations []string) (n int) {
	for _, o := range observations {
		n += len(o)
	}
	return n
}

// entitiesToProto converts entities, in order.
func entitiesToProto(in []graph.Entity) []*pb.GraphEntity {
	out := make([]*pb.GraphEntity, len(in))
	for i, e := range in {
		out[i] = &pb.GraphEntity{Name: e.Name, EntityType: e.Type, Observations: e.Observations}
	}
	return out
}

// graphRelationsToProto converts relations, in order.
func graphRelationsToProto(in []graph.Relation) []*pb.GraphRelation {
	out := make([]*pb.GraphRelation, len(in))
	for i, r := range in {
		out[i] = &pb.GraphRelation{FromEntity: r.From, ToEntity: r.To, RelationType: r.Type}
	}
	return out
}

// graphRelations converts the relations of a request.
func graphRelations(in []*pb.GraphRelation) []graph.Relation {
	out := make([]graph.Relation, len(in))
	for i, r := range in {
		out[i] = graph.Relation{From: r.GetFromEntity(), To: r.GetToEntity(), Type: r.GetRelationType()}
	}
	return out
}

// graphObservations converts the observations of a request. It copies them, because the service redacts them in place.
func graphObservations(in []*pb.GraphObservations) []graph.Observations {
	out := make([]graph.Observations, len(in))
	for i, o := range in {
		out[i] = graph.Observations{Entity: o.GetEntityName(), Contents: append([]string(nil), o.GetContents()...)}
	}
	return out
}
