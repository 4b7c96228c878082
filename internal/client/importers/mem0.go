package importers

import (
	"encoding/json"
	"strings"
)

// mem0Memory is one memory of mem0, of whichever call or version.
type mem0Memory struct {
	ID         flexibleString  `json:"id"`
	Memory     flexibleString  `json:"memory"`
	Content    flexibleString  `json:"content"` // of an export of OpenMemory
	Text       flexibleString  `json:"text"`
	Data       flexibleString  `json:"data"` // of the vector stores
	Hash       flexibleString  `json:"hash"`
	UserID     flexibleString  `json:"user_id"`
	AgentID    flexibleString  `json:"agent_id"`
	AppID      flexibleString  `json:"app_id"`
	RunID      flexibleString  `json:"run_id"`
	Actor      flexibleString  `json:"actor_id"`
	Categories flexibleStrings `json:"categories"`
	State      flexibleString  `json:"state"`
	Expires    flexibleTime    `json:"expiration_date"`
	Created    flexibleTime    `json:"created_at"`
	Updated    flexibleTime    `json:"updated_at"`
	Metadata   json.RawMessage `json:"metadata"`
}

// mem0 reads the JSON of get_all, of the platform's export, or of a dump: memories in an array, below "results" or
// "memories", or one a line.
func (r *reader) mem0() error {
	for _, f := range r.tree.find(isJSON) {
		err := r.values(f, isLines(f), func(v jsonValue, p Place) error {
			switch v.key {
			case "", "results", "memories":
				return r.mem0Memory(v, p)
			case "relations":
				return r.skip(p, "is a relation of the graph; only memories are taken over")
			case "page", "total", "count", "next", "previous", "message":
				return nil
			}
			return r.skip(p, "is nothing that mem0 calls a memory")
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// mem0Memory turns one memory of mem0 into a memory: categories become tags, metadata.category the category.
func (r *reader) mem0Memory(v jsonValue, p Place) error {
	var m mem0Memory
	if err := json.Unmarshal(v.raw, &m); err != nil {
		return r.skip(p, "is no memory: %s", jsonProblem(err))
	}
	var meta struct {
		Category flexibleString  `json:"category"`
		Type     flexibleString  `json:"type"`
		Tags     flexibleStrings `json:"tags"`
	}
	_ = json.Unmarshal(m.Metadata, &meta) // metadata of another form is ignored
	d := draft{
		place: p, key: string(m.ID), content: string(firstText(m.Memory, m.Content, m.Text, m.Data)),
		kind: string(firstText(meta.Category, meta.Type)),
		tags: append(append([]string{}, m.Categories...), meta.Tags...), created: m.Created.Time,
		updated: m.Updated.Time, expires: m.Expires.Time,
		session: string(m.RunID), origin: map[string]any{},
	}
	if state := strings.ToLower(string(m.State)); state == "deleted" || state == "archived" {
		return r.skip(p, "is %s there", state)
	}
	for name, s := range map[string]flexibleString{"user_id": m.UserID, "agent_id": m.AgentID, "app_id": m.AppID,
		"actor_id": m.Actor} {
		if s != "" {
			d.origin[name] = string(s)
		}
	}
	if isObject(m.Metadata) {
		d.origin["metadata"] = m.Metadata
	}
	return r.memory(d)
}

// firstText returns the first that is not blank.
func firstText(list ...flexibleString) flexibleString {
	for _, s := range list {
		if strings.TrimSpace(string(s)) != "" {
			return s
		}
	}
	return ""
}

// isObject reports whether raw is an object with members.
func isObject(raw json.RawMessage) bool {
	var m map[string]json.RawMessage
	return json.Unmarshal(raw, &m) == nil && len(m) > 0
}

// isJSON reports whether the file name has an extension of JSON or of one of its relatives.
func isJSON(f file) bool {
	return f.ext() == ".json" || f.ext() == ".jsonl" || f.ext() == ".ndjson" || f.ext() == ".af"
}

// isLines reports whether the file holds one JSON value per line.
func isLines(f file) bool { return f.ext() == ".jsonl" || f.ext() == ".ndjson" }

// jsonProblem says what a decoder complains of, without the text of the file.
func jsonProblem(err error) string {
	if e, ok := err.(*json.UnmarshalTypeError); ok { //nolint:errorlint // json returns it as it is
		return strings.TrimSpace(e.Field + " must not be " + e.Value)
	}
	return "it has another form"
}
