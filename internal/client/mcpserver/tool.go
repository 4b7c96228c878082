package mcpserver

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"github.com/google/jsonschema-go/jsonschema"
	"github.com/modelcontextprotocol/go-sdk/mcp"
	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	pb "github.com/memsidecar/memsidecar/gen/memsidecar/v1"
)

// sideEffect classifies what a tool does to the store. Hosts decide by the annotations whether to ask the user.
type sideEffect int

const (
	readOnly      sideEffect = iota // changes nothing but access counts
	additive                        // adds and removes nothing
	upsert                          // may replace; idempotent
	destructive                     // removes from what searches find; idempotent
	nonIdempotent                   // may replace or remove; a second call does something else
)

// annotations are the hints of the protocol. No tool reaches beyond the local store, so the world is closed.
func (e sideEffect) annotations() *mcp.ToolAnnotations {
	return &mcp.ToolAnnotations{
		ReadOnlyHint: e == readOnly, DestructiveHint: new(e == upsert || e == destructive || e == nonIdempotent),
		IdempotentHint: e == readOnly || e == upsert || e == destructive, OpenWorldHint: new(false),
	}
}

// toolSpec describes a tool. The description tells a model when to use it.
type toolSpec struct {
	name, title, description string
	effect                   sideEffect
	usesModel                bool // it may wait for a language model, so it gets modelTimeout
	allowExtra               bool // unknown arguments are ignored, as the reference server does
	// limits adds bounds to the input's properties, beyond their types. It may be nil.
	limits func(properties map[string]*jsonschema.Schema)
}

// toolReply is the result of a tool: a value of its output schema, and the text for the model. Without a text the SDK
// makes the value's JSON the text.
type toolReply[Out any] struct {
	value Out
	text  string
}

// addTool registers a tool whose schemas come from In and Out. An error of run becomes the tool's result (isError),
// not a protocol error: a model sees it and can act on it.
func addTool[In, Out any](
	s *Server, server *mcp.Server, sp toolSpec,
	run func(ctx context.Context, a *api, host string, in In) (toolReply[Out], error),
) {
	input, output := schemaOf[In](sp.allowExtra), schemaOf[Out](false)
	if sp.limits != nil {
		sp.limits(input.Properties)
	}
	s.known.Store(sp.name, strings.Join(slices.Sorted(maps.Keys(input.Properties)), ", "))
	tool := &mcp.Tool{
		Name: sp.name, Title: sp.title, Description: sp.description, Annotations: sp.effect.annotations(),
		InputSchema: input, OutputSchema: output,
	}
	mcp.AddTool(
		server,
		tool,
		func(ctx context.Context, req *mcp.CallToolRequest, in In) (*mcp.CallToolResult, Out, error) {
			var out toolReply[Out]
			err := s.callDaemon(asHost(ctx, req.Session), sp.usesModel, func(ctx context.Context, a *api) (err error) {
				out, err = run(ctx, a, clientName(req.Session), in)
				return err
			})
			if err != nil {
				s.cfg.Logger.Info("tool failed", "tool", sp.name, "code", status.Code(err))
				return nil, out.value, toGuidance(err)
			}
			if out.text == "" {
				return nil, out.value, nil
			}
			return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: out.text}}}, out.value, nil
		},
	)
}

// schemaOf returns the JSON schema of T, restricted to what all hosts understand. With allowExtra, unknown properties
// are valid.
func schemaOf[T any](lenient bool) *jsonschema.Schema {
	s, err := jsonschema.For[T](nil)
	if err != nil {
		panic(fmt.Sprintf("schema of %T: %v", *new(T), err)) // a type of ours; tests list every tool
	}
	simplifySchema(s, lenient)
	return s
}

// simplifySchema removes the type "null" beside another type, which some hosts reject.
func simplifySchema(s *jsonschema.Schema, lenient bool) {
	if s == nil {
		return
	}
	if len(s.Types) == 2 && s.Types[0] == "null" {
		s.Type, s.Types = s.Types[1], nil
	}
	if lenient {
		s.AdditionalProperties = nil
	}
	simplifySchema(s.Items, lenient)
	for _, p := range s.Properties {
		simplifySchema(p, lenient)
	}
}

