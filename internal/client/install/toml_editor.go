package install

import (
	"bytes"
	"fmt"
	"slices"
	"strings"

	"github.com/memsidecar/memsidecar/internal/client/hook"
)

// tomlEditor is Codex's configuration. Each part is tables at the end of the file, between two lines by which they
// are found again: a table ends where the next one begins, so that nothing above them changes its meaning.
type tomlEditor struct{ part tomlPart }

// tomlPart is what stands between two lines.
type tomlPart interface {
	begin() string
	// tables writes the lines of the part. old are those that stand there now.
	tables(t *Target, old []string) []string
	// own is how many of the lines, from the first, are of the part.
	own(t *Target, lines []string) int
	// commands returns what is registered anywhere in the file.
	commands(t *Target, text []byte) map[hook.Kind][]string
}

// codexHooks are the hooks, codexServer is the MCP server.
type (
	codexHooks  struct{}
	codexServer struct{}
)

func (codexHooks) begin() string  { return tomlBegin }
func (codexServer) begin() string { return tomlBeginServer }

const (
	tomlBegin       = "# >>> memsidecar: hooks, written by \"memsidecar install codex\" >>>"
	tomlBeginServer = "# >>> memsidecar: MCP server, written by \"memsidecar install codex\" >>>"
	tomlServer      = "mcp_servers." + serverName
	tomlEnd         = "# <<< memsidecar <<<"
	tomlJoined      = " (the line before had no end)"
)

// add puts the part at the end of the file between two comment lines, and keeps what the host wrote between them. What
// is registered elsewhere in the file stays there.
func (e tomlEditor) add(t *Target, before []byte) ([]byte, error) {
	if err := checkTOML(before); err != nil {
		return nil, err
	}
	start, end, joined, err := tomlBlock(before, e.part.begin())
	if err != nil {
		return nil, err
	}
	if _, server := e.part.(codexServer); server && start < 0 && e.part.commands(t, before) != nil {
		return before, nil
	}
	newline := "\n"
	if bytes.Contains(before, []byte("\r\n")) {
		newline = "\r\n"
	}
	if start < 0 {
		start, end = len(before), len(before)
		joined = len(before) > 0 && before[len(before)-1] != '\n'
		if joined {
			before = append(bytes.Clone(before), newline...)
			start, end = len(before), len(before)
		}
	}
	own, others := e.split(t, before[start:end])
	begin := e.part.begin()
	if joined {
		begin += tomlJoined
	}
	lines := append([]string{begin}, e.part.tables(t, own)...)
	text := strings.Join(lines, newline) + newline + others + tomlEnd + newline
	return splice(before, start, end, text), nil
}

// split separates what stands between the two lines into ours and the rest: Codex itself adds tables behind the last
// one, above the comment at the end.
func (e tomlEditor) split(t *Target, block []byte) (own []string, others string) {
	lines := slices.Collect(strings.Lines(string(block)))
	if len(lines) < 2 {
		return nil, ""
	}
	lines = lines[1 : len(lines)-1]
	n := e.part.own(t, lines)
	return lines[:n], strings.Join(lines[n:], "")
}

// tables writes the hook of each event.
func (codexHooks) tables(t *Target, _ []string) (lines []string) {
	for _, b := range t.Host.Bindings {
		lines = append(lines, "[[hooks."+b.Native+"]]", "[[hooks."+b.Native+".hooks]]", `type = "command"`,
			"command = "+quoteJSON(t.command(b.Kind)), "timeout = 5")
	}
	return lines
}

// own counts the lines of hooks of ours.
func (codexHooks) own(t *Target, lines []string) (n int) {
	const each = 5 // lines of a hook
	for ; n+each <= len(lines); n += each {
		if command, ok := tomlValue(lines[n+3], "command"); !ok || t.kindOfCommand(command) == "" {
			break
		}
	}
	return n
}

