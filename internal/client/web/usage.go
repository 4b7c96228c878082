package web

import (
	"net/http"

	pbalpha "github.com/memsidecar/memsidecar/gen/memsidecar/v1alpha1"
)

// listUsage serves GET usage: counts by day, newest first, for the plots of the panel. It has its own path because
// UsageService is part of memsidecar.v1alpha1, which POST /api/v1 does not serve.
func (s *Server) listUsage(w http.ResponseWriter, r *http.Request) error {
	q := newQueryParams(r, "space", "start_date", "end_date", "page_size", "page_token")
	req := &pbalpha.UsageServiceListDaysRequest{
		StartDate: q.text("start_date"), EndDate: q.text("end_date"), PageSize: q.int32("page_size"),
		PageToken: q.text("page_token"),
	}
	if space := q.text("space"); space != "" {
		req.Spaces = []string{space}
	}
	if q.err != nil {
		return q.err
	}
	res, err := s.usage.ListDays(r.Context(), req)
	if err != nil {
		return err
	}
	writeJSON(w, http.StatusOK, messageJSON(res))
	return nil
}
