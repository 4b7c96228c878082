package mcpserver

import (
	"context"
	"fmt"
	"strings"

	"github.com/google/jsonschema-go/jsonschema"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	pb "github.com/memsidecar/memsidecar/gen/memsidecar/v1"
	"github.com/memsidecar/memsidecar/internal/memory"
)

const whatToSave = "Save what will matter in later sessions and cannot be read from the code: preferences, decisions and their reasons, facts about people and systems, corrections. " +
	"One thing per call, in words that stand on their own, with absolute dates."

type writeIn struct {
	Content  string   `json:"content" jsonschema:"what to remember, in words that stand on their own; at most 8,000 characters"`
	Category string   `json:"category,omitempty" jsonschema:"preferences, facts, tasks, reflections, procedural, general, or another lower-case word; default general"`
	WriteTo  string   `json:"write_to,omitempty" jsonschema:"memory for what lasts, daily for an entry in today's log; default memory"`
	Salience *float64 `json:"salience,omitempty" jsonschema:"importance, 0 to 1; default 0.5"`
	Title    string   `json:"title,omitempty" jsonschema:"a name, if it is to be found and replaced by exactly that; a memory of that title gets the new content"`
	Tags     []string `json:"tags,omitempty" jsonschema:"at most 32"`
}

type writeOut struct {
	written
	Decision  string `json:"decision" jsonschema:"add, update, delete or noop"`
	Why       string `json:"why,omitempty"`
	DecidedBy string `json:"decided_by,omitempty" jsonschema:"model or rules; empty when a title decided"`
}

func (s *Server) addWriteTools(server *mcp.Server) {
	add(s, server, spec{
		name: "memory_write", title: "Save to memory", effect: saves, slow: true,
		description: whatToSave + " What is known already is compared first: the text is added, updates what it refines or contradicts, or changes nothing. Old versions are kept.",
		limits: func(p map[string]*jsonschema.Schema) {
			text(p["content"], 1, memory.MaxContent)
			text(p["title"], 0, memory.MaxTitle)
			oneOf(p["write_to"], "memory", "daily")
			unit(p["salience"])
		},
	}, s.write)
	add(s, server, spec{
		name: "memory_update", title: "Change a memory", effect: replaces,
		description: "Change one memory: only the fields that are given. With expected_revision, only if nobody changed it meanwhile. The old version is kept.",
		limits: func(p map[string]*jsonschema.Schema) {
			text(p["content"], 1, memory.MaxContent)
			text(p["title"], 0, memory.MaxTitle)
			unit(p["salience"])
		},
	}, s.update)
	add(s, server, spec{
		name: "memory_delete", title: "Forget memories", effect: replaces,
		description: "Forget memories, by id or by exact title, when the user asks for it or what they say is wrong. They are no longer found nor learnt again; memory_undo brings them back.",
	}, s.delete)
	add(s, server, spec{
		name: "memory_undo", title: "Undo a change", effect: undoes,
		description: "Take back one change of the memory, by the operation number that the tool which made it returned. What was changed again since is left alone.",
		limits:      func(p map[string]*jsonschema.Schema) { p["operation"].Minimum = new(1.0) },
	}, s.undo)
	add(s, server, spec{
		name: "save_memory", title: "Save history and memory", effect: saves, slow: true,
		description: "At the end of a task or before the conversation is shortened: append what happened to today's history, and bring the memory up to date with what is true now, in one change. " + whatToSave,
		limits: func(p map[string]*jsonschema.Schema) {
			text(p["history_entry"], 1, memory.MaxContent)
			text(p["memory_update"], 0, memory.MaxSummary)
		},
	}, s.saveMemory)
}

func (s *Server) write(ctx context.Context, a *api, _ string, in writeIn) (reply[writeOut], error) {
	if in.Title != "" && in.WriteTo != "daily" {
		return s.writeTitled(ctx, a, in)
	}
	req := &pb.MemoryServiceConsolidateRequest{
		Space: a.space, Content: in.Content, Category: in.Category, Salience: in.Salience, Title: in.Title, Tags: in.Tags, IdempotencyKey: a.key,
	}
	if in.WriteTo == "daily" {
		req.WriteTo = pb.WriteTo_WRITE_TO_DAILY
	}
	res, err := a.memory.Consolidate(ctx, req)
	if err != nil {
		return reply[writeOut]{}, err
	}
	out := writeOut{written: writtenOf(res.GetResult()), Decision: decisionWord(res.GetDecision()), Why: res.GetReason(), DecidedBy: res.GetDecidedBy()}
	if res.GetId() != "" {
		out.ID = res.GetId()
	}
	return reply[writeOut]{out, out.say()}, nil
}

