package main

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/status"

	pb "github.com/memsidecar/memsidecar/gen/memsidecar/v1"
	pbalpha "github.com/memsidecar/memsidecar/gen/memsidecar/v1alpha1"
	"github.com/memsidecar/memsidecar/internal/daemon"
	"github.com/memsidecar/memsidecar/internal/memory"
	"github.com/memsidecar/memsidecar/internal/rpc/unixsock"
)

// client is a connection to a daemon, with a stub for each service.
type client struct {
	conn    *grpc.ClientConn
	info    *pb.AdminServiceInfoResponse
	health  grpc_health_v1.HealthClient
	memory  pb.MemoryServiceClient
	search  pb.SearchServiceClient
	session pb.SessionServiceClient
	logs    pb.LogServiceClient
	ops     pb.OperationServiceClient
	files   pb.FileServiceClient
	admin   pb.AdminServiceClient
	view    pbalpha.ViewServiceClient
	share   pbalpha.ShareServiceClient

	shared bool // close leaves it open for the next command
}

// dial returns a client for one command. Inside the daemon, all commands share one connection.
func (a *app) dial(socket string) (*client, error) {
	if a.inside != nil {
		c := *a.inside.client
		return &c, nil
	}
	return dial(socket)
}

// dial returns a client. The first call connects.
func dial(socket string) (*client, error) {
	conn, err := unixsock.Dial(socket)
	if err != nil {
		return nil, &cliError{what: err.Error(), code: exitUsage, hint: "Choose another socket with --socket."}
	}
	return &client{
		conn:    conn,
		health:  grpc_health_v1.NewHealthClient(conn),
		memory:  pb.NewMemoryServiceClient(conn),
		search:  pb.NewSearchServiceClient(conn),
		session: pb.NewSessionServiceClient(conn),
		logs:    pb.NewLogServiceClient(conn),
		ops:     pb.NewOperationServiceClient(conn),
		files:   pb.NewFileServiceClient(conn),
		admin:   pb.NewAdminServiceClient(conn),
		view:    pbalpha.NewViewServiceClient(conn),
		share:   pbalpha.NewShareServiceClient(conn),
	}, nil
}

// close closes the connection; calls in progress fail.
func (c *client) close() {
	if !c.shared {
		_ = c.conn.Close()
	}
}

// serving reports whether the daemon serves requests. The error is that of the health check; see unreachable.
func (c *client) serving(ctx context.Context) (bool, error) {
	resp, err := c.health.Check(ctx, &grpc_health_v1.HealthCheckRequest{})
	return resp.GetStatus() == grpc_health_v1.HealthCheckResponse_SERVING, err
}

// unreachable reports whether no daemon listens on the socket. A daemon that refuses to serve is reachable; its errors
// carry an ErrorInfo.
func unreachable(err error) bool {
	st, ok := status.FromError(err)
	if !ok || st.Code() != codes.Unavailable {
		return false
	}
	for _, d := range st.Details() {
		if _, ok := d.(*errdetails.ErrorInfo); ok {
			return false
		}
	}
	return true
}

// load reads the configuration. Call it after flags are parsed.
func (a *app) load() (daemon.Config, error) {
	if a.config != nil {
		return *a.config, nil
	}
	flags := map[string]string{}
	if a.flags.data != "" {
		flags["data"] = a.flags.data
	}
	if a.flags.socket != "" {
		flags["socket"] = a.flags.socket
	}
	for _, s := range a.flags.set {
		key, value, ok := strings.Cut(s, "=")
		if !ok {
			return daemon.Config{}, &cliError{what: fmt.Sprintf("--set is %q; it must be KEY=VALUE", s), code: exitUsage,
				hint: "\"memsidecar config --help\" describes the settings."}
		}
		flags[key] = value
	}
	cfg, err := daemon.LoadConfig(flags, a.env, a.flags.config)
	if err != nil {
		return cfg, &cliError{what: "the configuration is not valid:\n" + err.Error(), code: exitUsage, cause: err,
			hint: "\"memsidecar config --help\" describes the settings."}
	}
	return cfg, nil
}

