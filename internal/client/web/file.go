package web

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path"
	"time"

	pb "github.com/memsidecar/memsidecar/gen/memsidecar/v1"
	"github.com/memsidecar/memsidecar/internal/store/durable"
)

// The files are read and written here, not through the daemon: a hand edit must have the same effect as an editor's,
// and the daemon already reconciles edited files. It takes part only before (publish) and after (reconcile).

// Bounds on the body of a request with a file, in bytes.
const (
	maxFileBytes  = 64 << 20 // to save: it is written to disk here
	maxCheckBytes = 15 << 20 // to check: it goes to the daemon in one gRPC message
)

// errFileChanged means that the file is not the one in If-Match.
var errFileChanged = &httpError{
	http.StatusConflict, "FILE_CHANGED", "the file was changed since it was read; nothing was written",
}

// publishedFile names the memory.json of a space, or its log of a day.
type publishedFile struct {
	space, date string // the date is "" for memory.json
	name        string // path in the data directory, with slashes
}

// requestedFile reads the file's name from the query parameters of a request.
func requestedFile(r *http.Request) (publishedFile, error) {
	q := newQueryParams(r, "space", "date")
	f := publishedFile{space: cmp.Or(q.text("space"), "default"), date: q.text("date")}
	if q.err != nil {
		return f, q.err
	}
	f.name = "memory.json"
	if f.date != "" {
		if _, err := time.Parse(time.DateOnly, f.date); err != nil {
			return f, invalidRequest("date must be a day, such as 2026-02-21")
		}
		f.name = path.Join("logs", f.date+".json")
	}
	if f.space != "default" {
		f.name = path.Join("spaces", f.space, f.name)
	}
	return f, nil
}

// openPublished publishes what is pending, so that the file is up to date, and opens the data directory. The caller
// calls done.
func (s *Server) openPublished(ctx context.Context, f publishedFile) (fsys durable.FS, done func(), err error) {
	// The response does not matter. An invalid name of a space is an error, so no such path is opened.
	if _, err := s.memory.GetSummary(ctx, &pb.MemoryServiceGetSummaryRequest{Space: f.space}); err != nil {
		return nil, nil, err
	}
	if _, err := s.files.Publish(ctx, &pb.FileServicePublishRequest{}); err != nil {
		return nil, nil, err
	}
	info, err := s.admin.Info(ctx, &pb.AdminServiceInfoRequest{})
	if err != nil {
		return nil, nil, err
	}
	root, err := os.OpenRoot(info.GetDataDir())
	if err != nil {
		return nil, nil, fmt.Errorf("open data directory: %w", err)
	}
	return durable.Dir(root), func() { _ = root.Close() }, nil
}

// etag is the entity tag of a file's content: its SHA-256, quoted.
func etag(data []byte) string {
	sum := sha256.Sum256(data)
	return `"` + hex.EncodeToString(sum[:]) + `"`
}

// notFoundError converts an error that means that f does not exist into one that says why; any other error is
// returned as it is.
func (s *Server) notFoundError(ctx context.Context, f publishedFile, err error) error {
	switch {
	case !errors.Is(err, os.ErrNotExist):
		return err
	case f.date == "":
		return &httpError{http.StatusNotFound, "NOT_FOUND", "there is no memory.json of this space yet"}
	}
	if day, err := s.logs.Get(ctx, &pb.LogServiceGetRequest{Space: f.space, Date: f.date}); err == nil &&
		day.GetDay().GetDeletedAt() != nil {
		return &httpError{
			http.StatusNotFound, "LOG_DELETED", "the log of this day was archived and deleted; its summary is kept",
		}
	}
	return &httpError{http.StatusNotFound, "NOT_FOUND", "there is no log of this day"}
}

// getFile serves GET file: the bytes on disk, with their entity tag.
func (s *Server) getFile(w http.ResponseWriter, r *http.Request) error {
	f, err := requestedFile(r)
	if err != nil {
		return err
	}
	fsys, done, err := s.openPublished(r.Context(), f)
	if err != nil {
		return err
	}
	defer done()
	data, err := durable.ReadFile(fsys, f.name)
	if err != nil {
		return s.notFoundError(r.Context(), f, err)
	}
	w.Header().Set("Content-Type", "application/json; charset=utf-8")
	w.Header().Set("ETag", etag(data))
	_, _ = w.Write(data) // an error means that the client has gone
	return nil
}

