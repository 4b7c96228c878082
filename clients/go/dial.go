package memsidecar

import (
	"context"
	"fmt"
	"net"
	"os"
	"path/filepath"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials"

	"github.com/memsidecar/memsidecar/clients/go/internal/peer"
)

// Largest messages, in bytes. Answers may be larger than requests: a thousand memories at their longest are.
const (
	maxRequest  = 17 << 20
	maxResponse = 64 << 20
)

// window is how many bytes the daemon may send ahead. It is fixed: gRPC would measure the connection otherwise, with a
// ping and its answer for most calls, and a Unix socket has no distance to fill.
const window = 1 << 20

// dial returns a connection to the daemon at path, which is made with the first call.
func dial(path string) (*grpc.ClientConn, error) {
	if !filepath.IsAbs(path) {
		return nil, fmt.Errorf("the path of the socket must be absolute: %q", path)
	}
	connect := func(ctx context.Context, _ string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, "unix", path)
	}
	// The path goes to the dialer and not into the target, so that no character of it needs escaping.
	return grpc.NewClient("passthrough:///memsidecar",
		grpc.WithContextDialer(connect),
		grpc.WithTransportCredentials(ownUser{}),
		grpc.WithStaticStreamWindowSize(window), grpc.WithStaticConnWindowSize(window),
		grpc.WithDefaultCallOptions(grpc.MaxCallSendMsgSize(maxRequest), grpc.MaxCallRecvMsgSize(maxResponse)))
}

// ownUser are credentials that accept a server which runs as the user of this process or as root, before anything is
// sent to it.
type ownUser struct{}

// ClientHandshake checks the uid of the server. PrivacyAndIntegrity is true of a socket between two processes of one
// machine, and lets gRPC send per-call credentials over it.
func (ownUser) ClientHandshake(_ context.Context, _ string, conn net.Conn) (net.Conn, credentials.AuthInfo, error) {
	p, err := peer.Of(conn)
	if err != nil {
		return nil, nil, fmt.Errorf("look up the server's user: %w", err)
	}
	if p.UID != uint32(os.Getuid()) && p.UID != 0 {
		return nil, nil, fmt.Errorf("the server runs as another user, uid %d", p.UID)
	}
	return conn, authInfo{credentials.CommonAuthInfo{SecurityLevel: credentials.PrivacyAndIntegrity}}, nil
}

// ServerHandshake is not for clients.
func (ownUser) ServerHandshake(net.Conn) (net.Conn, credentials.AuthInfo, error) {
	return nil, nil, fmt.Errorf("memsidecar: a client accepts no connections")
}

// Info describes the mechanism.
func (ownUser) Info() credentials.ProtocolInfo {
	return credentials.ProtocolInfo{SecurityProtocol: "unix-peer"}
}

// Clone returns credentials that are the same.
func (ownUser) Clone() credentials.TransportCredentials { return ownUser{} }

// OverrideServerName does nothing: a socket has no server name.
func (ownUser) OverrideServerName(string) error { return nil }

// authInfo is what gRPC knows of the server.
type authInfo struct{ credentials.CommonAuthInfo }

// AuthType names the mechanism.
func (authInfo) AuthType() string { return "unix-peer" }
