package foreign

import (
	"cmp"
	"encoding/json"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/memsidecar/memsidecar/internal/memory"
)

type gptConversation struct {
	ID      text               `json:"conversation_id"`
	OldID   text               `json:"id"`
	Title   text               `json:"title"`
	Created when               `json:"create_time"`
	Updated when               `json:"update_time"`
	Current text               `json:"current_node"`
	Mapping map[string]gptNode `json:"mapping"`
}

type gptNode struct {
	Parent  text        `json:"parent"`
	Message *gptMessage `json:"message"`
}

type gptMessage struct {
	Author struct {
		Role text `json:"role"`
		Name text `json:"name"`
	} `json:"author"`
	Created   when       `json:"create_time"`
	Recipient text       `json:"recipient"`
	Content   gptContent `json:"content"`
}

type gptContent struct {
	Type         text              `json:"content_type"`
	Parts        []json.RawMessage `json:"parts"`
	Text         text              `json:"text"`
	Profile      text              `json:"user_profile"`
	Instructions text              `json:"user_instructions"`
	Memories     text              `json:"model_set_context"`
}

// words is the text of a message.
func (c *gptContent) words() string {
	var parts []string
	for _, raw := range c.Parts {
		var s text
		_ = s.UnmarshalJSON(raw) // never fails
		if s != "" {
			parts = append(parts, string(s))
		}
	}
	if len(parts) == 0 {
		return string(c.Text)
	}
	return strings.Join(parts, "\n")
}

// gpt collects what can only be judged when all conversations were read.
type gpt struct {
	*reader
	saved                       []told // by the tool bio, in the order in which they were found
	memories, profile, guidance told
}

// chatGPT reads a data export of ChatGPT. It has no list of the saved memories, but the calls that saved them, in some exports what the model was shown of them, and the
// custom instructions. Of each conversation an entry of a daily log remains, not its text.
func (r *reader) chatGPT() error {
	g := &gpt{reader: r}
	for _, f := range r.tree.find(isJSON) {
		base := strings.ToLower(f.base())
		var visit func(value, Place) error
		switch {
		case base == "memories.json":
			visit = func(v value, p Place) error { return g.memoryOf(v, p) }
		case strings.HasPrefix(base, "conversations") || len(r.tree.files) == 1:
			visit = func(v value, p Place) error { return g.conversation(v, p) }
		default:
			if err := r.leave(Place{File: f.name}, "holds neither conversations nor memories"); err != nil {
				return err
			}
			continue
		}
		if err := r.values(f, false, visit); err != nil {
			return err
		}
	}
	return g.finish()
}

// memoryOf reads a memory of a list of saved memories.
func (g *gpt) memoryOf(v value, p Place) error {
	var m struct {
		ID      text `json:"id"`
		Content text `json:"content"`
		Memory  text `json:"memory"`
		Text    text `json:"text"`
		Created when `json:"created_at"`
		Updated when `json:"updated_at"`
	}
	var plain string
	if json.Unmarshal(v.raw, &plain) == nil {
		m.Content = text(plain)
	} else if err := json.Unmarshal(v.raw, &m); err != nil {
		return g.leave(p, "is no memory: %s", problem(err))
	}
	content := string(firstText(m.Content, m.Memory, m.Text))
	return g.memory(draft{place: p, key: string(m.ID), kind: kindOfSaved(content), content: content, created: m.Created.Time, updated: m.Updated.Time})
}

