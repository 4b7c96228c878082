package main

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"time"

	"github.com/gofrs/flock"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	pb "github.com/memsidecar/memsidecar/gen/memsidecar/v1"
	"github.com/memsidecar/memsidecar/internal/daemon"
)

// promptWait is how long a prompt waits for its memories, from the start of the program. The process itself takes some 10 ms more.
const promptWait = 30 * time.Millisecond

// Why a prompt got nothing, beside the daemon's own reasons.
const (
	quietStopped = "STOPPED"  // the daemon was stopped on purpose
	quietDown    = "DOWN"     // none answers
	quietLate    = "TOO_LATE" // it took too long
	quietFailed  = "FAILED"   // anything else; the log has the error
)

// recallOrNothing recalls for a prompt that must neither fail nor wait: whatever goes wrong, the answer is empty and the reason in the log. A
// daemon that does not run is started for the next prompt, and not waited for.
func (a *app) recallOrNothing(ctx context.Context, req *pb.SearchServiceRecallRequest, arg string, limit time.Duration) error {
	began := a.now()
	resp, in, err := a.recallQuick(ctx, req, arg, limit)
	if err != nil {
		resp = &pb.SearchServiceRecallResponse{Reason: quietFailed}
		switch {
		case unreachable(err) && in != nil && in.stoppedOnPurpose():
			resp.Reason = quietStopped
		case unreachable(err):
			resp.Reason = quietDown
		case errors.Is(err, context.DeadlineExceeded) || status.Code(err) == codes.DeadlineExceeded:
			resp.Reason = quietLate
		}
		a.sayNothing(in, resp.Reason, err, began)
	}
	return a.out.result(resp, func() { a.out.printf("%s", resp.GetBlock()) })
}

// recallQuick makes the one call. The instance is nil when the configuration does not say which it is.
func (a *app) recallQuick(ctx context.Context, req *pb.SearchServiceRecallRequest, arg string, limit time.Duration) (*pb.SearchServiceRecallResponse, *instance, error) {
	cfg, err := a.load()
	if err != nil {
		return nil, nil, err
	}
	in, err := a.instance(cfg)
	if err != nil {
		return nil, nil, err
	}
	if req.Text, err = a.text(arg); err != nil {
		return nil, in, err
	}
	req.Spaces = a.spaces()
	c, err := dial(cfg.Socket)
	if err != nil {
		return nil, in, err
	}
	defer c.close()
	ctx, cancel := context.WithTimeout(ctx, limit) // behind the reading of the prompt, which is the host's time
	defer cancel()
	resp, err := c.search.Recall(ctx, req)
	return resp, in, err
}

// sayNothing notes why nothing is said, and starts a daemon where that helps. Its own errors have nowhere to go.
func (a *app) sayNothing(in *instance, reason string, err error, began time.Time) {
	level := slog.LevelWarn
	if reason == quietStopped {
		level = slog.LevelInfo
	}
	log := a.promptLog(in)
	defer log.Close()
	newLogger(log, slog.LevelInfo).Log(context.Background(), level, "nothing recalled for a prompt", "reason", reason, "err", err, "after", a.now().Sub(began))
	if reason == quietDown && in != nil && !a.flags.noStart {
		in.kick()
	}
}

// promptLog is the log of the daemon of in, or of the default one.
func (a *app) promptLog(in *instance) io.WriteCloser {
	path := ""
	if in != nil {
		path = in.logFile()
	} else if dir, err := daemon.StateDir(a.env); err == nil {
		path = filepath.Join(dir, "daemon.log")
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o700); path != "" && err == nil {
		if f, err := os.OpenFile(path, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600); err == nil {
			return f
		}
	}
	return nowhere{a.stderr} // a host shows it when it is asked for details
}

// nowhere is a writer that needs no closing.
type nowhere struct{ io.Writer }

func (nowhere) Close() error { return nil }

// kick starts a daemon without waiting for it, unless somebody is starting or stopping one.
func (in *instance) kick() {
	lock := flock.New(in.base+".start", flock.SetPermissions(0o600))
	if got, err := lock.TryLock(); !got || err != nil {
		return
	}
	defer func() { _ = lock.Unlock() }()
	if _, err := in.spawn(); err != nil {
		in.app.out.note("the daemon was not started: %v", err)
	}
}
