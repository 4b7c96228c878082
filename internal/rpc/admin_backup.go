package rpc

import (
	"bufio"
	"context"
	"fmt"

	"google.golang.org/grpc"

	pb "github.com/memsidecar/memsidecar/gen/memsidecar/v1"
	"github.com/memsidecar/memsidecar/internal/memory"
)

// streamChunk is how many bytes a message of a stream of bytes holds.
const streamChunk = 256 << 10

// chunks sends what is written to it.
type chunks func([]byte) error

// Write sends p as one message. It reports all of p as written or none, as bufio expects.
func (send chunks) Write(p []byte) (int, error) {
	if err := send(p); err != nil {
		return 0, err
	}
	return len(p), nil
}

// Backup streams an archive. The last message has no bytes but the position: a client that has it has all of the
// archive. Errors: memory.ErrShuttingDown, those of the file system.
func (s *adminServer) Backup(_ *pb.AdminServiceBackupRequest,
	stream grpc.ServerStreamingServer[pb.AdminServiceBackupResponse]) error {
	ctx, done := untilStop(stream.Context(), s.stopping)
	defer done()
	w := bufio.NewWriterSize(chunks(func(p []byte) error {
		return stream.Send(&pb.AdminServiceBackupResponse{Chunk: p})
	}), streamChunk)
	info, err := s.backups.Write(ctx, w)
	if err == nil {
		err = w.Flush()
	}
	if err != nil {
		return streamError(stream.Context(), ctx, err)
	}
	return stream.Send(&pb.AdminServiceBackupResponse{Position: s.position(info.LSN)})
}

// untilStop is a context that also ends when the daemon begins to stop.
func untilStop(parent context.Context, stopping <-chan struct{}) (ctx context.Context, done func()) {
	ctx, cancel := context.WithCancel(parent)
	watching := make(chan struct{})
	go func() {
		defer close(watching)
		select {
		case <-stopping:
			cancel()
		case <-ctx.Done():
		}
	}()
	return ctx, func() { cancel(); <-watching }
}

// streamError says why a stream ended: the client went away, the daemon stops, or err.
func streamError(client, ctx context.Context, err error) error {
	switch {
	case client.Err() != nil:
		return fmt.Errorf("%w (%w)", client.Err(), err)
	case ctx.Err() != nil:
		return memory.ErrShuttingDown
	}
	return err
}
