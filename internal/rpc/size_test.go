package rpc_test

import (
	"fmt"
	"strings"
	"testing"

	"google.golang.org/grpc"
	"google.golang.org/protobuf/proto"

	pb "github.com/memsidecar/memsidecar/gen/memsidecar/v1"
	pbalpha "github.com/memsidecar/memsidecar/gen/memsidecar/v1alpha1"
	"github.com/memsidecar/memsidecar/internal/memory"
	"github.com/memsidecar/memsidecar/internal/store"
	"github.com/memsidecar/memsidecar/internal/store/journal"
)

// maxResponse is the largest message that a gRPC client accepts by default.
const maxResponse = 4 << 20

// longText is a text of memory.MaxContent characters of 3 bytes each. Texts of different numbers are not similar.
func longText(n int) string {
	head := fmt.Sprintf("%d ", n)
	return head + strings.Repeat("字", memory.MaxContent-len(head))
}

// fill stores about 12 MB in each place that a list reads.
func (d *daemon) fill(t *testing.T) {
	t.Helper()
	_, err := d.store.Update(t.Context(), store.Meta{Actor: journal.ActorClient}, func(tx *store.Tx) error {
		for n := range 500 {
			m := &memory.Memory{
				ID: fmt.Sprint("m", n), Category: "facts", Content: longText(n), Title: "one title",
				Source: "user_explicit", Salience: 0.5, Confidence: 1, More: &memory.More{AccessCount: 1},
			}
			if err := tx.Put(m); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	entries := make([]*pb.NewLogEntry, 500)
	for n := range entries {
		entries[n] = &pb.NewLogEntry{Content: longText(n), Category: "facts"}
	}
	must[*pb.LogServiceAppendResponse](t)(d.log.Append(t.Context(), &pb.LogServiceAppendRequest{Entries: entries}))
	messages := make([]*pb.SessionMessage, 250)
	for n := range messages {
		messages[n] = &pb.SessionMessage{Seq: int64(n + 1), Role: pb.Role_ROLE_USER,
			Content: strings.Repeat("x", 48<<10)}
	}
	must[*pb.SessionServiceAppendResponse](t)(d.session.Append(t.Context(),
		&pb.SessionServiceAppendRequest{SessionId: "s", Messages: messages}))
}

// pagesOf calls a list page by page and returns how many items came.
func pagesOf[R proto.Message](t *testing.T, name string, call func(token string) (R, error),
	count func(R) (int, string)) int {
	t.Helper()
	total, token := 0, ""
	for page := 0; ; page++ {
		res, err := call(token)
		if err != nil {
			t.Fatalf("%s, page %d: %v", name, page, err)
		}
		if n := proto.Size(res); n > maxResponse {
			t.Errorf("%s, page %d: %d bytes", name, page, n)
		}
		n, next := count(res)
		if total += n; next == "" {
			return total
		}
		if n == 0 || next == token {
			t.Fatalf("%s, page %d: no progress", name, page)
		}
		token = next
	}
}

// TestResponsesFitADefaultClient fills the store with long texts and calls everything that returns lists.
func TestResponsesFitADefaultClient(t *testing.T) {
	d := start(t)
	d.fill(t)
	ctx := t.Context()
	titles, usage := pbalpha.NewTitleServiceClient(d.conn), pbalpha.NewUsageServiceClient(d.conn)
	ids := make([]string, 500)
	for n := range ids {
		ids[n] = fmt.Sprint("m", n)
	}
	ops := must[*pb.OperationServiceListResponse](t)(d.ops.List(ctx, &pb.OperationServiceListRequest{}))
	oldest := ops.GetOperations()[len(ops.GetOperations())-1].GetId()
	for name, c := range map[string]struct{ got, want int }{
		"Get": {pagesOf(t, "Get", func(token string) (*pb.MemoryServiceGetResponse, error) {
			return d.memory.Get(ctx, &pb.MemoryServiceGetRequest{Ids: ids, PageToken: token})
		}, func(r *pb.MemoryServiceGetResponse) (int, string) { return len(r.GetMemories()), r.GetNextPageToken() }),
			500},
		"List": {pagesOf(t, "List", func(token string) (*pb.MemoryServiceListResponse, error) {
			return d.memory.List(ctx, &pb.MemoryServiceListRequest{PageSize: 1000, PageToken: token})
		}, func(r *pb.MemoryServiceListResponse) (int, string) { return len(r.GetMemories()), r.GetNextPageToken() }),
			500},
		"Hot": {pagesOf(t, "Hot", func(token string) (*pb.SearchServiceHotResponse, error) {
			return d.search.Hot(ctx, &pb.SearchServiceHotRequest{PageSize: 1000, PageToken: token})
		}, func(r *pb.SearchServiceHotResponse) (int, string) { return len(r.GetMemories()), r.GetNextPageToken() }),
			500},
		"Find": {pagesOf(t, "Find", func(token string) (*pbalpha.TitleServiceFindResponse, error) {
			return titles.Find(ctx, &pbalpha.TitleServiceFindRequest{Title: "one title", PageSize: 1000,
				PageToken: token})
		}, func(r *pbalpha.TitleServiceFindResponse) (int, string) {
			return len(r.GetMemories()), r.GetNextPageToken()
		}), 500},
		"log Get": {pagesOf(t, "log Get", func(token string) (*pb.LogServiceGetResponse, error) {
			return d.log.Get(ctx, &pb.LogServiceGetRequest{PageToken: token})
		}, func(r *pb.LogServiceGetResponse) (int, string) { return len(r.GetEntries()), r.GetNextPageToken() }), 500},
		"ListMessages": {pagesOf(t, "ListMessages", func(token string) (*pb.SessionServiceListMessagesResponse, error) {
			return d.session.ListMessages(ctx, &pb.SessionServiceListMessagesRequest{SessionId: "s", PageToken: token})
		}, func(r *pb.SessionServiceListMessagesResponse) (int, string) {
			return len(r.GetMessages()), r.GetNextPageToken()
		}), 250},
		"operation Get": {pagesOf(t, "operation Get", func(token string) (*pb.OperationServiceGetResponse, error) {
			return d.ops.Get(ctx, &pb.OperationServiceGetRequest{Id: oldest, PageToken: token})
		}, func(r *pb.OperationServiceGetResponse) (int, string) {
			return len(r.GetOperation().GetChanges()), r.GetNextPageToken()
		}), 500},
		"operation List": {pagesOf(t, "operation List", func(token string) (*pb.OperationServiceListResponse, error) {
			return d.ops.List(ctx, &pb.OperationServiceListRequest{
				PageSize: 1000, PageToken: token, IncludeBookkeeping: true, IncludeChanges: true,
			})
		}, func(r *pb.OperationServiceListResponse) (int, string) {
			return len(r.GetOperations()), r.GetNextPageToken()
		}), 3},
		"Stats": {pagesOf(t, "Stats", func(token string) (*pb.MemoryServiceStatsResponse, error) {
			return d.memory.Stats(ctx, &pb.MemoryServiceStatsRequest{PageToken: token})
		}, func(r *pb.MemoryServiceStatsResponse) (int, string) { return len(r.GetSpaces()), r.GetNextPageToken() }),
			1},
		"ListDays": {pagesOf(t, "ListDays", func(token string) (*pbalpha.UsageServiceListDaysResponse, error) {
			return usage.ListDays(ctx, &pbalpha.UsageServiceListDaysRequest{PageToken: token})
		}, func(r *pbalpha.UsageServiceListDaysResponse) (int, string) {
			return len(r.GetDays()), r.GetNextPageToken()
		}), 1},
	} {
		if c.got != c.want {
			t.Errorf("%s returned %d items, want %d", name, c.got, c.want)
		}
	}
	d.checkBounded(t)
}

// checkBounded calls what returns a list without pages.
func (d *daemon) checkBounded(t *testing.T) {
	t.Helper()
	ctx := t.Context()
	found := must[*pb.SearchServiceSearchResponse](t)(d.search.Search(ctx, &pb.SearchServiceSearchRequest{
		Query: strings.Repeat("字", 20), Limit: 200, IncludeLogs: true, Arm: pb.SearchArm_SEARCH_ARM_KEYWORD,
	}))
	similar := must[*pb.SearchServiceSimilarResponse](t)(d.search.Similar(ctx,
		&pb.SearchServiceSimilarRequest{Like: &pb.SearchServiceSimilarRequest_Id{Id: "m1"}, Limit: 200}))
	pending := must[*pb.MemoryServiceConsolidateResponse](t)(
		d.memory.Consolidate(ctx, &pb.MemoryServiceConsolidateRequest{
			Input:  &pb.MemoryServiceConsolidateRequest_LogEntries{LogEntries: &pb.ConsolidateLogEntries{Limit: 150}},
			DryRun: true,
		}))
	if pending.GetOmittedItems() == 0 || len(pending.GetItems())+int(pending.GetOmittedItems()) != 150 {
		t.Errorf("Consolidate returned %d items and omitted %d", len(pending.GetItems()), pending.GetOmittedItems())
	}
	for _, res := range []proto.Message{found, similar, pending} {
		if n := proto.Size(res); n > maxResponse {
			t.Errorf("%T has %d bytes", res, n)
		}
	}
	watch := must[grpc.ServerStreamingClient[pb.OperationServiceWatchResponse]](t)(d.ops.Watch(ctx,
		&pb.OperationServiceWatchRequest{Cursor: "0"}))
	changes := 0
	for cursor := ""; cursor == ""; {
		res := must[*pb.OperationServiceWatchResponse](t)(watch.Recv())
		if n := proto.Size(res); n > maxResponse {
			t.Errorf("a watched operation has %d bytes", n)
		}
		changes, cursor = changes+len(res.GetOperation().GetChanges()), res.GetCursor()
	}
	if changes != 500 {
		t.Errorf("the first watched operation has %d changes", changes)
	}
}

// TestKeysMakeCallsRepeatable repeats every kind of write with its key, and uses the key for another request.
func TestKeysMakeCallsRepeatable(t *testing.T) {
	d := start(t)
	ctx := t.Context()
	d.add(t, "a", "the port is 8080")
	d.add(t, "b", "likes tea")
	must[*pb.SessionServiceStartResponse](t)(d.session.Start(ctx, &pb.SessionServiceStartRequest{SessionId: "s"}))
	for name, call := range map[string]func(key string, other bool) (*pb.WriteResult, error){
		"append": func(key string, other bool) (*pb.WriteResult, error) {
			text := map[bool]string{false: "x", true: "y"}[other]
			res, err := d.session.Append(ctx, &pb.SessionServiceAppendRequest{
				SessionId: "t", Messages: []*pb.SessionMessage{{Role: pb.Role_ROLE_USER, Content: text}},
				IdempotencyKey: key,
			})
			return res.GetResult(), err
		},
		"end": func(key string, other bool) (*pb.WriteResult, error) {
			reason := map[bool]string{false: "", true: "other"}[other]
			res, err := d.session.End(ctx,
				&pb.SessionServiceEndRequest{SessionId: "s", EndReason: reason, IdempotencyKey: key})
			return res.GetResult(), err
		},
		"purge": func(key string, other bool) (*pb.WriteResult, error) {
			id := map[bool]string{false: "a", true: "b"}[other]
			res, err := d.memory.Purge(ctx, &pb.MemoryServicePurgeRequest{Ids: []string{id}, IdempotencyKey: key})
			return res.GetResult(), err
		},
		"archive": func(key string, other bool) (*pb.WriteResult, error) {
			days := map[bool]int32{false: 30, true: 31}[other]
			res, err := d.admin.Archive(ctx, &pb.AdminServiceArchiveRequest{ArchiveDays: days, IdempotencyKey: key})
			return res.GetResult(), err
		},
		"compress": func(key string, other bool) (*pb.WriteResult, error) {
			days := map[bool]int32{false: 90, true: 91}[other]
			res, err := d.admin.Compress(ctx, &pb.AdminServiceCompressRequest{Days: days, IdempotencyKey: key})
			return res.GetResult(), err
		},
		"summary": func(key string, other bool) (*pb.WriteResult, error) {
			res, err := d.memory.RebuildSummary(ctx,
				&pb.MemoryServiceRebuildSummaryRequest{Replace: other, IdempotencyKey: key})
			return res.GetResult(), err
		},
		"view": func(key string, other bool) (*pb.WriteResult, error) {
			text := map[bool]string{false: "one fact", true: "another"}[other]
			res, err := pbalpha.NewViewServiceClient(d.conn).Apply(ctx, &pbalpha.ViewServiceApplyRequest{
				Changes: []*pbalpha.ViewChange{
					{Change: &pbalpha.ViewChange_Add{Add: &pb.NewMemory{Content: text}}}},
				IdempotencyKey: key,
			})
			return res.GetResult(), err
		},
	} {
		key := "key-" + name
		first := must[*pb.WriteResult](t)(call(key, false))
		again := must[*pb.WriteResult](t)(call(key, false))
		if first.GetReplayed() || !again.GetReplayed() || again.GetOperationId() != first.GetOperationId() {
			t.Errorf("%s: %v, then %v", name, first, again)
		}
		again.Replayed = false
		if !proto.Equal(first, again) {
			t.Errorf("%s: first %v, then %v", name, first, again)
		}
		if _, err := call(key, true); err == nil || !strings.Contains(err.Error(), key) {
			t.Errorf("%s: the key for another request: %v", name, err)
		}
	}
}
