package mcpserver

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"strings"

	"github.com/google/jsonschema-go/jsonschema"
	"github.com/modelcontextprotocol/go-sdk/mcp"
	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	pb "github.com/memsidecar/memsidecar/gen/memsidecar/v1"
)

// effect is what a tool does to the store, for its annotations.
type effect int

const (
	reads    effect = iota // changes nothing that anybody sees
	adds                   // adds, and takes nothing away
	saves                  // may replace; doing it twice is doing it once
	replaces               // takes something out of what is found; doing it twice is doing it once
	undoes                 // takes a change back, or learns; a second time is something else
)

func (e effect) annotations() *mcp.ToolAnnotations {
	return &mcp.ToolAnnotations{
		ReadOnlyHint: e == reads, DestructiveHint: new(e == saves || e == replaces || e == undoes),
		IdempotentHint: e == reads || e == saves || e == replaces, OpenWorldHint: new(false),
	}
}

// spec says what a tool is called, when to use it, what it does.
type spec struct {
	name, title, description string
	effect                   effect
	slow                     bool                                           // it may wait for a language model
	lenient                  bool                                           // further arguments are let pass, as the server whose tools these are does
	limits                   func(properties map[string]*jsonschema.Schema) // of the input, beyond its types; may be nil
}

// reply is what a tool answers: a value of its output schema, and the same for reading. Without a text the value itself is the text.
type reply[Out any] struct {
	value Out
	text  string
}

// add serves a tool. Errors go to the agent, which can do something about most of them.
func add[In, Out any](s *Server, server *mcp.Server, sp spec, run func(ctx context.Context, a *api, host string, in In) (reply[Out], error)) {
	input, output := schema[In](sp.lenient), schema[Out](false)
	if sp.limits != nil {
		sp.limits(input.Properties)
	}
	tool := &mcp.Tool{Name: sp.name, Title: sp.title, Description: sp.description, Annotations: sp.effect.annotations(), InputSchema: input, OutputSchema: output}
	mcp.AddTool(server, tool, func(ctx context.Context, req *mcp.CallToolRequest, in In) (*mcp.CallToolResult, Out, error) {
		var out reply[Out]
		err := s.do(ctx, sp.slow, func(ctx context.Context, a *api) (err error) {
			out, err = run(ctx, a, hostOf(req.Session), in)
			return err
		})
		if err != nil {
			s.cfg.Logger.Info("tool failed", "tool", sp.name, "code", status.Code(err))
			return nil, out.value, agentError(err)
		}
		if out.text == "" {
			return nil, out.value, nil
		}
		return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: out.text}}}, out.value, nil
	})
}

// schema is that of a type, in the words that all hosts understand: some do not know that a value may have one of two types.
func schema[T any](lenient bool) *jsonschema.Schema {
	s, err := jsonschema.For[T](nil)
	if err != nil {
		panic(fmt.Sprintf("schema of %T: %v", *new(T), err)) // a type of ours; tests list every tool
	}
	plain(s, lenient)
	return s
}

func plain(s *jsonschema.Schema, lenient bool) {
	if s == nil {
		return
	}
	if len(s.Types) == 2 && s.Types[0] == "null" {
		s.Type, s.Types = s.Types[1], nil
	}
	if lenient {
		s.AdditionalProperties = nil
	}
	plain(s.Items, lenient)
	for _, p := range s.Properties {
		plain(p, lenient)
	}
}

// withoutNulls takes arguments that are null for arguments that are left out, which is what models mean by them.
func withoutNulls(next mcp.MethodHandler) mcp.MethodHandler {
	return func(ctx context.Context, method string, req mcp.Request) (mcp.Result, error) {
		call, ok := req.(*mcp.CallToolRequest)
		var args map[string]json.RawMessage
		if !ok || json.Unmarshal(call.Params.Arguments, &args) != nil {
			return next(ctx, method, req)
		}
		before := len(args)
		maps.DeleteFunc(args, func(_ string, v json.RawMessage) bool { return string(v) == "null" })
		if len(args) < before {
			if data, err := json.Marshal(args); err == nil {
				call.Params.Arguments = data
			}
		}
		return next(ctx, method, req)
	}
}

// askError is an error that says itself what to do.
type askError string

func (e askError) Error() string { return string(e) }

