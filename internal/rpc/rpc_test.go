package rpc_test

import (
	"context"
	"errors"
	"log/slog"
	"net"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/health"
	healthpb "google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/status"
	"google.golang.org/grpc/test/bufconn"
	"google.golang.org/protobuf/types/known/fieldmaskpb"
	"google.golang.org/protobuf/types/known/structpb"

	pb "github.com/memsidecar/memsidecar/gen/memsidecar/v1"
	"github.com/memsidecar/memsidecar/internal/archiver"
	"github.com/memsidecar/memsidecar/internal/dailylog"
	"github.com/memsidecar/memsidecar/internal/jsonstore"
	"github.com/memsidecar/memsidecar/internal/memory"
	"github.com/memsidecar/memsidecar/internal/reconcile"
	"github.com/memsidecar/memsidecar/internal/reflector"
	"github.com/memsidecar/memsidecar/internal/reflector/consolidator"
	"github.com/memsidecar/memsidecar/internal/reflector/guard"
	"github.com/memsidecar/memsidecar/internal/reflector/review"
	"github.com/memsidecar/memsidecar/internal/reflector/summary"
	"github.com/memsidecar/memsidecar/internal/rpc"
	"github.com/memsidecar/memsidecar/internal/search"
	"github.com/memsidecar/memsidecar/internal/search/logindex"
	"github.com/memsidecar/memsidecar/internal/service/graph"
	"github.com/memsidecar/memsidecar/internal/service/memorysvc"
	"github.com/memsidecar/memsidecar/internal/service/recall"
	"github.com/memsidecar/memsidecar/internal/service/session"
	"github.com/memsidecar/memsidecar/internal/service/transfer"
	"github.com/memsidecar/memsidecar/internal/service/usage"
	"github.com/memsidecar/memsidecar/internal/store"
	"github.com/memsidecar/memsidecar/internal/store/backup"
	"github.com/memsidecar/memsidecar/internal/store/durable"
	"github.com/memsidecar/memsidecar/internal/store/journal"
	"github.com/memsidecar/memsidecar/internal/store/purge"
)

func newMonitor(t *testing.T) *rpc.Monitor {
	return rpc.NewMonitor(slog.New(slog.NewTextHandler(t.Output(), nil)), time.Now)
}

func newServer(monitor *rpc.Monitor, more ...grpc.ServerOption) *grpc.Server {
	return grpc.NewServer(append(append(monitor.Options(), grpc.WaitForHandlers(true)), more...)...)
}

// publishedFiles is what backups hold besides the store.
var publishedFiles = backup.Layout{jsonstore.BackupFiles{}, dailylog.BackupFiles{}}

// dial serves in memory and returns a client.
func dial(t *testing.T, server *grpc.Server) *grpc.ClientConn {
	t.Helper()
	listener := bufconn.Listen(1 << 20)
	done := make(chan error, 1)
	go func() { done <- server.Serve(listener) }()
	conn, err := grpc.NewClient("passthrough:///bufconn",
		grpc.WithContextDialer(func(ctx context.Context, _ string) (net.Conn, error) {
			return listener.DialContext(ctx)
		}),
		grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithDefaultCallOptions(grpc.MaxCallRecvMsgSize(64<<20), grpc.MaxCallSendMsgSize(64<<20)))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := conn.Close(); err != nil {
			t.Error(err)
		}
		server.Stop()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
	return conn
}

// daemon is everything that is served, on a store of its own.
type daemon struct {
	conn    *grpc.ClientConn
	memory  pb.MemoryServiceClient
	search  pb.SearchServiceClient
	session pb.SessionServiceClient
	log     pb.LogServiceClient
	ops     pb.OperationServiceClient
	admin   pb.AdminServiceClient
	file    pb.FileServiceClient
	store   *store.Store
	stopped chan struct{}
	paused  *bool

	pausedHost string // "" for none

	root  *os.Root
	files *jsonstore.Publisher
	edits *reconcile.Service
}

// rules stands in for the reflector: it learns one fact from every session.
type rules struct{ store *store.Store }

func (r rules) Reflect(ctx context.Context, space, id string, opts reflector.Options) (reflector.Result, error) {
	p := guard.Plan{Space: space, Session: id,
		Items: []guard.Item{{Action: guard.Add,
			Memory: memory.Memory{ID: "learnt", Category: "facts", Content: "learnt it"}}}}
	if opts.DryRun {
		return reflector.Result{Plan: p}, nil
	}
	res, err := r.store.Update(ctx, store.Meta{Space: space, Actor: journal.ActorReflect}, func(tx *store.Tx) error {
		h := *tx.Session(id)
		h.State, h.ReflectedSeq, h.ReflectedOp = memory.SessionReflected, h.NextSeq, tx.LSN()
		tx.PutSession(&h)
		tx.Report(journal.Outcome{ID: "learnt", Status: journal.Applied})
		return tx.Put(&memory.Memory{ID: "learnt", Category: "facts", Content: "learnt it", Source: "auto_reflection"})
	})
	return reflector.Result{Plan: p, Op: res.Op, Outcomes: res.Outcomes}, err
}

func start(t *testing.T) *daemon {
	t.Helper()
	return startWith(t, func(st *store.Store, _ *search.Engine) session.Reflector { return rules{st} })
}

