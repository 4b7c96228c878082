package sharing_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	pb "github.com/memsidecar/memsidecar/gen/memsidecar/v1"
	pbalpha "github.com/memsidecar/memsidecar/gen/memsidecar/v1alpha1"
	"github.com/memsidecar/memsidecar/internal/memtest/postgres"
	"github.com/memsidecar/memsidecar/internal/memtest/process"
)

// TestEveryWriteWaits: with the acknowledgement "shared" every kind of write waits for the database. While nobody can
// append, each fails with OUTCOME_UNKNOWN and a key; repeated with it, it succeeds once the database answers. Nothing
// waits then.
func TestEveryWriteWaits(t *testing.T) {
	address := postgres.Start(t).Database(t, "team")
	place := process.New(t, program)
	process.ServeAs(t, place.Command("daemon", "serve"))
	conn := dial(t, place)
	memories, sharing := pb.NewMemoryServiceClient(conn), pbalpha.NewShareServiceClient(conn)
	operations, admin := pb.NewOperationServiceClient(conn), pb.NewAdminServiceClient(conn)
	sessions := pb.NewSessionServiceClient(conn)
	var undone string
	add := func(ctx context.Context, key string, ids ...string) error {
		req := &pb.MemoryServiceAddRequest{Space: "team", IdempotencyKey: key}
		for _, id := range ids {
			req.Items = append(req.Items, &pb.NewMemory{Id: id, Content: "The text of " + id})
		}
		res, err := memories.Add(ctx, req)
		undone = res.GetResult().GetOperationId()
		return err
	}
	must(t, add(t.Context(), "", "old1", "old2", "old3"))
	started, err := sharing.Start(t.Context(), &pbalpha.ShareServiceStartRequest{Space: "team", Url: address,
		Ack: pbalpha.ShareAck_SHARE_ACK_SHARED})
	must(t, err)
	if started.GetSpace().GetAck() != pbalpha.ShareAck_SHARE_ACK_SHARED {
		t.Fatalf("shared as %v", started)
	}
	must(t, add(t.Context(), "", "undone"))
	toUndo := undone
	text := "a new text"
	for _, w := range []struct {
		name  string
		write func(ctx context.Context, key string) error
	}{
		{"add", func(ctx context.Context, key string) error { return add(ctx, key, "new1") }},
		{"add many", func(ctx context.Context, key string) error { return add(ctx, key, "new2", "new3") }},
		{"update", func(ctx context.Context, key string) error {
			_, err := memories.Update(ctx, &pb.MemoryServiceUpdateRequest{Space: "team", Id: "old1", IdempotencyKey: key,
				Patch: &pb.MemoryPatch{Content: &text}})
			return err
		}},
		{"delete", func(ctx context.Context, key string) error {
			_, err := memories.Delete(ctx, &pb.MemoryServiceDeleteRequest{Space: "team", Ids: []string{"old2"}, IdempotencyKey: key})
			return err
		}},
		{"restore", func(ctx context.Context, key string) error {
			_, err := memories.Restore(ctx, &pb.MemoryServiceRestoreRequest{Space: "team", Ids: []string{"old2"}, IdempotencyKey: key})
			return err
		}},
		{"link", func(ctx context.Context, key string) error {
			_, err := memories.Link(ctx, &pb.MemoryServiceLinkRequest{Space: "team", Id: "old1", IdempotencyKey: key,
				Relation: &pb.Relation{Type: "about", TargetId: "old2"}})
			return err
		}},
		{"save", func(ctx context.Context, key string) error {
			_, err := memories.Save(ctx, &pb.MemoryServiceSaveRequest{Space: "team", IdempotencyKey: key,
				HistoryEntry: "We moved the staging server", MemoryText: "Staging runs on db-7"})
			return err
		}},
		{"consolidate", func(ctx context.Context, key string) error {
			_, err := memories.Consolidate(ctx, &pb.MemoryServiceConsolidateRequest{Space: "team", IdempotencyKey: key,
				Input: &pb.MemoryServiceConsolidateRequest_Text{Text: &pb.ConsolidateText{Content: "Deployments happen on Thursdays"}}})
			return err
		}},
		{"summary", func(ctx context.Context, key string) error {
			_, err := memories.SetSummary(ctx, &pb.MemoryServiceSetSummaryRequest{Space: "team", Summary: "A team", IdempotencyKey: key})
			return err
		}},
		{"undo", func(ctx context.Context, key string) error {
			_, err := operations.Undo(ctx, &pb.OperationServiceUndoRequest{Id: toUndo, IdempotencyKey: key})
			return err
		}},
		{"import", func(ctx context.Context, key string) error {
			stream, err := admin.Import(ctx)
			if err != nil {
				return err
			}
			must(t, stream.Send(&pb.AdminServiceImportRequest{Space: "team", IdempotencyKey: key,
				Chunk: []byte(`{"version":2,"last_updated":"2026-02-21T14:00:00Z","rolling_summary":"","memories":[{"id":"imported",` +
					`"category":"facts","content":"The imported text","salience":0.9,"created_at":"2026-02-20T15:20:00Z","source":"user_explicit"}]}`)}))
			_, err = stream.CloseAndRecv()
			return err
		}},
		{"reflect", func(ctx context.Context, key string) error {
			_, err := sessions.Reflect(ctx, &pb.SessionServiceReflectRequest{Space: "team", SessionId: "s1", IdempotencyKey: key,
				Messages: []*pb.SessionMessage{{Seq: 1, Role: pb.Role_ROLE_USER, Content: "Remember that I prefer tabs over spaces in Go."}}})
			return err
		}},
		{"purge", func(ctx context.Context, key string) error {
			_, err := memories.Purge(ctx, &pb.MemoryServicePurgeRequest{Space: "team", Ids: []string{"old3"}, IdempotencyKey: key})
			return err
		}},
	} {
		t.Run(w.name, func(t *testing.T) {
			release := block(t, address)
			ctx, cancel := context.WithTimeout(t.Context(), time.Second)
			defer cancel()
			began := time.Now()
			err := w.write(ctx, "")
			key := keyOf(t, err)
			if took := time.Since(began); took < time.Second/2 {
				t.Errorf("it did not wait until its deadline: %v", took)
			}
			release()
			must(t, w.write(t.Context(), key))
			st, err := sharing.Status(t.Context(), &pbalpha.ShareServiceStatusRequest{})
			must(t, err)
			if s := st.GetSpaces()[0]; s.GetWaiting() != 0 {
				t.Errorf("after the reply operations wait: %v", s)
			}
		})
	}
	// What is no write on the space waits for nothing.
	block(t, address)
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
	defer cancel()
	_, err = memories.Add(ctx, &pb.MemoryServiceAddRequest{Items: []*pb.NewMemory{{Content: "in a space that is not shared"}}})
	must(t, err)
	_, err = memories.Get(ctx, &pb.MemoryServiceGetRequest{Space: "team", Ids: []string{"old1"}})
	must(t, err)
	_, err = sessions.Start(ctx, &pb.SessionServiceStartRequest{Space: "team", Host: "test"})
	must(t, err)
}