func (s *Server) writeTitled(ctx context.Context, a *api, in writeIn) (reply[writeOut], error) {
	res, err := a.titles.Save(ctx, &pb.TitleServiceSaveRequest{
		Space: a.space, Title: in.Title, Content: in.Content, Category: in.Category, Salience: in.Salience, Tags: in.Tags, IdempotencyKey: a.key,
	})
	if err != nil {
		return reply[writeOut]{}, err
	}
	out := writeOut{written: writtenOf(res.GetResult()), Decision: "add"}
	switch {
	case out.Status == "duplicate":
		out.Decision = "noop"
	case res.GetReplaced():
		out.Decision = "update"
	}
	return reply[writeOut]{out, out.say()}, nil
}

// say is what a model reads of a change.
func (o *writeOut) say() string {
	done := map[string]string{"add": "Saved", "update": "Updated", "delete": "Retired what no longer holds,", "noop": "Nothing to do: it is known already"}[o.Decision]
	if o.ID != "" {
		done += " " + o.ID
	}
	why := ""
	if o.Decision != "add" {
		why = strings.ToLower(strings.ReplaceAll(o.Why, "_", " "))
	}
	return o.written.say(done, why)
}

func (w *written) say(done, why string) string {
	if w.Status == "rejected" {
		done = "Refused"
	}
	if w.Operation != 0 {
		done += fmt.Sprintf(" (operation %d)", w.Operation)
	}
	switch {
	case w.Reason == "REDACTED":
		why = strings.TrimPrefix(why+"; a secret was taken out of the text", "; ")
	case w.Status == "rejected" && why == "":
		why = strings.ToLower(strings.ReplaceAll(w.Reason, "_", " "))
	}
	if why != "" {
		done += ": " + why
	}
	return strings.TrimSuffix(done, ".") + "."
}

func decisionWord(d pb.Decision) string {
	return strings.ToLower(strings.TrimPrefix(d.String(), "DECISION_"))
}

type updateIn struct {
	ID               string   `json:"id" jsonschema:"the memory"`
	Content          string   `json:"content,omitempty" jsonschema:"what it says from now on"`
	Category         string   `json:"category,omitempty"`
	Title            string   `json:"title,omitempty"`
	Salience         *float64 `json:"salience,omitempty" jsonschema:"importance, 0 to 1"`
	Tags             []string `json:"tags,omitempty" jsonschema:"replace all tags"`
	Pinned           *bool    `json:"pinned,omitempty" jsonschema:"a pinned memory never expires"`
	ExpectedRevision int64    `json:"expected_revision,omitempty" jsonschema:"the revision that was read; the change is refused when there is a newer one"`
}

type updateOut struct {
	written
	Revision int64 `json:"revision" jsonschema:"the memory's, after the change"`
}

func (s *Server) update(ctx context.Context, a *api, _ string, in updateIn) (reply[updateOut], error) {
	patch := &pb.MemoryPatch{
		Content: given(in.Content), Category: given(in.Category), Title: given(in.Title), Salience: in.Salience, Tags: in.Tags, Pinned: in.Pinned,
	}
	res, err := a.memory.Update(ctx, &pb.MemoryServiceUpdateRequest{Space: a.space, Id: in.ID, Patch: patch, ExpectedRevision: in.ExpectedRevision, IdempotencyKey: a.key})
	if err != nil {
		return reply[updateOut]{}, err
	}
	out := updateOut{writtenOf(res.GetResult()), res.GetMemory().GetRevision()}
	return reply[updateOut]{out, out.say("Changed "+in.ID, "")}, nil
}

type deleteOut struct {
	Operation int64         `json:"operation" jsonschema:"number of the operation, which memory_undo takes back; 0 when nothing changed"`
	Outcomes  []itemOutcome `json:"outcomes"`
}

type itemOutcome struct {
	ID     string `json:"id"`
	Status string `json:"status" jsonschema:"applied, duplicate or rejected"`
	Reason string `json:"reason,omitempty"`
}

func outcomesOf(r *pb.WriteResult) []itemOutcome {
	out := []itemOutcome{}
	for _, o := range r.GetOutcomes() {
		out = append(out, itemOutcome{o.GetId(), outcomeWord(o.GetStatus()), o.GetReason()})
	}
	return out
}

