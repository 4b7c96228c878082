package foreign

import (
	"encoding/json"
	"strings"
)

// mem0Memory is one memory of mem0, of whichever call or version.
type mem0Memory struct {
	ID         text            `json:"id"`
	Memory     text            `json:"memory"`
	Content    text            `json:"content"` // of an export of OpenMemory
	Text       text            `json:"text"`
	Data       text            `json:"data"` // of the vector stores
	Hash       text            `json:"hash"`
	UserID     text            `json:"user_id"`
	AgentID    text            `json:"agent_id"`
	AppID      text            `json:"app_id"`
	RunID      text            `json:"run_id"`
	Actor      text            `json:"actor_id"`
	Categories list            `json:"categories"`
	State      text            `json:"state"`
	Expires    when            `json:"expiration_date"`
	Created    when            `json:"created_at"`
	Updated    when            `json:"updated_at"`
	Metadata   json.RawMessage `json:"metadata"`
}

// mem0 reads the JSON of get_all, of the platform's export, or of a dump: memories in an array, below "results" or "memories", or one a line.
func (r *reader) mem0() error {
	for _, f := range r.tree.find(isJSON) {
		err := r.values(f, isLines(f), func(v value, p Place) error {
			switch v.key {
			case "", "results", "memories":
				return r.mem0Memory(v, p)
			case "relations":
				return r.leave(p, "is a relation of the graph; only memories are taken over")
			case "page", "total", "count", "next", "previous", "message":
				return nil
			}
			return r.leave(p, "is nothing that mem0 calls a memory")
		})
		if err != nil {
			return err
		}
	}
	return nil
}

func (r *reader) mem0Memory(v value, p Place) error {
	var m mem0Memory
	if err := json.Unmarshal(v.raw, &m); err != nil {
		return r.leave(p, "is no memory: %s", problem(err))
	}
	var meta struct {
		Category text `json:"category"`
		Type     text `json:"type"`
		Tags     list `json:"tags"`
	}
	_ = json.Unmarshal(m.Metadata, &meta) // what is of another form says nothing
	d := draft{
		place: p, key: string(m.ID), content: string(firstText(m.Memory, m.Content, m.Text, m.Data)), kind: string(firstText(meta.Category, meta.Type)),
		tags: append(append([]string{}, m.Categories...), meta.Tags...), created: m.Created.Time, updated: m.Updated.Time, expires: m.Expires.Time,
		session: string(m.RunID), origin: map[string]any{},
	}
	if state := strings.ToLower(string(m.State)); state == "deleted" || state == "archived" {
		return r.leave(p, "is %s there", state)
	}
	for name, s := range map[string]text{"user_id": m.UserID, "agent_id": m.AgentID, "app_id": m.AppID, "actor_id": m.Actor} {
		if s != "" {
			d.origin[name] = string(s)
		}
	}
	if object(m.Metadata) {
		d.origin["metadata"] = m.Metadata
	}
	return r.memory(d)
}

// firstText returns the first that is not blank.
func firstText(list ...text) text {
	for _, s := range list {
		if strings.TrimSpace(string(s)) != "" {
			return s
		}
	}
	return ""
}

// object reports whether raw is an object with members.
func object(raw json.RawMessage) bool {
	var m map[string]json.RawMessage
	return json.Unmarshal(raw, &m) == nil && len(m) > 0
}

func isJSON(f file) bool {
	return f.ext() == ".json" || f.ext() == ".jsonl" || f.ext() == ".ndjson" || f.ext() == ".af"
}

func isLines(f file) bool { return f.ext() == ".jsonl" || f.ext() == ".ndjson" }

// problem says what a decoder complains of, without the text of the file.
func problem(err error) string {
	if e, ok := err.(*json.UnmarshalTypeError); ok { //nolint:errorlint // json returns it as it is
		return strings.TrimSpace(e.Field + " must not be " + e.Value)
	}
	return "it has another form"
}
