package importers

import (
	"cmp"
	"encoding/json"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/memsidecar/memsidecar/internal/memory"
)

// gptConversation is one conversation of a ChatGPT export: a tree of messages and the node that was visible last.
type gptConversation struct {
	ID      flexibleString     `json:"conversation_id"`
	OldID   flexibleString     `json:"id"`
	Title   flexibleString     `json:"title"`
	Created flexibleTime       `json:"create_time"`
	Updated flexibleTime       `json:"update_time"`
	Current flexibleString     `json:"current_node"`
	Mapping map[string]gptNode `json:"mapping"`
}

// gptNode is one node of a conversation's tree. Message is nil at the root.
type gptNode struct {
	Parent  flexibleString `json:"parent"`
	Message *gptMessage    `json:"message"`
}

// gptMessage is one message. Recipient names a tool when the message is a call, such as "bio" for saved memories.
type gptMessage struct {
	Author struct {
		Role flexibleString `json:"role"`
		Name flexibleString `json:"name"`
	} `json:"author"`
	Created   flexibleTime   `json:"create_time"`
	Recipient flexibleString `json:"recipient"`
	Content   gptContent     `json:"content"`
}

// gptContent is the content of a message; which fields are set depends on Type.
type gptContent struct {
	Type         flexibleString    `json:"content_type"`
	Parts        []json.RawMessage `json:"parts"`
	Text         flexibleString    `json:"text"`
	Profile      flexibleString    `json:"user_profile"`
	Instructions flexibleString    `json:"user_instructions"`
	Memories     flexibleString    `json:"model_set_context"`
}

// words is the text of a message.
func (c *gptContent) words() string {
	var parts []string
	for _, raw := range c.Parts {
		var s flexibleString
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

// chatGPTReader collects what can only be judged when all conversations were read.
type chatGPTReader struct {
	*reader
	saved                       []latestText // by the tool bio, in the order in which they were found
	memories, profile, guidance latestText
}

// chatGPT reads a data export of ChatGPT. It has no list of the saved memories, but the calls that saved them, in
// some exports what the model was shown of them, and the custom instructions. Of each conversation an entry of a
// daily log remains, not its text.
func (r *reader) chatGPT() error {
	g := &chatGPTReader{reader: r}
	for _, f := range r.tree.find(isJSON) {
		base := strings.ToLower(f.base())
		var visit func(jsonValue, Place) error
		switch {
		case base == "memories.json":
			visit = func(v jsonValue, p Place) error { return g.memoryOf(v, p) }
		case strings.HasPrefix(base, "conversations") || len(r.tree.files) == 1:
			visit = func(v jsonValue, p Place) error { return g.conversation(v, p) }
		default:
			if err := r.skip(Place{File: f.name}, "holds neither conversations nor memories"); err != nil {
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
func (g *chatGPTReader) memoryOf(v jsonValue, p Place) error {
	var m struct {
		ID      flexibleString `json:"id"`
		Content flexibleString `json:"content"`
		Memory  flexibleString `json:"memory"`
		Text    flexibleString `json:"text"`
		Created flexibleTime   `json:"created_at"`
		Updated flexibleTime   `json:"updated_at"`
	}
	var plain string
	if json.Unmarshal(v.raw, &plain) == nil {
		m.Content = flexibleString(plain)
	} else if err := json.Unmarshal(v.raw, &m); err != nil {
		return g.skip(p, "is no memory: %s", jsonProblem(err))
	}
	content := string(firstText(m.Content, m.Memory, m.Text))
	return g.memory(draft{place: p, key: string(m.ID), kind: categoryOfSaved(content), content: content,
		created: m.Created.Time, updated: m.Updated.Time})
}

// conversation turns one conversation into a log entry and collects its saved memories and custom instructions.
func (g *chatGPTReader) conversation(v jsonValue, p Place) error {
	var c gptConversation
	if err := json.Unmarshal(v.raw, &c); err != nil {
		return g.skip(p, "is no conversation: %s", jsonProblem(err))
	}
	if len(c.Mapping) == 0 {
		return g.skip(p, "is a conversation without messages")
	}
	before, session := len(g.saved), string(firstText(c.ID, c.OldID))
	for _, id := range sortedNodes(c.Mapping) {
		if m := c.Mapping[id].Message; m != nil {
			g.collect(m, cmp.Or(m.Created.Time, c.Updated.Time, c.Created.Time), p)
		}
	}
	messages, first := c.transcript()
	if messages == 0 {
		return g.skip(p, "is a conversation without messages")
	}
	evidence, err := g.logEntry(logNote{
		place: p, key: session, at: cmp.Or(c.Created.Time, c.Updated.Time), kind: "conversation", tool: "ChatGPT",
		session: session,
		content: conversationSummary("ChatGPT", string(c.Title), messages, first, ""),
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
func (g *chatGPTReader) collect(m *gptMessage, at time.Time, p Place) {
	switch {
	case m.Content.Type == "model_editable_context":
		g.memories.replaceIfNewer(string(m.Content.Memories), at, p)
	case m.Content.Type == "user_editable_context":
		g.profile.replaceIfNewer(fenced(string(m.Content.Profile)), at, p)
		g.guidance.replaceIfNewer(fenced(string(m.Content.Instructions)), at, p)
	case m.Author.Role == "assistant" && m.Recipient == "bio":
		for line := range strings.Lines(m.Content.words()) {
			if line = strings.TrimSpace(line); line != "" {
				g.saved = append(g.saved, latestText{text: line, at: at, place: p})
			}
		}
	}
}

// fenced returns the content of the code block in s, or all of s without one: the export explains itself around it.
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
		if m := node.Message; m != nil && (m.Author.Role == "user" || m.Author.Role == "assistant" &&
			(m.Recipient == "" || m.Recipient == "all")) {
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

// countOf is "1 message" or "2 messages".
func countOf(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return strconv.Itoa(n) + " " + what + "s"
}

// conversationSummary is what remains of a conversation.
func conversationSummary(with, title string, messages int, first, summary string) string {
	s := "Conversation with " + with
	if title = strings.TrimSpace(title); title != "" {
		s += ": " + title
	}
	s += " (" + countOf(messages, "message") + ")"
	if summary = strings.TrimSpace(summary); summary != "" {
		return s + "\n" + summary
	}
	if first != "" {
		s += "\nFirst request: " + firstChars(strings.Join(strings.Fields(first), " "), maxRequest)
	}
	return s
}
