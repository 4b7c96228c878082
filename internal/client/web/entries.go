package web

import (
	"net/http"
	"strings"

	pb "github.com/memsidecar/memsidecar/gen/memsidecar/v1"
)

// memoryOrders are the values of the parameter order.
var memoryOrders = map[string]pb.MemoryOrder{
	"":         pb.MemoryOrder_MEMORY_ORDER_UNSPECIFIED,
	"created":  pb.MemoryOrder_MEMORY_ORDER_CREATED,
	"updated":  pb.MemoryOrder_MEMORY_ORDER_UPDATED,
	"salience": pb.MemoryOrder_MEMORY_ORDER_SALIENCE,
	"access":   pb.MemoryOrder_MEMORY_ORDER_ACCESS,
}

// memoryStatuses are the values of the parameter status.
var memoryStatuses = map[string]pb.MemoryStatus{
	"active":     pb.MemoryStatus_MEMORY_STATUS_ACTIVE,
	"superseded": pb.MemoryStatus_MEMORY_STATUS_SUPERSEDED,
	"retired":    pb.MemoryStatus_MEMORY_STATUS_RETIRED,
}

// entriesPage is the response of GET entries and GET procedural. A page may be shorter than page_size; the last one
// has an empty Next. Total counts the memories on all pages.
type entriesPage struct {
	Memories []any  `json:"memories"`
	Total    int32  `json:"total"`
	Next     string `json:"next_page_token"`
}

// listEntries serves GET entries: memories that match all filters, page by page. A filter with several values matches
// any of them. Without a status, only active memories match.
func (s *Server) listEntries(w http.ResponseWriter, r *http.Request) error {
	q := newQueryParams(
		r, "space", "category", "tag", "source", "status", "min_salience", "created_from", "created_before", "order",
		"ascending", "page_size", "page_token",
	)
	filter := &pb.MemoryFilter{
		Categories: q.list("category"), Tags: q.list("tag"), Sources: q.list("source"),
		MinSalience: q.float64("min_salience"), CreatedFrom: q.time("created_from"),
		CreatedBefore: q.time("created_before"),
	}
	for _, word := range q.list("status") {
		st, ok := memoryStatuses[word]
		if !ok {
			return invalidRequest("status is active, superseded or retired")
		}
		filter.Statuses = append(filter.Statuses, st)
	}
	return s.writeEntriesPage(w, r, q, filter)
}

// listProcedural serves GET procedural: what was learned from tools.
func (s *Server) listProcedural(w http.ResponseWriter, r *http.Request) error {
	q := newQueryParams(r, "space", "min_salience", "order", "ascending", "page_size", "page_token")
	return s.writeEntriesPage(
		w, r, q, &pb.MemoryFilter{Categories: []string{"procedural"}, MinSalience: q.float64("min_salience")},
	)
}

// writeEntriesPage sends the page of memories that the filter and the parameters of order and paging select.
func (s *Server) writeEntriesPage(
	w http.ResponseWriter, r *http.Request, q *queryParams, filter *pb.MemoryFilter,
) error {
	order, ok := memoryOrders[q.text("order")]
	if !ok {
		return invalidRequest("order is created, updated, salience or access")
	}
	req := &pb.MemoryServiceListRequest{
		Space: q.text("space"), Filter: filter, Order: order, Ascending: q.boolean("ascending"),
		PageSize: q.int32("page_size"), PageToken: q.text("page_token"),
	}
	if q.err != nil {
		return q.err
	}
	res, err := s.memory.List(r.Context(), req)
	if err != nil {
		return err
	}
	writeJSON(
		w,
		http.StatusOK,
		entriesPage{Memories: messagesJSON(res.GetMemories()), Total: res.GetTotal(), Next: res.GetNextPageToken()},
	)
	return nil
}

// writeOutcome is the response of a write: its outcome, and the memory as it is now. The change is durable.
//
// Operation is empty if nothing changed, for example for a duplicate. A repeated request with the same
// Idempotency-Key has the same outcome, but the memory may have changed since.
type writeOutcome struct {
	Operation string `json:"operation_id"`
	Status    string `json:"status"`
	Reason    string `json:"reason"`
	ID        string `json:"id"`
	Memory    any    `json:"memory,omitempty"`

	Redactions []any `json:"redactions,omitempty"` // what was taken out and where
}

// writeOutcomeOf converts the result of a write of one item.
func writeOutcomeOf(res *pb.WriteResult) writeOutcome {
	out := writeOutcome{Operation: res.GetOperationId()}
	if len(res.GetOutcomes()) > 0 {
		o := res.GetOutcomes()[0]
		out.Status, out.Reason, out.ID = statusName(o.GetStatus()), o.GetReason(), o.GetId()
		if len(o.GetRedactions()) > 0 {
			out.Redactions = messagesJSON(o.GetRedactions())
		}
	}
	return out
}

// statusName is the word for a status: applied, duplicate or rejected.
func statusName(st pb.OutcomeStatus) string {
	return strings.ToLower(strings.TrimPrefix(st.String(), "OUTCOME_STATUS_"))
}

