package mcpserver

import (
	"context"
	"fmt"
	"strings"

	"github.com/google/jsonschema-go/jsonschema"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	pb "github.com/memsidecar/memsidecar/gen/memsidecar/v1"
	pbalpha "github.com/memsidecar/memsidecar/gen/memsidecar/v1alpha1"
	"github.com/memsidecar/memsidecar/internal/memory"
)

// saveGuidance tells a model what is worth saving. It is a part of the description of every tool that saves.
const saveGuidance = "Save what will matter in later sessions and is not in the code: preferences, decisions and " +
	"their reasons, facts about people and systems, corrections. One statement per call, understandable without the " +
	"conversation, with absolute dates."

// writeIn is the input of memory_write.
type writeIn struct {
	Content  string   `json:"content" jsonschema:"what to remember, clear without context; at most 8,000 characters"`
	Category string   `json:"category,omitempty"` // its description is in addWriteTools, for width
	WriteTo  string   `json:"write_to,omitempty" jsonschema:"memory, or daily for today's log; default memory"`
	Salience *float64 `json:"salience,omitempty" jsonschema:"importance, 0 to 1; default 0.5"`
	Title    string   `json:"title,omitempty" jsonschema:"a unique name; the memory of this title gets the new content"`
	Tags     []string `json:"tags,omitempty" jsonschema:"at most 32"`

	description string // of MemorySave
}

// writeOut is the output of memory_write and MemorySave.
type writeOut struct {
	writeOutcome
	Decision  string `json:"decision" jsonschema:"add, update, delete or noop"`
	Why       string `json:"why,omitempty"`
	DecidedBy string `json:"decided_by,omitempty" jsonschema:"model or rules; empty when a title decided"`
	LogDate   string `json:"log_date,omitempty" jsonschema:"day of the log that has the text; with write_to daily"`
}

// addWriteTools serves the tools of SetDefault that write.
func (s *Server) addWriteTools(server *mcp.Server) {
	addTool(s, server, toolSpec{
		name: "memory_write", title: "Save to memory", effect: upsert, usesModel: true,
		description: saveGuidance + " The text is compared with known memories: it is added, updates a memory that it " +
			"refines or contradicts, or changes nothing. Old versions are kept.",
		limits: func(p map[string]*jsonschema.Schema) {
			p["category"].Description = "preferences, facts, tasks, reflections, procedural, general, or another " +
				"lower-case word; default general"
			lengthRange(p["content"], 1, memory.MaxContent)
			lengthRange(p["title"], 0, memory.MaxTitle)
			allowedValues(p["write_to"], "memory", "daily")
			unitRange(p["salience"])
		},
	}, s.write)
	addTool(s, server, toolSpec{
		name: "memory_update", title: "Change a memory", effect: destructive,
		description: "Change the given fields of one memory. With expected_revision, only if nobody changed it " +
			"meanwhile. The old version is kept.",
		limits: func(p map[string]*jsonschema.Schema) {
			lengthRange(p["content"], 1, memory.MaxContent)
			lengthRange(p["title"], 0, memory.MaxTitle)
			unitRange(p["salience"])
		},
	}, s.update)
	addTool(s, server, toolSpec{
		name: "memory_delete", title: "Forget memories", effect: destructive,
		description: "Forget memories, by id or by exact title, when the user asks for it or they are wrong. They are " +
			"no longer found nor learned again; memory_undo restores them.",
	}, s.delete)
	addTool(s, server, toolSpec{
		name: "memory_undo", title: "Undo a change", effect: nonIdempotent,
		description: "Undo one change, by the operation id that the tool returned. Fields that were changed again " +
			"since are left as they are.",
		limits: func(p map[string]*jsonschema.Schema) { lengthRange(p["operation"], 1, maxOperationID) },
	}, s.undo)
	addTool(s, server, toolSpec{
		name: "save_memory", title: "Save history and memory", effect: upsert, usesModel: true,
		description: "At the end of a task or before the conversation is shortened: append what happened to today's " +
			"history, and update the memory to what is true now, in one change. " + saveGuidance,
		limits: func(p map[string]*jsonschema.Schema) {
			p["memory_update"].Description = "what is true now, one statement per line; a heading that is a category, " +
				"such as # preferences, applies to the lines below it; other memories stay as they are"
			lengthRange(p["history_entry"], 1, memory.MaxContent)
			lengthRange(p["memory_update"], 0, memory.MaxSummary)
		},
	}, s.saveMemory)
}

