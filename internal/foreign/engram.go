package foreign

import (
	"encoding/json"
	"strings"

	"github.com/memsidecar/memsidecar/internal/memory"
)

type engramSession struct {
	ID        text `json:"id"`
	Project   text `json:"project"`
	Directory text `json:"directory"`
	Started   when `json:"started_at"`
	Ended     when `json:"ended_at"`
	Summary   text `json:"summary"`
}

type engramObservation struct {
	ID         text `json:"id"`
	SyncID     text `json:"sync_id"`
	Session    text `json:"session_id"`
	Type       text `json:"type"`
	Title      text `json:"title"`
	Content    text `json:"content"`
	Tool       text `json:"tool_name"`
	Project    text `json:"project"`
	Scope      text `json:"scope"`
	Topic      text `json:"topic_key"`
	Revisions  text `json:"revision_count"`
	Duplicates text `json:"duplicate_count"`
	Created    when `json:"created_at"`
	Updated    when `json:"updated_at"`
	Deleted    when `json:"deleted_at"`
}

type engramPrompt struct {
	SyncID  text `json:"sync_id"`
	Session text `json:"session_id"`
	Content text `json:"content"`
	Project text `json:"project"`
	Created when `json:"created_at"`
}

// engram reads what engram export writes. Observations become memories; summaries of sessions and prompts, which say what happened, entries of the daily logs.
func (r *reader) engram() error {
	summaries := map[string]memory.Evidence{} // by session; they stand before the observations
	for _, f := range r.tree.find(isJSON) {
		err := r.values(f, false, func(v value, p Place) error {
			switch v.key {
			case "sessions":
				return r.engramSession(v, p, summaries)
			case "observations":
				return r.engramObservation(v, p, summaries)
			case "prompts":
				var prompt engramPrompt
				if err := json.Unmarshal(v.raw, &prompt); err != nil {
					return r.leave(p, "is no prompt: %s", problem(err))
				}
				_, err := r.entry(note{place: p, key: string(prompt.SyncID), at: prompt.Created.Time, kind: "prompt", content: string(prompt.Content), session: string(prompt.Session)})
				return err
			case "version", "exported_at":
				return nil
			}
			return r.leave(p, "is nothing that is known of engram")
		})
		if err != nil {
			return err
		}
	}
	return nil
}

func (r *reader) engramSession(v value, p Place, summaries map[string]memory.Evidence) error {
	var s engramSession
	if err := json.Unmarshal(v.raw, &s); err != nil {
		return r.leave(p, "is no session: %s", problem(err))
	}
	if strings.TrimSpace(string(s.Summary)) == "" {
		return r.leave(p, "is a session without a summary")
	}
	at := s.Ended.Time
	if at.IsZero() {
		at = s.Started.Time
	}
	evidence, err := r.entry(note{place: p, key: string(s.ID), at: at, kind: memory.EntrySessionSummary, content: string(s.Summary), session: string(s.ID)})
	if evidence.Entry != "" {
		summaries[string(s.ID)] = evidence
	}
	return err
}

func (r *reader) engramObservation(v value, p Place, summaries map[string]memory.Evidence) error {
	var o engramObservation
	if err := json.Unmarshal(v.raw, &o); err != nil {
		return r.leave(p, "is no observation: %s", problem(err))
	}
	if !o.Deleted.IsZero() {
		return r.leave(p, "was deleted there")
	}
	d := draft{
		place: p, key: string(firstText(o.SyncID, o.ID)), kind: string(o.Type), title: string(o.Title), content: string(o.Content), session: string(o.Session), tool: string(o.Tool),
		created: o.Created.Time, updated: o.Updated.Time, origin: map[string]any{},
	}
	if evidence, ok := summaries[string(o.Session)]; ok {
		d.evidence = []memory.Evidence{evidence}
	}
	for name, s := range map[string]text{"project": o.Project, "scope": o.Scope, "topic": o.Topic, "revisions": o.Revisions, "duplicates": o.Duplicates} {
		if s != "" && s != "0" && s != "1" {
			d.origin[name] = string(s)
		}
	}
	if o.Project != "" {
		d.tags = append(d.tags, string(o.Project))
	}
	return r.memory(d)
}
