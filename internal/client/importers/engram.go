package importers

import (
	"encoding/json"
	"strings"

	"github.com/memsidecar/memsidecar/internal/memory"
)

// engramSession is one session of an engram export.
type engramSession struct {
	ID        flexibleString `json:"id"`
	Project   flexibleString `json:"project"`
	Directory flexibleString `json:"directory"`
	Started   flexibleTime   `json:"started_at"`
	Ended     flexibleTime   `json:"ended_at"`
	Summary   flexibleString `json:"summary"`
}

// engramObservation is one observation of an engram export, which becomes a memory.
type engramObservation struct {
	ID         flexibleString `json:"id"`
	SyncID     flexibleString `json:"sync_id"`
	Session    flexibleString `json:"session_id"`
	Type       flexibleString `json:"type"`
	Title      flexibleString `json:"title"`
	Content    flexibleString `json:"content"`
	Tool       flexibleString `json:"tool_name"`
	Project    flexibleString `json:"project"`
	Scope      flexibleString `json:"scope"`
	Topic      flexibleString `json:"topic_key"`
	Revisions  flexibleString `json:"revision_count"`
	Duplicates flexibleString `json:"duplicate_count"`
	Created    flexibleTime   `json:"created_at"`
	Updated    flexibleTime   `json:"updated_at"`
	Deleted    flexibleTime   `json:"deleted_at"`
}

// engramPrompt is one prompt of an engram export, which becomes a log entry.
type engramPrompt struct {
	SyncID  flexibleString `json:"sync_id"`
	Session flexibleString `json:"session_id"`
	Content flexibleString `json:"content"`
	Project flexibleString `json:"project"`
	Created flexibleTime   `json:"created_at"`
}

// engram reads what engram export writes. Observations become memories; summaries of sessions and prompts, which say
// what happened, entries of the daily logs.
func (r *reader) engram() error {
	summaries := map[string]memory.Evidence{} // by session; they stand before the observations
	for _, f := range r.tree.find(isJSON) {
		err := r.values(f, false, func(v jsonValue, p Place) error {
			switch v.key {
			case "sessions":
				return r.engramSession(v, p, summaries)
			case "observations":
				return r.engramObservation(v, p, summaries)
			case "prompts":
				var prompt engramPrompt
				if err := json.Unmarshal(v.raw, &prompt); err != nil {
					return r.skip(p, "is no prompt: %s", jsonProblem(err))
				}
				_, err := r.logEntry(logNote{place: p, key: string(prompt.SyncID), at: prompt.Created.Time, kind: "prompt",
					content: string(prompt.Content), session: string(prompt.Session)})
				return err
			case "version", "exported_at":
				return nil
			}
			return r.skip(p, "is nothing that is known of engram")
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// engramSession turns the summary of a session into a log entry, and records the entry as evidence for the session's
// observations.
func (r *reader) engramSession(v jsonValue, p Place, summaries map[string]memory.Evidence) error {
	var s engramSession
	if err := json.Unmarshal(v.raw, &s); err != nil {
		return r.skip(p, "is no session: %s", jsonProblem(err))
	}
	if strings.TrimSpace(string(s.Summary)) == "" {
		return r.skip(p, "is a session without a summary")
	}
	at := s.Ended.Time
	if at.IsZero() {
		at = s.Started.Time
	}
	evidence, err := r.logEntry(logNote{place: p, key: string(s.ID), at: at, kind: memory.EntrySessionSummary,
		content: string(s.Summary), session: string(s.ID)})
	if evidence.Entry != "" {
		summaries[string(s.ID)] = evidence
	}
	return err
}

// engramObservation turns one observation into a memory, with its session's summary as evidence.
func (r *reader) engramObservation(v jsonValue, p Place, summaries map[string]memory.Evidence) error {
	var o engramObservation
	if err := json.Unmarshal(v.raw, &o); err != nil {
		return r.skip(p, "is no observation: %s", jsonProblem(err))
	}
	if !o.Deleted.IsZero() {
		return r.skip(p, "was deleted there")
	}
	d := draft{
		place: p, key: string(firstText(o.SyncID, o.ID)), kind: string(o.Type), title: string(o.Title),
		content: string(o.Content), session: string(o.Session), tool: string(o.Tool),
		created: o.Created.Time, updated: o.Updated.Time, origin: map[string]any{},
	}
	if evidence, ok := summaries[string(o.Session)]; ok {
		d.evidence = []memory.Evidence{evidence}
	}
	for name, s := range map[string]flexibleString{"project": o.Project, "scope": o.Scope, "topic": o.Topic,
		"revisions": o.Revisions, "duplicates": o.Duplicates} {
		if s != "" && s != "0" && s != "1" {
			d.origin[name] = string(s)
		}
	}
	if o.Project != "" {
		d.tags = append(d.tags, string(o.Project))
	}
	return r.memory(d)
}
