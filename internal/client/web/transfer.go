package web

import (
	"context"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"

	pb "github.com/memsidecar/memsidecar/gen/memsidecar/v1"
)

// exportFormats are the values of format, with the name of the file.
var exportFormats = map[string]struct {
	format pb.ExportFormat
	name   string
}{
	"":            {pb.ExportFormat_EXPORT_FORMAT_JSONL, "memsidecar-export.jsonl"},
	"jsonl":       {pb.ExportFormat_EXPORT_FORMAT_JSONL, "memsidecar-export.jsonl"},
	"memory.json": {pb.ExportFormat_EXPORT_FORMAT_MEMORY_JSON, "memory.json"},
}

// chunked is a message of a stream of bytes.
type chunked interface{ GetChunk() []byte }

// export serves GET export: what spaces hold now, as a file.
func (s *Server) export(w http.ResponseWriter, r *http.Request) error {
	q := newQueryParams(r, "space", "format")
	f, ok := exportFormats[q.text("format")]
	if q.err != nil {
		return q.err
	}
	if !ok {
		return invalidRequest("format is jsonl or memory.json")
	}
	stream, err := s.admin.Export(r.Context(), &pb.AdminServiceExportRequest{
		Spaces: q.list("space"), Format: f.format,
	})
	if err != nil {
		return err
	}
	return sendFile(w, f.name, stream.Recv)
}

// backup serves GET backup: an archive of everything, as a file.
func (s *Server) backup(w http.ResponseWriter, r *http.Request) error {
	if q := newQueryParams(r); q.err != nil {
		return q.err
	}
	stream, err := s.admin.Backup(r.Context(), &pb.AdminServiceBackupRequest{})
	if err != nil {
		return err
	}
	return sendFile(w, "memsidecar-"+s.cfg.Now().Format("2006-01-02")+".backup", stream.Recv)
}

// sendFile sends the bytes of a stream. An error after the first byte aborts the connection: a response that ended
// properly would pass for a whole file.
func sendFile[M chunked](w http.ResponseWriter, name string, next func() (M, error)) error {
	for started := false; ; started = true {
		m, err := next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil && started {
			panic(http.ErrAbortHandler)
		}
		if err != nil {
			return err
		}
		if !started {
			w.Header().Set("Content-Type", "application/octet-stream")
			w.Header().Set("Content-Disposition", fmt.Sprintf("attachment; filename=%q", name))
		}
		if _, err := w.Write(m.GetChunk()); err != nil {
			return nil //nolint:nilerr // the client has gone
		}
	}
}

// importFile serves POST import: the body is an export or a memory.json. It is read as fast as the daemon takes it, so
// that a client sees by its own sending how far the import is.
func (s *Server) importFile(w http.ResponseWriter, r *http.Request) error {
	q := newQueryParams(r, "space", "dry_run")
	first := &pb.AdminServiceImportRequest{
		Space: q.text("space"), DryRun: q.boolean("dry_run"), IdempotencyKey: r.Header.Get("Idempotency-Key"),
	}
	if q.err != nil {
		return q.err
	}
	if kind, _, err := mime.ParseMediaType(r.Header.Get("Content-Type")); err != nil ||
		kind != "application/octet-stream" {
		return &httpError{
			http.StatusUnsupportedMediaType, "NOT_A_FILE", "send the file as Content-Type: application/octet-stream",
		}
	}
	// After a failed read, the daemon must not take the end of the stream for the end of the file.
	ctx, cancel := context.WithCancel(r.Context())
	defer cancel()
	stream, err := s.admin.Import(ctx)
	if err != nil {
		return err
	}
	err = stream.Send(first)
	for buf := make([]byte, 256<<10); err == nil; {
		n, readErr := r.Body.Read(buf)
		if n > 0 {
			err = stream.Send(&pb.AdminServiceImportRequest{Chunk: buf[:n]})
		}
		if errors.Is(readErr, io.EOF) {
			break
		}
		if readErr != nil {
			return readErr
		}
	}
	// An error of Send only says that the daemon has answered already.
	res, err := stream.CloseAndRecv()
	if err != nil {
		return err
	}
	writeJSON(w, http.StatusOK, messageJSON(res))
	return nil
}
