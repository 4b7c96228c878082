package rpc_test

import (
	"context"
	"slices"
	"testing"

	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"

	pb "github.com/memsidecar/memsidecar/gen/memsidecar/v1"
	"github.com/memsidecar/memsidecar/internal/memory"
)

// refusedHost reports whether an error says that the host is paused.
func refusedHost(err error) bool {
	st := status.Convert(err)
	return st.Code() == codes.FailedPrecondition && slices.ContainsFunc(st.Details(), func(d any) bool {
		info, ok := d.(*errdetails.ErrorInfo)
		return ok && info.GetReason() == "HOST_PAUSED"
	})
}

func TestPausedHostIsToldNothingAndNotRecorded(t *testing.T) {
	d := start(t)
	ctx := t.Context()
	said := []*pb.SessionMessage{{Role: pb.Role_ROLE_USER, Content: "which port does staging use?"}}
	d.add(t, "port", "The staging gateway listens on port 8443")
	for id, host := range map[string]string{"s1": "claude-code", "s2": "codex"} {
		must[*pb.SessionServiceStartResponse](t)(d.session.Start(ctx,
			&pb.SessionServiceStartRequest{SessionId: id, Host: host}))
	}
	named := metadata.AppendToOutgoingContext(ctx, memory.HostKey, "claude%2Dcode")
	recall := func(ctx context.Context, id string) *pb.SearchServiceRecallResponse {
		return must[*pb.SearchServiceRecallResponse](t)(d.search.Recall(ctx, &pb.SearchServiceRecallRequest{
			Text: "which port does the staging gateway listen on?", SessionId: id,
		}))
	}
	calls := map[string]func() error{
		"start": func() error {
			_, err := d.session.Start(ctx, &pb.SessionServiceStartRequest{SessionId: "s3", Host: "claude-code"})
			return err
		},
		"append by session": func() error {
			_, err := d.session.Append(ctx, &pb.SessionServiceAppendRequest{SessionId: "s1", Messages: said})
			return err
		},
		"append by name, of an unknown session": func() error {
			_, err := d.session.Append(named, &pb.SessionServiceAppendRequest{SessionId: "s4", Messages: said})
			return err
		},
		"working memory": func() error {
			_, err := d.session.UpdateWorkingMemory(ctx,
				&pb.SessionServiceUpdateWorkingMemoryRequest{SessionId: "s1", Compacted: true})
			return err
		},
		"reflect messages": func() error {
			_, err := d.session.Reflect(ctx, &pb.SessionServiceReflectRequest{Host: "claude-code", Messages: said})
			return err
		},
		"search by name": func() error {
			_, err := d.search.Search(named, &pb.SearchServiceSearchRequest{Query: "staging"})
			return err
		},
		"write by name": func() error {
			_, err := d.memory.Add(named, &pb.MemoryServiceAddRequest{
				Items: []*pb.NewMemory{{Content: "Something else", Category: "facts"}},
			})
			return err
		},
		"a stream by name": func() error {
			stream, err := d.ops.Watch(named, &pb.OperationServiceWatchRequest{})
			if err == nil {
				_, err = stream.Recv()
			}
			return err
		},
	}
	d.pausedHost = "claude-code"
	for name, call := range calls {
		if err := call(); !refusedHost(err) {
			t.Errorf("%s: %v, want HOST_PAUSED", name, err)
		}
	}
	if res := recall(ctx, "s1"); res.GetReason() != "HOST_PAUSED" || res.GetBlock() != "" || len(res.GetItems()) > 0 {
		t.Errorf("recall of the paused host: %v", res)
	}
	hint := must[*pb.SearchServiceHintResponse](t)(d.search.Hint(named, &pb.SearchServiceHintRequest{Tool: "Bash"}))
	if hint.GetReason() != "HOST_PAUSED" {
		t.Errorf("hint of the paused host: %v", hint)
	}
	// Others go on, people look at its sessions, and what was recorded before may be learnt.
	if res := recall(ctx, "s2"); len(res.GetItems()) == 0 {
		t.Errorf("recall of another host: %v", res)
	}
	must[*pb.SessionServiceGetResponse](t)(d.session.Get(ctx, &pb.SessionServiceGetRequest{SessionId: "s1"}))
	must[*pb.AdminServiceInfoResponse](t)(d.admin.Info(named, &pb.AdminServiceInfoRequest{}))
	must[*pb.SessionServiceReflectResponse](t)(d.session.Reflect(ctx, &pb.SessionServiceReflectRequest{SessionId: "s1"}))
	d.pausedHost = ""
	for name, call := range calls {
		if name == "a stream by name" {
			continue // it waits for an operation
		}
		if err := call(); refusedHost(err) {
			t.Errorf("%s, resumed: %v", name, err)
		}
	}
}