// TestReadAtAnotherDaemon: each kind of read that is given the position of a write includes it at another daemon, and
// gives a position itself.
func TestReadAtAnotherDaemon(t *testing.T) {
	address := postgres.Start(t).Database(t, "team")
	var memories []pb.MemoryServiceClient
	var searches []pb.SearchServiceClient
	for i := range 2 {
		place := process.New(t, program)
		process.ServeAs(t, place.Command("daemon", "serve"))
		conn := dial(t, place)
		memories, searches = append(memories, pb.NewMemoryServiceClient(conn)), append(searches, pb.NewSearchServiceClient(conn))
		sharing := pbalpha.NewShareServiceClient(conn)
		var err error
		if i == 0 {
			_, err = sharing.Start(t.Context(), &pbalpha.ShareServiceStartRequest{Space: "team", Url: address})
		} else {
			_, err = sharing.Join(t.Context(), &pbalpha.ShareServiceJoinRequest{Remote: "team", Url: address})
		}
		must(t, err)
	}
	for i, read := range []func(id string, positions []string) (int, []string, error){
		func(id string, positions []string) (int, []string, error) {
			res, err := memories[1].Get(t.Context(), &pb.MemoryServiceGetRequest{Space: "team", Ids: []string{id}, MinPositions: positions})
			return len(res.GetMemories()), res.GetPositions(), err
		},
		func(id string, positions []string) (int, []string, error) {
			res, err := memories[1].List(t.Context(), &pb.MemoryServiceListRequest{Space: "team", MinPositions: positions,
				Filter: &pb.MemoryFilter{Categories: []string{id}}})
			return len(res.GetMemories()), res.GetPositions(), err
		},
		func(id string, positions []string) (int, []string, error) {
			res, err := searches[1].Search(t.Context(), &pb.SearchServiceSearchRequest{Spaces: []string{"team"}, Query: "zebra " + id,
				MinPositions: positions, WaitIndexed: true})
			return len(res.GetHits()), res.GetPositions(), err
		},
		func(_ string, positions []string) (int, []string, error) {
			res, err := searches[1].Recall(t.Context(), &pb.SearchServiceRecallRequest{Spaces: []string{"team"}, Text: "x",
				MinPositions: positions})
			return 1, res.GetPositions(), err
		},
	} {
		for k := range 5 {
			id := fmt.Sprintf("zebra%d%d", i, k)
			added, err := memories[0].Add(t.Context(), &pb.MemoryServiceAddRequest{Space: "team",
				Items: []*pb.NewMemory{{Id: id, Category: id, Content: "The zebra " + id + " lives in the zoo"}}})
			must(t, err)
			if len(added.GetResult().GetPositions()) != 1 {
				t.Fatalf("read %d: the reply to a write has the positions %q", i, added.GetResult().GetPositions())
			}
			found, positions, err := read(id, added.GetResult().GetPositions())
			must(t, err)
			if found == 0 || len(positions) != 1 {
				t.Fatalf("read %d found %d memories, and has the positions %q", i, found, positions)
			}
		}
	}
	_, err := memories[1].Get(t.Context(), &pb.MemoryServiceGetRequest{Space: "team", Ids: []string{"x"}, MinPositions: []string{"x"}})
	if status.Code(err) != codes.InvalidArgument {
		t.Errorf("%v for what is no position", err)
	}
}

// block keeps everybody from appending to the log, until release.
func block(t *testing.T, address string) (release func()) {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), address)
	must(t, err)
	tx, err := conn.Begin(t.Context())
	must(t, err)
	_, err = tx.Exec(t.Context(), "SELECT 1 FROM memsidecar.space FOR UPDATE")
	must(t, err)
	release = sync.OnceFunc(func() { must(t, errors.Join(tx.Rollback(context.Background()), conn.Close(context.Background()))) })
	t.Cleanup(release)
	return release
}

// keyOf checks that an error is OUTCOME_UNKNOWN and returns the idempotency key in it.
func keyOf(t *testing.T, err error) string {
	t.Helper()
	st := status.Convert(err)
	for _, d := range st.Details() {
		if info, ok := d.(*errdetails.ErrorInfo); ok && info.GetReason() == "OUTCOME_UNKNOWN" && st.Code() == codes.DeadlineExceeded {
			key := info.GetMetadata()["idempotency_key"]
			if key == "" || !strings.Contains(st.Message(), key) {
				t.Fatalf("the error names no key: %v", st)
			}
			return key
		}
	}
	t.Fatalf("%v; want OUTCOME_UNKNOWN", err)
	return ""
}
