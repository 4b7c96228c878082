package importers

import (
	"cmp"
	"encoding/json"
	"slices"
	"strings"
)

// claudeConversation is one conversation of a claude.ai export.
type claudeConversation struct {
	ID       flexibleString `json:"uuid"`
	Name     flexibleString `json:"name"`
	Summary  flexibleString `json:"summary"`
	Created  flexibleTime   `json:"created_at"`
	Updated  flexibleTime   `json:"updated_at"`
	Messages []struct {
		Sender  flexibleString `json:"sender"`
		Text    flexibleString `json:"text"`
		Content []struct {
			Type flexibleString `json:"type"`
			Text flexibleString `json:"text"`
		} `json:"content"`
	} `json:"chat_messages"`
}

// claudeMemories is the content of memories.json.
type claudeMemories struct {
	Conversations flexibleString            `json:"conversations_memory"`
	Projects      map[string]flexibleString `json:"project_memories"`
}

// claudeProject is one project of a claude.ai export. Its documents are not imported.
type claudeProject struct {
	ID          flexibleString    `json:"uuid"`
	Name        flexibleString    `json:"name"`
	Description flexibleString    `json:"description"`
	Prompt      flexibleString    `json:"prompt_template"`
	Created     flexibleTime      `json:"created_at"`
	Updated     flexibleTime      `json:"updated_at"`
	Docs        []json.RawMessage `json:"docs"`
}

// claudeObject is any of the things of an export.
type claudeObject struct {
	claudeMemories
	Messages json.RawMessage `json:"chat_messages"`
	Email    flexibleString  `json:"email_address"`
	Full     flexibleString  `json:"full_name"`
	Docs     json.RawMessage `json:"docs"`
	Prompt   json.RawMessage `json:"prompt_template"`
	Creator  json.RawMessage `json:"creator"`
}

