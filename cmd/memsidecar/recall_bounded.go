package main

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	pb "github.com/memsidecar/memsidecar/gen/memsidecar/v1"
	"github.com/memsidecar/memsidecar/internal/daemon/userdirs"
	"github.com/memsidecar/memsidecar/internal/memory"
	"github.com/memsidecar/memsidecar/internal/process/filelock"
)

// promptWait limits how long a prompt waits for its memories. The process itself takes about 10 ms more.
const promptWait = 30 * time.Millisecond

// Reasons of an empty recall, beside those of the daemon.
const (
	emptyStopped = "STOPPED"  // the daemon was stopped on purpose
	emptyDown    = "DOWN"     // no daemon is running
	emptyTimeout = "TOO_LATE" // the time limit passed
	emptyFailed  = "FAILED"   // any other error; the log has it
)

// recallOrNothing recalls for a prompt that must neither fail nor wait. On any error the output is empty and the log
// has the reason. If no daemon is running, one is started in the background for the next prompt.
func (a *app) recallOrNothing(ctx context.Context, req *pb.SearchServiceRecallRequest, arg string,
	limit time.Duration) error {
	began := a.now()
	resp, in, err := a.recallWithin(ctx, req, arg, limit)
	if a.inside != nil && unreachable(err) {
		return memory.ErrOwnProcess
	}
	if err != nil {
		resp = &pb.SearchServiceRecallResponse{Reason: emptyFailed}
		switch {
		case unreachable(err) && in != nil && in.stoppedOnPurpose():
			resp.Reason = emptyStopped
		case unreachable(err):
			resp.Reason = emptyDown
		case errors.Is(err, context.DeadlineExceeded) || status.Code(err) == codes.DeadlineExceeded:
			resp.Reason = emptyTimeout
		}
		a.logEmpty(in, resp.Reason, err, began)
	}
	return a.out.result(resp, func() { a.out.printf("%s", resp.GetBlock()) })
}

// recallWithin makes the call within limit. The instance is nil if the configuration is not valid.
func (a *app) recallWithin(ctx context.Context, req *pb.SearchServiceRecallRequest, arg string,
	limit time.Duration) (*pb.SearchServiceRecallResponse, *instance, error) {
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
	c, err := a.dial(cfg.Socket)
	if err != nil {
		return nil, in, err
	}
	defer c.close()
	ctx, cancel := context.WithTimeout(ctx, limit) // after reading the prompt, which depends on the host
	defer cancel()
	resp, err := c.search.Recall(ctx, req)
	return resp, in, err
}

// logEmpty logs the reason of an empty recall, and starts a daemon if none is running. Its own errors are dropped.
func (a *app) logEmpty(in *instance, reason string, err error, began time.Time) {
	level := slog.LevelWarn
	if reason == emptyStopped {
		level = slog.LevelInfo
	}
	log := a.promptLog(in)
	defer log.Close()
	newLogger(log, slog.LevelInfo).Log(context.Background(), level, "prompt recall is empty", "reason", reason, "err",
		err, "after", a.now().Sub(began))
	if reason == emptyDown && in != nil && !a.flags.noStart {
		in.startInBackground()
	}
}

// promptLog opens the log of the daemon in, or of the default daemon if in is nil.
func (a *app) promptLog(in *instance) io.WriteCloser {
	path := ""
	if in != nil {
		path = in.logFile()
	} else if dir, err := userdirs.State(a.env); err == nil {
		path = filepath.Join(dir, "daemon.log")
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o700); path != "" && err == nil {
		if f, err := os.OpenFile(path, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600); err == nil {
			return f
		}
	}
	return nopCloser{a.stderr} // hosts show standard error on request
}

// nopCloser is a writer whose Close does nothing.
type nopCloser struct{ io.Writer }

func (nopCloser) Close() error { return nil }

// startInBackground starts a daemon without waiting for it, unless another client is starting or stopping one.
func (in *instance) startInBackground() {
	lock, err := filelock.Try(in.base + ".start")
	if err != nil {
		return
	}
	defer func() { _ = lock.Release() }()
	if _, err := in.spawn(); err != nil {
		in.app.out.note("cannot start the daemon: %v", err)
	}
}
