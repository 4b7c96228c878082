package install

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/memsidecar/memsidecar/internal/client/hook"
)

// serverName is the name of our MCP server in every host.
const serverName = "memsidecar"

// mcpEditor is a JSON configuration with an object that has one member for each MCP server. Hosts differ in the
// object's name and in what a server's entry holds.
type mcpEditor struct {
	key   string      // of the object
	entry []mcpMember // of a server
}

// mcpMember is a member of a server's entry: fixed JSON, or one of the words that stand for the command.
type mcpMember struct{ name, value string }

// Values that are filled in.
const (
	mcpProgram = "{program}" // a string
	mcpArgs    = "{args}"    // a list, without the program
	mcpWords   = "{words}"   // a list that begins with the program
)

// The forms of the hosts.
var (
	plainServers   = mcpEditor{"mcpServers", []mcpMember{{"command", mcpProgram}, {"args", mcpArgs}}}
	copilotServers = mcpEditor{"mcpServers", []mcpMember{{"type", `"local"`}, {"command", mcpProgram},
		{"args", mcpArgs}, {"tools", `["*"]`}}}
	vscodeServers   = mcpEditor{"servers", []mcpMember{{"type", `"stdio"`}, {"command", mcpProgram}, {"args", mcpArgs}}}
	openCodeServers = mcpEditor{"mcp", []mcpMember{{"type", `"local"`}, {"command", mcpWords}, {"enabled", "true"}}}
)

// server returns the words that start our MCP server.
func (t *Target) server() []string { return append([]string{t.Program, "mcp"}, t.Args...) }

// isServer reports whether words start a server of ours, from whatever place.
func (t *Target) isServer(words []string) bool {
	return len(words) > 1 && words[1] == "mcp" &&
		(words[0] == t.Program || strings.Contains(filepath.Base(words[0]), "memsidecar"))
}

// fill returns the JSON of a member's value.
func (m mcpMember) fill(t *Target) string {
	words := t.server()
	switch m.value {
	case mcpProgram:
		return quoteJSON(words[0])
	case mcpArgs:
		return quoteList(words[1:])
	case mcpWords:
		return quoteList(words)
	}
	return m.value
}

// quoteList writes a JSON list of strings in one line.
func quoteList(words []string) string {
	quoted := make([]string, len(words))
	for i, w := range words {
		quoted[i] = quoteJSON(w)
	}
	return "[" + strings.Join(quoted, ", ") + "]"
}

// server writes our member of the object at a depth.
func (e mcpEditor) server(t *Target, l layout, depth int) string {
	var members []string
	for _, m := range e.entry {
		members = append(members, quoteJSON(m.name)+": "+m.fill(t))
	}
	return quoteJSON(serverName) + ": {" + l.line(depth+1) + strings.Join(members, ","+l.line(depth+1)) +
		l.line(depth) + "}"
}

// object writes the object with nothing but our server.
func (e mcpEditor) object(t *Target, l layout) string {
	return quoteJSON(e.key) + ": {" + l.line(2) + e.server(t, l, 2) + l.line(1) + "}"
}

// read finds the object of servers and our entry in it; both may be nil.
func (e mcpEditor) read(text []byte) (root, servers, ours *node, err error) {
	if root, err = parseJSON(text); err != nil {
		return nil, nil, nil, err
	}
	if root.kind != '{' {
		return nil, nil, nil, fmt.Errorf("%w: it is not a JSON object", ErrUnreadable)
	}
	if servers = root.member(e.key); servers == nil {
		return root, nil, nil, nil
	}
	if servers.kind != '{' {
		return nil, nil, nil, fmt.Errorf("%w: %q is not an object", ErrUnreadable, e.key)
	}
	return root, servers, servers.member(serverName), nil
}

// wordsOf returns the command of a server's entry.
func wordsOf(entry *node) (out []string) {
	command, args := entry.member("command"), entry.member("args")
	if command != nil && command.kind == '"' {
		out = append(out, command.text)
	}
	for _, list := range []*node{command, args} {
		if list == nil || list.kind != '[' {
			continue
		}
		for _, it := range list.items {
			out = append(out, it.value.text)
		}
	}
	return out
}

// add registers the server, or mends the command of its entry and leaves what else stands in it.
func (e mcpEditor) add(t *Target, before []byte) ([]byte, error) {
	if before == nil {
		l := layout{"\n", "  "}
		return []byte("{" + l.line(1) + e.object(t, l) + "\n}\n"), nil
	}
	root, servers, entry, err := e.read(before)
	if err != nil {
		return nil, err
	}
	l := layoutOf(before, root)
	switch {
	case servers == nil:
		return insert(before, root, l.line(1), e.object(t, l)), nil
	case entry == nil:
		return insert(before, servers, l.line(2), e.server(t, l, 2)), nil
	case !t.isServer(wordsOf(entry)):
		return nil, fmt.Errorf("%w: its MCP server %q starts another program", ErrForeign, serverName)
	case slices.Equal(wordsOf(entry), t.server()):
		return before, nil
	}
	text := before
	for _, m := range e.entry {
		if m.value != mcpProgram && m.value != mcpArgs && m.value != mcpWords {
			continue
		}
		if _, _, entry, err = e.read(text); err != nil {
			return nil, err
		}
		if value := entry.member(m.name); value != nil {
			text = splice(text, value.start, value.end, m.fill(t))
		} else {
			text = insert(text, entry, l.line(3), quoteJSON(m.name)+": "+m.fill(t))
		}
	}
	return text, nil
}

// remove takes our server out, and the object that was made for it.
func (e mcpEditor) remove(t *Target, before []byte) ([]byte, error) {
	root, servers, entry, err := e.read(before)
	if err != nil || entry == nil || !t.isServer(wordsOf(entry)) {
		return before, err
	}
	text, from, key := before, servers, serverName
	if createdByUs(before, servers) {
		from, key = root, e.key
	}
	i := slices.IndexFunc(from.items, func(it item) bool { return it.key == key })
	text = removeItem(text, from, i)
	if root, err = parseJSON(text); err != nil {
		return nil, err
	}
	return jsonEditor{}.withoutEmptyRoot(text, root), nil
}

// commands returns the command of our server under no event.
func (e mcpEditor) commands(t *Target, text []byte) (map[hook.Kind][]string, error) {
	if text == nil {
		return nil, nil
	}
	_, _, entry, err := e.read(text)
	if err != nil || entry == nil || !t.isServer(wordsOf(entry)) {
		return nil, err
	}
	return map[hook.Kind][]string{"": {ShellCommand(wordsOf(entry))}}, nil
}
