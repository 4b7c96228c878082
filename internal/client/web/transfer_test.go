package web_test

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"strings"
	"testing"
	"time"

	"google.golang.org/grpc"

	pb "github.com/memsidecar/memsidecar/gen/memsidecar/v1"
	"github.com/memsidecar/memsidecar/internal/client/web"
)

// breaking is a connection to a daemon whose streams end with an error after one message.
type breaking struct{ grpc.ClientConnInterface }

func (breaking) NewStream(context.Context, *grpc.StreamDesc, string, ...grpc.CallOption) (grpc.ClientStream, error) {
	return &brokenStream{}, nil
}

type brokenStream struct {
	grpc.ClientStream
	sent bool
}

func (*brokenStream) SendMsg(any) error { return nil }
func (*brokenStream) CloseSend() error  { return nil }

func (s *brokenStream) RecvMsg(m any) error {
	if s.sent {
		return errors.New("the disk is gone")
	}
	s.sent = true
	m.(*pb.AdminServiceBackupResponse).Chunk = []byte("half of it")
	return nil
}

// A backup whose stream fails midway must not pass for a whole one.
func TestBrokenBackupIsNoWholeFile(t *testing.T) {
	listener, err := web.Listen(t.Context(), "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s := web.New(web.Config{Conn: breaking{}, Logger: slog.New(slog.DiscardHandler), Now: time.Now})
	ctx, stop := context.WithCancel(t.Context())
	served := make(chan error, 1)
	go func() { served <- s.Serve(ctx, listener) }()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, web.URL(listener.Addr())+"/api/backup", nil)
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+s.Token())
	res, err := http.DefaultClient.Do(req)
	if err == nil {
		defer res.Body.Close()
		if data, err := io.ReadAll(res.Body); err == nil {
			t.Errorf("a broken backup arrives as a whole file: status %d, %q", res.StatusCode, data)
		}
	}
	stop()
	if err := <-served; err != nil {
		t.Error(err)
	}
}

// asFile sends the body as a file.
func asFile(r *http.Request) { r.Header.Set("Content-Type", "application/octet-stream") }

func TestExportImportBackup(t *testing.T) {
	h := startDaemon(t)
	h.addMemory(t, `{"id":"a","content":"one thing","category":"facts"}`)
	read := func(path string) string {
		t.Helper()
		res := h.request(t, "GET", path, "")
		data, err := io.ReadAll(res.Body)
		if err != nil || res.StatusCode != http.StatusOK ||
			!strings.HasPrefix(res.Header.Get("Content-Disposition"), "attachment; ") {
			t.Fatalf("%s: status %d, %v, %v", path, res.StatusCode, res.Header, err)
		}
		return string(data)
	}
	exported := read("/api/export?space=default")
	if !strings.Contains(exported, `"one thing"`) || !strings.Contains(read("/api/export?format=memory.json"), "one thing") {
		t.Errorf("exported: %s", exported)
	}
	if b := read("/api/backup"); len(b) < 500 {
		t.Errorf("the backup has %d bytes", len(b))
	}
	h.requestJSON(t, 400, "GET", "/api/export?format=xml", "")
	h.requestJSON(t, 415, "POST", "/api/import", exported)
	h.requestJSON(t, 400, "POST", "/api/import", "no export", asFile)
	dry := h.requestJSON(t, 200, "POST", "/api/import?space=copy&dry_run=true", exported, asFile)
	if valueAt(dry, "counts", 0, "added") != 1.0 || len(valueAt(dry, "operation_ids").([]any)) != 0 {
		t.Errorf("dry run: %v", dry)
	}
	done := h.requestJSON(t, 200, "POST", "/api/import?space=copy", exported, asFile)
	if valueAt(done, "counts", 0, "added") != 1.0 {
		t.Errorf("import: %v", done)
	}
	if m := h.requestJSON(t, 200, "GET", "/api/memory/entries/a?space=copy", ""); valueAt(m, "content") != "one thing" {
		t.Errorf("imported: %v", m)
	}
}
