package importers

import (
	"encoding/json"
	"fmt"
	"strings"
)

// lettaBlock is one block of an agent's core memory.
type lettaBlock struct {
	ID          flexibleString  `json:"id"`
	Label       flexibleString  `json:"label"`
	Value       flexibleString  `json:"value"`
	Description flexibleString  `json:"description"`
	Template    bool            `json:"is_template"`
	Created     flexibleTime    `json:"created_at"`
	Updated     flexibleTime    `json:"updated_at"`
	Metadata    json.RawMessage `json:"metadata"`
}

// lettaPassage is one passage of archival memory. Versions differ in the name of the text: Text or Content.
type lettaPassage struct {
	ID       flexibleString  `json:"id"`
	Text     flexibleString  `json:"text"`
	Content  flexibleString  `json:"content"`
	Tags     flexibleStrings `json:"tags"`
	Created  flexibleTime    `json:"created_at"`
	Metadata json.RawMessage `json:"metadata"`
}

// lettaAgent is an agent file. Versions differ in the names of the members that hold blocks and passages.
type lettaAgent struct {
	Name     flexibleString    `json:"name"`
	Blocks   []json.RawMessage `json:"memory_blocks"`
	Core     []json.RawMessage `json:"core_memory"`
	Passages []json.RawMessage `json:"passages"`
	Archival []json.RawMessage `json:"archival_memory"`
	Messages []json.RawMessage `json:"messages"`
	System   flexibleString    `json:"system"`
}

// letta reads an agent file: blocks of core memory, and passages of archival memory where there are any. What else
// makes an agent is no memory.
func (r *reader) letta() error {
	for _, f := range r.tree.find(isJSON) {
		left := map[string]int{} // parts of an agent that are no memories
		err := r.values(f, false, func(v jsonValue, p Place) error {
			switch v.key {
			case "blocks", "core_memory", "memory_blocks":
				return r.lettaBlock(v.raw, p)
			case "passages", "archival_memory", "archival_passages":
				return r.lettaPassage(v.raw, p)
			case "agents":
				return r.lettaAgent(v, p)
			case "messages", "tools", "files", "sources", "groups", "mcp_servers", "skills":
				if v.index >= 0 {
					left[v.key]++
				}
			}
			return nil // settings of the agent
		})
		for _, what := range []string{"messages", "tools", "files", "sources", "groups", "mcp_servers", "skills"} {
			if n := left[what]; n > 0 && err == nil {
				err = r.skip(Place{File: f.name, Item: what}, "holds %s (%d), which are no memories", what, n)
			}
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// lettaAgent imports the blocks and passages of an agent file and reports everything else as skipped.
func (r *reader) lettaAgent(v jsonValue, p Place) error {
	var a lettaAgent
	if err := json.Unmarshal(v.raw, &a); err != nil {
		return r.skip(p, "is no agent: %s", jsonProblem(err))
	}
	parts := []struct {
		what string
		raw  []json.RawMessage
		read func(json.RawMessage, Place) error
	}{{"block", append(a.Blocks, a.Core...), r.lettaBlock},
		{"passage", append(a.Passages, a.Archival...), r.lettaPassage}}
	for _, part := range parts {
		for i, raw := range part.raw {
			at := p
			at.Item = fmt.Sprintf("%s %s %d", p.Item, part.what, i+1)
			if err := part.read(raw, at); err != nil {
				return err
			}
		}
	}
	if n := len(a.Messages); n > 0 {
		p.Item += " messages"
		return r.skip(p, "holds messages (%d), which are no memories", n)
	}
	return nil
}

// lettaBlock reads a block of core memory as one memory: it is written to be read as a whole.
func (r *reader) lettaBlock(raw json.RawMessage, p Place) error {
	var b lettaBlock
	if err := json.Unmarshal(raw, &b); err != nil {
		return r.skip(p, "is no block: %s", jsonProblem(err))
	}
	if strings.TrimSpace(string(b.Value)) == "" {
		return r.skip(p, "is an empty block")
	}
	kind := string(b.Label)
	if slug(kind) == "human" {
		kind = "user"
	}
	d := draft{
		place: p, key: string(b.Label), kind: kind, title: string(b.Label), content: string(b.Value),
		tags: []string{"core-memory"}, created: b.Created.Time, updated: b.Updated.Time, origin: map[string]any{},
	}
	if b.Description != "" {
		d.origin["description"] = firstChars(string(b.Description), 1000)
	}
	if isObject(b.Metadata) {
		d.origin["metadata"] = b.Metadata
	}
	return r.memory(d)
}

// lettaPassage turns one passage into a memory with the tag "archival-memory".
func (r *reader) lettaPassage(raw json.RawMessage, p Place) error {
	var a lettaPassage
	if err := json.Unmarshal(raw, &a); err != nil {
		return r.skip(p, "is no passage: %s", jsonProblem(err))
	}
	d := draft{place: p, key: string(a.ID), content: string(firstText(a.Text, a.Content)),
		tags: append([]string{"archival-memory"}, a.Tags...), created: a.Created.Time, origin: map[string]any{}}
	if isObject(a.Metadata) {
		d.origin["metadata"] = a.Metadata
	}
	return r.memory(d)
}