// withClient wraps the body of a command that calls the daemon. It starts a daemon if none is running.
func (a *app) withClient(fn func(ctx context.Context, c *client, cmd *cobra.Command, args []string) error) func(
	*cobra.Command, []string) error {
	return func(cmd *cobra.Command, args []string) error {
		cfg, err := a.load()
		if err != nil {
			return err
		}
		c, err := a.connect(cmd.Context(), cfg)
		if err != nil {
			return err
		}
		defer c.close()
		ctx, cancel := a.deadline(cmd.Context())
		defer cancel()
		if err := a.wholeSession(ctx, c, cmd.Flags()); err != nil {
			return err
		}
		return fn(ctx, c, cmd, args)
	}
}

// deadline applies --timeout.
func (a *app) deadline(ctx context.Context) (context.Context, context.CancelFunc) {
	if a.flags.timeout <= 0 {
		return context.WithCancel(ctx)
	}
	return context.WithTimeout(ctx, a.flags.timeout)
}

// connect connects to the daemon, and starts one if none is running, unless --no-start or an explicit stop forbids it.
func (a *app) connect(ctx context.Context, cfg daemon.Config) (*client, error) {
	c, err := a.find(ctx, cfg)
	if err == nil || !unreachable(err) {
		return c, err
	}
	if a.inside != nil { // it is about to stop
		return nil, memory.ErrOwnProcess
	}
	in, err := a.instance(cfg)
	if err != nil {
		return nil, err
	}
	if in.stoppedOnPurpose() {
		return nil, &cliError{what: "the daemon was stopped with `memsidecar daemon stop`", code: exitUnreachable,
			hint: "Start it with `memsidecar daemon start`."}
	}
	if a.flags.noStart {
		return nil, &cliError{what: "no daemon is running at " + cfg.Socket, code: exitUnreachable,
			hint: "Start it with `memsidecar daemon start`, or omit --no-start."}
	}
	if err := in.start(ctx); err != nil {
		return nil, err
	}
	return a.find(ctx, cfg)
}

// find connects to a running daemon, and notes on standard error if that daemon is older than this program.
func (a *app) find(ctx context.Context, cfg daemon.Config) (*client, error) {
	c, err := a.dial(cfg.Socket)
	if err != nil {
		return nil, err
	}
	ctx, cancel := a.deadline(ctx)
	defer cancel()
	c.info, err = c.admin.Info(ctx, &pb.AdminServiceInfoRequest{})
	if err != nil {
		c.close()
		return nil, err
	}
	if own := programVersion(); newer(own, c.info.GetVersion()) {
		a.out.note("the daemon is version %s, this program is %s; run `memsidecar daemon restart`", c.info.GetVersion(),
			own)
	}
	if dir := c.info.GetDataDir(); a.flags.data != "" && !samePath(dir, cfg.Data) {
		c.close()
		return nil, &cliError{what: "the daemon at " + cfg.Socket + " serves " + dir + ", not " + cfg.Data,
			hint: "Omit --socket or --data."}
	}
	return c, nil
}

// running is find for commands that never start a daemon. It returns errNotRunning if none is running.
func (a *app) running(ctx context.Context, cfg daemon.Config) (*client, error) {
	c, err := a.find(ctx, cfg)
	if err != nil && unreachable(err) {
		return nil, &cliError{what: "no daemon is running at " + cfg.Socket, code: exitUnreachable,
			cause: errNotRunning,
			hint:  "Start it with `memsidecar daemon start`."}
	}
	return c, err
}

// errNotRunning marks an error that means that no daemon is running.
var errNotRunning = errors.New("daemon is not running")

// newer reports whether release a is later than release b. Versions that are not releases are never newer.
func newer(a, b string) bool {
	va, ok := parseVersion(a)
	vb, ok2 := parseVersion(b)
	if !ok || !ok2 {
		return false
	}
	for i := range va {
		if va[i] != vb[i] {
			return va[i] > vb[i]
		}
	}
	return false
}

// parseVersion parses "v1.2.3". Prereleases and builds ("v1.2.3-rc1") are not releases.
func parseVersion(s string) (v [3]int, ok bool) {
	s, found := strings.CutPrefix(s, "v")
	parts := strings.Split(s, ".")
	if !found || len(parts) != 3 {
		return v, false
	}
	for i, p := range parts {
		n, err := strconv.Atoi(p)
		if err != nil || n < 0 {
			return v, false
		}
		v[i] = n
	}
	return v, true
}

// eachPage calls fetch with the token of each page, first with "", until fetch returns no next token.
func eachPage(fetch func(token string) (next string, err error)) error {
	for token := ""; ; {
		next, err := fetch(token)
		if err != nil || next == "" {
			return err
		}
		token = next
	}
}
