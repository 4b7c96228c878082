package rpc_test

import (
	"bytes"
	"errors"
	"io"
	"strings"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	pb "github.com/memsidecar/memsidecar/gen/memsidecar/v1"
	"github.com/memsidecar/memsidecar/internal/store/backup"
)

func TestBackupCall(t *testing.T) {
	d := start(t)
	d.add(t, "a", "memory a")
	position := d.add(t, "b", "记忆").GetOperationId()
	stream := must[grpc.ServerStreamingClient[pb.AdminServiceBackupResponse]](t)(
		d.admin.Backup(t.Context(), &pb.AdminServiceBackupRequest{}))
	var archive bytes.Buffer
	var last *pb.AdminServiceBackupResponse
	for {
		resp, err := stream.Recv()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		last = resp
		archive.Write(resp.GetChunk())
	}
	info, err := backup.Verify(t.Context(), &archive, publishedFiles, t.TempDir(), time.Now)
	if err != nil || last.GetPosition() != position || d.id(info.LSN) != position || len(last.GetChunk()) > 0 {
		t.Errorf("the backup holds %d, the last message says %v, the store had %s: %v", info.LSN, last, position, err)
	}
}

// exported collects an export.
func (d *daemon) exported(t *testing.T, req *pb.AdminServiceExportRequest) (string, error) {
	t.Helper()
	stream := must[grpc.ServerStreamingClient[pb.AdminServiceExportResponse]](t)(d.admin.Export(t.Context(), req))
	var out bytes.Buffer
	for {
		resp, err := stream.Recv()
		if errors.Is(err, io.EOF) {
			return out.String(), nil
		}
		if err != nil {
			return out.String(), err
		}
		out.Write(resp.GetChunk())
	}
}

// imported sends text in pieces.
func (d *daemon) imported(t *testing.T, first *pb.AdminServiceImportRequest,
	text string) (*pb.AdminServiceImportResponse, error) {
	t.Helper()
	stream := must[grpc.ClientStreamingClient[pb.AdminServiceImportRequest, pb.AdminServiceImportResponse]](t)(
		d.admin.Import(t.Context()))
	if err := stream.Send(first); err != nil {
		t.Fatal(err)
	}
	for len(text) > 0 {
		n := min(len(text), 7)
		if stream.Send(&pb.AdminServiceImportRequest{Chunk: []byte(text[:n])}) != nil {
			break // the answer says why
		}
		text = text[n:]
	}
	return stream.CloseAndRecv()
}

func TestExportAndImportCalls(t *testing.T) {
	from, to := start(t), start(t)
	from.add(t, "a", "memory a")
	from.add(t, "b", "记忆")
	text, err := from.exported(t, &pb.AdminServiceExportRequest{})
	if err != nil || strings.Count(text, "\n") != 3 {
		t.Fatalf("exported %q: %v", text, err)
	}
	file, err := from.exported(t, &pb.AdminServiceExportRequest{Format: pb.ExportFormat_EXPORT_FORMAT_MEMORY_JSON})
	if err != nil || !strings.Contains(file, `"version": 2`) {
		t.Fatalf("exported %q: %v", file, err)
	}
	for _, tt := range []struct {
		name             string
		first            *pb.AdminServiceImportRequest
		text             string
		added, same, ops int64
	}{
		{"dry run", &pb.AdminServiceImportRequest{DryRun: true}, text, 2, 0, 0},
		{"run", &pb.AdminServiceImportRequest{}, text, 2, 0, 1},
		{"again", &pb.AdminServiceImportRequest{}, text, 0, 2, 0},
		{"memory.json elsewhere", &pb.AdminServiceImportRequest{Space: "home"}, file, 2, 0, 1},
	} {
		resp, err := to.imported(t, tt.first, tt.text)
		if err != nil {
			t.Fatal(tt.name, err)
		}
		if c := resp.GetCounts()[0]; len(resp.GetCounts()) != 1 || c.GetAdded() != tt.added ||
			c.GetUnchanged() != tt.same || int64(len(resp.GetOperationIds())) != tt.ops {
			t.Errorf("%s: %v", tt.name, resp)
		}
	}
	for name, req := range map[string]*pb.AdminServiceExportRequest{
		"no space of that name":  {Spaces: []string{"nothing"}},
		"two spaces in one file": {Spaces: []string{"a", "b"}, Format: pb.ExportFormat_EXPORT_FORMAT_MEMORY_JSON},
		"unknown format":         {Format: 77},
	} {
		if _, err := from.exported(t, req); status.Code(err) != codes.InvalidArgument &&
			status.Code(err) != codes.NotFound {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := to.imported(t, &pb.AdminServiceImportRequest{}, "hello"); status.Code(err) != codes.InvalidArgument {
		t.Errorf("no import: %v", err)
	}
	if _, err := to.imported(t, &pb.AdminServiceImportRequest{Space: "Not A Slug"},
		text); status.Code(err) != codes.InvalidArgument {
		t.Errorf("no space: %v", err)
	}
}

func TestWatchRefusesAnotherEpoch(t *testing.T) {
	d := start(t)
	d.add(t, "a", "memory a")
	last := d.add(t, "b", "memory b").GetOperationId()
	empty := must[*pb.AdminServiceInfoResponse](t)(
		start(t).admin.Info(t.Context(), &pb.AdminServiceInfoRequest{})).GetPosition()
	for _, tt := range []struct {
		name, cursor string
		want         codes.Code
		reason       string
	}{
		{"the same", d.id(1), codes.OK, ""},
		{"from the beginning", "0", codes.OK, ""},
		{"a bare number", "1", codes.OK, ""},
		{"another store", empty, codes.FailedPrecondition, "EPOCH_CHANGED"},
		{"another epoch", "1-zzzz", codes.FailedPrecondition, "EPOCH_CHANGED"},
		{"not reached", "9" + last, codes.FailedPrecondition, "EPOCH_CHANGED"},
		{"a number not reached", "9", codes.FailedPrecondition, "EPOCH_CHANGED"},
		{"no cursor", "x", codes.InvalidArgument, "INVALID_REQUEST"},
	} {
		stream := must[grpc.ServerStreamingClient[pb.OperationServiceWatchResponse]](t)(d.ops.Watch(t.Context(),
			&pb.OperationServiceWatchRequest{Cursor: tt.cursor}))
		_, err := stream.Recv()
		if status.Code(err) != tt.want || err != nil && info(t, status.Convert(err)).GetReason() != tt.reason {
			t.Errorf("%s: %v, want %v", tt.name, err, tt.want)
		}
	}
}
