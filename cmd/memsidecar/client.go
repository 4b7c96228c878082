package main

import (
	"context"
	"errors"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/status"

	pb "github.com/memsidecar/memsidecar/gen/memsidecar/v1"
	"github.com/memsidecar/memsidecar/internal/daemon"
	"github.com/memsidecar/memsidecar/internal/unixsock"
)

// client is a connection to a daemon.
type client struct {
	conn    *grpc.ClientConn
	info    *pb.AdminServiceInfoResponse
	health  grpc_health_v1.HealthClient
	memory  pb.MemoryServiceClient
	search  pb.SearchServiceClient
	session pb.SessionServiceClient
	working pb.WorkingMemoryServiceClient
	logs    pb.LogServiceClient
	ops     pb.OperationServiceClient
	admin   pb.AdminServiceClient

	procedure pb.ProcedureServiceClient
	review    pb.ReviewServiceClient
	learning  pb.LearningServiceClient
	view      pb.ViewServiceClient
}

// dial makes a client; it connects with the first call.
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
		working: pb.NewWorkingMemoryServiceClient(conn),
		logs:    pb.NewLogServiceClient(conn),
		ops:     pb.NewOperationServiceClient(conn),
		admin:   pb.NewAdminServiceClient(conn),

		procedure: pb.NewProcedureServiceClient(conn),
		review:    pb.NewReviewServiceClient(conn),
		learning:  pb.NewLearningServiceClient(conn),
		view:      pb.NewViewServiceClient(conn),
	}, nil
}

func (c *client) close() { _ = c.conn.Close() }

// serving reports whether the daemon takes calls. The error is that of the call; see unreachable.
func (c *client) serving(ctx context.Context) (bool, error) {
	resp, err := c.health.Check(ctx, &grpc_health_v1.HealthCheckRequest{})
	return resp.GetStatus() == grpc_health_v1.HealthCheckResponse_SERVING, err
}

// unreachable reports whether nobody answers at the socket, unlike a daemon that answers that it cannot serve.
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

// load reads the configuration, once all flags are known.
func (a *app) load() (daemon.Config, error) {
	flags := map[string]string{}
	if a.flags.data != "" {
		flags["data"] = a.flags.data
	}
	if a.flags.socket != "" {
		flags["socket"] = a.flags.socket
	}
	cfg, err := daemon.LoadConfig(flags, a.env, a.flags.config)
	if err != nil {
		return cfg, &cliError{what: "the configuration is not valid:\n" + err.Error(), code: exitUsage, cause: err,
			hint: "\"memsidecar config --help\" lists the settings."}
	}
	return cfg, nil
}

// withClient is the body of a command that talks to the daemon, which is started when none answers.
func (a *app) withClient(fn func(ctx context.Context, c *client, cmd *cobra.Command, args []string) error) func(*cobra.Command, []string) error {
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
		return fn(ctx, c, cmd, args)
	}
}

// deadline gives a call its time.
func (a *app) deadline(ctx context.Context) (context.Context, context.CancelFunc) {
	if a.flags.timeout <= 0 {
		return context.WithCancel(ctx)
	}
	return context.WithTimeout(ctx, a.flags.timeout)
}

// connect finds the daemon, or starts it unless that is not wanted.
func (a *app) connect(ctx context.Context, cfg daemon.Config) (*client, error) {
	c, err := a.find(ctx, cfg)
	if err == nil || !unreachable(err) {
		return c, err
	}
	in, err := a.instance(cfg)
	if err != nil {
		return nil, err
	}
	if in.stoppedOnPurpose() {
		return nil, &cliError{what: "the daemon was stopped with `memsidecar stop`", code: exitUnreachable,
			hint: "Start it with `memsidecar start`."}
	}
	if a.flags.noStart {
		return nil, &cliError{what: "no daemon answers at " + cfg.Socket, code: exitUnreachable,
			hint: "Start it with `memsidecar start`, or leave out --no-start."}
	}
	if err := in.start(ctx); err != nil {
		return nil, err
	}
	return a.find(ctx, cfg)
}

// find connects to a daemon that runs, and says so when it is older than this program.
func (a *app) find(ctx context.Context, cfg daemon.Config) (*client, error) {
	c, err := dial(cfg.Socket)
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
		a.out.note("the daemon is version %s, this program %s; replace it with `memsidecar restart`", c.info.GetVersion(), own)
	}
	if dir := c.info.GetDataDir(); a.flags.data != "" && !samePath(dir, cfg.Data) {
		c.close()
		return nil, &cliError{what: "the daemon at " + cfg.Socket + " serves " + dir + ", not " + cfg.Data,
			hint: "Leave out --socket or --data."}
	}
	return c, nil
}

// running connects like find, for commands that do not start a daemon: the error says that none answers.
func (a *app) running(ctx context.Context, cfg daemon.Config) (*client, error) {
	c, err := a.find(ctx, cfg)
	if err != nil && unreachable(err) {
		return nil, &cliError{what: "no daemon answers at " + cfg.Socket, code: exitUnreachable, cause: errNotRunning,
			hint: "Start it with `memsidecar start`."}
	}
	return c, err
}

var errNotRunning = errors.New("daemon is not running")

// newer reports whether version a is a later release than b. Versions that are not releases compare as equal.
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

// parseVersion takes "v1.2.3"; what follows a hyphen or plus is a build between releases, which counts as none.
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
