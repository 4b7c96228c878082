package web

import (
	"net/http"
	"strings"

	pb "github.com/memsidecar/memsidecar/gen/memsidecar/v1"
)

// orders are the values of the parameter order.
var orders = map[string]pb.MemoryOrder{
	"": pb.MemoryOrder_MEMORY_ORDER_UNSPECIFIED, "created": pb.MemoryOrder_MEMORY_ORDER_CREATED, "updated": pb.MemoryOrder_MEMORY_ORDER_UPDATED,
	"salience": pb.MemoryOrder_MEMORY_ORDER_SALIENCE, "access": pb.MemoryOrder_MEMORY_ORDER_ACCESS,
}

var stati = map[string]pb.MemoryStatus{
	"active": pb.MemoryStatus_MEMORY_STATUS_ACTIVE, "superseded": pb.MemoryStatus_MEMORY_STATUS_SUPERSEDED, "retired": pb.MemoryStatus_MEMORY_STATUS_RETIRED,
}

// entriesPage is what entries and procedural answer with.
type entriesPage struct {
	Memories []any  `json:"memories"`
	Total    int32  `json:"total"`
	Next     string `json:"next_page_token"`
}

func (s *Server) listEntries(w http.ResponseWriter, r *http.Request) error {
	q := queryOf(r, "space", "category", "tag", "source", "status", "min_salience", "order", "ascending", "page_size", "page_token")
	filter := &pb.MemoryFilter{
		Categories: q.list("category"), Tags: q.list("tag"), Sources: q.list("source"), MinSalience: q.fraction("min_salience"),
	}
	for _, word := range q.list("status") {
		st, ok := stati[word]
		if !ok {
			return invalid("status is active, superseded or retired")
		}
		filter.Statuses = append(filter.Statuses, st)
	}
	return s.page(w, r, q, filter)
}

func (s *Server) listProcedural(w http.ResponseWriter, r *http.Request) error {
	q := queryOf(r, "space", "min_salience", "order", "ascending", "page_size", "page_token")
	return s.page(w, r, q, &pb.MemoryFilter{Categories: []string{"procedural"}, MinSalience: q.fraction("min_salience")})
}

func (s *Server) page(w http.ResponseWriter, r *http.Request, q *query, filter *pb.MemoryFilter) error {
	order, ok := orders[q.text("order")]
	if !ok {
		return invalid("order is created, updated, salience or access")
	}
	req := &pb.MemoryServiceListRequest{
		Space: q.text("space"), Filter: filter, Order: order, Ascending: q.truth("ascending"), PageSize: q.number("page_size"), PageToken: q.text("page_token"),
	}
	if q.err != nil {
		return q.err
	}
	res, err := s.memory.List(r.Context(), req)
	if err != nil {
		return err
	}
	reply(w, http.StatusOK, entriesPage{Memories: plainList(res.GetMemories()), Total: res.GetTotal(), Next: res.GetNextPageToken()})
	return nil
}

// written is what a write answers with: what became of it, and the memory as it is now.
type written struct {
	Operation int64  `json:"operation"`
	Status    string `json:"status"`
	Reason    string `json:"reason"`
	ID        string `json:"id"`
	Memory    any    `json:"memory,omitempty"`
}

func writtenOf(res *pb.WriteResult) written {
	out := written{Operation: res.GetOperation()}
	if len(res.GetOutcomes()) > 0 {
		o := res.GetOutcomes()[0]
		out.Status, out.Reason, out.ID = statusWord(o.GetStatus()), o.GetReason(), o.GetId()
	}
	return out
}

func statusWord(st pb.OutcomeStatus) string {
	return strings.ToLower(strings.TrimPrefix(st.String(), "OUTCOME_STATUS_"))
}

// refused is the problem of a rejected outcome, nil for any other.
func refused(res *pb.WriteResult) error {
	for _, o := range res.GetOutcomes() {
		if o.GetStatus() != pb.OutcomeStatus_OUTCOME_STATUS_REJECTED {
			continue
		}
		if o.GetReason() == "NOT_FOUND" {
			return &problem{http.StatusNotFound, o.GetReason(), "there is no such memory"}
		}
		return &problem{http.StatusConflict, o.GetReason(), "refused: " + o.GetReason()}
	}
	return nil
}

func (s *Server) addEntry(w http.ResponseWriter, r *http.Request) error {
	q := queryOf(r, "space")
	if q.err != nil {
		return q.err
	}
	data, err := bodyOf(r)
	if err != nil {
		return err
	}
	item := &pb.NewMemory{}
	if err := message(data, item); err != nil {
		return err
	}
	res, err := s.memory.Add(r.Context(), &pb.MemoryServiceAddRequest{
		Space: q.text("space"), Items: []*pb.NewMemory{item}, IdempotencyKey: r.Header.Get("Idempotency-Key"),
	})
	if err != nil {
		return err
	}
	if err := refused(res.GetResult()); err != nil {
		return err
	}
	out := writtenOf(res.GetResult())
	m, err := s.one(r, q.text("space"), out.ID)
	if err != nil {
		return err
	}
	out.Memory = plain(m)
	code := http.StatusCreated
	if out.Status == "duplicate" {
		code = http.StatusOK
	}
	reply(w, code, out)
	return nil
}

func (s *Server) one(r *http.Request, space, id string) (*pb.Memory, error) {
	res, err := s.memory.Get(r.Context(), &pb.MemoryServiceGetRequest{Space: space, Ids: []string{id}})
	if err != nil {
		return nil, err
	}
	return res.GetMemories()[0], nil // Get fails when there is none
}

func (s *Server) getEntry(w http.ResponseWriter, r *http.Request) error {
	q := queryOf(r, "space")
	if q.err != nil {
		return q.err
	}
	m, err := s.one(r, q.text("space"), r.PathValue("id"))
	if err != nil {
		return err
	}
	reply(w, http.StatusOK, plain(m))
	return nil
}

func (s *Server) changeEntry(w http.ResponseWriter, r *http.Request) error {
	q := queryOf(r, "space", "expected_revision")
	revision, _ := q.large("expected_revision")
	if q.err != nil {
		return q.err
	}
	data, err := bodyOf(r)
	if err != nil {
		return err
	}
	patch := &pb.MemoryPatch{}
	if err := message(data, patch); err != nil {
		return err
	}
	res, err := s.memory.Update(r.Context(), &pb.MemoryServiceUpdateRequest{
		Space: q.text("space"), Id: r.PathValue("id"), Patch: patch, ExpectedRevision: revision, IdempotencyKey: r.Header.Get("Idempotency-Key"),
	})
	if err != nil {
		return err
	}
	if err := refused(res.GetResult()); err != nil {
		return err
	}
	out := writtenOf(res.GetResult())
	out.Memory = plain(res.GetMemory())
	reply(w, http.StatusOK, out)
	return nil
}

func (s *Server) deleteEntry(w http.ResponseWriter, r *http.Request) error {
	q := queryOf(r, "space", "expected_revision")
	revision, _ := q.large("expected_revision")
	if q.err != nil {
		return q.err
	}
	res, err := s.memory.Delete(r.Context(), &pb.MemoryServiceDeleteRequest{
		Space: q.text("space"), Ids: []string{r.PathValue("id")}, ExpectedRevision: revision, IdempotencyKey: r.Header.Get("Idempotency-Key"),
	})
	if err != nil {
		return err
	}
	if err := refused(res.GetResult()); err != nil {
		return err
	}
	reply(w, http.StatusOK, writtenOf(res.GetResult()))
	return nil
}
