package rpc_test

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	pb "github.com/memsidecar/memsidecar/gen/memsidecar/v1"
)

// Whatever is written between two Starts of a session, its context is the same byte for byte; that of the next
// session is not.
func TestStartIsFrozen(t *testing.T) {
	d := start(t)
	working := pb.NewSessionServiceClient(d.conn)
	root := t.TempDir()
	instructions := func(text string) {
		t.Helper()
		if err := os.WriteFile(filepath.Join(root, "AGENTS.md"), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	instructions("Run the tests first.")
	d.add(t, "port", "The staging gateway listens on port 8443.")
	request := func(id string) *pb.SessionServiceStartRequest {
		return &pb.SessionServiceStartRequest{SessionId: id, Cwd: root,
			Context: &pb.ContextOptions{Instructions: true, Bootstrap: true}}
	}
	first := must[*pb.SessionServiceStartResponse](t)(d.session.Start(t.Context(), request("s"))).GetContext()
	if !strings.Contains(first, "8443") || !strings.Contains(first, "Run the tests first.") {
		t.Fatalf("context: %q", first)
	}
	r := rand.New(rand.NewPCG(1, 1))
	for i := range 60 {
		text := fmt.Sprint("something new, number ", i)
		var err error
		switch r.IntN(7) {
		case 0:
			d.add(t, fmt.Sprint("m", i), text)
		case 1:
			_, err = d.memory.Update(t.Context(),
				&pb.MemoryServiceUpdateRequest{Id: "port", Patch: &pb.MemoryPatch{Content: &text}})
		case 2:
			_, err = d.memory.SetSummary(t.Context(), &pb.MemoryServiceSetSummaryRequest{Summary: text})
		case 3:
			_, err = d.log.Append(t.Context(), &pb.LogServiceAppendRequest{Entries: []*pb.NewLogEntry{{Content: text}}})
		case 4:
			_, err = d.session.Append(t.Context(),
				&pb.SessionServiceAppendRequest{SessionId: "s",
					Messages: []*pb.SessionMessage{{Role: pb.Role_ROLE_USER, Content: text}}})
		case 5:
			_, err = working.UpdateWorkingMemory(t.Context(),
				&pb.SessionServiceUpdateWorkingMemoryRequest{SessionId: "s", Summary: &text, Compacted: true})
		case 6:
			instructions(text)
		}
		if err != nil {
			t.Fatal(err)
		}
		if again := must[*pb.SessionServiceStartResponse](t)(
			d.session.Start(t.Context(), request("s"))); again.GetContext() != first || !again.GetContextRepeated() {
			t.Fatalf("step %d: %q", i, again.GetContext())
		}
	}
	if next := must[*pb.SessionServiceStartResponse](t)(
		d.session.Start(t.Context(), request("t"))); next.GetContext() == first ||
		!strings.Contains(next.GetContext(), "something new") {
		t.Errorf("the next session: %q", next.GetContext())
	}
}

// A recall for a directory looks in the space of its project too, where a session that Start opened there is found.
func TestRecallOfProject(t *testing.T) {
	d := start(t)
	root := t.TempDir()
	started := must[*pb.SessionServiceStartResponse](t)(
		d.session.Start(t.Context(), &pb.SessionServiceStartRequest{SessionId: "s", Cwd: root, ProjectSpace: true}))
	must[*pb.MemoryServiceAddResponse](t)(
		d.memory.Add(t.Context(), &pb.MemoryServiceAddRequest{Space: started.GetSpace(),
			Items: []*pb.NewMemory{{Content: "The staging gateway listens on port 8443."}}}))
	for dir, want := range map[string]int{"": 0, root: 1, t.TempDir(): 0} {
		got := must[*pb.SearchServiceRecallResponse](t)(
			d.search.Recall(t.Context(), &pb.SearchServiceRecallRequest{Text: "staging gateway port",
				ProjectDirectory: dir}))
		if len(got.GetItems()) != want || want > 0 && got.GetItems()[0].GetSpace() != started.GetSpace() {
			t.Errorf("%q: %v", dir, got)
		}
	}
	if _, err := d.search.Recall(t.Context(),
		&pb.SearchServiceRecallRequest{Text: "x", ProjectDirectory: "relative"}); status.Code(
		err) != codes.InvalidArgument {
		t.Errorf("relative: %v", err)
	}
}
