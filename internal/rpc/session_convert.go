package rpc

import (
	"fmt"

	pb "github.com/memsidecar/memsidecar/gen/memsidecar/v1"
	"github.com/memsidecar/memsidecar/internal/memory"
)

// sessionStates names the stages of sessions in messages.
var sessionStates = map[memory.SessionState]pb.SessionState{
	memory.SessionOpen:      pb.SessionState_SESSION_STATE_OPEN,
	memory.SessionEnded:     pb.SessionState_SESSION_STATE_ENDED,
	memory.SessionReflected: pb.SessionState_SESSION_STATE_REFLECTED,
}

// roles names the roles of messages. The last three are notes that the store keeps beside the messages.
var roles = map[string]pb.Role{
	"user":             pb.Role_ROLE_USER,
	"assistant":        pb.Role_ROLE_ASSISTANT,
	"system":           pb.Role_ROLE_SYSTEM,
	"tool":             pb.Role_ROLE_TOOL,
	memory.RoleSummary: pb.Role_ROLE_SUMMARY,
	memory.RoleContext: pb.Role_ROLE_CONTEXT,
	memory.RoleWorking: pb.Role_ROLE_WORKING,
}

// roleFromProto returns the role of a message that a client appends.
func roleFromProto(check *memory.Check, field string, in pb.Role) string {
	for _, name := range []string{"user", "assistant", "system", "tool"} {
		if roles[name] == in {
			return name
		}
	}
	check.Add(field, "UNKNOWN_VALUE", "must be user, assistant, system or tool")
	return ""
}

// session converts the header of a session; nil stays nil.
func (e encoder) session(s *memory.Session) *pb.Session {
	if s == nil {
		return nil
	}
	return &pb.Session{
		Id: s.ID, State: sessionStates[s.State], Host: s.Host, Cwd: s.Cwd, StartedAt: timeToProto(s.StartedAt),
		LastAt:  timeToProto(s.LastAt),
		EndedAt: timeToProto(s.EndedAt), EndReason: s.EndReason, MessageCount: s.Messages, NextSeq: s.NextSeq,
		ReflectedSeq:         s.ReflectedSeq,
		ReflectedOperationId: e.operationID(s.ReflectedOp), Summary: s.Summary,
	}
}

// messageToProto converts a message; nil stays nil.
func messageToProto(m *memory.Message) *pb.SessionMessage {
	if m == nil {
		return nil
	}
	out := &pb.SessionMessage{Seq: m.Seq, At: timeToProto(m.At), Role: roles[m.Role], Content: m.Content}
	if t := m.Tool; t != nil {
		out.Tool = &pb.ToolCall{Name: t.Name, Arguments: t.Arguments, Result: t.Result, Error: t.Error,
			Failed: t.Failed}
	}
	return out
}

// messagesFromProto converts messages and returns the number of the first one, 0 when they are not numbered.
func messagesFromProto(check *memory.Check, in []*pb.SessionMessage) (first int64, out []memory.Message) {
	if len(in) > memory.MaxBatch {
		check.Add("messages", "OUT_OF_RANGE", "has %d items; it must have 1 to %d", len(in), memory.MaxBatch)
	}
	for i, m := range in {
		field := fmt.Sprintf("messages[%d].", i)
		if i == 0 {
			first = m.GetSeq()
		}
		// Numbers let a client send again what it is unsure about: known ones are ignored. That needs them to be
		// without gaps.
		want := int64(0)
		if first != 0 {
			want = first + int64(i)
		}
		if m.GetSeq() != want || first < 0 {
			check.Add(field+"seq", "OUT_OF_ORDER",
				"must be %d: messages are numbered 1, 2, 3 without gaps, or not at all", max(want, 0))
		}
		one := memory.Message{Seq: m.GetSeq(), At: timeFromProto(check, field+"at", m.GetAt()),
			Role: roleFromProto(check, field+"role", m.GetRole()), Content: m.GetContent()}
		one.Tool = toolCallFromProto(m.GetTool())
		out = append(out, one)
	}
	return first, out
}

// toolCallFromProto converts a tool call; nil stays nil.
func toolCallFromProto(t *pb.ToolCall) *memory.ToolCall {
	if t == nil {
		return nil
	}
	return &memory.ToolCall{Name: t.GetName(), Arguments: t.GetArguments(), Result: t.GetResult(), Error: t.GetError(),
		Failed: t.GetFailed()}
}