// claudeExport reads a data export of claude.ai: the memories that Claude keeps, the instructions of projects, and of
// each conversation an entry of a daily log. It decides by content, because the names of the files have changed.
func (r *reader) claudeExport() error {
	for _, f := range r.tree.find(isJSON) {
		whole := objectMembers{} // of an object that is one thing
		first := Place{File: f.name, Line: 1}
		err := r.values(f, false, func(v jsonValue, p Place) error {
			switch {
			case v.key == "":
				return r.claudeObject(f, v.raw, p)
			case v.index < 0 || v.key == "chat_messages" || v.key == "docs":
				whole.add(v)
			}
			return nil
		})
		switch {
		case err != nil || len(whole.members) == 0:
		case whole.size > maxItem:
			err = r.skip(first, "has more than %d bytes", maxItem)
		default:
			err = r.claudeObject(f, whole.object(), first)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// objectMembers are the members of an object, as they come.
type objectMembers struct {
	members map[string][]json.RawMessage
	lists   map[string]bool
	size    int
}

// add stores one member of an object, up to maxItem bytes in all.
func (p *objectMembers) add(v jsonValue) {
	if p.size += len(v.raw); p.size > maxItem {
		return
	}
	if p.members == nil {
		p.members, p.lists = map[string][]json.RawMessage{}, map[string]bool{}
	}
	p.members[v.key] = append(p.members[v.key], slices.Clone(v.raw))
	p.lists[v.key] = v.index >= 0
}

// object puts the members together again.
func (p *objectMembers) object() json.RawMessage {
	whole := map[string]any{}
	for name, values := range p.members {
		if whole[name] = values; !p.lists[name] {
			whole[name] = values[0]
		}
	}
	raw, _ := json.Marshal(whole) // of valid JSON
	return raw
}

// claudeObject imports one object of an export by its members: a conversation, memories or a project.
func (r *reader) claudeObject(f file, raw json.RawMessage, p Place) error {
	var thing claudeObject
	if err := json.Unmarshal(raw, &thing); err != nil {
		return r.skip(p, "is nothing that is known of an export: %s", jsonProblem(err))
	}
	switch {
	case thing.Messages != nil:
		return r.claudeConversation(raw, p)
	case thing.Conversations != "" || len(thing.Projects) > 0:
		return r.claudeMemories(f, thing.claudeMemories, p)
	case thing.Docs != nil || thing.Prompt != nil:
		return r.claudeProject(raw, p)
	case thing.Email != "" || thing.Full != "":
		return r.skip(p, "is an account, not a memory")
	}
	return r.skip(p, "is nothing that is known of an export")
}

// claudeConversation turns one conversation into a log entry with its title, length and summary.
func (r *reader) claudeConversation(raw json.RawMessage, p Place) error {
	var c claudeConversation
	if err := json.Unmarshal(raw, &c); err != nil {
		return r.skip(p, "is no conversation: %s", jsonProblem(err))
	}
	messages, first := 0, ""
	for _, m := range c.Messages {
		words := string(m.Text)
		if strings.TrimSpace(words) == "" {
			for _, part := range m.Content {
				words += string(part.Text)
			}
		}
		if strings.TrimSpace(words) == "" {
			continue
		}
		if messages++; first == "" && m.Sender == "human" {
			first = words
		}
	}
	if messages == 0 {
		return r.skip(p, "is a conversation without messages")
	}
	_, err := r.logEntry(logNote{
		place: p, key: string(c.ID), at: cmp.Or(c.Created.Time, c.Updated.Time), kind: "conversation", tool: "Claude",
		session: string(c.ID),
		content: conversationSummary("Claude", string(c.Name), messages, first, string(c.Summary)),
	})
	return err
}

// claudeMemories imports the memories of conversations and of each project, in the order of project ids.
func (r *reader) claudeMemories(f file, m claudeMemories, p Place) error {
	p.Item = strings.TrimSpace(p.Item + " conversations_memory")
	if m.Conversations != "" {
		err := r.memoryList(memoryList{place: Place{File: p.File, Item: p.Item}, text: boldHeadings(string(m.Conversations)),
			written: f.mod})
		if err != nil {
			return err
		}
	}
	ids := make([]string, 0, len(m.Projects))
	for id := range m.Projects {
		ids = append(ids, id)
	}
	slices.Sort(ids)
	for _, id := range ids {
		err := r.memoryList(memoryList{
			place: Place{File: p.File, Item: "project_memories " + firstChars(id, 100)},
			text:  boldHeadings(string(m.Projects[id])), written: f.mod, key: id, fallback: "project",
			tags: []string{"project:" + id},
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// boldHeadings makes headings of lines that are wholly in bold, which is how Claude writes them.
func boldHeadings(s string) string {
	lines := strings.Split(s, "\n")
	for i, line := range lines {
		inside, ok := strings.CutPrefix(strings.TrimSpace(line), "**")
		if inside, ok2 := strings.CutSuffix(inside, "**"); ok && ok2 && inside != "" && !strings.Contains(inside, "*") {
			lines[i] = "## " + inside
		}
	}
	return strings.Join(lines, "\n")
}

// claudeProject imports the description and instructions of one project and reports its documents as skipped.
func (r *reader) claudeProject(raw json.RawMessage, p Place) error {
	var c claudeProject
	if err := json.Unmarshal(raw, &c); err != nil {
		return r.skip(p, "is no project: %s", jsonProblem(err))
	}
	d := draft{place: p, key: string(c.ID), title: string(c.Name), tags: []string{"project:" + string(c.ID)},
		created: c.Created.Time, updated: c.Updated.Time}
	if n := len(c.Docs); n > 0 {
		if err := r.skip(Place{File: p.File, Line: p.Line, Item: strings.TrimSpace(p.Item + " docs")},
			"holds documents (%d), which are no memories", n); err != nil {
			return err
		}
	}
	empty := true
	for _, part := range []struct{ kind, content string }{{"project", string(c.Description)},
		{"feedback", string(c.Prompt)}} {
		if strings.TrimSpace(part.content) == "" {
			continue
		}
		empty = false
		d.kind, d.content = part.kind, part.content
		if err := r.memory(d); err != nil {
			return err
		}
	}
	if empty {
		return r.skip(p, "is a project without description and instructions")
	}
	return nil
}
