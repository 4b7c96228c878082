package web

import (
	"errors"
	"io"
	"net/http"

	pbalpha "github.com/memsidecar/memsidecar/gen/memsidecar/v1alpha1"
)

// maxGraph is how many entities, and how many relations, a response has at most.
const maxGraph = 2000

// graphBody is the response of GET graph. Omitted counts what was left out beyond maxGraph.
type graphBody struct {
	Entities  []any `json:"entities"`
	Relations []any `json:"relations"`
	Omitted   int   `json:"omitted"`
}

// readGraph serves GET graph: entities with their observations, and the relations between them. An entity that comes in
// several pieces is put together.
func (s *Server) readGraph(w http.ResponseWriter, r *http.Request) error {
	q := newQueryParams(r, "space", "contains")
	req := &pbalpha.GraphServiceReadRequest{Space: q.text("space"), Contains: q.text("contains")}
	if q.err != nil {
		return q.err
	}
	stream, err := s.graph.Read(r.Context(), req)
	if err != nil {
		return err
	}
	out := graphBody{Entities: []any{}, Relations: []any{}}
	var entities []*pbalpha.GraphEntity
	for {
		res, err := stream.Recv()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return err
		}
		for _, e := range res.GetEntities() {
			switch n := len(entities); {
			case n > 0 && entities[n-1].GetName() == e.GetName():
				entities[n-1].Observations = append(entities[n-1].Observations, e.GetObservations()...)
			case n == maxGraph:
				out.Omitted++
			default:
				entities = append(entities, e)
			}
		}
		for _, rel := range res.GetRelations() {
			if len(out.Relations) == maxGraph {
				out.Omitted++
				continue
			}
			out.Relations = append(out.Relations, messageJSON(rel))
		}
	}
	out.Entities = messagesJSON(entities)
	writeJSON(w, http.StatusOK, out)
	return nil
}