// checkFile serves POST file/check: which problems the body would have if it were saved. Nothing is written.
func (s *Server) checkFile(w http.ResponseWriter, r *http.Request) error {
	f, err := requestedFile(r)
	if err != nil {
		return err
	}
	data, err := readRawBody(r)
	if err != nil {
		return err
	}
	res, err := s.files.Check(
		r.Context(), &pb.FileServiceCheckRequest{Space: f.space, Date: f.date, Content: data},
	)
	if err != nil {
		return err
	}
	writeJSON(w, http.StatusOK, messageJSON(res))
	return nil
}

// putFile serves PUT file: it replaces the file as an editor would and has the daemon reconcile it at once. Changes
// that merge are one operation, which can be undone; the response lists the edits that wait for a person's
// decision. If-Match is required: without it, an edit could overwrite a change that its author has not seen.
func (s *Server) putFile(w http.ResponseWriter, r *http.Request) error {
	f, err := requestedFile(r)
	if err != nil {
		return err
	}
	was := r.Header.Get("If-Match")
	if was == "" {
		return &httpError{
			http.StatusPreconditionRequired, "NO_IF_MATCH", "send the ETag of the file that was read as If-Match",
		}
	}
	data, err := readBody(r)
	if err != nil {
		return err
	}
	if err := checkJSONObject(data); err != nil {
		return err
	}
	fsys, done, err := s.openPublished(r.Context(), f)
	if err != nil {
		return err
	}
	defer done()
	if err := replaceIfUnchanged(fsys, f.name, was, append(data, '\n')); err != nil {
		return s.notFoundError(r.Context(), f, err)
	}
	// Publishing reconciles the files first, which is what adopts the edit.
	if _, err := s.files.Publish(r.Context(), &pb.FileServicePublishRequest{}); err != nil {
		return err
	}
	waiting := []any{}
	for req := (&pb.FileServiceListEditsRequest{}); ; {
		edits, err := s.files.ListEdits(r.Context(), req)
		if err != nil {
			return err
		}
		for _, e := range edits.GetEdits() {
			if e.GetFile() == f.name {
				waiting = append(waiting, messageJSON(e))
			}
		}
		if req.PageToken = edits.GetNextPageToken(); req.GetPageToken() == "" {
			break
		}
	}
	writeJSON(w, http.StatusOK, map[string]any{"waiting": waiting})
	return nil
}

// checkJSONObject returns an error with the line number if data is not one JSON object.
func checkJSONObject(data []byte) error {
	if !json.Valid(data) || !bytes.HasPrefix(data, []byte("{")) {
		var v json.RawMessage
		err := json.Unmarshal(data, &v)
		if wrong, ok := errors.AsType[*json.SyntaxError](err); ok {
			before := data[:min(int64(len(data)), wrong.Offset)]
			return invalidRequest(
				"line %d: %s; nothing was written", bytes.Count(before, []byte{'\n'})+1, wrong.Error(),
			)
		}
		return invalidRequest("the body must be a JSON object; nothing was written")
	}
	return nil
}

// replaceIfUnchanged replaces the file's content if its entity tag is was. The new content is written to a temporary
// file, and the two names are exchanged atomically: the old content is then under the temporary name and is compared
// once more. An edit made between the first comparison and the exchange is thus seen, and exchanged back. Durable on
// return.
func replaceIfUnchanged(fsys durable.FS, name, was string, data []byte) error {
	now, err := durable.ReadFile(fsys, name)
	if err != nil {
		return err
	}
	if etag(now) != was {
		return errFileChanged
	}
	temp, err := durable.WriteTemp(fsys, name, func(w io.Writer) error {
		_, err := w.Write(data)
		return err
	})
	if err != nil {
		return err
	}
	err = fsys.Exchange(temp, name)
	if errors.Is(err, errors.ErrUnsupported) {
		// Without an atomic exchange, an edit made between the comparison and this rename is lost.
		err = fsys.Rename(temp, name)
		return errors.Join(err, fsys.SyncDir(path.Dir(name)))
	}
	if err != nil {
		return errors.Join(err, fsys.Remove(temp))
	}
	if now, err = durable.ReadFile(fsys, temp); err != nil || etag(now) != was {
		return errors.Join(errFileChanged, err, fsys.Exchange(temp, name), fsys.Remove(temp))
	}
	return errors.Join(fsys.SyncDir(path.Dir(name)), fsys.Remove(temp))
}
