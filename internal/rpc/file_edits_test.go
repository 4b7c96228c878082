package rpc_test

import (
	"os"
	"strings"
	"testing"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	pb "github.com/memsidecar/memsidecar/gen/memsidecar/v1"
)

// editFile changes memory.json by hand and has it looked at.
func (d *daemon) editFile(t *testing.T, fn func(text string) string) {
	t.Helper()
	name := d.root.Name() + "/memory.json"
	data := must[[]byte](t)(os.ReadFile(name))
	if err := os.WriteFile(name, []byte(fn(string(data))), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := d.edits.Scan(t.Context(), true); err != nil {
		t.Fatal(err)
	}
}

func TestEditCalls(t *testing.T) {
	d := start(t)
	d.add(t, "a", "likes tea")
	if err := d.files.PublishAll(t.Context()); err != nil {
		t.Fatal(err)
	}
	list := func() []*pb.Edit {
		t.Helper()
		return must[*pb.FileServiceListEditsResponse](t)(
			d.file.ListEdits(t.Context(), &pb.FileServiceListEditsRequest{})).GetEdits()
	}
	if len(list()) != 0 {
		t.Fatalf("edits: %v", list())
	}

	d.editFile(t, func(text string) string { return strings.Replace(text, ":", "", 1) })
	edits := list()
	if len(edits) != 1 || edits[0].GetKind() != pb.EditKind_EDIT_KIND_REFUSED || !edits[0].GetInPlace() ||
		edits[0].GetSpace() != "default" ||
		edits[0].GetFile() != "memory.json" || len(edits[0].GetDetails()) != 1 || edits[0].GetDetectedAt() == nil {
		t.Fatalf("edits: %v", edits)
	}
	got := must[*pb.FileServiceGetEditResponse](t)(
		d.file.GetEdit(t.Context(), &pb.FileServiceGetEditRequest{Id: edits[0].GetId()}))
	if len(got.GetChanges()) != 0 || got.GetEdit().GetId() != edits[0].GetId() {
		t.Errorf("edit: %v", got)
	}
	_, err := d.file.ResolveEdit(t.Context(),
		&pb.FileServiceResolveEditRequest{Id: edits[0].GetId(), Resolution: pb.Resolution_RESOLUTION_ACCEPT})
	if status.Code(err) != codes.FailedPrecondition {
		t.Errorf("accepting a refused edit: %v", err)
	}
	_, err = d.file.GetEdit(t.Context(), &pb.FileServiceGetEditRequest{Id: "nothing"})
	if status.Code(err) != codes.NotFound {
		t.Errorf("an unknown edit: %v", err)
	}
	must[*pb.FileServiceResolveEditResponse](t)(d.file.ResolveEdit(t.Context(),
		&pb.FileServiceResolveEditRequest{Id: edits[0].GetId(), Resolution: pb.Resolution_RESOLUTION_REJECT}))
	if err := d.files.PublishAll(t.Context()); err != nil {
		t.Fatal(err)
	}

	d.editFile(t, func(text string) string {
		before, rest, _ := strings.Cut(text, `"memories": [`)
		_, after, _ := strings.Cut(rest, "\n  ]")
		return before + `"memories": []` + after
	})
	edits = list()
	if len(edits) != 1 || edits[0].GetKind() != pb.EditKind_EDIT_KIND_AMBIGUOUS || edits[0].GetBaseOperationId() == "" {
		t.Fatalf("edits: %v", edits)
	}
	got = must[*pb.FileServiceGetEditResponse](t)(
		d.file.GetEdit(t.Context(), &pb.FileServiceGetEditRequest{Id: edits[0].GetId()[:4]}))
	if len(got.GetChanges()) != 2 || got.GetChanges()[1].GetMemory().GetAfter().GetStatus() != pb.MemoryStatus_MEMORY_STATUS_RETIRED {
		t.Errorf("changes: %v", got.GetChanges())
	}
	res := must[*pb.FileServiceResolveEditResponse](t)(
		d.file.ResolveEdit(t.Context(), &pb.FileServiceResolveEditRequest{Id: edits[0].GetId(),
			Resolution: pb.Resolution_RESOLUTION_ACCEPT}))
	if res.GetResult().GetOperationId() == "" || len(list()) != 0 {
		t.Errorf("resolved: %v, left %v", res, list())
	}
}