// write runs memory_write. A text with a title replaces the memory of that title; any other is consolidated: the
// daemon compares it with known memories, with a language model if one is configured and by rules otherwise.
func (s *Server) write(ctx context.Context, a *api, _ string, in writeIn) (toolReply[writeOut], error) {
	if in.Title != "" && in.WriteTo != "daily" {
		return s.writeTitled(ctx, a, in)
	}
	input := &pb.ConsolidateText{
		Content: in.Content, Category: in.Category, Salience: in.Salience, Title: in.Title, Tags: in.Tags,
	}
	if in.WriteTo == "daily" {
		input.WriteTo = pb.WriteTo_WRITE_TO_DAILY
	}
	res, err := a.memory.Consolidate(ctx, &pb.MemoryServiceConsolidateRequest{
		Space: a.space, Input: &pb.MemoryServiceConsolidateRequest_Text{Text: input}, IdempotencyKey: a.key,
	})
	if err != nil {
		return toolReply[writeOut]{}, err
	}
	out := writeOut{writeOutcome: writeOutcomeOf(res.GetResult())}
	if items := res.GetItems(); len(items) > 0 { // a replayed response may have none
		out.Decision, out.Why = decisionName(items[0].GetDecision()), items[0].GetReason()
		out.DecidedBy, out.LogDate = enumWord(items[0].GetDecidedBy(), "DECIDER_"), items[0].GetLogDate()
		if id := items[0].GetId(); id != "" {
			out.ID = id
		}
	}
	if len(out.Redactions) > 0 || res.GetRedacted() > 0 && out.Status == "applied" {
		out.Reason = reasonRedacted
	}
	return toolReply[writeOut]{out, out.text()}, nil
}

// reasonRedacted is the remark that a secret was taken out of a text. Who saved it must know that a later reader will
// not find the secret.
const reasonRedacted = "REDACTED"

// writeTitled saves a text under a title. It decides by the title alone, without a model.
func (s *Server) writeTitled(ctx context.Context, a *api, in writeIn) (toolReply[writeOut], error) {
	res, err := a.titles.Save(ctx, &pbalpha.TitleServiceSaveRequest{
		Space: a.space, Title: in.Title, Content: in.Content, Category: in.Category, Salience: in.Salience,
		Tags: in.Tags, Description: in.description, IdempotencyKey: a.key,
	})
	if err != nil {
		return toolReply[writeOut]{}, err
	}
	out := writeOut{writeOutcome: writeOutcomeOf(res.GetResult()), Decision: "add"}
	switch {
	case out.Status == "duplicate":
		out.Decision = "noop"
	case res.GetReplaced():
		out.Decision = "update"
	}
	return toolReply[writeOut]{out, out.text()}, nil
}

// text is what a model reads of a change.
func (o *writeOut) text() string {
	done := map[string]string{
		"add": "Saved", "update": "Updated", "delete": "Saved in place of the outdated memory", "noop": "Already known",
	}[o.Decision]
	if o.ID != "" {
		done += " " + o.ID
	}
	if o.LogDate != "" {
		done += " in the log of " + o.LogDate
	}
	why := ""
	if o.Decision != "add" {
		why = strings.ToLower(strings.ReplaceAll(o.Why, "_", " "))
	}
	return o.writeOutcome.text(done, why)
}

// takenOut names what was taken out. Who saved it must know that a later reader will not find it.
func takenOut(list []redaction) string {
	taken := make([]memory.Redaction, len(list))
	for i, x := range list {
		taken[i] = memory.Redaction{Field: x.Field, Kind: x.Kind, From: int(x.Start), To: int(x.End)}
	}
	return "taken out before it was stored: " + memory.Redactions(taken) +
		". Only the user can insist, with: memsidecar add --keep"
}

// text is what a model reads of a write: what was done, the operation and why.
func (w *writeOutcome) text(done, why string) string {
	if w.Status == "rejected" {
		done = "Refused"
	}
	done += operationNote(w.Operation)
	switch {
	case len(w.Redactions) > 0:
		why = strings.TrimPrefix(why+"; "+takenOut(w.Redactions), "; ")
	case w.Status == "rejected" && why == "":
		why = strings.ToLower(strings.ReplaceAll(w.Reason, "_", " "))
	}
	if why != "" {
		done += ": " + why
	}
	return strings.TrimSuffix(done, ".") + "."
}