func startWith(t *testing.T, reflectorOf func(*store.Store, *search.Engine) session.Reflector) *daemon {
	t.Helper()
	root, err := os.OpenRoot(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	quiet := slog.New(slog.DiscardHandler)
	engine, recallIndex := search.New(search.Config{}), recall.NewIndex()
	files := jsonstore.NewPublisher(jsonstore.Config{FS: durable.Dir(root), Now: time.Now, Logger: quiet,
		OnEdit: func(string) {}})
	logs := dailylog.NewPublisher(dailylog.Config{FS: durable.Dir(root), Now: time.Now, Logger: quiet,
		OnEdit: func(string) {}})
	finder := logindex.New(logindex.Config{Search: engine, Now: time.Now})
	st, err := store.Open(store.Config{FS: durable.Dir(root), Now: time.Now, Logger: quiet,
		Projections: []store.Projection{engine, files, logs, recallIndex, finder}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := errors.Join(st.Close(context.Background()), root.Close()); err != nil {
			t.Error(err)
		}
	})
	files.Attach(jsonstore.FromStore(st))
	logs.Attach(dailylog.FromStore(st))
	finder.SetStore(st)
	d := &daemon{store: st, stopped: make(chan struct{}), paused: new(false), root: root, files: files}
	d.edits = reconcile.New(reconcile.Config{
		Store: st, FS: durable.Dir(root), Memories: files, Logs: logs, Now: time.Now, Location: time.UTC, Logger: quiet,
	})
	monitor := newMonitor(t)
	sessions := session.New(session.Config{
		Store: st, Reflector: reflectorOf(st, engine), Now: time.Now, Logger: quiet, Paused: func() bool {
			return *d.paused
		},
	})
	isPaused := func(host string) bool { return d.pausedHost != "" && host == d.pausedHost }
	server := newServer(monitor, rpc.RefusePaused(isPaused, sessions)...)
	rpc.Register(server, rpc.Deps{
		Recall: recall.New(recall.Config{Store: st, Search: engine, Now: time.Now, Index: recallIndex,
			Working: sessions.Working}),
		Store: st, Memories: memorysvc.New(st, time.Now), Graph: graph.New(st, time.Now), Search: engine,
		Monitor: monitor, Stopping: d.stopped,
		Consolidator: consolidator.New(consolidator.Config{Store: st, Search: engine, Now: time.Now}),
		Sessions:     sessions,
		Logs:         finder,
		Archiver:     archiver.New(archiver.Config{Store: st, Location: time.UTC, Logger: quiet}),
		Backups:      &backup.Source{Store: st, FS: durable.Dir(root), Published: publishedFiles, Now: time.Now},
		Transfer:     transfer.New(st, durable.Dir(root), engine, time.Now),
		Purges: purge.New(purge.Config{
			Store: st, FS: durable.Dir(root), Memories: files, Logs: logs,
			SaveIndex: func() error { return nil },
			Logger:    quiet,
		}),
		Edits: d.edits, Usage: usage.New(st, time.UTC), Reviews: review.New(st), Summaries: summary.New(st, time.Now),
		Admin: rpc.Admin{
			Info: func() rpc.Info {
				return rpc.Info{Version: "v0", PID: 42, LSN: st.LSN(), Paused: *d.paused, Store: st.Origin(),
					Epoch: st.Epoch()}
			},
			Doctor: func(context.Context) ([]rpc.Finding, error) {
				return []rpc.Finding{{Name: "disk", Level: rpc.LevelWarn}}, nil
			},
			Check:   func(context.Context) ([]string, int64, error) { return nil, st.LSN(), nil },
			Publish: st.Checkpoint,
			Pause:   func(_ string, p bool) error { *d.paused = p; return nil },
			Stop:    sync.OnceFunc(func() { close(d.stopped) }),
		},
	})
	d.conn = dial(t, server)
	d.memory, d.search, d.session = pb.NewMemoryServiceClient(d.conn), pb.NewSearchServiceClient(d.conn),
		pb.NewSessionServiceClient(d.conn)
	d.file = pb.NewFileServiceClient(d.conn)
	d.log, d.ops, d.admin = pb.NewLogServiceClient(d.conn), pb.NewOperationServiceClient(d.conn),
		pb.NewAdminServiceClient(d.conn)
	return d
}

func must[T any](t *testing.T) func(T, error) T {
	return func(v T, err error) T {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
}

// id is the id of an operation.
func (d *daemon) id(number int64) string { return rpc.OperationID(d.store, number) }

// consolidateText asks to consolidate a text.
func consolidateText(text *pb.ConsolidateText) *pb.MemoryServiceConsolidateRequest {
	return &pb.MemoryServiceConsolidateRequest{Input: &pb.MemoryServiceConsolidateRequest_Text{Text: text}}
}

func (d *daemon) add(t *testing.T, id, content string) *pb.WriteResult {
	t.Helper()
	return must[*pb.MemoryServiceAddResponse](t)(d.memory.Add(t.Context(), &pb.MemoryServiceAddRequest{
		Items: []*pb.NewMemory{{Id: id, Content: content, Category: "facts"}}, IdempotencyKey: "add-" + id,
	})).GetResult()
}

func TestMemoryCalls(t *testing.T) {
	d := start(t)
	first := d.add(t, "a", "the port is 8080")
	if again := d.add(t, "a", "the port is 8080"); !again.GetReplayed() ||
		again.GetOperationId() != first.GetOperationId() {
		t.Errorf("again: %v, want the first result %v", again, first)
	}
	d.add(t, "b", "tea, please")
	got := must[*pb.MemoryServiceGetResponse](t)(
		d.memory.Get(t.Context(), &pb.MemoryServiceGetRequest{Ids: []string{"b", "x", "a"}}))
	if len(got.GetMemories()) != 2 || got.GetMemories()[0].GetId() != "b" || len(got.GetMissingIds()) != 1 ||
		got.GetMissingIds()[0] != "x" {
		t.Errorf("Get = %v", got)
	}

	data, _ := structpb.NewStruct(map[string]any{"k": "v"})
	up := must[*pb.MemoryServiceUpdateResponse](t)(d.memory.Update(t.Context(), &pb.MemoryServiceUpdateRequest{
		Id: "a", ExpectedRevision: 1,
		Patch: &pb.MemoryPatch{Content: new("the port is 9090"), Tags: []string{"net"}, StructuredData: data,
			Context: &pb.MemoryContext{Tool: "curl"}},
	})).GetMemory()
	if up.GetContent() != "the port is 9090" || up.GetTags()[0] != "net" ||
		up.GetStructuredData().AsMap()["k"] != "v" || up.GetContext().GetTool() != "curl" {
		t.Errorf("Update = %v", up)
	}
	up = must[*pb.MemoryServiceUpdateResponse](t)(d.memory.Update(t.Context(), &pb.MemoryServiceUpdateRequest{
		Id: "a", Patch: &pb.MemoryPatch{Content: new("not named")},
		UpdateMask: &fieldmaskpb.FieldMask{Paths: []string{"tags", "structured_data", "context", "title"}},
	})).GetMemory()
	if up.GetContent() != "the port is 9090" || len(up.GetTags()) != 0 || up.GetStructuredData() != nil ||
		up.GetContext() != nil {
		t.Errorf("masked Update = %v", up)
	}
	for _, mask := range []*fieldmaskpb.FieldMask{nil, {Paths: []string{"id"}}} {
		_, err := d.memory.Update(t.Context(), &pb.MemoryServiceUpdateRequest{Id: "a", UpdateMask: mask})
		if status.Code(err) != codes.InvalidArgument {
			t.Errorf("mask %v: %v, want InvalidArgument", mask, err)
		}
	}
	_, err := d.memory.Update(t.Context(),
		&pb.MemoryServiceUpdateRequest{Id: "a", ExpectedRevision: 2, Patch: &pb.MemoryPatch{Title: new("t")}})
	if status.Code(err) != codes.FailedPrecondition {
		t.Errorf("old revision: %v, want FailedPrecondition", err)
	}

	link := must[*pb.MemoryServiceLinkResponse](t)(
		d.memory.Link(t.Context(), &pb.MemoryServiceLinkRequest{Id: "a",
			Relation: &pb.Relation{Type: "supports", TargetId: "b"}}))
	if r := link.GetMemory().GetRelations(); len(r) != 1 || r[0].GetStrength() != 0.5 {
		t.Errorf("Link = %v", link)
	}
	must[*pb.MemoryServiceUnlinkResponse](t)(
		d.memory.Unlink(t.Context(), &pb.MemoryServiceUnlinkRequest{Id: "a",
			Relation: &pb.Relation{Type: "supports", TargetId: "b"}}))
	must[*pb.MemoryServiceDeleteResponse](t)(
		d.memory.Delete(t.Context(), &pb.MemoryServiceDeleteRequest{Ids: []string{"a"}}))
	if len(d.store.Space(memory.DefaultSpace).Forgotten()) != 1 {
		t.Error("a deleted value is not forgotten by default")
	}
	must[*pb.MemoryServiceRestoreResponse](t)(
		d.memory.Restore(t.Context(), &pb.MemoryServiceRestoreRequest{Ids: []string{"a"}}))
	history := must[*pb.MemoryServiceHistoryResponse](t)(
		d.memory.History(t.Context(), &pb.MemoryServiceHistoryRequest{Id: "a"})).GetOperations()
	if len(history) != 7 || len(history[1].GetChanges()) != 1 || history[1].GetChangeCount() != 2 {
		t.Errorf("%d operations of history: %v", len(history), history)
	}

	must[*pb.MemoryServiceSetSummaryResponse](t)(
		d.memory.SetSummary(t.Context(), &pb.MemoryServiceSetSummaryRequest{Summary: "likes tea"}))
	if s := must[*pb.MemoryServiceGetSummaryResponse](t)(
		d.memory.GetSummary(t.Context(), &pb.MemoryServiceGetSummaryRequest{})); s.GetSummary() != "likes tea" {
		t.Errorf("summary %v", s)
	}
	stats := must[*pb.MemoryServiceStatsResponse](t)(d.memory.Stats(t.Context(), &pb.MemoryServiceStatsRequest{}))
	if stats.GetTotal() != 2 || stats.GetByCategory()["facts"] != 2 || stats.GetPosition() == "" ||
		len(stats.GetLatencies()) < 8 {
		t.Errorf("Stats = %v", stats)
	}
	for _, l := range stats.GetLatencies() {
		if l.GetCount() < 1 || l.GetP50().AsDuration() <= 0 || l.GetP99().AsDuration() < l.GetP50().AsDuration() {
			t.Errorf("latency %v", l)
		}
	}
	if c := must[*pb.MemoryServiceConsolidateResponse](t)(
		d.memory.Consolidate(t.Context(), consolidateText(
			&pb.ConsolidateText{Content: "x",
				WriteTo: pb.WriteTo_WRITE_TO_DAILY}))).GetItems(); c[0].GetDecision() != pb.Decision_DECISION_ADD ||
		c[0].GetId() == "" {
		t.Errorf("Consolidate = %v", c)
	}
}

func TestListOverTheWire(t *testing.T) {
	d := start(t)
	for _, id := range []string{"a", "b", "c"} {
		d.add(t, id, "memory "+id)
	}
	req := &pb.MemoryServiceListRequest{PageSize: 2, Ascending: true,
		Filter: &pb.MemoryFilter{Categories: []string{"facts"}}}
	page := must[*pb.MemoryServiceListResponse](t)(d.memory.List(t.Context(), req))
	if len(page.GetMemories()) != 2 || page.GetNextPageToken() == "" || page.GetTotal() != 3 {
		t.Fatalf("first page %v", page)
	}
	req.PageToken = page.GetNextPageToken()
	if page = must[*pb.MemoryServiceListResponse](t)(d.memory.List(t.Context(), req)); len(page.GetMemories()) != 1 ||
		page.GetMemories()[0].GetId() != "c" || page.GetNextPageToken() != "" {
		t.Errorf("last page %v", page)
	}
	_, err := d.memory.List(t.Context(), &pb.MemoryServiceListRequest{Order: 99,
		Filter: &pb.MemoryFilter{Statuses: []pb.MemoryStatus{77}}})
	if status.Code(err) != codes.InvalidArgument || !strings.Contains(err.Error(), "order") ||
		!strings.Contains(err.Error(), "statuses[0]") {
		t.Errorf("unknown enums: %v", err)
	}
}

func TestSearchCalls(t *testing.T) {
	d := start(t)
	d.add(t, "a", "the staging database listens on port 5433")
	d.add(t, "b", "the staging database listens on port 5434")
	found := must[*pb.SearchServiceSearchResponse](t)(
		d.search.Search(t.Context(), &pb.SearchServiceSearchRequest{Query: "staging database port", Explain: true}))
	if len(found.GetHits()) == 0 || len(found.GetHits()[0].GetComponents()) == 0 ||
		found.GetHits()[0].GetSpace() != "default" {
		t.Fatalf("Search = %v", found)
	}
	must[*pb.SearchServiceSearchResponse](t)(
		d.search.Search(t.Context(), &pb.SearchServiceSearchRequest{Query: "staging database port", NoTouch: true}))
	if err := d.store.FlushAccesses(t.Context()); err != nil {
		t.Fatal(err)
	}
	if hot := must[*pb.SearchServiceHotResponse](t)(
		d.search.Hot(t.Context(), &pb.SearchServiceHotRequest{})).GetMemories(); len(hot) != len(found.GetHits()) ||
		hot[0].GetAccessCount() != 1 {
		t.Errorf("after one counted search: %v", hot)
	}
	similar := must[*pb.SearchServiceSimilarResponse](t)(
		d.search.Similar(t.Context(), &pb.SearchServiceSimilarRequest{
			Like: &pb.SearchServiceSimilarRequest_Id{Id: "a"}})).GetHits()
	if len(similar) != 1 || similar[0].GetMemory().GetId() != "b" {
		t.Errorf("Similar = %v", similar)
	}
	for category, want := range map[string]int{similar[0].GetMemory().GetCategory(): 1, memory.Tasks: 0} {
		got := must[*pb.SearchServiceSimilarResponse](t)(d.search.Similar(t.Context(),
			&pb.SearchServiceSimilarRequest{Like: &pb.SearchServiceSimilarRequest_Id{Id: "a"},
				Filter: &pb.MemoryFilter{Categories: []string{category}}})).GetHits()
		if len(got) != want {
			t.Errorf("Similar among %s = %v", category, got)
		}
	}
	if _, err := d.search.Similar(t.Context(),
		&pb.SearchServiceSimilarRequest{}); status.Code(err) != codes.InvalidArgument {
		t.Errorf("like nothing: %v", err)
	}
	if _, err := d.search.Search(t.Context(), &pb.SearchServiceSearchRequest{Query: "x", Limit: 201}); status.Code(
		err) != codes.InvalidArgument {
		t.Errorf("limit 201: %v", err)
	}
}

func TestSessionCalls(t *testing.T) {
	d := start(t)
	must[*pb.SessionServiceStartResponse](t)(
		d.session.Start(t.Context(), &pb.SessionServiceStartRequest{SessionId: "s1", Host: "test"}))
	req := &pb.SessionServiceAppendRequest{SessionId: "s1", Messages: []*pb.SessionMessage{
		{Seq: 1, Role: pb.Role_ROLE_USER, Content: "hello"},
		{Seq: 2, Role: pb.Role_ROLE_TOOL, Tool: &pb.ToolCall{Name: "sh", Error: "boom", Failed: true}},
	}}
	if got := must[*pb.SessionServiceAppendResponse](t)(d.session.Append(t.Context(), req)); got.GetNextSeq() != 3 ||
		got.GetResult().GetOutcomes()[1].GetId() != "2" {
		t.Errorf("Append = %v", got)
	}
	req.Messages = append(req.Messages, &pb.SessionMessage{Seq: 3, Role: pb.Role_ROLE_ASSISTANT, Content: "done"})
	got := must[*pb.SessionServiceAppendResponse](t)(d.session.Append(t.Context(), req))
	var states []pb.OutcomeStatus
	for _, o := range got.GetResult().GetOutcomes() {
		states = append(states, o.GetStatus())
	}
	if want := []pb.OutcomeStatus{2, 2, 1}; len(states) != 3 || states[0] != want[0] || states[1] != want[1] ||
		states[2] != want[2] {
		t.Errorf("repeat with one more: %v, want %v", states, want)
	}
	for name, messages := range map[string][]*pb.SessionMessage{
		"gap":   {{Seq: 9, Role: pb.Role_ROLE_USER, Content: "x"}},
		"holes": {{Seq: 4, Role: pb.Role_ROLE_USER, Content: "x"}, {Seq: 6, Role: pb.Role_ROLE_USER, Content: "y"}},
		"none":  nil,
	} {
		_, err := d.session.Append(t.Context(), &pb.SessionServiceAppendRequest{SessionId: "s1", Messages: messages})
		if status.Code(err) != codes.InvalidArgument {
			t.Errorf("%s: %v, want InvalidArgument", name, err)
		}
	}
	back := must[*pb.SessionServiceGetResponse](t)(
		d.session.Get(t.Context(), &pb.SessionServiceGetRequest{SessionId: "s1"}))
	if back.GetSession().GetHost() != "test" {
		t.Errorf("Get = %v", back)
	}
	messages := must[*pb.SessionServiceListMessagesResponse](t)(d.session.ListMessages(t.Context(),
		&pb.SessionServiceListMessagesRequest{SessionId: "s1", FirstSeq: 2})).GetMessages()
	if len(messages) != 2 || messages[0].GetTool().GetError() != "boom" ||
		messages[1].GetRole() != pb.Role_ROLE_ASSISTANT {
		t.Errorf("ListMessages = %v", messages)
	}
	dry := must[*pb.SessionServiceReflectResponse](t)(
		d.session.Reflect(t.Context(), &pb.SessionServiceReflectRequest{SessionId: "s1", DryRun: true}))
	if len(dry.GetItems()) != 1 || dry.GetResult().GetOperationId() != "" ||
		d.store.Space(memory.DefaultSpace).Count() != 0 {
		t.Errorf("dry run = %v", dry)
	}
	done := must[*pb.SessionServiceReflectResponse](t)(
		d.session.Reflect(t.Context(), &pb.SessionServiceReflectRequest{SessionId: "s1"}))
	if done.GetResult().GetOperationId() == "" || done.GetItems()[0].GetDecision() != pb.Decision_DECISION_ADD ||
		done.GetSession().GetState() != pb.SessionState_SESSION_STATE_REFLECTED {
		t.Errorf("Reflect = %v", done)
	}
	must[*pb.SessionServiceStartResponse](t)(
		d.session.Start(t.Context(), &pb.SessionServiceStartRequest{SessionId: "s2"}))
	must[*pb.SessionServiceAppendResponse](t)(
		d.session.Append(t.Context(), &pb.SessionServiceAppendRequest{SessionId: "s2",
			Messages: []*pb.SessionMessage{{Role: pb.Role_ROLE_USER, Content: "unnumbered"}}}))
	if end := must[*pb.SessionServiceEndResponse](t)(
		d.session.End(t.Context(), &pb.SessionServiceEndRequest{
			SessionId: "s2"})); end.GetSession().GetState() != pb.SessionState_SESSION_STATE_ENDED {
		t.Errorf("End = %v", end)
	}
	page := must[*pb.SessionServiceListResponse](t)(
		d.session.List(t.Context(), &pb.SessionServiceListRequest{PageSize: 1}))
	next := must[*pb.SessionServiceListResponse](t)(
		d.session.List(t.Context(), &pb.SessionServiceListRequest{PageSize: 1, PageToken: page.GetNextPageToken()}))
	if page.GetSessions()[0].GetId() != "s2" || next.GetSessions()[0].GetId() != "s1" || next.GetNextPageToken() != "" {
		t.Errorf("pages %v and %v", page, next)
	}
	must[*pb.AdminServicePauseResponse](t)(d.admin.Pause(t.Context(), &pb.AdminServicePauseRequest{}))
	_, err := d.session.Append(t.Context(),
		&pb.SessionServiceAppendRequest{SessionId: "s3",
			Messages: []*pb.SessionMessage{{Seq: 1, Role: pb.Role_ROLE_USER, Content: "x"}}})
	if status.Code(err) != codes.FailedPrecondition {
		t.Errorf("while paused: %v, want FailedPrecondition", err)
	}
}

// A session given whole in one call is learnt from, and found by a search.
func TestReflectMessagesGivenDirectly(t *testing.T) {
	d := startWith(t, func(st *store.Store, engine *search.Engine) session.Reflector {
		return reflector.New(reflector.Config{Store: st, Search: engine, Now: time.Now})
	})
	done := must[*pb.SessionServiceReflectResponse](t)(
		d.session.Reflect(t.Context(), &pb.SessionServiceReflectRequest{Messages: []*pb.SessionMessage{
			{Role: pb.Role_ROLE_USER, Content: "Please remember that the staging database listens on port 5433."},
			{Role: pb.Role_ROLE_ASSISTANT, Content: "Noted."},
		}}))
	if done.GetSession().GetState() != pb.SessionState_SESSION_STATE_REFLECTED || len(done.GetItems()) == 0 ||
		done.GetResult().GetOperationId() == "" {
		t.Fatalf("Reflect = %v", done)
	}
	if got := done.GetItems()[0]; got.GetDecision() != pb.Decision_DECISION_ADD ||
		got.GetOutcome().GetStatus() != pb.OutcomeStatus_OUTCOME_STATUS_APPLIED || got.GetRule() == "" {
		t.Errorf("item %v", got)
	}
	found := must[*pb.SearchServiceSearchResponse](t)(
		d.search.Search(t.Context(), &pb.SearchServiceSearchRequest{Query: "staging database port"}))
	if len(found.GetHits()) == 0 || !strings.Contains(found.GetHits()[0].GetMemory().GetContent(), "5433") {
		t.Errorf("Search = %v", found)
	}
}

func TestLogCalls(t *testing.T) {
	d := start(t)
	got := must[*pb.LogServiceAppendResponse](t)(
		d.log.Append(t.Context(), &pb.LogServiceAppendRequest{SessionId: "s",
			Entries: []*pb.NewLogEntry{{Content: "deployed"},
				{Content: "rolled back", Type: "tool_failure", Tool: "helm"}}}))
	if len(got.GetResult().GetOutcomes()) != 2 || got.GetResult().GetOperationId() == "" {
		t.Errorf("Append = %v", got)
	}
	day := must[*pb.LogServiceGetResponse](t)(d.log.Get(t.Context(), &pb.LogServiceGetRequest{}))
	if len(day.GetEntries()) != 2 || day.GetEntries()[1].GetTool() != "helm" ||
		day.GetEntries()[0].GetSessionId() != "s" || day.GetDay().GetEntryCount() != 2 {
		t.Errorf("Get = %v", day)
	}
	if list := must[*pb.LogServiceListResponse](t)(d.log.List(t.Context(), &pb.LogServiceListRequest{})).GetDays(); len(
		list) != 1 || list[0].GetDate() != day.GetDay().GetDate() {
		t.Errorf("List = %v", list)
	}
	if _, err := d.log.Get(t.Context(), &pb.LogServiceGetRequest{Date: "2001-01-01"}); status.Code(
		err) != codes.NotFound {
		t.Errorf("a day without log: %v, want NotFound", err)
	}
	if _, err := d.log.Get(t.Context(), &pb.LogServiceGetRequest{Date: "../memory"}); status.Code(
		err) != codes.InvalidArgument {
		t.Errorf("not a date: %v, want InvalidArgument", err)
	}
}

func TestWatchEndsWithTheDaemon(t *testing.T) {
	d := start(t)
	watch := must[grpc.ServerStreamingClient[pb.OperationServiceWatchResponse]](t)(
		d.ops.Watch(t.Context(), &pb.OperationServiceWatchRequest{}))
	if _, err := watch.Header(); err != nil {
		t.Fatal(err)
	}
	must[*pb.AdminServiceStopResponse](t)(d.admin.Stop(t.Context(), &pb.AdminServiceStopRequest{}))
	if _, err := watch.Recv(); status.Code(err) != codes.Unavailable {
		t.Errorf("the watch ended with %v, want Unavailable", err)
	}
}

func TestOperationCalls(t *testing.T) {
	d := start(t)
	watch := must[grpc.ServerStreamingClient[pb.OperationServiceWatchResponse]](t)(
		d.ops.Watch(t.Context(), &pb.OperationServiceWatchRequest{}))
	if _, err := watch.Header(); err != nil {
		t.Fatal(err)
	}
	var ids []string
	for _, id := range []string{"a", "b", "c"} {
		ids = append(ids, d.add(t, id, "memory "+id).GetOperationId())
	}
	for _, want := range ids {
		got := must[*pb.OperationServiceWatchResponse](t)(watch.Recv())
		if got.GetCursor() != want || got.GetOperation().GetId() != want ||
			got.GetOperation().GetChanges()[0].GetMemory().GetAfter() == nil {
			t.Errorf("watched %v, want operation %s", got, want)
		}
	}
	resumed := must[grpc.ServerStreamingClient[pb.OperationServiceWatchResponse]](t)(
		d.ops.Watch(t.Context(), &pb.OperationServiceWatchRequest{Cursor: ids[0]}))
	if got := must[*pb.OperationServiceWatchResponse](t)(resumed.Recv()).GetOperation().GetId(); got != ids[1] {
		t.Errorf("resumed with %s, want %s", got, ids[1])
	}
	req := &pb.OperationServiceListRequest{PageSize: 2}
	page := must[*pb.OperationServiceListResponse](t)(d.ops.List(t.Context(), req))
	if ops := page.GetOperations(); len(ops) != 2 || ops[0].GetId() != ids[2] || len(ops[0].GetChanges()) != 0 ||
		ops[0].GetChangeCount() != 1 {
		t.Errorf("List = %v", page)
	}
	req.PageToken = page.GetNextPageToken()
	if page = must[*pb.OperationServiceListResponse](t)(d.ops.List(t.Context(), req)); len(page.GetOperations()) != 1 ||
		page.GetOperations()[0].GetId() != ids[0] || page.GetNextPageToken() != "" {
		t.Errorf("last page %v", page)
	}
	undone := must[*pb.OperationServiceUndoResponse](t)(
		d.ops.Undo(t.Context(), &pb.OperationServiceUndoRequest{Id: ids[0]})).GetResult()
	op := must[*pb.OperationServiceGetResponse](t)(
		d.ops.Get(t.Context(), &pb.OperationServiceGetRequest{Id: undone.GetOperationId()})).GetOperation()
	if op.GetUndoesOperationId() != ids[0] || op.GetActor() != pb.Actor_ACTOR_UNDO ||
		op.GetChanges()[0].GetMemory().GetBefore().GetId() != "a" {
		t.Errorf("undo is %v", op)
	}
	if _, err := d.ops.Get(t.Context(), &pb.OperationServiceGetRequest{Id: "9999"}); status.Code(
		err) != codes.NotFound {
		t.Errorf("unknown operation: %v, want NotFound", err)
	}
	if bare := must[*pb.OperationServiceGetResponse](t)(
		d.ops.Get(t.Context(), &pb.OperationServiceGetRequest{Id: "1"})); bare.GetOperation().GetId() != ids[0] {
		t.Errorf("operation 1 is %v, want %s", bare, ids[0])
	}
	for id, want := range map[string]codes.Code{
		"": codes.InvalidArgument, "0": codes.InvalidArgument, "-1": codes.InvalidArgument, "+1": codes.InvalidArgument,
		"x": codes.InvalidArgument, "1-abc": codes.InvalidArgument, "1-zzzz": codes.FailedPrecondition,
		"9999" + ids[0][1:]: codes.FailedPrecondition,
	} {
		if _, err := d.ops.Undo(t.Context(), &pb.OperationServiceUndoRequest{Id: id}); status.Code(err) != want {
			t.Errorf("operation %q: %v, want %v", id, err, want)
		}
	}
}

func TestAdminCalls(t *testing.T) {
	d := start(t)
	d.add(t, "a", "x y z")
	if got := must[*pb.AdminServiceInfoResponse](t)(
		d.admin.Info(t.Context(), &pb.AdminServiceInfoRequest{})); got.GetPid() != 42 || got.GetApiVersion() != "v1" ||
		got.GetPosition() != d.id(1) {
		t.Errorf("Info = %v", got)
	}
	if got := must[*pb.FileServicePublishResponse](t)(
		d.file.Publish(t.Context(), &pb.FileServicePublishRequest{})); got.GetPosition() != d.id(1) {
		t.Errorf("Publish = %v", got)
	}
	if got := must[*pb.AdminServiceDoctorResponse](t)(
		d.admin.Doctor(t.Context(), &pb.AdminServiceDoctorRequest{})); got.GetFindings()[0].GetLevel() != pb.FindingLevel_FINDING_LEVEL_WARN {
		t.Errorf("Doctor = %v", got)
	}
	if got := must[*pb.AdminServiceCheckResponse](t)(d.admin.Check(t.Context(), &pb.AdminServiceCheckRequest{})); len(
		got.GetProblems()) != 0 || got.GetPosition() != d.id(1) {
		t.Errorf("Check = %v", got)
	}
	must[*pb.AdminServicePauseResponse](t)(d.admin.Pause(t.Context(), &pb.AdminServicePauseRequest{}))
	must[*pb.AdminServiceResumeResponse](t)(d.admin.Resume(t.Context(), &pb.AdminServiceResumeRequest{}))
	if *d.paused {
		t.Error("still paused after Resume")
	}
	if _, err := d.log.Append(t.Context(),
		&pb.LogServiceAppendRequest{Entries: []*pb.NewLogEntry{{Content: "x"}}}); err != nil {
		t.Fatal(err)
	}
	report := must[*pb.AdminServiceArchiveResponse](t)(
		d.admin.Archive(t.Context(), &pb.AdminServiceArchiveRequest{DryRun: true}))
	if len(report.GetDays()) != 1 || report.GetDays()[0].GetAction() != pb.ArchiveAction_ARCHIVE_ACTION_KEEP ||
		report.GetToday() == "" {
		t.Errorf("Archive = %v", report)
	}
	if _, err := d.admin.Archive(t.Context(),
		&pb.AdminServiceArchiveRequest{ArchiveDays: 9, DeleteDays: 3}); status.Code(err) != codes.InvalidArgument {
		t.Errorf("deleted before archived: %v, want InvalidArgument", err)
	}
	must[*pb.AdminServiceStopResponse](t)(d.admin.Stop(t.Context(), &pb.AdminServiceStopRequest{}))
	<-d.stopped
	health := healthpb.NewHealthClient(d.conn)
	for _, name := range []string{"", "memsidecar.v1.MemoryService"} {
		if got := must[*healthpb.HealthCheckResponse](t)(
			health.Check(t.Context(), &healthpb.HealthCheckRequest{
				Service: name})); got.GetStatus() != healthpb.HealthCheckResponse_SERVING {
			t.Errorf("health of %q is %v", name, got)
		}
	}
	_, err := health.Check(t.Context(), &healthpb.HealthCheckRequest{Service: "nope"})
	if status.Code(err) != codes.NotFound {
		t.Errorf("health of an unknown service: %v, want NotFound", err)
	}
}

func TestTooLargeRequestChangesNothing(t *testing.T) {
	d := start(t)
	for _, size := range []int{memory.MaxMessage + 1, 2*memory.MaxMessage + 1} {
		_, err := d.memory.SetSummary(t.Context(),
			&pb.MemoryServiceSetSummaryRequest{Summary: strings.Repeat("x", size)})
		if status.Code(err) != codes.ResourceExhausted {
			t.Errorf("%d bytes: %v, want ResourceExhausted", size, status.Code(err))
		}
	}
	if d.store.LSN() != 0 {
		t.Error("something was written")
	}
}

func TestLogHasOneLineAndNoText(t *testing.T) {
	var mu sync.Mutex
	var out strings.Builder
	log := slog.New(slog.NewTextHandler(writer(func(p []byte) (int, error) {
		mu.Lock()
		defer mu.Unlock()
		return out.Write(p)
	}), nil))
	server := newServer(rpc.NewMonitor(log, time.Now))
	pb.RegisterLogServiceServer(server, &failing{err: &memory.NotFoundError{Kind: "log", Name: "d"}})
	_, _ = pb.NewLogServiceClient(dial(t, server)).Get(t.Context(), &pb.LogServiceGetRequest{Date: "very private"})
	mu.Lock()
	defer mu.Unlock()
	line := out.String()
	if strings.Count(line, "\n") != 1 || strings.Contains(line, "private") {
		t.Errorf("log is %q", line)
	}
	for _, want := range []string{"method=/memsidecar.v1.LogService/Get", "code=NotFound", "took=", "received=14",
		"request="} {
		if !strings.Contains(line, want) {
			t.Errorf("log %q lacks %q", line, want)
		}
	}
}

type writer func([]byte) (int, error)

func (w writer) Write(p []byte) (int, error) { return w(p) }

// TestRunning: a call counts while it runs, and once afterwards when nobody looked meanwhile.
func TestRunning(t *testing.T) {
	monitor := newMonitor(t)
	running, during := monitor.Running(), false
	server := newServer(monitor, grpc.ChainUnaryInterceptor(
		func(ctx context.Context, req any, _ *grpc.UnaryServerInfo, next grpc.UnaryHandler) (any, error) {
			running() // what began since the last look no longer counts
			during = running()
			return next(ctx, req)
		}))
	healthpb.RegisterHealthServer(server, health.NewServer())
	client := healthpb.NewHealthClient(dial(t, server))
	before := running()
	if _, err := client.Check(t.Context(), &healthpb.HealthCheckRequest{}); err != nil {
		t.Fatal(err)
	}
	if other := monitor.Running(); before || !during || !other() || other() {
		t.Errorf("before %v, during %v", before, during)
	}
}

func TestRecallCalls(t *testing.T) {
	d := start(t)
	d.add(t, "port", "The staging gateway listens on port 8443.")
	req := &pb.SearchServiceRecallRequest{Text: "staging gateway port", SessionId: "s"}
	got := must[*pb.SearchServiceRecallResponse](t)(d.search.Recall(t.Context(), req))
	if len(got.GetItems()) != 1 || got.GetItems()[0].GetMemory().GetId() != "port" ||
		got.GetItems()[0].GetSpace() != "default" ||
		got.GetItems()[0].GetAge() != "today" || got.GetBlock() == "" || got.GetTokens() < 50 ||
		got.GetLanguage() != pb.Language_LANGUAGE_EN || got.GetReason() != "" {
		t.Errorf("Recall = %v", got)
	}
	if again := must[*pb.SearchServiceRecallResponse](t)(
		d.search.Recall(t.Context(), req)); again.GetReason() != "ALREADY_SHOWN" || again.GetBlock() != "" {
		t.Errorf("again: %v", again)
	}
	list := must[*pb.SearchServiceListRecallsResponse](t)(
		d.search.ListRecalls(t.Context(), &pb.SearchServiceListRecallsRequest{SessionId: "s"}))
	if len(list.GetRecalls()) != 1 || list.GetRecalls()[0].GetQuery() != "staging gateway port" ||
		list.GetRecalls()[0].GetMemories()[0].GetId() != "port" {
		t.Errorf("ListRecalls = %v", list)
	}
	failed := must[*pb.SearchServiceRecallResponse](t)(d.search.Recall(t.Context(), &pb.SearchServiceRecallRequest{
		FailedTool: &pb.ToolCall{Name: "curl", Error: "Exit code 7\nno answer from staging gateway port 8443"}}))
	if len(failed.GetItems()) != 1 || failed.GetItems()[0].GetMemory().GetId() != "port" {
		t.Errorf("Recall after a failure = %v", failed)
	}
	_, err := d.search.Recall(t.Context(), &pb.SearchServiceRecallRequest{TokenBudget: 1, Limit: 9,
		FailedTool: &pb.ToolCall{Error: "no name"}})
	if st := status.Convert(err); st.Code() != codes.InvalidArgument ||
		!strings.Contains(st.Message(), "token_budget") || !strings.Contains(st.Message(), "limit") ||
		!strings.Contains(st.Message(), "failed_tool.name") {
		t.Errorf("bad request: %v", err)
	}
}

func TestSessionContext(t *testing.T) {
	d := start(t)
	d.add(t, "port", "The staging gateway listens on port 8443.")
	req := &pb.SessionServiceStartRequest{SessionId: "s", Context: &pb.ContextOptions{},
		FirstMessage: "staging gateway port"}
	first := must[*pb.SessionServiceStartResponse](t)(d.session.Start(t.Context(), req))
	if !strings.Contains(first.GetContext(), "8443") || first.GetContextRepeated() || first.GetSpace() != "default" ||
		first.GetRecall().GetReason() != "ALREADY_SHOWN" { // the context has said it
		t.Errorf("Start = %v", first)
	}
	named := &pb.SessionServiceGetRequest{SessionId: "s"}
	if plain := must[*pb.SessionServiceGetResponse](t)(d.session.Get(t.Context(), named)); plain.GetContext() != "" {
		t.Errorf("a context that nobody asked for: %q", plain.GetContext())
	}
	named.IncludeContext = true
	kept := must[*pb.SessionServiceGetResponse](t)(d.session.Get(t.Context(), named)).GetContext()
	if kept != first.GetContext() {
		t.Errorf("Get says %q, Start %q", kept, first.GetContext())
	}
	d.add(t, "tea", "Drinks tea.")
	again := must[*pb.SessionServiceStartResponse](t)(d.session.Start(t.Context(), req))
	if again.GetContext() != first.GetContext() || !again.GetContextRepeated() ||
		again.GetRecall().GetReason() != "ALREADY_SHOWN" {
		t.Errorf("again: %v", again)
	}
	for _, bad := range []*pb.SessionServiceStartRequest{
		{Space: "x", ProjectSpace: true, Cwd: "/"}, {ProjectSpace: true}, {Context: &pb.ContextOptions{Form: 9}},
		{HostPid: -1},
		{Context: &pb.ContextOptions{TokenBudget: 9}}, {Context: &pb.ContextOptions{Language: 9}},
	} {
		if _, err := d.session.Start(t.Context(), bad); status.Code(err) != codes.InvalidArgument {
			t.Errorf("%v: %v", bad, err)
		}
	}
	got := must[*pb.SessionServiceListMessagesResponse](t)(d.session.ListMessages(t.Context(),
		&pb.SessionServiceListMessagesRequest{SessionId: "s"}))
	if len(got.GetMessages()) != 0 {
		t.Errorf("the context is among the messages: %v", got)
	}
}
