package rpc

import (
	"cmp"

	pb "github.com/memsidecar/memsidecar/gen/memsidecar/v1"
	"github.com/memsidecar/memsidecar/internal/service/session"
	"github.com/memsidecar/memsidecar/internal/store"
)

// reflection converts the result of a reflection. Items come before changes when the response would be too large.
func (e encoder) reflection(done *session.Result) *pb.SessionServiceReflectResponse {
	r := &done.Reflection
	res := &pb.SessionServiceReflectResponse{
		Result:  e.result(store.Result{Op: r.Op, Replayed: r.AlreadyReflected, Outcomes: r.Outcomes}),
		Summary: r.Summary, Pending: done.Queued, Session: e.session(done.Session),
		DecidedBy: deciders[r.DecidedBy], FallbackReason: cmp.Or(r.Note, done.Waits),
	}
	for i, item := range r.Plan.Items {
		out := &pb.ReflectedItem{Decision: decisions[item.Action], TargetId: item.Target, Rule: item.Reason}
		if item.Memory.Content != "" {
			out.Memory = memoryToProto(&item.Memory)
		}
		if i < len(res.Result.Outcomes) {
			out.Outcome = res.Result.Outcomes[i]
		}
		res.Items = append(res.Items, out)
	}
	budget := newBudget()
	res.Items, res.OmittedItems = fit(budget, res.Items)
	res.Changes, res.OmittedChanges = fit(budget, e.changes(r.Changes))
	return res
}