// tables writes the server. What the host added to its table or below it stays.
func (codexServer) tables(t *Target, old []string) []string {
	words := t.server()
	lines := []string{"[" + tomlServer + "]", "command = " + quoteJSON(words[0]), "args = " + quoteList(words[1:])}
	for _, line := range old {
		line = strings.TrimRight(line, "\r\n")
		key, _, _ := strings.Cut(line, "=")
		if key = strings.TrimSpace(key); line != lines[0] && key != "command" && key != "args" {
			lines = append(lines, line)
		}
	}
	return lines
}

// own counts the lines of the server's table and of the tables below it, which mean nothing without it.
func (codexServer) own(_ *Target, lines []string) int {
	for i, line := range lines {
		if strings.HasPrefix(line, "[") && !strings.HasPrefix(line, "["+tomlServer+"]") &&
			!strings.HasPrefix(line, "["+tomlServer+".") {
			return i
		}
	}
	return len(lines)
}

// tomlBlock finds what was written between the two lines, their own included; start is -1 when they are not there.
func tomlBlock(text []byte, begin string) (start, end int, joined bool, err error) {
	start = lineStarting(text, begin, 0)
	if start < 0 {
		return -1, -1, false, nil
	}
	end = lineStarting(text, tomlEnd, start)
	if end < 0 || lineStarting(text, begin, start+1) >= 0 {
		return 0, 0, false, fmt.Errorf("%w: the lines of memsidecar in it are not as they were written; take them "+
			"out by hand", ErrUnreadable)
	}
	line, _, _ := bytes.Cut(text[start:], []byte("\n"))
	joined = bytes.Contains(line, []byte(tomlJoined))
	if n := bytes.IndexByte(text[end:], '\n'); n >= 0 {
		return start, end + n + 1, joined, nil
	}
	return start, len(text), joined, nil
}

// lineStarting returns the position of the first line from an offset that begins with a text, or -1.
func lineStarting(text []byte, with string, from int) int {
	for from <= len(text) {
		i := bytes.Index(text[from:], []byte(with))
		if i < 0 {
			return -1
		}
		if i += from; i == 0 || text[i-1] == '\n' {
			return i
		}
		from = i + 1
	}
	return -1
}

// remove deletes our block and keeps what others wrote inside it.
func (e tomlEditor) remove(t *Target, before []byte) ([]byte, error) {
	if err := checkTOML(before); err != nil {
		return nil, err
	}
	start, end, joined, err := tomlBlock(before, e.part.begin())
	if err != nil || start < 0 {
		return before, err
	}
	_, others := e.split(t, before[start:end])
	if joined && end == len(before) && others == "" {
		start = len(bytes.TrimSuffix(bytes.TrimSuffix(before[:start], []byte("\n")), []byte("\r")))
	}
	if after := splice(before, start, end, others); len(after) > 0 {
		return after, nil
	}
	return nil, nil
}

// commands returns what is registered.
func (e tomlEditor) commands(t *Target, text []byte) (map[hook.Kind][]string, error) {
	if err := checkTOML(text); err != nil {
		return nil, err
	}
	return e.part.commands(t, text), nil
}

// commands returns the commands with which each event calls us.
func (codexHooks) commands(t *Target, text []byte) map[hook.Kind][]string {
	var out map[hook.Kind][]string
	for line := range strings.Lines(string(text)) {
		command, ok := tomlValue(line, "command")
		if kind := t.kindOfCommand(command); ok && kind != "" {
			if out == nil {
				out = map[hook.Kind][]string{}
			}
			out[kind] = append(out[kind], command)
		}
	}
	return out
}

// commands returns the command of the server under no event.
func (codexServer) commands(_ *Target, text []byte) map[hook.Kind][]string {
	for _, table := range tomlTables(text) {
		if table.head != "["+tomlServer+"]" {
			continue
		}
		words := []string{table.strings["command"]}
		if n, err := parseJSON([]byte(table.words["args"])); err == nil && n.kind == '[' {
			for _, it := range n.items {
				words = append(words, it.value.text)
			}
		}
		return map[hook.Kind][]string{"": {ShellCommand(words)}}
	}
	return nil
}

