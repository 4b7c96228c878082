package main

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"slices"
	"strconv"

	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	pb "github.com/memsidecar/memsidecar/gen/memsidecar/v1"
	"github.com/memsidecar/memsidecar/internal/hook"
	"github.com/memsidecar/memsidecar/internal/memory"
)

// hookDaemon is the daemon as hooks see it.
type hookDaemon struct {
	c     *client
	space string
}

func (d *hookDaemon) Start(ctx context.Context, s hook.Start) (string, error) {
	resp, err := d.c.session.Start(ctx, &pb.SessionServiceStartRequest{
		Space: d.space, SessionId: s.Session, Host: s.Host, Cwd: s.Cwd, HostPid: int32(s.HostPID), Context: &pb.ContextOptions{},
	})
	return resp.GetContext(), err
}

func (d *hookDaemon) Append(ctx context.Context, session string, first int64, messages []memory.Message) (int64, int, error) {
	req := &pb.SessionServiceAppendRequest{Space: d.space, SessionId: session}
	for i, m := range messages {
		if first > 0 {
			m.Seq = first + int64(i)
		}
		req.Messages = append(req.Messages, messageProto(m))
	}
	resp, err := d.c.session.Append(ctx, req)
	if isGap(err) {
		return 0, 0, hook.ErrGap
	}
	known := 0
	for _, o := range resp.GetResult().GetOutcomes() {
		if o.GetStatus() == pb.OutcomeStatus_OUTCOME_STATUS_DUPLICATE {
			known++
		}
	}
	return resp.GetNextSeq(), known, err
}

func isGap(err error) bool {
	for _, d := range status.Convert(err).Details() {
		bad, ok := d.(*errdetails.BadRequest)
		if ok && slices.ContainsFunc(bad.GetFieldViolations(), func(v *errdetails.BadRequest_FieldViolation) bool { return v.GetReason() == "GAP" }) {
			return true
		}
	}
	return false
}

func (d *hookDaemon) Messages(ctx context.Context, session string, from int64) ([]memory.Message, int64, error) {
	resp, err := d.c.session.Get(ctx, &pb.SessionServiceGetRequest{Space: d.space, SessionId: session, IncludeMessages: true, FromSeq: from})
	if status.Code(err) == codes.NotFound {
		return nil, 1, nil
	}
	var out []memory.Message
	for _, m := range resp.GetMessages() {
		msg := memory.Message{Seq: m.GetSeq(), At: m.GetAt().AsTime(), Role: m.GetRole(), Content: m.GetContent()}
		if t := m.GetTool(); t != nil {
			msg.Tool = &memory.ToolCall{Name: t.GetName(), Arguments: t.GetArguments(), Result: t.GetResult(), Error: t.GetError(), Failed: t.GetFailed()}
		}
		out = append(out, msg)
	}
	return out, resp.GetSession().GetNextSeq(), err
}

func (d *hookDaemon) Recall(ctx context.Context, session, text string, tools []string) (string, error) {
	resp, err := d.c.search.Recall(ctx, &pb.SearchServiceRecallRequest{Spaces: d.spaces(), Text: text, SessionId: session, WorkingTools: tools})
	return resp.GetBlock(), err
}

func (d *hookDaemon) Hint(ctx context.Context, session string, call *memory.ToolCall) (string, error) {
	resp, err := d.c.procedure.Hint(ctx, &pb.ProcedureServiceHintRequest{
		Spaces: d.spaces(), SessionId: session, Tool: call.Name, Arguments: call.Arguments,
	})
	return resp.GetBlock(), err
}

func (d *hookDaemon) Compacted(ctx context.Context, session string) error {
	_, err := d.c.working.Update(ctx, &pb.WorkingMemoryServiceUpdateRequest{Space: d.space, SessionId: session, Compacted: true})
	return err
}

func (d *hookDaemon) End(ctx context.Context, session string) error {
	_, err := d.c.session.Reflect(ctx, &pb.SessionServiceReflectRequest{Space: d.space, SessionId: session, Wait: new(bool)})
	if status.Code(err) == codes.NotFound { // nobody said anything
		return nil
	}
	return err
}

func (d *hookDaemon) spaces() []string {
	if d.space == "" {
		return nil
	}
	return []string{d.space}
}

// shells run hooks for hosts and are gone when the hook is.
var shells = []string{"sh", "bash", "dash", "zsh", "fish", "ash", "busybox", "env", "timeout"}

// hostPID is the process that the hook works for: the parent, or whoever called the shell that is the parent. 0 when that is not known here.
func hostPID() int {
	pid := os.Getppid()
	for range 4 {
		stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
		if err != nil || pid <= 1 {
			return 0
		}
		open, end := bytes.IndexByte(stat, '('), bytes.LastIndexByte(stat, ')')
		if open < 0 || end < open {
			return 0
		}
		if !slices.Contains(shells, string(stat[open+1:end])) {
			return pid
		}
		fields := bytes.Fields(stat[end+1:])
		if len(fields) < 2 {
			return 0
		}
		if pid, err = strconv.Atoi(string(fields[1])); err != nil {
			return 0
		}
	}
	return 0
}
