package hook_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/memsidecar/memsidecar/internal/client/hook"
)

// TestAwaitTranscript: a last line that stood there before, of a session that was taken up again, is not the end of it.
func TestAwaitTranscript(t *testing.T) {
	const (
		said = `{"type":"user.message","timestamp":"2026-11-21T10:00:00Z","data":{"content":"hi"}}` + "\n"
		last = `{"type":"session.shutdown","data":{}}` + "\n"
	)
	dir := t.TempDir()
	path := filepath.Join(dir, "events.jsonl")
	write := func(text string) {
		t.Helper()
		f, err := os.OpenFile(path, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := f.WriteString(text); err != nil {
			t.Fatal(err)
		}
		if err := f.Close(); err != nil {
			t.Fatal(err)
		}
	}
	r := &hook.Runner{Host: hook.ByName("copilot"), Daemon: newDaemon(), Dir: filepath.Join(dir, "sessions"),
		Now: time.Now, Nonce: func() string { return "n" }}
	ended := hook.Event{Kind: hook.SessionEnd, Session: "s1", Transcript: path}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := r.AwaitTranscript(ctx, ended); err == nil {
		t.Error("a transcript that is not there is taken for complete")
	}
	write(said + last)
	if err := r.AwaitTranscript(t.Context(), ended); err != nil {
		t.Error(err)
	}
	if _, err := r.Run(t.Context(), ended); err != nil {
		t.Fatal(err)
	}
	write(said)
	if err := r.AwaitTranscript(ctx, ended); !errors.Is(err, context.Canceled) {
		t.Errorf("the last line of the session before is taken for this one's: %v", err)
	}
	done := make(chan error, 1)
	go func() { done <- r.AwaitTranscript(t.Context(), ended) }()
	write(last)
	if err := <-done; err != nil {
		t.Error(err)
	}
}
