package mcpserver

import (
	"context"
	"errors"
	"io"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	pb "github.com/memsidecar/memsidecar/gen/memsidecar/v1"
	"github.com/memsidecar/memsidecar/internal/memory"
)

// readGraph reads a part of the graph.
func readGraph(ctx context.Context, a *api, req *pb.GraphServiceReadRequest) (reply[knowledge], error) {
	req.Space = a.space
	stream, err := a.graph.Read(ctx, req)
	if err != nil {
		return reply[knowledge]{}, err
	}
	out := knowledge{Entities: []entity{}, Relations: []relation{}}
	for {
		res, err := stream.Recv()
		if errors.Is(err, io.EOF) {
			return reply[knowledge]{out, indented(out)}, nil
		}
		if err != nil {
			return reply[knowledge]{}, err
		}
		out.Entities = append(out.Entities, entities(res.GetEntities())...)
		out.Relations = append(out.Relations, relations(res.GetRelations())...)
	}
}

func openNodes(ctx context.Context, a *api, names []string) (reply[knowledge], error) {
	if len(names) == 0 { // no names are none, and not all of them
		out := knowledge{Entities: []entity{}, Relations: []relation{}}
		return reply[knowledge]{out, indented(out)}, nil
	}
	return readGraph(ctx, a, &pb.GraphServiceReadRequest{Names: names})
}

// searchNodes looks for the query as it stands and, when that is nowhere, for its words as every search does.
func searchNodes(ctx context.Context, a *api, _ string, in searchNodesIn) (reply[knowledge], error) {
	out, err := readGraph(ctx, a, &pb.GraphServiceReadRequest{Contains: in.Query})
	if err != nil || len(out.value.Entities) > 0 {
		return out, err
	}
	space := a.space
	if space == "" {
		space = memory.DefaultSpace
	}
	res, err := a.search.Search(ctx, &pb.SearchServiceSearchRequest{
		Spaces: []string{space}, Query: in.Query, K: maxTopK, Filter: &pb.SearchFilter{Sources: []string{graphSource}},
	})
	if err != nil {
		return reply[knowledge]{}, err
	}
	var names []string
	for _, hit := range res.GetHits() {
		if title := hit.GetMemory().GetTitle(); title != "" {
			names = append(names, title)
		}
	}
	return openNodes(ctx, a, names)
}

// graphSource is the source of the memories that a graph is made of.
const graphSource = "graph"

func (s *Server) addGraphResource(server *mcp.Server) {
	s.addResource(server, &mcp.Resource{
		URI: graphURI, Name: "knowledge-graph", Title: "Knowledge Graph", MIMEType: jsonMIME, Description: "All entities and relations.",
	}, func(ctx context.Context, a *api, _, _ string) (string, error) {
		out, err := readGraph(ctx, a, &pb.GraphServiceReadRequest{})
		return out.text, err
	})
}