func (g *gpt) conversation(v value, p Place) error {
	var c gptConversation
	if err := json.Unmarshal(v.raw, &c); err != nil {
		return g.leave(p, "is no conversation: %s", problem(err))
	}
	if len(c.Mapping) == 0 {
		return g.leave(p, "is a conversation without messages")
	}
	before, session := len(g.saved), string(firstText(c.ID, c.OldID))
	for _, id := range sortedNodes(c.Mapping) {
		if m := c.Mapping[id].Message; m != nil {
			g.collect(m, cmp.Or(m.Created.Time, c.Updated.Time, c.Created.Time), p)
		}
	}
	messages, first := c.transcript()
	if messages == 0 {
		return g.leave(p, "is a conversation without messages")
	}
	evidence, err := g.entry(note{
		place: p, key: session, at: cmp.Or(c.Created.Time, c.Updated.Time), kind: "conversation", tool: "ChatGPT", session: session,
		content: conversationNote("ChatGPT", string(c.Title), messages, first, ""),
	})
	for i := range g.saved[before:] {
		if g.saved[before+i].session = session; evidence.Entry != "" {
			g.saved[before+i].evidence = []memory.Evidence{evidence}
		}
	}
	return err
}

// sortedNodes returns the ids of nodes by time, then by id.
func sortedNodes(nodes map[string]gptNode) []string {
	ids := make([]string, 0, len(nodes))
	for id := range nodes {
		ids = append(ids, id)
	}
	at := func(id string) time.Time {
		if m := nodes[id].Message; m != nil {
			return m.Created.Time
		}
		return time.Time{}
	}
	slices.SortFunc(ids, func(a, b string) int { return cmp.Or(at(a).Compare(at(b)), strings.Compare(a, b)) })
	return ids
}

// collect keeps what a message says of memories and instructions.
func (g *gpt) collect(m *gptMessage, at time.Time, p Place) {
	switch {
	case m.Content.Type == "model_editable_context":
		g.memories.newer(string(m.Content.Memories), at, p)
	case m.Content.Type == "user_editable_context":
		g.profile.newer(fenced(string(m.Content.Profile)), at, p)
		g.guidance.newer(fenced(string(m.Content.Instructions)), at, p)
	case m.Author.Role == "assistant" && m.Recipient == "bio":
		for line := range strings.Lines(m.Content.words()) {
			if line = strings.TrimSpace(line); line != "" {
				g.saved = append(g.saved, told{text: line, at: at, place: p})
			}
		}
	}
}

// fenced is what stands in a code block, around which the export explains itself, or all when there is none.
func fenced(s string) string {
	_, rest, ok := strings.Cut(s, "```")
	if !ok {
		return strings.TrimSpace(s)
	}
	inside, _, _ := strings.Cut(rest, "```")
	return strings.TrimSpace(inside)
}

// transcript counts what was said on the branch that is shown, and returns the first request.
func (c *gptConversation) transcript() (messages int, first string) {
	id := string(c.Current)
	if _, ok := c.Mapping[id]; !ok {
		if ids := sortedNodes(c.Mapping); len(ids) > 0 {
			id = ids[len(ids)-1]
		}
	}
	seen := map[string]bool{}
	for !seen[id] {
		seen[id] = true
		node, ok := c.Mapping[id]
		if !ok {
			break
		}
		if m := node.Message; m != nil && (m.Author.Role == "user" || m.Author.Role == "assistant" && (m.Recipient == "" || m.Recipient == "all")) {
			if words := strings.TrimSpace(m.Content.words()); words != "" {
				messages++
				if m.Author.Role == "user" {
					first = words
				}
			}
		}
		id = string(node.Parent)
	}
	return messages, first
}

// maxRequest is how much of the first request of a conversation is kept, in characters.
const maxRequest = 300

// counted is "1 message" or "2 messages".
func counted(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return strconv.Itoa(n) + " " + what + "s"
}

// conversationNote is what remains of a conversation.
func conversationNote(with, title string, messages int, first, summary string) string {
	s := "Conversation with " + with
	if title = strings.TrimSpace(title); title != "" {
		s += ": " + title
	}
	s += " (" + counted(messages, "message") + ")"
	if summary = strings.TrimSpace(summary); summary != "" {
		return s + "\n" + summary
	}
	if first != "" {
		s += "\nFirst request: " + head(strings.Join(strings.Fields(first), " "), maxRequest)
	}
	return s
}
