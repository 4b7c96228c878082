// Package unixsock asks the kernel who is at the other end of a Unix socket, for the daemon and its clients. It does
// not interpret the bytes on it.
//
// Four layers protect the socket. Its directory and mode keep other users from opening it. The kernel reports the uid
// of the peer of every connection before a byte is read. A client asks the same of the server. A lock file beside the
// socket keeps a second daemon from taking its path.
package unixsock

import (
	"context"
	"fmt"
	"log/slog"
	"net"
	"os"
	"slices"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials"
	grpcpeer "google.golang.org/grpc/peer"

	"github.com/memsidecar/memsidecar/internal/memory"
	"github.com/memsidecar/memsidecar/internal/rpc/unixsock/peer"
	"github.com/memsidecar/memsidecar/internal/rpc/unixsock/socketpath"
)

// Largest messages of a client made by Dial, in bytes. Answers may be larger than requests: a thousand memories at
// their longest are.
const (
	maxRequest  = 17 << 20
	maxResponse = 64 << 20
)

// Peer is the process at the other end of a connection, as the kernel saw it when the connection was made.
type Peer = peer.Peer

// PeerOf asks the kernel who made or accepted a Unix socket connection.
func PeerOf(conn net.Conn) (Peer, error) { return peer.Of(conn) }

// AuthInfo is what gRPC knows of a connection's other end.
type AuthInfo struct {
	credentials.CommonAuthInfo
	Peer Peer
}

// AuthType names the mechanism.
func (AuthInfo) AuthType() string { return "unix-peer" }

// FromContext returns the caller of the gRPC request that ctx belongs to. False when the request did not come over a
// socket of this package.
func FromContext(ctx context.Context) (Peer, bool) {
	p, ok := grpcpeer.FromContext(ctx)
	if !ok {
		return Peer{}, false
	}
	info, ok := p.AuthInfo.(AuthInfo)
	return info.Peer, ok
}

// Credentials asks the kernel who is at the other end of every connection, and closes those of strangers before any
// message is read. It is safe for concurrent use.
type Credentials struct {
	allowed []uint32
	lookup  func(net.Conn) (Peer, error)
	logger  *slog.Logger
}

// NewCredentials returns credentials that accept the uids in allowed. Lookup is PeerOf, but for tests.
func NewCredentials(allowed []uint32, lookup func(net.Conn) (Peer, error), logger *slog.Logger) *Credentials {
	return &Credentials{allowed: slices.Clone(allowed), lookup: lookup, logger: logger}
}

// handshake asks the kernel who is at the other end before a byte of the request is read. PrivacyAndIntegrity
// is true of a socket between two processes of one machine, and lets gRPC send per-call credentials over it.
func (c *Credentials) handshake(conn net.Conn) (net.Conn, credentials.AuthInfo, error) {
	p, err := c.lookup(conn)
	if err != nil {
		return nil, nil, fmt.Errorf("look up peer: %w", err)
	}
	if !slices.Contains(c.allowed, p.UID) {
		c.logger.Warn("connection refused", "peer_uid", p.UID, "peer_pid", p.PID)
		return nil, nil, fmt.Errorf("%w: uid %d", memory.ErrUnauthorized, p.UID)
	}
	return conn, AuthInfo{
		CommonAuthInfo: credentials.CommonAuthInfo{SecurityLevel: credentials.PrivacyAndIntegrity},
		Peer:           p,
	}, nil
}

// ServerHandshake checks the uid of a client.
func (c *Credentials) ServerHandshake(conn net.Conn) (net.Conn, credentials.AuthInfo, error) {
	return c.handshake(conn)
}

// ClientHandshake checks the uid of a server.
func (c *Credentials) ClientHandshake(_ context.Context, _ string, conn net.Conn) (net.Conn, credentials.AuthInfo,
	error) {
	return c.handshake(conn)
}

// Info describes the mechanism.
func (c *Credentials) Info() credentials.ProtocolInfo {
	return credentials.ProtocolInfo{SecurityProtocol: "unix-peer"}
}

// Clone returns credentials that are the same.
func (c *Credentials) Clone() credentials.TransportCredentials { return c }

// OverrideServerName does nothing: a socket has no server name.
func (c *Credentials) OverrideServerName(string) error { return nil }

// Window is how many bytes either side may send ahead on a connection. It is fixed: gRPC would measure the connection
// otherwise, with a ping and its answer for most requests, and a Unix socket has no distance to fill.
const Window = 1 << 20

// Dial returns a client of the server that listens on path. It connects with the first call. A server that runs
// neither as the caller, nor as root, nor as one of the uids in trusted is refused, before anything is sent to it.
func Dial(path string, trusted ...uint32) (*grpc.ClientConn, error) {
	if err := socketpath.Check(path); err != nil {
		return nil, err
	}
	allowed := append([]uint32{uint32(os.Getuid()), 0}, trusted...)
	dial := func(ctx context.Context, _ string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, "unix", path)
	}
	// The path goes to the dialer and not into the target, so that no character of it needs escaping.
	return grpc.NewClient("passthrough:///memsidecar",
		grpc.WithContextDialer(dial),
		grpc.WithTransportCredentials(NewCredentials(allowed, PeerOf, slog.New(slog.DiscardHandler))),
		grpc.WithStaticStreamWindowSize(Window), grpc.WithStaticConnWindowSize(Window),
		grpc.WithDefaultCallOptions(grpc.MaxCallSendMsgSize(maxRequest), grpc.MaxCallRecvMsgSize(maxResponse)))
}
