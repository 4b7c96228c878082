package mcpserver

import (
	"context"
	"fmt"
	"strings"

	"github.com/google/jsonschema-go/jsonschema"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	pb "github.com/memsidecar/memsidecar/gen/memsidecar/v1"
	"github.com/memsidecar/memsidecar/internal/memory"
	"github.com/memsidecar/memsidecar/internal/service/recall"
)

// message is a turn of the conversation, as the agent sends it.
type message struct {
	Role    string `json:"role" jsonschema:"user or assistant"`
	Content string `json:"content"`
}

// reflectIn is the input of session_reflect. Either Messages or SessionID is set.
type reflectIn struct {
	Messages  []message `json:"messages,omitempty" jsonschema:"the conversation, in order, with every user message"`
	SessionID string    `json:"session_id,omitempty" jsonschema:"a session recorded by hooks, instead of messages"`
	DryRun    bool      `json:"dry_run,omitempty" jsonschema:"report only, change nothing; with a session_id"`
}

// decidedItem is a statement and the decision on it. The id is that of the new memory, or of the one that was
// updated, deleted or already says the same.
type decidedItem struct {
	Decision string `json:"decision" jsonschema:"add, update, delete or noop"`
	ID       string `json:"id,omitempty"`
	Category string `json:"category,omitempty"`
	Content  string `json:"content,omitempty"`
	Status   string `json:"status" jsonschema:"applied, duplicate or rejected"`
	Reason   string `json:"reason,omitempty"`
}

// reflectOut is the output of session_reflect.
type reflectOut struct {
	Operation string        `json:"operation" jsonschema:"operation id for memory_undo; empty when nothing changed"`
	SessionID string        `json:"session_id"`
	Summary   string        `json:"summary,omitempty"`
	Learnt    []decidedItem `json:"learnt"`
	Omitted   int32         `json:"omitted,omitempty" jsonschema:"number of further items, left out for size"`
	DecidedBy string        `json:"decided_by,omitempty" jsonschema:"model or rules"`
	Pending   bool          `json:"pending,omitempty" jsonschema:"the session is queued and learned from later"`
	Note      string        `json:"note,omitempty"`
}

// addSessionTools serves session_reflect.
func (s *Server) addSessionTools(server *mcp.Server) {
	addTool(s, server, toolSpec{
		name: "session_reflect", title: "Learn from the session", effect: nonIdempotent, usesModel: true,
		description: "At the end of a session: learn what is worth remembering from the conversation, in one change " +
			"that memory_undo can undo. Not needed where hooks record the session: they do the same at its end.",
		limits: func(p map[string]*jsonschema.Schema) {
			p["messages"].MaxItems = new(memory.MaxBatch)
			allowedValues(p["messages"].Items.Properties["role"], "user", "assistant", "system", "tool")
		},
	}, s.reflect)
}

// reflect runs session_reflect on the messages given, or on a recorded session.
//
// Given messages become a session whose id is the idempotency key, so a repeated call reflects on the same session
// and learns nothing twice.
func (s *Server) reflect(ctx context.Context, a *api, host string, in reflectIn) (toolReply[reflectOut], error) {
	if (len(in.Messages) == 0) == (in.SessionID == "") {
		return toolReply[reflectOut]{}, guidance("Give either the messages of the conversation or a session_id.")
	}
	req := &pb.SessionServiceReflectRequest{
		Space: a.space, SessionId: in.SessionID, DryRun: in.DryRun, IdempotencyKey: a.key,
	}
	for _, m := range in.Messages {
		role := pb.Role(pb.Role_value["ROLE_"+strings.ToUpper(m.Role)]) // the schema allows only these words
		req.Messages = append(req.Messages, &pb.SessionMessage{Role: role, Content: m.Content})
	}
	if len(in.Messages) > 0 {
		req.SessionId, req.Host, req.Cwd = a.key, host, s.cfg.Cwd // a repeated call then names the same session
	}
	res, err := a.session.Reflect(ctx, req)
	if err != nil {
		return toolReply[reflectOut]{}, err
	}
	out := reflectOut{
		Operation: res.GetResult().GetOperationId(), SessionID: res.GetSession().GetId(),
		Summary: res.GetSummary(), Learnt: []decidedItem{}, Omitted: res.GetOmittedItems(),
		DecidedBy: enumWord(res.GetDecidedBy(), "DECIDER_"), Pending: res.GetPending(), Note: res.GetFallbackReason(),
	}
	var lines []string
	for _, item := range res.GetItems() {
		l := decidedItem{
			Decision: decisionName(item.GetDecision()), ID: item.GetOutcome().GetId(),
			Category: item.GetMemory().GetCategory(), Content: item.GetMemory().GetContent(),
			Status: outcomeName(item.GetOutcome().GetStatus()), Reason: item.GetOutcome().GetReason(),
		}
		out.Learnt = append(out.Learnt, l)
		remark := strings.Trim(l.Status+", "+strings.ToLower(l.Reason), ", ")
		lines = append(lines, fmt.Sprintf("%s [%s] %s (%s)", l.Decision, l.Category, l.Content, remark))
	}
	verb := "Learnt"
	if in.DryRun {
		verb = "Would learn"
	}
	text := fmt.Sprintf("%s %d things%s.\n", verb, len(lines)+int(out.Omitted), operationNote(out.Operation))
	switch {
	case out.Pending:
		text = "The session is queued; the daemon learns from it in the background.\n"
	case len(lines) == 0:
		text = "There was nothing new to learn.\n"
	}
	return toolReply[reflectOut]{
		out, text + recall.Quoted(nonce(), strings.Join(lines, " "), lines, recall.MaxQuoted),
	}, nil
}
