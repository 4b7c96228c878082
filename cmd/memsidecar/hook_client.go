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
	"github.com/memsidecar/memsidecar/internal/client/hook"
	"github.com/memsidecar/memsidecar/internal/memory"
)

// hookDaemon implements hook.Daemon over gRPC.
type hookDaemon struct {
	c             *client
	space         string
	contextTokens int                     // budget of a start context
	tools         func(dir string) string // set of memory tools that the agent has
}

// hostContextTokens is how much of a context all hosts give their agents whole: Codex moves more than 2,500 tokens to a
// file, Claude Code and Cursor more than 10,000 characters, by their own counts.
const hostContextTokens = 2300

// Start starts or continues the session and returns its start context.
func (d *hookDaemon) Start(ctx context.Context, s hook.Start) (string, error) {
	resp, err := d.c.session.Start(ctx, &pb.SessionServiceStartRequest{
		Space: d.space, SessionId: s.Session, Host: s.Host, Cwd: s.Cwd, HostPid: int32(s.HostPID),
		Context: &pb.ContextOptions{TokenBudget: int32(d.contextTokens), Tools: d.tools(s.Cwd)},
	})
	return resp.GetContext(), hookError(err)
}

// hookError is an error of the daemon as hooks know it: hook.ErrPaused, or as it is.
func hookError(err error) error {
	for _, d := range status.Convert(err).Details() {
		if info, ok := d.(*errdetails.ErrorInfo); ok && info.GetReason() == "HOST_PAUSED" {
			return hook.ErrPaused
		}
	}
	return err
}

// Append appends messages from sequence number first; 0 lets the daemon number them. It returns the next number
// and how many were already stored. Errors: hook.ErrGap.
func (d *hookDaemon) Append(ctx context.Context, session string, first int64, messages []memory.Message) (int64, int,
	error) {
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
	return resp.GetNextSeq(), known, hookError(err)
}

// isGap reports whether the daemon rejected messages because earlier ones are missing.
func isGap(err error) bool {
	for _, d := range status.Convert(err).Details() {
		bad, ok := d.(*errdetails.BadRequest)
		if ok && slices.ContainsFunc(bad.GetFieldViolations(), func(v *errdetails.BadRequest_FieldViolation) bool {
			return v.GetReason() == "GAP"
		}) {
			return true
		}
	}
	return false
}

// Messages returns the stored messages from a number on, and the next number. A session that does not exist has
// none.
func (d *hookDaemon) Messages(ctx context.Context, session string, from int64) ([]memory.Message, int64, error) {
	resp, err := d.c.session.Get(ctx, &pb.SessionServiceGetRequest{Space: d.space, SessionId: session})
	if status.Code(err) == codes.NotFound {
		return nil, 1, nil
	}
	if err != nil {
		return nil, 0, hookError(err)
	}
	var out []memory.Message
	err = eachPage(func(token string) (string, error) {
		page, err := d.c.session.ListMessages(ctx, &pb.SessionServiceListMessagesRequest{
			Space: d.space, SessionId: session, FirstSeq: from, PageToken: token,
		})
		for _, m := range page.GetMessages() {
			out = append(out, messageOf(m))
		}
		return page.GetNextPageToken(), err
	})
	return out, resp.GetSession().GetNextSeq(), err
}

// messageOf converts a message of the API.
func messageOf(m *pb.SessionMessage) memory.Message {
	out := memory.Message{Seq: m.GetSeq(), At: m.GetAt().AsTime(), Role: word(m.GetRole()), Content: m.GetContent()}
	if t := m.GetTool(); t != nil {
		out.Tool = &memory.ToolCall{Name: t.GetName(), Arguments: t.GetArguments(), Result: t.GetResult(),
			Error: t.GetError(), Failed: t.GetFailed()}
	}
	return out
}

// Recall returns the block to inject for a prompt or after a failure. The daemon finds the line of the failure that
// matters: its patterns take longer to compile, in a process that lives for one event, than the whole call.
func (d *hookDaemon) Recall(ctx context.Context, session, prompt string, failed *memory.ToolCall) (string, error) {
	req := &pb.SearchServiceRecallRequest{Spaces: d.spaces(), Text: prompt, SessionId: session}
	if failed != nil {
		req.FailedTool = &pb.ToolCall{Name: failed.Name, Result: failed.Result, Error: failed.Error, Failed: true}
	}
	resp, err := d.c.search.Recall(ctx, req)
	return resp.GetBlock(), err
}

// Hint returns the block to inject before a tool call.
func (d *hookDaemon) Hint(ctx context.Context, session string, call *memory.ToolCall) (string, error) {
	resp, err := d.c.search.Hint(ctx, &pb.SearchServiceHintRequest{
		Spaces: d.spaces(), SessionId: session, Tool: call.Name, Arguments: call.Arguments,
	})
	return resp.GetBlock(), err
}

// Compacted records that the host compacted the context of the session.
func (d *hookDaemon) Compacted(ctx context.Context, session string) error {
	_, err := d.c.session.UpdateWorkingMemory(ctx, &pb.SessionServiceUpdateWorkingMemoryRequest{
		Space: d.space, SessionId: session, Compacted: true,
	})
	return hookError(err)
}

// End ends the session and lets the daemon reflect it in the background. A session without messages is no error.
func (d *hookDaemon) End(ctx context.Context, session string) error {
	_, err := d.c.session.Reflect(ctx, &pb.SessionServiceReflectRequest{Space: d.space, SessionId: session,
		Async: true})
	if status.Code(err) == codes.NotFound { // the session has no messages
		return nil
	}
	return hookError(err)
}

// spaces is the space of the hooks as a list; nil is the default space.
func (d *hookDaemon) spaces() []string {
	if d.space == "" {
		return nil
	}
	return []string{d.space}
}

// shells are the programs that run hooks for hosts and end with them.
var shells = []string{"sh", "bash", "dash", "zsh", "fish", "ash", "busybox", "env", "timeout",
	"memsidecar-hook"}

// hostPID is the process id of the host: of pid and its ancestors the nearest that is not a shell, or 0 if unknown.
func hostPID(pid int) int {
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