// tomlValue returns the text of a line that sets a key to a basic string, which is written as in JSON.
func tomlValue(line, key string) (text string, ok bool) {
	name, value, found := strings.Cut(strings.TrimSpace(line), "=")
	if !found || strings.TrimSpace(name) != key {
		return "", false
	}
	n, err := parseJSON([]byte(strings.TrimSpace(value)))
	if err != nil || n.kind != '"' {
		return "", false
	}
	return n.text, true
}

// checkTOML reads as much of a file as is needed to append tables to it: that every string, list and inline table
// ends, and that nothing in it makes a table named hooks impossible.
func checkTOML(text []byte) error {
	s := &scanner{text: text}
	if i := bytes.IndexByte(bytes.ReplaceAll(text, []byte("\r\n"), []byte("\n")), '\r'); i >= 0 {
		return s.syntaxError("a carriage return that ends no line")
	}
	table := ""
	for s.pos < len(text) {
		for s.pos < len(text) && isSpace(text[s.pos]) {
			s.pos++
		}
		start := s.pos
		if err := s.tomlStatement(); err != nil {
			return err
		}
		statement := strings.TrimSpace(string(text[start:s.pos]))
		if strings.HasPrefix(statement, "[") {
			table = statement
		}
		key, _, _ := strings.Cut(statement, "=")
		if key = strings.TrimSpace(key); table == "" &&
			(key == "hooks" || strings.HasPrefix(key, "hooks.") || key == `"hooks"`) {
			return s.syntaxError("\"hooks\" is written in one line, so no table can be added to it; write it as " +
				"[[hooks.EVENT]] tables")
		}
		if table == "" && (key == "mcp_servers" || strings.HasPrefix(key, "mcp_servers.")) ||
			table == "[mcp_servers]" && statement != table && key == serverName {
			return s.syntaxError("\"mcp_servers\" is written in one line, so no table can be added to it; write it as " +
				"[mcp_servers.NAME] tables")
		}
		inline := table == "[hooks]" && statement != table
		plain := strings.HasPrefix(statement, "[hooks.")
		for _, b := range hook.ByName("codex").Bindings {
			if inline && key == b.Native || plain && strings.HasPrefix(statement, "[hooks."+b.Native+"]") {
				return s.syntaxError("the hooks of " + b.Native + " are not written as [[hooks." + b.Native +
					"]] tables, so none can be added")
			}
		}
	}
	return nil
}

// tomlStatement skips a comment, a table's head or a key with its value: to the end of the line on which all that was
// opened is closed.
func (s *scanner) tomlStatement() error {
	depth := 0
	for s.pos < len(s.text) {
		switch c := s.text[s.pos]; {
		case c == '\n' && depth == 0:
			return nil
		case c == '#':
			for s.pos < len(s.text) && s.text[s.pos] != '\n' {
				s.pos++
			}
			continue
		case c == '[' || c == '{':
			depth++
		case c == ']' || c == '}':
			if depth--; depth < 0 {
				return s.syntaxError("a bracket too many")
			}
		case c == '"' || c == '\'':
			if err := s.tomlString(c); err != nil {
				return err
			}
			continue
		}
		s.pos++
	}
	if depth > 0 {
		return s.syntaxError("a bracket that is not closed")
	}
	return nil
}

// tomlString skips a string in any of the four forms of TOML.
func (s *scanner) tomlString(quote byte) error {
	rest := s.text[s.pos:]
	triple := bytes.Repeat([]byte{quote}, 3)
	long := bytes.HasPrefix(rest, triple)
	width := 1
	if long {
		width = 3
	}
	for i := width; i < len(rest); i++ {
		switch {
		case rest[i] == '\\' && quote == '"':
			i++
		case rest[i] == '\n' && !long:
			return s.syntaxError("a string that does not end")
		case rest[i] == quote && !long:
			s.pos += i + 1
			return nil
		case long && bytes.HasPrefix(rest[i:], triple):
			for i+3 < len(rest) && rest[i+3] == quote { // up to two quotes may stand before the end
				i++
			}
			s.pos += i + 3
			return nil
		}
	}
	return s.syntaxError("a string that does not end")
}