// rejectionError is the error for the first rejected outcome, or nil. The gRPC API reports a rejected item inside a
// successful response, because a request can have many items; an HTTP request has one, so its status says it.
func rejectionError(res *pb.WriteResult) error {
	for _, o := range res.GetOutcomes() {
		if o.GetStatus() != pb.OutcomeStatus_OUTCOME_STATUS_REJECTED {
			continue
		}
		if o.GetReason() == "NOT_FOUND" {
			return &httpError{http.StatusNotFound, o.GetReason(), "there is no such memory"}
		}
		return &httpError{http.StatusConflict, o.GetReason(), "rejected: " + o.GetReason()}
	}
	return nil
}

// addEntry serves POST entries. A new memory has the status 201, one that exists already 200.
//
// The memory is read again after the write, because the daemon sets fields such as its revision and redacts secrets.
func (s *Server) addEntry(w http.ResponseWriter, r *http.Request) error {
	q := newQueryParams(r, "space", "allow_sensitive")
	keep := q.boolean("allow_sensitive")
	if q.err != nil {
		return q.err
	}
	data, err := readBody(r)
	if err != nil {
		return err
	}
	item := &pb.NewMemory{}
	if err := decodeMessage(data, item); err != nil {
		return err
	}
	res, err := s.memory.Add(r.Context(), &pb.MemoryServiceAddRequest{
		Space: q.text("space"), Items: []*pb.NewMemory{item}, IdempotencyKey: r.Header.Get("Idempotency-Key"),
		AllowSensitive: keep,
	})
	if err != nil {
		return err
	}
	if err := rejectionError(res.GetResult()); err != nil {
		return err
	}
	out := writeOutcomeOf(res.GetResult())
	m, err := s.fetchEntry(r, q.text("space"), out.ID)
	if err != nil {
		return err
	}
	out.Memory = messageJSON(m)
	code := http.StatusCreated
	if out.Status == "duplicate" {
		code = http.StatusOK
	}
	writeJSON(w, code, out)
	return nil
}

// fetchEntry returns one memory.
func (s *Server) fetchEntry(r *http.Request, space, id string) (*pb.Memory, error) {
	res, err := s.memory.Get(r.Context(), &pb.MemoryServiceGetRequest{Space: space, Ids: []string{id}})
	if err != nil {
		return nil, err
	}
	return res.GetMemories()[0], nil // Get fails when there is none
}

// getEntry serves GET entries/{id}.
func (s *Server) getEntry(w http.ResponseWriter, r *http.Request) error {
	q := newQueryParams(r, "space")
	if q.err != nil {
		return q.err
	}
	m, err := s.fetchEntry(r, q.text("space"), r.PathValue("id"))
	if err != nil {
		return err
	}
	writeJSON(w, http.StatusOK, messageJSON(m))
	return nil
}

// updateEntry serves PATCH entries/{id}: it changes the fields in the body. With expected_revision it changes nothing
// if the memory has another revision, so two editors cannot overwrite each other.
func (s *Server) updateEntry(w http.ResponseWriter, r *http.Request) error {
	q := newQueryParams(r, "space", "expected_revision", "allow_sensitive")
	revision, keep := q.int64("expected_revision"), q.boolean("allow_sensitive")
	if q.err != nil {
		return q.err
	}
	data, err := readBody(r)
	if err != nil {
		return err
	}
	patch := &pb.MemoryPatch{}
	if err := decodeMessage(data, patch); err != nil {
		return err
	}
	res, err := s.memory.Update(r.Context(), &pb.MemoryServiceUpdateRequest{
		Space: q.text("space"), Id: r.PathValue("id"), Patch: patch, ExpectedRevision: revision,
		IdempotencyKey: r.Header.Get("Idempotency-Key"), AllowSensitive: keep,
	})
	if err != nil {
		return err
	}
	if err := rejectionError(res.GetResult()); err != nil {
		return err
	}
	out := writeOutcomeOf(res.GetResult())
	out.Memory = messageJSON(res.GetMemory())
	writeJSON(w, http.StatusOK, out)
	return nil
}

// deleteEntry serves DELETE entries/{id}: it retires the memory, which can be restored.
func (s *Server) deleteEntry(w http.ResponseWriter, r *http.Request) error {
	q := newQueryParams(r, "space", "expected_revision")
	revision := q.int64("expected_revision")
	if q.err != nil {
		return q.err
	}
	res, err := s.memory.Delete(r.Context(), &pb.MemoryServiceDeleteRequest{
		Space: q.text("space"), Ids: []string{r.PathValue("id")}, ExpectedRevision: revision,
		IdempotencyKey: r.Header.Get("Idempotency-Key"),
	})
	if err != nil {
		return err
	}
	if err := rejectionError(res.GetResult()); err != nil {
		return err
	}
	writeJSON(w, http.StatusOK, writeOutcomeOf(res.GetResult()))
	return nil
}
