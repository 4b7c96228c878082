package web

import (
	"net/http"

	pb "github.com/memsidecar/memsidecar/gen/memsidecar/v1"
)

// days answers with counts by day.
func (s *Server) days(w http.ResponseWriter, r *http.Request) error {
	q := queryOf(r, "space", "from", "to")
	req := &pb.FigureServiceDaysRequest{From: q.text("from"), To: q.text("to")}
	if space := q.text("space"); space != "" {
		req.Spaces = []string{space}
	}
	if q.err != nil {
		return q.err
	}
	res, err := s.figures.Days(r.Context(), req)
	if err != nil {
		return err
	}
	reply(w, http.StatusOK, plain(res))
	return nil
}
