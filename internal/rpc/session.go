package rpc

import (
	"fmt"

	pb "github.com/memsidecar/memsidecar/gen/memsidecar/v1"
	"github.com/memsidecar/memsidecar/internal/memory"
)

var sessionStates = map[memory.SessionState]pb.SessionState{
	memory.SessionOpen:      pb.SessionState_SESSION_STATE_OPEN,
	memory.SessionEnded:     pb.SessionState_SESSION_STATE_ENDED,
	memory.SessionReflected: pb.SessionState_SESSION_STATE_REFLECTED,
}

func sessionToProto(s *memory.Session) *pb.Session {
	if s == nil {
		return nil
	}
	return &pb.Session{
		Id: s.ID, State: sessionStates[s.State], Host: s.Host, Cwd: s.Cwd, StartedAt: timeToProto(s.StartedAt), LastAt: timeToProto(s.LastAt),
		EndedAt: timeToProto(s.EndedAt), EndReason: s.EndReason, MessageCount: s.Messages, NextSeq: s.NextSeq, ReflectedSeq: s.ReflectedSeq,
		ReflectedOperation: s.ReflectedOp, Summary: s.Summary,
	}
}

func messageToProto(m *memory.Message) *pb.SessionMessage {
	if m == nil {
		return nil
	}
	out := &pb.SessionMessage{Seq: m.Seq, At: timeToProto(m.At), Role: m.Role, Content: m.Content}
	if t := m.Tool; t != nil {
		out.Tool = &pb.ToolCall{Name: t.Name, Arguments: t.Arguments, Result: t.Result, Error: t.Error, Failed: t.Failed}
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
		want := int64(0)
		if first != 0 {
			want = first + int64(i)
		}
		if m.GetSeq() != want || first < 0 {
			check.Add(field+"seq", "OUT_OF_ORDER", "must be %d: messages are numbered 1, 2, 3 without gaps, or not at all", max(want, 0))
		}
		one := memory.Message{Seq: m.GetSeq(), At: timeFromProto(check, field+"at", m.GetAt()), Role: m.GetRole(), Content: m.GetContent()}
		if t := m.GetTool(); t != nil {
			one.Tool = &memory.ToolCall{Name: t.GetName(), Arguments: t.GetArguments(), Result: t.GetResult(), Error: t.GetError(), Failed: t.GetFailed()}
		}
		out = append(out, one)
	}
	return first, out
}
