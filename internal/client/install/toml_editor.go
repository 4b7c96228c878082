package install

import (
	"bytes"
	"fmt"
	"slices"
	"strings"

	"github.com/memsidecar/memsidecar/internal/client/hook"
)

// tomlEditor is Codex's configuration. The hooks are tables at the end of the file, between two lines by which they
// are found again: a table ends where the next one begins, so that nothing above them changes its meaning.
type tomlEditor struct{}

const (
	tomlBegin  = "# >>> memsidecar: hooks, written by \"memsidecar install codex\" >>>"
	tomlEnd    = "# <<< memsidecar <<<"
	tomlJoined = " (the line before had no end)"
)

// add puts our hooks at the end of the file between two comment lines, and keeps what the host wrote between them.
func (tomlEditor) add(t *Target, before []byte) ([]byte, error) {
	if err := checkTOML(before); err != nil {
		return nil, err
	}
	start, end, joined, err := tomlBlock(before)
	if err != nil {
		return nil, err
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
	others := tomlOthers(t, before[start:end])
	return splice(before, start, end, tomlHooks(t, newline, joined, others)), nil
}

// tomlHooks writes the tables between their two lines. others are those of somebody else that stand there too.
func tomlHooks(t *Target, newline string, joined bool, others string) string {
	begin := tomlBegin
	if joined {
		begin += tomlJoined
	}
	lines := []string{begin}
	for _, b := range t.Host.Bindings {
		lines = append(lines, "[[hooks."+b.Native+"]]", "[[hooks."+b.Native+".hooks]]", `type = "command"`,
			"command = "+quoteJSON(t.command(b.Kind)), "timeout = 5")
	}
	return strings.Join(lines, newline) + newline + others + tomlEnd + newline
}

// tomlOthers is what stands between the two lines and is not ours: Codex itself adds tables behind the last one,
// above the comment at the end.
func tomlOthers(t *Target, block []byte) string {
	lines := slices.Collect(strings.Lines(string(block)))
	if len(lines) < 2 {
		return ""
	}
	lines = lines[1 : len(lines)-1]
	const each = 5 // lines of a hook
	for len(lines) >= each {
		if command, ok := tomlValue(lines[3], "command"); !ok || t.kindOfCommand(command) == "" {
			break
		}
		lines = lines[each:]
	}
	return strings.Join(lines, "")
}

// tomlBlock finds what was written between the two lines, their own included; start is -1 when they are not there.
func tomlBlock(text []byte) (start, end int, joined bool, err error) {
	start = lineStarting(text, tomlBegin, 0)
	if start < 0 {
		return -1, -1, false, nil
	}
	end = lineStarting(text, tomlEnd, start)
	if end < 0 || lineStarting(text, tomlBegin, start+1) >= 0 {
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
func (tomlEditor) remove(t *Target, before []byte) ([]byte, error) {
	if err := checkTOML(before); err != nil {
		return nil, err
	}
	start, end, joined, err := tomlBlock(before)
	if err != nil || start < 0 {
		return before, err
	}
	others := tomlOthers(t, before[start:end])
	if joined && end == len(before) && others == "" {
		start = len(bytes.TrimSuffix(bytes.TrimSuffix(before[:start], []byte("\n")), []byte("\r")))
	}
	if after := splice(before, start, end, others); len(after) > 0 {
		return after, nil
	}
	return nil, nil
}

// commands returns the commands with which each event calls us.
func (tomlEditor) commands(t *Target, text []byte) (map[hook.Kind][]string, error) {
	if err := checkTOML(text); err != nil {
		return nil, err
	}
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
	return out, nil
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