// Schemas come from Go types, so an argument has one place where its name, type and description are. Bounds that a
// tag cannot express are added by toolSpec.limits.

// normalizeArguments removes arguments that are null before they are validated: models send null for "not given".
// It also turns a number given as operation into a text: an operation id without its epoch looks like a number, and
// models write it as one.
func normalizeArguments(next mcp.MethodHandler) mcp.MethodHandler {
	return func(ctx context.Context, method string, req mcp.Request) (mcp.Result, error) {
		call, ok := req.(*mcp.CallToolRequest)
		var args map[string]json.RawMessage
		if !ok || json.Unmarshal(call.Params.Arguments, &args) != nil {
			return next(ctx, method, req)
		}
		before := len(args)
		maps.DeleteFunc(args, func(_ string, v json.RawMessage) bool { return string(v) == "null" })
		number := len(args["operation"]) > 0 && unicode.IsDigit(rune(args["operation"][0]))
		if number {
			args["operation"] = json.RawMessage(strconv.Quote(string(args["operation"])))
		}
		if len(args) < before || number {
			if data, err := json.Marshal(args); err == nil {
				call.Params.Arguments = data
			}
		}
		return next(ctx, method, req)
	}
}

// guidance is an error whose text tells a model what to do.
type guidance string

// Error returns the text.
func (e guidance) Error() string { return string(e) }