func (s *Server) delete(ctx context.Context, a *api, _ string, in readIn) (reply[deleteOut], error) {
	result, err := forget(ctx, a, in)
	if err != nil {
		return reply[deleteOut]{}, err
	}
	out := deleteOut{result.GetOperation(), outcomesOf(result)}
	return reply[deleteOut]{out, sayOutcomes("Forgot", out.Operation, out.Outcomes)}, nil
}

func forget(ctx context.Context, a *api, in readIn) (*pb.WriteResult, error) {
	switch {
	case (len(in.IDs) == 0) == (in.Title == ""):
		return nil, askError("Give either ids or a title.")
	case in.Title != "":
		res, err := a.titles.Forget(ctx, &pb.TitleServiceForgetRequest{Space: a.space, Title: in.Title, IdempotencyKey: a.key})
		return res.GetResult(), err
	}
	res, err := a.memory.Delete(ctx, &pb.MemoryServiceDeleteRequest{Space: a.space, Ids: in.IDs, IdempotencyKey: a.key})
	return res.GetResult(), err
}

func sayOutcomes(verb string, operation int64, outcomes []itemOutcome) string {
	done, rest := 0, ""
	for _, o := range outcomes {
		if o.Status == "applied" {
			done++
			continue
		}
		rest += fmt.Sprintf(" %s: %s.", o.ID, strings.ToLower(strings.ReplaceAll(o.Reason, "_", " ")))
	}
	text := fmt.Sprintf("%s %d of %d", verb, done, len(outcomes))
	if operation != 0 {
		text += fmt.Sprintf(" (operation %d)", operation)
	}
	return text + "." + rest
}

type undoIn struct {
	Operation int64 `json:"operation" jsonschema:"number of the operation to take back"`
}

func (s *Server) undo(ctx context.Context, a *api, _ string, in undoIn) (reply[deleteOut], error) {
	res, err := a.ops.Undo(ctx, &pb.OperationServiceUndoRequest{Number: in.Operation, IdempotencyKey: a.key})
	if err != nil {
		return reply[deleteOut]{}, err
	}
	out := deleteOut{res.GetResult().GetOperation(), outcomesOf(res.GetResult())}
	return reply[deleteOut]{out, sayOutcomes(fmt.Sprintf("Operation %d: took back", in.Operation), out.Operation, out.Outcomes)}, nil
}

type saveMemoryIn struct {
	HistoryEntry string `json:"history_entry" jsonschema:"what happened, in two to five sentences, for the daily log"`
	MemoryUpdate string `json:"memory_update,omitempty" jsonschema:"what is true now, one statement a line; a heading that is a category, such as # preferences, holds for the lines below it; what it does not say stays as it is"`
}

type saveMemoryOut struct {
	Operation int64    `json:"operation" jsonschema:"number of the operation, which memory_undo takes back; 0 when nothing changed"`
	History   string   `json:"history,omitempty" jsonschema:"id of the entry in the daily log"`
	Memories  []learnt `json:"memories" jsonschema:"what became of each statement"`
}

// saveMemory keeps what happened and what is true now, both or neither.
func (s *Server) saveMemory(ctx context.Context, a *api, _ string, in saveMemoryIn) (reply[saveMemoryOut], error) {
	res, err := a.learning.SaveMemory(ctx, &pb.LearningServiceSaveMemoryRequest{
		Space: a.space, HistoryEntry: in.HistoryEntry, MemoryText: in.MemoryUpdate, IdempotencyKey: a.key,
	})
	if err != nil {
		return reply[saveMemoryOut]{}, err
	}
	out := saveMemoryOut{Operation: res.GetResult().GetOperation(), History: res.GetHistory().GetId(), Memories: []learnt{}}
	var said strings.Builder
	fmt.Fprintf(&said, "Saved to the history and %d statements to the memory (operation %d).\n", len(res.GetMemories()), out.Operation)
	for _, m := range res.GetMemories() {
		l := learnt{
			Decision: decisionWord(m.GetDecision()), ID: m.GetOutcome().GetId(), Content: m.GetContent(),
			Status: outcomeWord(m.GetOutcome().GetStatus()), Reason: m.GetOutcome().GetReason(),
		}
		out.Memories = append(out.Memories, l)
		fmt.Fprintf(&said, "%s %s: %s\n", l.Decision, l.ID, l.Status)
	}
	return reply[saveMemoryOut]{out, said.String()}, nil
}
