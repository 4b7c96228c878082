package rpc_test

import (
	"cmp"
	"slices"
	"strings"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/timestamppb"

	pb "github.com/memsidecar/memsidecar/gen/memsidecar/v1"
	"github.com/memsidecar/memsidecar/internal/memory"
	"github.com/memsidecar/memsidecar/internal/store"
)

// TestSearchFiltersOverTheWire sets each field of a filter by itself: each leaves out what the others let through.
func TestSearchFiltersOverTheWire(t *testing.T) {
	d := start(t)
	now := time.Now().UTC().Truncate(time.Second)
	memories := []*memory.Memory{
		{ID: "task", Category: memory.Tasks}, {ID: "tagged", Tags: []string{"ops"}},
		{ID: "imported", Source: memory.SourceImport},
		{ID: "superseded", Status: memory.Superseded}, {ID: "salient", Salience: 0.9}, {ID: "pinned", Pinned: true},
		{ID: "old", CreatedAt: now.AddDate(0, 0, -9)}, {ID: "learnt", More: &memory.More{Evidence: []memory.Evidence{{Session: "s1"}}}},
		{ID: "changed", CreatedAt: now.AddDate(0, 0, -3), UpdatedAt: now.AddDate(0, 0, -2)},
	}
	said := []string{
		"is amber", "was painted in spring", "belongs to the coral reef project", "needs a key",
		"stands beside an old oven", "opens at nine",
		"was built by masons", "squeaks when it rains", "got a new lock on Monday",
	}
	put := func(space string, m *memory.Memory) {
		t.Helper()
		m.Category, m.Source = cmp.Or(m.Category, memory.Facts), cmp.Or(m.Source, memory.SourceUser)
		m.Salience, m.Confidence = cmp.Or(m.Salience, 0.5), 1
		if m.CreatedAt.IsZero() {
			m.CreatedAt = now.Add(-time.Minute)
		}
		if _, err := d.store.Update(t.Context(), store.Meta{Space: space}, func(tx *store.Tx) error {
			return tx.Put(m)
		}); err != nil {
			t.Fatal(err)
		}
	}
	for i, m := range memories {
		m.Content = "The gateway " + said[i]
		put("", m)
	}
	put("work", &memory.Memory{ID: "work", Content: "The gateway of the office"})
	at := timestamppb.New
	for _, tt := range []struct {
		name string
		req  *pb.SearchServiceSearchRequest
		want []string
	}{
		{"none", &pb.SearchServiceSearchRequest{},
			[]string{"changed", "imported", "learnt", "old", "pinned", "salient", "tagged", "task"}},
		{"spaces", &pb.SearchServiceSearchRequest{Spaces: []string{"work"}}, []string{"work"}},
		{"categories", &pb.SearchServiceSearchRequest{
			Filter: &pb.MemoryFilter{Categories: []string{"tasks", "general"}}}, []string{"task"}},
		{"tags", &pb.SearchServiceSearchRequest{Filter: &pb.MemoryFilter{Tags: []string{"ops"}}}, []string{"tagged"}},
		{"sources", &pb.SearchServiceSearchRequest{Filter: &pb.MemoryFilter{Sources: []string{"import"}}},
			[]string{"imported"}},
		{"sessions", &pb.SearchServiceSearchRequest{Filter: &pb.MemoryFilter{SessionIds: []string{"s1"}}},
			[]string{"learnt"}},
		{"statuses", &pb.SearchServiceSearchRequest{
			Filter: &pb.MemoryFilter{Statuses: []pb.MemoryStatus{pb.MemoryStatus_MEMORY_STATUS_SUPERSEDED}}},
			[]string{"superseded"}},
		{"min salience", &pb.SearchServiceSearchRequest{Filter: &pb.MemoryFilter{MinSalience: 0.8}},
			[]string{"salient"}},
		{"pinned", &pb.SearchServiceSearchRequest{Filter: &pb.MemoryFilter{Pinned: new(true)}}, []string{"pinned"}},
		{"created before", &pb.SearchServiceSearchRequest{
			Filter: &pb.MemoryFilter{CreatedBefore: at(now.AddDate(0, 0, -5))}}, []string{"old"}},
		{"created range", &pb.SearchServiceSearchRequest{
			Filter: &pb.MemoryFilter{CreatedFrom: at(now.AddDate(0, 0, -4)), CreatedBefore: at(now.AddDate(0, 0, -1))}},
			[]string{"changed"}},
		{"updated range", &pb.SearchServiceSearchRequest{
			Filter: &pb.MemoryFilter{UpdatedFrom: at(now.AddDate(0, 0, -20)),
				UpdatedBefore: at(now.AddDate(0, 0, -1))}}, []string{"changed"}},
		{"min score", &pb.SearchServiceSearchRequest{MinScore: 2}, nil},
		{"as of", &pb.SearchServiceSearchRequest{AsOf: at(now.AddDate(0, 0, -8))}, []string{"old"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			tt.req.Query, tt.req.Limit, tt.req.NoTouch = "gateway", 100, true
			var got []string
			for _, h := range must[*pb.SearchServiceSearchResponse](t)(d.search.Search(t.Context(), tt.req)).GetHits() {
				got = append(got, h.GetMemory().GetId())
			}
			slices.Sort(got)
			if diff := gocmp.Diff(tt.want, got, cmpopts.EquateEmpty()); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// TestSearchSession: a session id that could not be one is refused before anything is counted for it.
func TestSearchSession(t *testing.T) {
	d := start(t)
	d.add(t, "a", "the staging database listens on port 5433")
	for _, session := range []string{strings.Repeat("x", memory.MaxID+1), "a\x01b", "a b"} {
		_, err := d.search.Search(t.Context(), &pb.SearchServiceSearchRequest{Query: "staging database", SessionId: session})
		if status.Code(err) != codes.InvalidArgument || !strings.Contains(err.Error(), "session_id") {
			t.Errorf("session %.10q: %v, want an invalid session_id", session, err)
		}
	}
	must[*pb.SearchServiceSearchResponse](t)(d.search.Search(t.Context(),
		&pb.SearchServiceSearchRequest{Query: "staging database", SessionId: strings.Repeat("x", memory.MaxID)}))
}

func TestSearchLogsOverTheWire(t *testing.T) {
	d := start(t)
	d.add(t, "a", "the staging database listens on port 5433")
	must[*pb.LogServiceAppendResponse](t)(d.log.Append(t.Context(), &pb.LogServiceAppendRequest{
		SessionId: "s1", Entries: []*pb.NewLogEntry{
			{Content: "Moved the staging database to the host quartz", Type: "correction"}},
	}))
	req := &pb.SearchServiceSearchRequest{Query: "staging database", IncludeLogs: true, Explain: true}
	hits := must[*pb.SearchServiceSearchResponse](t)(d.search.Search(t.Context(), req)).GetHits()
	if len(hits) != 2 {
		t.Fatalf("found %v", hits)
	}
	if hits[0].GetMemory() == nil {
		slices.Reverse(hits)
	}
	l := hits[1].GetLog()
	if hits[0].GetMemory().GetId() != "a" || hits[0].GetLog() != nil || hits[1].GetMemory() != nil ||
		l.GetEntry().GetType() != "correction" || l.GetEntry().GetId() == "" ||
		l.GetEntry().GetSessionId() != "s1" || l.GetDate() == "" || len(hits[1].GetComponents()) == 0 ||
		hits[1].GetSpace() != "default" {
		t.Errorf("found %v", hits)
	}
	if err := d.store.FlushAccesses(t.Context()); err != nil {
		t.Fatal(err)
	}
	if hot := must[*pb.SearchServiceHotResponse](t)(
		d.search.Hot(t.Context(), &pb.SearchServiceHotRequest{})).GetMemories(); len(hot) != 1 ||
		hot[0].GetAccessCount() != 1 {
		t.Errorf("accesses: %v", hot)
	}
	req.IncludeLogs = false
	if hits := must[*pb.SearchServiceSearchResponse](t)(d.search.Search(t.Context(), req)).GetHits(); len(hits) != 1 {
		t.Errorf("without logs: %v", hits)
	}
}
