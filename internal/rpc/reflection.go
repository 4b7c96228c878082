package rpc

import (
	"cmp"

	pb "github.com/memsidecar/memsidecar/gen/memsidecar/v1"
	"github.com/memsidecar/memsidecar/internal/plan"
	"github.com/memsidecar/memsidecar/internal/session"
)

var decisions = map[plan.Action]pb.Decision{
	plan.Add:    pb.Decision_DECISION_ADD,
	plan.Update: pb.Decision_DECISION_UPDATE,
	plan.Delete: pb.Decision_DECISION_DELETE,
	plan.Noop:   pb.Decision_DECISION_NOOP,
}

func reflectionToProto(done *session.Result) *pb.SessionServiceReflectResponse {
	r := &done.Reflection
	res := &pb.SessionServiceReflectResponse{
		Result:  &pb.WriteResult{Operation: r.Op, Replayed: r.AlreadyReflected, Outcomes: outcomesToProto(r.Outcomes)},
		Summary: r.Summary, Pending: done.Queued, Session: sessionToProto(done.Session),
		DecidedBy: r.DecidedBy, Note: cmp.Or(r.Note, done.Waits), Changes: changesToProto(r.Changes),
	}
	for i, item := range r.Plan.Items {
		out := &pb.ReflectedItem{Decision: decisions[item.Action], TargetId: item.Target, Rule: item.Why}
		if item.Action == plan.Add || item.Action == plan.Update {
			out.Memory = memoryToProto(&item.Memory)
		}
		if i < len(res.Result.Outcomes) {
			out.Outcome = res.Result.Outcomes[i]
		}
		res.Items = append(res.Items, out)
	}
	return res
}
