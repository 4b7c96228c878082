package rpc

import (
	"bufio"
	"context"
	"errors"
	"io"

	"google.golang.org/grpc"

	pb "github.com/memsidecar/memsidecar/gen/memsidecar/v1"
	"github.com/memsidecar/memsidecar/internal/memory"
	"github.com/memsidecar/memsidecar/internal/transfer"
)

func (s *adminServer) Export(req *pb.AdminServiceExportRequest, stream grpc.ServerStreamingServer[pb.AdminServiceExportResponse]) error {
	var check memory.Check
	checkSpaces(&check, req.GetSpaces())
	asFile := req.GetFormat() == pb.ExportFormat_EXPORT_FORMAT_MEMORY_JSON
	if asFile && len(req.GetSpaces()) > 1 {
		check.Add("spaces", "TOO_MANY", "names %d spaces; a memory.json holds one", len(req.GetSpaces()))
	}
	if _, known := pb.ExportFormat_name[int32(req.GetFormat())]; !known {
		check.Add("format", "UNKNOWN_FORMAT", "is not a format")
	}
	if err := check.Err(); err != nil {
		return err
	}
	ctx, done := s.untilStop(stream.Context())
	defer done()
	w := bufio.NewWriterSize(chunks(func(p []byte) error {
		return stream.Send(&pb.AdminServiceExportResponse{Chunk: p})
	}), streamChunk)
	var err error
	if asFile {
		err = s.transfer.ExportFile(ctx, w, append(req.GetSpaces(), "")[0])
	} else {
		err = s.transfer.Export(ctx, w, req.GetSpaces())
	}
	if err == nil {
		err = w.Flush()
	}
	if err != nil {
		return streamError(stream.Context(), ctx, err)
	}
	return nil
}

func (s *adminServer) Import(stream grpc.ClientStreamingServer[pb.AdminServiceImportRequest, pb.AdminServiceImportResponse]) error {
	first, err := stream.Recv()
	if errors.Is(err, io.EOF) {
		var check memory.Check
		check.Add("chunk", "REQUIRED", "must not be empty")
		return check.Err()
	}
	if err != nil {
		return err
	}
	ctx, done := s.untilStop(stream.Context())
	defer done()
	report, err := s.transfer.Import(ctx, &received{ctx: ctx, stream: stream, rest: first.GetChunk()}, transfer.Options{
		Space: first.GetSpace(), DryRun: first.GetDryRun(),
	})
	if err != nil {
		return streamError(stream.Context(), ctx, err)
	}
	return stream.SendAndClose(importToProto(&report))
}

// received reads the chunks of a stream.
type received struct {
	ctx    context.Context
	stream grpc.ClientStreamingServer[pb.AdminServiceImportRequest, pb.AdminServiceImportResponse]
	rest   []byte
}

func (r *received) Read(p []byte) (int, error) {
	for len(r.rest) == 0 {
		if err := r.ctx.Err(); err != nil {
			return 0, err
		}
		req, err := r.stream.Recv()
		if err != nil {
			return 0, err
		}
		r.rest = req.GetChunk()
	}
	n := copy(p, r.rest)
	r.rest = r.rest[n:]
	return n, nil
}

func importToProto(report *transfer.Report) *pb.AdminServiceImportResponse {
	res := &pb.AdminServiceImportResponse{Operations: report.Operations}
	for _, c := range report.Counts {
		res.Counts = append(res.Counts, &pb.ImportCount{Kind: c.Kind, Space: c.Space, Added: c.Added, Same: c.Same, Skipped: c.Skipped, Merged: c.Merged})
	}
	for _, k := range report.Skipped {
		res.Skipped = append(res.Skipped, &pb.SkippedImport{Line: k.Line, Kind: k.Kind, Id: k.ID, Reason: k.Reason, Detail: k.Detail})
	}
	for _, m := range report.Merged {
		res.Merged = append(res.Merged, &pb.MergedImport{Line: m.Line, Kind: m.Kind, Id: m.ID, Into: m.Into, Reason: m.Reason})
	}
	return res
}