// toGuidance converts an error of the daemon into one that says what went wrong and what to do. The advice depends on
// the reason, then on the code.
func toGuidance(err error) error {
	st, ok := status.FromError(err)
	if !ok || st.Code() == codes.Unknown {
		return err // from Config.Connect, whose errors already say what to do
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
	hint := remedyByReason[reason]
	if reason == "NOT_FOUND" {
		hint = remedyByType[kind]
	}
	switch {
	case hint != "":
	case st.Code() == codes.InvalidArgument:
		hint = "Call the tool again with values within these limits."
	case st.Code() == codes.Unavailable:
		what = "The memory daemon does not answer."
		hint = "Go on without memory, and tell the user to run: memsidecar status"
	case st.Code() == codes.DeadlineExceeded && (reason == "" || reason == "DEADLINE_EXCEEDED"):
		what, hint = "The memory daemon did not answer in time.", "Try once more; if that fails too, go on without memory."
	case st.Code() == codes.Unimplemented:
		hint = "The running daemon is another version; tell the user to run: memsidecar daemon restart"
	default:
		hint = "Go on without it, and tell the user to run: memsidecar doctor"
	}
	return guidance(strings.TrimSuffix(what, ".") + ". " + hint)
}

// remedyByReason says what to do about an error of the daemon, by its reason.
var remedyByReason = map[string]string{
	"STALE_REVISION":  "It was changed meanwhile: read it again with memory_read, then repeat with its new revision.",
	"ALREADY_EXISTS":  "Another memory says exactly this already: change or read that one.",
	"READ_ONLY":       "Nothing can be saved until the user has run: memsidecar doctor. Searching goes on.",
	"READ_ONLY_SPACE": "This space is received from others and cannot be changed here; searching it goes on. Save elsewhere only if the user wants that.",
	"DISK_FULL":       "Nothing can be saved until the user frees disk space. Searching goes on.",
	"PAUSED":          "The user has paused capture; do not save until it is resumed.",
	"HOST_PAUSED":     "The user has paused memory for this program; go on without it.",
	"NOT_UNDOABLE":    "Leave it; the user can look at it with: memsidecar ops show NUMBER",
	"HISTORY_TRIMMED": "It is too old to be undone.",
	"BUSY":            "Try again in a moment.",
	"OUTCOME_UNKNOWN": "It is kept and is sent later: do not save it again.",
	"SHARE_STOPPED":   "Nothing can be saved in this space until the user has run: memsidecar share status",
	"SHUTTING_DOWN":   "Try again in a moment.",
}

// remedyByType says where to find what was not found, by its type.
var remedyByType = map[string]string{
	"memory":    "Ids come from memory_search and memory_list.",
	"title":     "Titles are compared exactly; a search or a list shows the existing ones.",
	"entity":    "Names are compared exactly; search_nodes finds entities, create_entities adds one.",
	"operation": "Operation ids come with the result of each change.",
	"session":   "Give the messages of the conversation instead of an id.",
	"log":       "Read memory://logs for the days that have one.",
}

// writeOutcome is the part that the outputs of all writes share. The change is durable.
type writeOutcome struct {
	Operation string `json:"operation" jsonschema:"operation id for memory_undo; empty when nothing changed"`
	ID        string `json:"id,omitempty" jsonschema:"the memory or log entry concerned"`
	Status    string `json:"status" jsonschema:"applied, duplicate or rejected"`
	Reason    string `json:"reason,omitempty" jsonschema:"why it was rejected, or a remark"`

	Redactions []redaction `json:"redactions,omitempty" jsonschema:"what was taken out of the text before it was stored"`
}

// redaction says where something was taken out. An agent cannot insist on storing it: what it read may have told it to,
// and a person can, with memsidecar add --keep.
type redaction struct {
	Field string `json:"field"`
	Kind  string `json:"kind" jsonschema:"what it looked like; private if the user marked it"`
	Start int32  `json:"start" jsonschema:"first character, from 0"`
	End   int32  `json:"end" jsonschema:"behind the last character"`
}

// writeOutcomeOf converts the result of a write of one item.
func writeOutcomeOf(r *pb.WriteResult) writeOutcome {
	w := writeOutcome{Operation: r.GetOperationId(), Status: "applied"}
	if out := r.GetOutcomes(); len(out) > 0 {
		w.ID, w.Status, w.Reason = out[0].GetId(), outcomeName(out[0].GetStatus()), out[0].GetReason()
		w.Redactions = redactionsOf(nil, out[0])
	}
	return w
}

// redactionsOf appends what was taken out of an item.
func redactionsOf(list []redaction, o *pb.Outcome) []redaction {
	for _, x := range o.GetRedactions() {
		list = append(list, redaction{x.GetField(), x.GetKind(), x.GetStart(), x.GetEnd()})
	}
	return list
}

// outcomeName is the word for a status: applied, duplicate or rejected. A status that this build does not know
// counts as applied.
func outcomeName(s pb.OutcomeStatus) string {
	switch s {
	case pb.OutcomeStatus_OUTCOME_STATUS_DUPLICATE:
		return "duplicate"
	case pb.OutcomeStatus_OUTCOME_STATUS_REJECTED:
		return "rejected"
	}
	return "applied"
}

// enumWord is the name of an enum value without the prefix of its enum, in lower case; "" for an unspecified one.
func enumWord(value fmt.Stringer, prefix string) string {
	word := strings.ToLower(strings.TrimPrefix(value.String(), prefix))
	if word == "unspecified" {
		return ""
	}
	return word
}

// operationNote is how a text names the operation of a write; empty for none.
func operationNote(id string) string {
	if id == "" {
		return ""
	}
	return fmt.Sprintf(" (operation %s)", id)
}

// maxOperationID is the longest operation id that memory_undo passes to the daemon, in characters.
const maxOperationID = 64

// unitRange bounds a number from 0 to 1.
func unitRange(s *jsonschema.Schema) { s.Minimum, s.Maximum = new(0.0), new(1.0) }

// countRange bounds a number from 1 to most.
func countRange(s *jsonschema.Schema, most float64) { s.Minimum, s.Maximum = new(1.0), &most }

// lengthRange bounds the length of a text, in characters.
func lengthRange(s *jsonschema.Schema, least, most int) { s.MinLength, s.MaxLength = &least, &most }

// allowedValues restricts a text to the words given.
func allowedValues(s *jsonschema.Schema, words ...any) { s.Enum = words }
