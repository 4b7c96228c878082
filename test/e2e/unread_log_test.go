package e2e_test

import (
	"context"
	"os"
	"syscall"
	"testing"
	"time"

	"google.golang.org/grpc"

	pb "github.com/memsidecar/memsidecar/gen/memsidecar/v1"
)

// TestLogNobodyReads: a daemon whose stderr is a pipe that nobody reads goes on answering, and ends when it is told.
func TestLogNobodyReads(t *testing.T) {
	p := newPlace(t)
	unread, log, err := os.Pipe() // 64 KiB; each request is a line of more than 100 bytes
	if err != nil {
		t.Fatal(err)
	}
	defer unread.Close()
	cmd := p.Command("daemon", "serve")
	cmd.Env = append(cmd.Env, "MEMSIDECAR_LOG_LEVEL=debug")
	cmd.Stderr = log
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	_ = log.Close()
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	defer func() { _ = cmd.Process.Kill() }()
	client := p.memories(t)
	const requests = 3000
	for n := range requests {
		// The limit is for a daemon that hangs; it says nothing about speed.
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		_, err := client.List(ctx, &pb.MemoryServiceListRequest{}, grpc.WaitForReady(true))
		cancel()
		if err != nil {
			t.Fatalf("request %d: %v", n+1, err)
		}
	}
	if err := cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	select {
	case err := <-ended:
		if err != nil {
			t.Errorf("it ended with %v", err)
		}
	case <-time.After(10 * time.Second): // what is promised
		t.Error("it does not end")
	}
}
