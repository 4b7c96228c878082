package rpc

import (
	"context"
	"errors"
	"os"
	"testing"

	"google.golang.org/grpc/peer"

	pb "github.com/memsidecar/memsidecar/gen/memsidecar/v1alpha1"
	"github.com/memsidecar/memsidecar/internal/memory"
	"github.com/memsidecar/memsidecar/internal/rpc/unixsock"
)

// TestCommandIsForTheUser: commands read files with the daemon's rights, so they run for nobody but its own user.
func TestCommandIsForTheUser(t *testing.T) {
	ran := 0
	s := &commandServer{run: func(context.Context, Command) ([]byte, error) { ran++; return []byte("out"), nil }}
	as := func(uid uint32) context.Context {
		return peer.NewContext(t.Context(), &peer.Peer{AuthInfo: unixsock.AuthInfo{Peer: unixsock.Peer{UID: uid}}})
	}
	own := uint32(os.Getuid())
	for _, ctx := range []context.Context{t.Context(), as(own + 1)} {
		if _, err := s.Run(ctx, &pb.CommandServiceRunRequest{}); !errors.Is(err, memory.ErrUnauthorized) || ran > 0 {
			t.Errorf("%v, ran %d times", err, ran)
		}
	}
	if res, err := s.Run(as(own), &pb.CommandServiceRunRequest{}); err != nil || string(res.GetOutput()) != "out" {
		t.Errorf("%v, %v", res, err)
	}
	if _, err := (&commandServer{}).Run(as(own), nil); !errors.Is(err, memory.ErrOwnProcess) {
		t.Errorf("without commands: %v", err)
	}
}