// agentError says for a model what went wrong, and what to do.
func agentError(err error) error {
	st, ok := status.FromError(err)
	if !ok || st.Code() == codes.Unknown {
		return err // of finding the daemon: it says what to do itself
	}
	var reason, kind string
	lines := []string{}
	for _, d := range st.Details() {
		switch d := d.(type) {
		case *errdetails.ErrorInfo:
			reason, kind = d.GetReason(), d.GetMetadata()["type"]
		case *errdetails.BadRequest:
			for _, v := range d.GetFieldViolations() {
				lines = append(lines, v.GetField()+" "+v.GetDescription())
			}
		}
	}
	what := st.Message()
	if len(lines) > 0 {
		what = "The request is not valid: " + strings.Join(lines, "; ")
	}
	hint := remedies[reason]
	if reason == "NOT_FOUND" {
		hint = lookups[kind]
	}
	switch {
	case hint != "":
	case st.Code() == codes.InvalidArgument:
		hint = "Call the tool again with values within these limits."
	case st.Code() == codes.Unavailable:
		what, hint = "The memory daemon does not answer.", "Go on without memory, and tell the user to run: memsidecar status"
	case st.Code() == codes.DeadlineExceeded:
		what, hint = "The memory daemon did not answer in time.", "Try once more; if that fails too, go on without memory."
	case st.Code() == codes.Unimplemented:
		hint = "The running daemon is another version; tell the user to run: memsidecar restart"
	default:
		hint = "Go on without it, and tell the user to run: memsidecar doctor"
	}
	return askError(strings.TrimSuffix(what, ".") + ". " + hint)
}

// remedies say what to do, by the reason of the daemon's error.
var remedies = map[string]string{
	"STALE_REVISION":  "It was changed meanwhile: read it again with memory_read, then repeat with the revision it has now.",
	"ALREADY_EXISTS":  "Another memory says exactly this already: change or read that one.",
	"READ_ONLY":       "Nothing can be saved until the user has run: memsidecar doctor. Searching goes on.",
	"DISK_FULL":       "Nothing can be saved until the user frees disk space. Searching goes on.",
	"PAUSED":          "The user has paused capture; do not save until it is resumed.",
	"NOT_UNDOABLE":    "Leave it; the user can look at it with: memsidecar ops show NUMBER",
	"HISTORY_TRIMMED": "It is too long ago to be taken back.",
	"BUSY":            "Try again in a moment.",
	"SHUTTING_DOWN":   "Try again in a moment.",
}

// lookups say where to look for what was not found, by its type.
var lookups = map[string]string{
	"memory":    "Ids come from memory_search and memory_list.",
	"title":     "Titles are compared exactly; a search or a list shows those there are.",
	"entity":    "Names are compared exactly; search_nodes finds entities, create_entities adds one.",
	"operation": "Operation numbers come with the result of each change.",
	"session":   "Give the messages of the conversation instead of an id.",
	"log":       "Read memory://logs for the days that have one.",
}

// written is what every change answers.
type written struct {
	Operation int64  `json:"operation" jsonschema:"number of the operation, which memory_undo takes back; 0 when nothing changed"`
	ID        string `json:"id,omitempty" jsonschema:"the memory or log entry concerned"`
	Status    string `json:"status" jsonschema:"applied, duplicate or rejected"`
	Reason    string `json:"reason,omitempty" jsonschema:"why it was rejected, or what is to be known of it"`
}

func writtenOf(r *pb.WriteResult) written {
	w := written{Operation: r.GetOperation(), Status: "applied"}
	if out := r.GetOutcomes(); len(out) > 0 {
		w.ID, w.Status, w.Reason = out[0].GetId(), outcomeWord(out[0].GetStatus()), out[0].GetReason()
	}
	return w
}

func outcomeWord(s pb.OutcomeStatus) string {
	switch s {
	case pb.OutcomeStatus_OUTCOME_STATUS_DUPLICATE:
		return "duplicate"
	case pb.OutcomeStatus_OUTCOME_STATUS_REJECTED:
		return "rejected"
	}
	return "applied"
}

// unit bounds a number from 0 to 1, and count one from 1 to most.
func unit(s *jsonschema.Schema) { s.Minimum, s.Maximum = new(0.0), new(1.0) }

func count(s *jsonschema.Schema, most float64) { s.Minimum, s.Maximum = new(1.0), &most }

// text bounds a text in characters.
func text(s *jsonschema.Schema, least, most int) { s.MinLength, s.MaxLength = &least, &most }

// oneOf lists the values of a word.
func oneOf(s *jsonschema.Schema, words ...any) { s.Enum = words }