// decisionName is the word for a decision: add, update, delete or noop.
func decisionName(d pb.Decision) string { return enumWord(d, "DECISION_") }

// updateIn is the input of memory_update. Absent fields stay as they are.
type updateIn struct {
	ID               string   `json:"id" jsonschema:"the memory"`
	Content          string   `json:"content,omitempty" jsonschema:"the new text"`
	Category         string   `json:"category,omitempty"`
	Title            string   `json:"title,omitempty"`
	Salience         *float64 `json:"salience,omitempty" jsonschema:"importance, 0 to 1"`
	Tags             []string `json:"tags,omitempty" jsonschema:"replace all tags"`
	Pinned           *bool    `json:"pinned,omitempty" jsonschema:"a pinned memory never expires"`
	ExpectedRevision int64    `json:"expected_revision,omitempty" jsonschema:"fail if the memory has a newer revision"`
}

// updateOut is the output of memory_update.
type updateOut struct {
	writeOutcome
	Revision int64 `json:"revision" jsonschema:"revision of the memory after the change"`
}

// update runs memory_update. An empty text means that the field is not given, so a field cannot be cleared by this
// tool; models send empty texts for arguments that they do not use.
func (s *Server) update(ctx context.Context, a *api, _ string, in updateIn) (toolReply[updateOut], error) {
	patch := &pb.MemoryPatch{
		Content: optional(in.Content), Category: optional(in.Category), Title: optional(in.Title),
		Salience: in.Salience, Tags: in.Tags, Pinned: in.Pinned,
	}
	res, err := a.memory.Update(ctx, &pb.MemoryServiceUpdateRequest{
		Space: a.space, Id: in.ID, Patch: patch, ExpectedRevision: in.ExpectedRevision, IdempotencyKey: a.key,
	})
	if err != nil {
		return toolReply[updateOut]{}, err
	}
	out := updateOut{writeOutcomeOf(res.GetResult()), res.GetMemory().GetRevision()}
	return toolReply[updateOut]{out, out.text("Changed "+in.ID, "")}, nil
}

// deleteOut is the output of memory_delete, MemoryDelete and memory_undo.
type deleteOut struct {
	Operation string        `json:"operation" jsonschema:"operation id for memory_undo; empty when nothing changed"`
	Outcomes  []itemOutcome `json:"outcomes"`
}

// itemOutcome says what happened to one item of a write.
type itemOutcome struct {
	ID     string `json:"id"`
	Status string `json:"status" jsonschema:"applied, duplicate or rejected"`
	Reason string `json:"reason,omitempty"`
}

// outcomesOf converts the outcomes of a write, in the order of its items.
func outcomesOf(r *pb.WriteResult) []itemOutcome {
	out := []itemOutcome{}
	for _, o := range r.GetOutcomes() {
		out = append(out, itemOutcome{o.GetId(), outcomeName(o.GetStatus()), o.GetReason()})
	}
	return out
}

// delete runs memory_delete.
func (s *Server) delete(ctx context.Context, a *api, _ string, in readIn) (toolReply[deleteOut], error) {
	result, err := forgetMemories(ctx, a, in)
	if err != nil {
		return toolReply[deleteOut]{}, err
	}
	out := deleteOut{result.GetOperationId(), outcomesOf(result)}
	return toolReply[deleteOut]{out, outcomesText("Forgot", out.Operation, out.Outcomes)}, nil
}

// forgetMemories retires memories by ids or by title, in one operation. A retired memory can be restored, and its
// text is not learned again.
func forgetMemories(ctx context.Context, a *api, in readIn) (*pb.WriteResult, error) {
	switch {
	case (len(in.IDs) == 0) == (in.Title == ""):
		return nil, guidance("Give either ids or a title.")
	case in.Title != "":
		res, err := a.titles.Forget(
			ctx, &pbalpha.TitleServiceForgetRequest{Space: a.space, Title: in.Title, IdempotencyKey: a.key},
		)
		return res.GetResult(), err
	}
	res, err := a.memory.Delete(
		ctx, &pb.MemoryServiceDeleteRequest{Space: a.space, Ids: in.IDs, IdempotencyKey: a.key},
	)
	return res.GetResult(), err
}

