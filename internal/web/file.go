package web

import (
	"bytes"
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

	pb "github.com/memsidecar/memsidecar/gen/memsidecar/v1"
	"github.com/memsidecar/memsidecar/internal/durable"
)

// maxFile is the largest memory.json that is taken, in bytes.
const maxFile = 64 << 20

var errFileChanged = &problem{http.StatusConflict, "FILE_CHANGED", "the file was changed since it was read; nothing was written"}

// fileOf opens the data directory and names the memory.json of a space in it, which is up to date.
func (s *Server) fileOf(ctx context.Context, space string) (fsys durable.FS, name string, done func(), err error) {
	// The answer does not matter: a name that cannot be a space's is refused.
	if _, err := s.memory.GetRollingSummary(ctx, &pb.MemoryServiceGetRollingSummaryRequest{Space: space}); err != nil {
		return nil, "", nil, err
	}
	if _, err := s.admin.Checkpoint(ctx, &pb.AdminServiceCheckpointRequest{}); err != nil {
		return nil, "", nil, err
	}
	info, err := s.admin.Info(ctx, &pb.AdminServiceInfoRequest{})
	if err != nil {
		return nil, "", nil, err
	}
	root, err := os.OpenRoot(info.GetDataDir())
	if err != nil {
		return nil, "", nil, fmt.Errorf("open data directory: %w", err)
	}
	name = "memory.json"
	if space != "" && space != "default" {
		name = path.Join("spaces", space, name)
	}
	return durable.Dir(root), name, func() { _ = root.Close() }, nil
}

func etag(data []byte) string {
	sum := sha256.Sum256(data)
	return `"` + hex.EncodeToString(sum[:]) + `"`
}

func noFile(err error) error {
	if errors.Is(err, os.ErrNotExist) {
		return &problem{http.StatusNotFound, "NOT_FOUND", "there is no memory.json of this space yet"}
	}
	return err
}

// getFile answers with memory.json as it stands on the disk.
func (s *Server) getFile(w http.ResponseWriter, r *http.Request) error {
	q := queryOf(r, "space")
	if q.err != nil {
		return q.err
	}
	fsys, name, done, err := s.fileOf(r.Context(), q.text("space"))
	if err != nil {
		return err
	}
	defer done()
	data, err := durable.ReadFile(fsys, name)
	if err != nil {
		return noFile(err)
	}
	w.Header().Set("Content-Type", "application/json; charset=utf-8")
	w.Header().Set("ETag", etag(data))
	_, _ = w.Write(data) // a client that has gone cannot be told
	return nil
}

// putFile replaces memory.json as an editor would, and has the daemon look at it at once: what can be merged is one operation that can be undone, and
// what cannot waits for a person.
func (s *Server) putFile(w http.ResponseWriter, r *http.Request) error {
	q := queryOf(r, "space")
	if q.err != nil {
		return q.err
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
	fsys, name, done, err := s.fileOf(r.Context(), q.text("space"))
	if err != nil {
		return err
	}
	defer done()
	if err := replace(fsys, name, was, append(data, '\n')); err != nil {
		return noFile(err)
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
		if e.GetFile() == name {
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
