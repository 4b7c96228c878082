package mcpserver

import (
	"context"
	"fmt"
	"strings"

	"github.com/google/jsonschema-go/jsonschema"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	pb "github.com/memsidecar/memsidecar/gen/memsidecar/v1"
	"github.com/memsidecar/memsidecar/internal/memory"
	"github.com/memsidecar/memsidecar/internal/recall"
)

type message struct {
	Role    string `json:"role" jsonschema:"user or assistant"`
	Content string `json:"content"`
}

type reflectIn struct {
	Messages  []message `json:"messages,omitempty" jsonschema:"the conversation, in order; long passages may be left out, what the user said may not"`
	SessionID string    `json:"session_id,omitempty" jsonschema:"a session that was recorded by hooks, instead of messages"`
	DryRun    bool      `json:"dry_run,omitempty" jsonschema:"only say what would be learnt; with a session_id"`
}

type learnt struct {
	Decision string `json:"decision" jsonschema:"add, update, delete or noop"`
	ID       string `json:"id,omitempty"`
	Category string `json:"category,omitempty"`
	Content  string `json:"content,omitempty"`
	Status   string `json:"status" jsonschema:"applied, duplicate or rejected"`
	Reason   string `json:"reason,omitempty"`
}

type reflectOut struct {
	Operation int64    `json:"operation" jsonschema:"number of the operation, which memory_undo takes back; 0 when nothing changed"`
	SessionID string   `json:"session_id"`
	Summary   string   `json:"summary,omitempty"`
	Learnt    []learnt `json:"learnt"`
	DecidedBy string   `json:"decided_by,omitempty" jsonschema:"model or rules"`
	Pending   bool     `json:"pending,omitempty" jsonschema:"it is still to be done, in the background"`
	Note      string   `json:"note,omitempty"`
}

func (s *Server) addSessionTools(server *mcp.Server) {
	add(s, server, spec{
		name: "session_reflect", title: "Learn from the session", effect: undoes, slow: true,
		description: "At the end of a session: learn from the conversation what is worth remembering, in one change that memory_undo takes back. " +
			"Not needed where hooks record the session: then it is learnt from without being asked.",
		limits: func(p map[string]*jsonschema.Schema) {
			p["messages"].MaxItems = new(memory.MaxBatch)
			oneOf(p["messages"].Items.Properties["role"], "user", "assistant", "system", "tool")
		},
	}, s.reflect)
}

func (s *Server) reflect(ctx context.Context, a *api, host string, in reflectIn) (reply[reflectOut], error) {
	if (len(in.Messages) == 0) == (in.SessionID == "") {
		return reply[reflectOut]{}, askError("Give either the messages of the conversation or a session_id.")
	}
	req := &pb.SessionServiceReflectRequest{Space: a.space, SessionId: in.SessionID, DryRun: in.DryRun, IdempotencyKey: a.key}
	for _, m := range in.Messages {
		req.Messages = append(req.Messages, &pb.SessionMessage{Role: m.Role, Content: m.Content})
	}
	if len(in.Messages) > 0 {
		req.SessionId, req.Host, req.Cwd = a.key, host, s.cfg.Cwd // the same session, should this run again
	}
	res, err := a.session.Reflect(ctx, req)
	if err != nil {
		return reply[reflectOut]{}, err
	}
	out := reflectOut{
		Operation: res.GetResult().GetOperation(), SessionID: res.GetSession().GetId(), Summary: res.GetSummary(), Learnt: []learnt{},
		DecidedBy: res.GetDecidedBy(), Pending: res.GetPending(), Note: res.GetNote(),
	}
	var lines []string
	for _, item := range res.GetItems() {
		l := learnt{
			Decision: decisionWord(item.GetDecision()), ID: item.GetOutcome().GetId(), Category: item.GetMemory().GetCategory(),
			Content: item.GetMemory().GetContent(), Status: outcomeWord(item.GetOutcome().GetStatus()), Reason: item.GetOutcome().GetReason(),
		}
		out.Learnt = append(out.Learnt, l)
		lines = append(lines, fmt.Sprintf("%s [%s] %s (%s)", l.Decision, l.Category, l.Content, strings.Trim(l.Status+", "+strings.ToLower(l.Reason), ", ")))
	}
	verb := "Learnt"
	if in.DryRun {
		verb = "Would learn"
	}
	text := fmt.Sprintf("%s %d things (operation %d).\n", verb, len(lines), out.Operation)
	switch {
	case out.Pending:
		text = "The session waits to be learnt from in the background.\n"
	case len(lines) == 0:
		text = "There was nothing new to learn.\n"
	}
	return reply[reflectOut]{out, text + recall.Quoted(nonce(), strings.Join(lines, " "), lines, recall.MaxQuoted)}, nil
}
