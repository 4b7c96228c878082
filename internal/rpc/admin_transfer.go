package rpc

import (
	"bufio"
	"context"
	"errors"
	"io"
	"slices"

	"google.golang.org/grpc"

	pb "github.com/memsidecar/memsidecar/gen/memsidecar/v1"
	"github.com/memsidecar/memsidecar/internal/memory"
	"github.com/memsidecar/memsidecar/internal/service/transfer"
	"github.com/memsidecar/memsidecar/internal/store"
)

// Export streams spaces as JSON lines, or one space as memory.json. It ends early, with memory.ErrShuttingDown, when
// the daemon stops.
func (s *adminServer) Export(req *pb.AdminServiceExportRequest,
	stream grpc.ServerStreamingServer[pb.AdminServiceExportResponse]) error {
	var check memory.Check
	checkSpaces(&check, req.GetSpaces())
	asFile := req.GetFormat() == pb.ExportFormat_EXPORT_FORMAT_MEMORY_JSON
	if asFile && len(req.GetSpaces()) > 1 {
		check.Add("spaces", "TOO_MANY", "names %d spaces; a memory.json holds one", len(req.GetSpaces()))
	}
	if _, known := pb.ExportFormat_name[int32(req.GetFormat())]; !known {
		check.Add("format", "UNKNOWN_VALUE", "is not a format")
	}
	if err := check.Err(); err != nil {
		return err
	}
	ctx, done := untilStop(stream.Context(), s.stopping)
	defer done()
	// Records are short; one message for each would cost more than its bytes.
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

// Import reads the chunks of a stream. Options and idempotency key are those of the first message; a repeat returns
// the first result before it reads the rest. What was imported before an error stays.
func (s *adminServer) Import(stream grpc.ClientStreamingServer[pb.AdminServiceImportRequest,
	pb.AdminServiceImportResponse]) error {
	first, err := stream.Recv()
	if errors.Is(err, io.EOF) {
		var check memory.Check
		check.Add("chunk", "REQUIRED", "must not be empty")
		return check.Err()
	}
	if err != nil {
		return err
	}
	ctx, done := untilStop(stream.Context(), s.stopping)
	defer done()
	meta := keyedMeta(first, first.GetSpace(), "import")
	// Only the key identifies a repeat: the stream's bytes are not kept for a comparison.
	if meta.Request = nil; first.GetDryRun() {
		meta.Key = ""
	}
	var report transfer.Report
	result, err := s.keyed.run(ctx, meta, func() (result store.Result, err error) {
		bytes := &received{ctx: ctx, stream: stream, rest: first.GetChunk()}
		report, err = s.transfer.Import(ctx, bytes,
			transfer.Options{Space: first.GetSpace(), DryRun: first.GetDryRun(),
				Keep: first.GetAllowSensitive()})
		if len(report.Operations) > 0 {
			result.Op = slices.Max(report.Operations)
		}
		return result, err
	})
	if err != nil {
		return streamError(stream.Context(), ctx, err)
	}
	res := s.imported(&report)
	res.Result = s.result(result)
	return stream.SendAndClose(res)
}

// received reads the chunks of a stream.
type received struct {
	ctx    context.Context
	stream grpc.ClientStreamingServer[pb.AdminServiceImportRequest, pb.AdminServiceImportResponse]
	rest   []byte
}

// Read returns the bytes of the chunks in order. An empty chunk is skipped.
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

// maxImportOperations bounds the operation ids of a response.
const maxImportOperations = 10_000

// imported converts the report of an import. The lists in it are bounded by the importer.
func (s *adminServer) imported(report *transfer.Report) *pb.AdminServiceImportResponse {
	res := &pb.AdminServiceImportResponse{}
	for _, op := range report.Operations[:min(len(report.Operations), maxImportOperations)] {
		res.OperationIds = append(res.OperationIds, s.operationID(op))
	}
	for _, c := range report.Counts {
		res.Counts = append(res.Counts, &pb.ImportCount{
			Kind: importKinds[c.Kind], Space: c.Space, Added: c.Added, Unchanged: c.Same, Skipped: c.Skipped,
			Merged: c.Merged,
		})
	}
	for _, k := range report.Skipped {
		res.Skipped = append(res.Skipped,
			&pb.SkippedImport{Line: k.Line, Kind: importKinds[k.Kind], Id: k.ID, Reason: k.Reason, Detail: k.Detail})
	}
	for _, m := range report.Merged {
		res.Merged = append(res.Merged,
			&pb.MergedImport{Line: m.Line, Kind: importKinds[m.Kind], Id: m.ID, MemoryId: m.Into, Reason: m.Reason})
	}
	for _, k := range report.Redacted {
		res.Redacted = append(res.Redacted, &pb.RedactedImport{Line: k.Line, Kind: importKinds[k.Kind], Id: k.ID,
			Redactions: redactionsToProto(k.Redactions)})
	}
	res.RedactedCount = report.RedactedCount
	for _, k := range report.Adjusted {
		res.Adjusted = append(res.Adjusted, &pb.AdjustedImport{Line: k.Line, Id: k.ID, Detail: k.Detail})
	}
	res.AdjustedCount = report.AdjustedCount
	return res
}

// importKinds names the kinds of imported items in messages. A line that could not be parsed has none.
var importKinds = map[string]pb.ImportKind{
	"memory":    pb.ImportKind_IMPORT_KIND_MEMORY,
	"entry":     pb.ImportKind_IMPORT_KIND_ENTRY,
	"day":       pb.ImportKind_IMPORT_KIND_DAY,
	"archived":  pb.ImportKind_IMPORT_KIND_ARCHIVED,
	"summary":   pb.ImportKind_IMPORT_KIND_SUMMARY,
	"forgotten": pb.ImportKind_IMPORT_KIND_FORGOTTEN,
	"session":   pb.ImportKind_IMPORT_KIND_SESSION,
}