// outcomesText says how many items changed, and why the others did not. Reasons are written as words: a model reads
// "not found" better than NOT_FOUND.
func outcomesText(verb, operation string, outcomes []itemOutcome) string {
	done, rest := 0, ""
	for _, o := range outcomes {
		if o.Status == "applied" {
			done++
			continue
		}
		rest += fmt.Sprintf(" %s: %s.", o.ID, strings.ToLower(strings.ReplaceAll(o.Reason, "_", " ")))
	}
	return fmt.Sprintf("%s %d of %d%s.", verb, done, len(outcomes), operationNote(operation)) + rest
}

// undoIn is the input of memory_undo.
type undoIn struct {
	Operation string `json:"operation" jsonschema:"id of the operation to undo"`
}

// undo runs memory_undo. The undo is an operation itself and can be undone. The id may be given without its epoch.
func (s *Server) undo(ctx context.Context, a *api, _ string, in undoIn) (toolReply[deleteOut], error) {
	res, err := a.ops.Undo(ctx, &pb.OperationServiceUndoRequest{Id: in.Operation, IdempotencyKey: a.key})
	if err != nil {
		return toolReply[deleteOut]{}, err
	}
	out := deleteOut{res.GetResult().GetOperationId(), outcomesOf(res.GetResult())}
	return toolReply[deleteOut]{
		out, outcomesText(fmt.Sprintf("Operation %s: undid", in.Operation), out.Operation, out.Outcomes),
	}, nil
}

// saveMemoryIn is the input of save_memory.
type saveMemoryIn struct {
	HistoryEntry string `json:"history_entry" jsonschema:"what happened, in two to five sentences, for the daily log"`
	MemoryUpdate string `json:"memory_update,omitempty"` // its description is in addWriteTools, for width
}

// saveMemoryOut is the output of save_memory.
type saveMemoryOut struct {
	Operation string        `json:"operation" jsonschema:"operation id for memory_undo; empty when nothing changed"`
	History   string        `json:"history,omitempty" jsonschema:"id of the entry in the daily log"`
	Memories  []decidedItem `json:"memories" jsonschema:"the decision on each statement"`
	Reason    string        `json:"reason,omitempty" jsonschema:"REDACTED when a secret was removed from the text"`

	Redactions []redaction `json:"redactions,omitempty" jsonschema:"what was taken out of the texts before they were stored"`
}

// saveMemory runs save_memory: the log entry and the memories are one operation, so both are saved or neither.
func (s *Server) saveMemory(
	ctx context.Context, a *api, _ string, in saveMemoryIn,
) (toolReply[saveMemoryOut], error) {
	res, err := a.memory.Save(ctx, &pb.MemoryServiceSaveRequest{
		Space: a.space, HistoryEntry: in.HistoryEntry, MemoryText: in.MemoryUpdate, IdempotencyKey: a.key,
	})
	if err != nil {
		return toolReply[saveMemoryOut]{}, err
	}
	out := saveMemoryOut{
		Operation: res.GetResult().GetOperationId(), History: res.GetHistory().GetId(), Memories: []decidedItem{},
	}
	var text strings.Builder
	fmt.Fprintf(&text, "Saved to the history and %d statements to the memory%s.\n",
		len(res.GetMemories()), operationNote(out.Operation))
	out.Redactions = redactionsOf(out.Redactions, res.GetHistory())
	for _, m := range res.GetMemories() {
		out.Redactions = redactionsOf(out.Redactions, m.GetOutcome())
	}
	if len(out.Redactions) > 0 {
		out.Reason = reasonRedacted
		text.WriteString("T" + strings.TrimPrefix(takenOut(out.Redactions), "t") + ".\n")
	}
	for _, m := range res.GetMemories() {
		l := decidedItem{
			Decision: decisionName(m.GetDecision()), ID: m.GetOutcome().GetId(), Content: m.GetContent(),
			Status: outcomeName(m.GetOutcome().GetStatus()), Reason: m.GetOutcome().GetReason(),
		}
		out.Memories = append(out.Memories, l)
		fmt.Fprintf(&text, "%s %s: %s\n", l.Decision, l.ID, l.Status)
	}
	return toolReply[saveMemoryOut]{out, text.String()}, nil
}
