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
	"github.com/memsidecar/memsidecar/internal/durable"
)

// maxFile is the largest file that is taken, in bytes, maxChecked the largest one that is checked without being saved: it goes to the daemon in one message.
const (
	maxFile    = 64 << 20
	maxChecked = 15 << 20
)

var errFileChanged = &problem{http.StatusConflict, "FILE_CHANGED", "the file was changed since it was read; nothing was written"}

// file is a published file: the memory.json of a space, or its log of a day.
type file struct {
	space, date string // no date for memory.json
	name        string // in the data directory
}

// fileNamed reads which file a request is about.
func fileNamed(r *http.Request) (file, error) {
	q := queryOf(r, "space", "date")
	f := file{space: cmp.Or(q.text("space"), "default"), date: q.text("date")}
	if q.err != nil {
		return f, q.err
	}
	f.name = "memory.json"
	if f.date != "" {
		if _, err := time.Parse(time.DateOnly, f.date); err != nil {
			return f, invalid("date must be a day, such as 2026-02-21")
		}
		f.name = path.Join("logs", f.date+".json")
	}
	if f.space != "default" {
		f.name = path.Join("spaces", f.space, f.name)
	}
	return f, nil
}

// open opens the data directory with the file in it, which is up to date.
func (s *Server) open(ctx context.Context, f file) (fsys durable.FS, done func(), err error) {
	// The answer does not matter: a name that cannot be a space's is refused.
	if _, err := s.memory.GetRollingSummary(ctx, &pb.MemoryServiceGetRollingSummaryRequest{Space: f.space}); err != nil {
		return nil, nil, err
	}
	if _, err := s.admin.Checkpoint(ctx, &pb.AdminServiceCheckpointRequest{}); err != nil {
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

func etag(data []byte) string {
	sum := sha256.Sum256(data)
	return `"` + hex.EncodeToString(sum[:]) + `"`
}

// missing says why a file is not there, if that is what the error is.
func (s *Server) missing(ctx context.Context, f file, err error) error {
	switch {
	case !errors.Is(err, os.ErrNotExist):
		return err
	case f.date == "":
		return &problem{http.StatusNotFound, "NOT_FOUND", "there is no memory.json of this space yet"}
	}
	if day, err := s.logs.Get(ctx, &pb.LogServiceGetRequest{Space: f.space, Date: f.date}); err == nil && day.GetDay().GetDeletedAt() != nil {
		return &problem{http.StatusNotFound, "LOG_DELETED", "the log of this day was archived and deleted; its summary is kept"}
	}
	return &problem{http.StatusNotFound, "NOT_FOUND", "there is no log of this day"}
}

// getFile answers with a file as it stands on the disk.
func (s *Server) getFile(w http.ResponseWriter, r *http.Request) error {
	f, err := fileNamed(r)
	if err != nil {
		return err
	}
	fsys, done, err := s.open(r.Context(), f)
	if err != nil {
		return err
	}
	defer done()
	data, err := durable.ReadFile(fsys, f.name)
	if err != nil {
		return s.missing(r.Context(), f, err)
	}
	w.Header().Set("Content-Type", "application/json; charset=utf-8")
	w.Header().Set("ETag", etag(data))
	_, _ = w.Write(data) // a client that has gone cannot be told
	return nil
}

// checkFile says what would become of the body if it were saved. Nothing is written.
func (s *Server) checkFile(w http.ResponseWriter, r *http.Request) error {
	f, err := fileNamed(r)
	if err != nil {
		return err
	}
	data, err := textOf(r)
	if err != nil {
		return err
	}
	res, err := s.published.Check(r.Context(), &pb.FileServiceCheckRequest{Space: f.space, Date: f.date, Content: data})
	if err != nil {
		return err
	}
	reply(w, http.StatusOK, plain(res))
	return nil
}

// putFile replaces a file as an editor would, and has the daemon look at it at once: what can be merged is one operation that can be undone, and
// what cannot waits for a person.
func (s *Server) putFile(w http.ResponseWriter, r *http.Request) error {
	f, err := fileNamed(r)
	if err != nil {
		return err
	}
	was := r.Header.Get("If-Match")
	if was == "" {
		return &problem{http.StatusPreconditionRequired, "NO_IF_MATCH", "send the ETag of the file that was read as If-Match"}
	}
	data, err := bodyOf(r)
	if err != nil {
		return err
	}
	if err := wholeJSON(data); err != nil {
		return err
	}
	fsys, done, err := s.open(r.Context(), f)
	if err != nil {
		return err
	}
	defer done()
	if err := replace(fsys, f.name, was, append(data, '\n')); err != nil {
		return s.missing(r.Context(), f, err)
	}
	if _, err := s.admin.Checkpoint(r.Context(), &pb.AdminServiceCheckpointRequest{}); err != nil {
		return err
	}
	edits, err := s.admin.ListEdits(r.Context(), &pb.AdminServiceListEditsRequest{})
	if err != nil {
		return err
	}
	waiting := []any{}
	for _, e := range edits.GetEdits() {
		if e.GetFile() == f.name {
			waiting = append(waiting, plain(e))
		}
	}
	reply(w, http.StatusOK, map[string]any{"waiting": waiting})
	return nil
}

// wholeJSON refuses what is not one JSON object, before anything is written.
func wholeJSON(data []byte) error {
	if !json.Valid(data) || !bytes.HasPrefix(data, []byte("{")) {
		var v json.RawMessage
		err := json.Unmarshal(data, &v)
		if wrong, ok := errors.AsType[*json.SyntaxError](err); ok {
			before := data[:min(int64(len(data)), wrong.Offset)]
			return invalid("line %d: %s; nothing was written", bytes.Count(before, []byte{'\n'})+1, wrong.Error())
		}
		return invalid("the body must be a JSON object; nothing was written")
	}
	return nil
}

// replace gives the new contents the file's name if it holds what was read. The old contents come out under another name, so an edit that somebody
// makes in this very moment is seen, and is put back.
func replace(fsys durable.FS, name, was string, data []byte) error {
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
		err = fsys.Rename(temp, name) // only here a moment is left in which an edit goes unseen
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
