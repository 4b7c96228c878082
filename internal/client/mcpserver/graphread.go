package mcpserver

import (
	"context"
	"errors"
	"io"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	pb "github.com/memsidecar/memsidecar/gen/memsidecar/v1"
	pbalpha "github.com/memsidecar/memsidecar/gen/memsidecar/v1alpha1"
	"github.com/memsidecar/memsidecar/internal/memory"
)

// readGraph reads the part of the graph that req selects, in the server's space. The daemon streams it: a graph may
// be larger than one response.
func readGraph(ctx context.Context, a *api, req *pbalpha.GraphServiceReadRequest) (toolReply[graphOut], error) {
	req.Space = a.space
	stream, err := a.graph.Read(ctx, req)
	if err != nil {
		return toolReply[graphOut]{}, err
	}
	out := graphOut{Entities: []entity{}, Relations: []relation{}}
	for {
		res, err := stream.Recv()
		if errors.Is(err, io.EOF) {
			return toolReply[graphOut]{out, indentedJSON(out)}, nil
		}
		if err != nil {
			return toolReply[graphOut]{}, err
		}
		out.appendEntities(entitiesOf(res.GetEntities()))
		out.Relations = append(out.Relations, relationsOf(res.GetRelations())...)
	}
}

// appendEntities adds the entities of a response. The daemon splits an entity that is too large for one response: its
// next part has the same name and the observations that follow.
func (g *graphOut) appendEntities(entities []entity) {
	for _, e := range entities {
		if last := len(g.Entities) - 1; last >= 0 && g.Entities[last].Name == e.Name {
			g.Entities[last].Observations = append(g.Entities[last].Observations, e.Observations...)
			continue
		}
		g.Entities = append(g.Entities, e)
	}
}

// openNodes reads entities by name, with the relations that touch them.
func openNodes(ctx context.Context, a *api, names []string) (toolReply[graphOut], error) {
	if len(names) == 0 { // to the API an empty list means the whole graph; to this tool it means nothing
		out := graphOut{Entities: []entity{}, Relations: []relation{}}
		return toolReply[graphOut]{out, indentedJSON(out)}, nil
	}
	return readGraph(ctx, a, &pbalpha.GraphServiceReadRequest{Names: names})
}

// searchNodes finds entities that contain the query, as the reference server does. When there are none it ranks by
// the words of the query: agents send questions, which no entity contains.
func searchNodes(ctx context.Context, a *api, _ string, in searchNodesIn) (toolReply[graphOut], error) {
	out, err := readGraph(ctx, a, &pbalpha.GraphServiceReadRequest{Contains: in.Query})
	if err != nil || len(out.value.Entities) > 0 {
		return out, err
	}
	space := a.space
	if space == "" {
		space = memory.DefaultSpace
	}
	res, err := a.search.Search(ctx, &pb.SearchServiceSearchRequest{
		Spaces: []string{
			space,
		}, Query: in.Query, Limit: maxTopK, Filter: &pb.MemoryFilter{Sources: []string{graphSource}},
		SessionId: a.reader,
	})
	if err != nil {
		return toolReply[graphOut]{}, err
	}
	var names []string
	for _, hit := range res.GetHits() {
		if title := hit.GetMemory().GetTitle(); title != "" {
			names = append(names, title)
		}
	}
	return openNodes(ctx, a, names)
}

// graphSource is the source of memories that are entities.
const graphSource = "graph"

// addGraphResource serves the whole graph under one URI.
func (s *Server) addGraphResource(server *mcp.Server) {
	s.addResource(server, &mcp.Resource{
		URI: graphURI, Name: "knowledge-graph", Title: "Knowledge Graph", MIMEType: jsonMIME,
		Description: "All entities and relations.",
	}, func(ctx context.Context, a *api, _, _ string) (string, error) {
		out, err := readGraph(ctx, a, &pbalpha.GraphServiceReadRequest{})
		return out.text, err
	})
}
