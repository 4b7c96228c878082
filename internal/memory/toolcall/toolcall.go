// Package toolcall says what tool calls of different hosts have in common. Each host has names of its own for the same
// tools and arguments, and writes what went wrong in a form of its own; what was learnt in one host is of use in all
// only if both are read alike. The package is pure: it knows no host by name and does no I/O.
package toolcall

import (
	"encoding/json"
	"slices"
	"strings"

	"github.com/memsidecar/memsidecar/internal/lazyregexp"
)

// Kinds of tools that hosts have under different names.
const (
	Shell     = "shell"
	Fetch     = "fetch" // the content of an address
	Read      = "read"  // a file
	Write     = "write"
	Edit      = "edit"
	Grep      = "grep" // text in files
	Glob      = "glob" // files by name
	WebSearch = "web_search"
)

// kind describes tools that do the same.
type kind struct {
	name  string
	tools []string // as folded; see fold
	// argument names by the canonical one
	keys map[string][]string
	// the canonical argument that says what a call does, where the others only say how; "" if all count
	identity string
}

// pathKeys are the names that hosts have for the path of a file.
var pathKeys = []string{"path", "file_path", "filepath", "absolute_path", "target_file", "filename", "file", "notebook_path"}

// kinds is the one table of what hosts call their tools and arguments. Names of Claude Code, Codex (hooks and
// rollouts differ), Gemini CLI, OpenCode, Copilot CLI, Cursor, VS Code and VibeWorker.
var kinds = []kind{
	{Shell, []string{"bash", "exec_command", "shell", "shell_command", "local_shell", "container.exec", "unified_exec",
		"run_shell_command", "run_terminal_cmd", "run_terminal_command", "run_in_terminal", "runinterminal", "runterminalcommand",
		"terminal", "execute_command", "powershell", "pwsh", "cmd",
		"console", "exec"},
		map[string][]string{"command": {"command", "cmd", "argv", "script"}}, "command"},
	{Fetch, []string{"webfetch", "web_fetch", "fetch", "fetch_url", "fetch_webpage", "fetchwebpage", "read_url",
		"open_url", "url_fetch", "read_page", "get_page"},
		map[string][]string{"url": {"url", "urls", "uri", "address", "prompt"}}, "url"},
	{Read, []string{"read", "read_file", "readfile", "view", "open_file", "cat_file"},
		map[string][]string{"path": pathKeys}, "path"},
	{Write, []string{"write", "write_file", "create", "create_file", "createfile"},
		map[string][]string{"path": pathKeys}, ""},
	{Edit, []string{"edit", "edit_file", "replace", "str_replace", "str_replace_editor", "replace_string_in_file",
		"multiedit", "search_replace"},
		map[string][]string{"path": pathKeys, "old": {"old_string", "oldstring", "old_str"},
			"new": {"new_string", "newstring", "new_str"}}, ""},
	{Grep, []string{"grep", "grep_search", "search_file_content", "rg", "ripgrep"},
		map[string][]string{"pattern": {"pattern", "query", "regex"},
			"path": append([]string{"dir_path", "includepattern"}, pathKeys...)}, ""},
	{Glob, []string{"glob", "file_search", "filesearch", "glob_file_search"},
		map[string][]string{"pattern": {"pattern", "query", "glob_pattern"}}, ""},
	{WebSearch, []string{"websearch", "web_search", "google_web_search"},
		map[string][]string{"query": {"query", "search_term", "q"}}, "query"},
}

// kindOf maps a folded name of a tool to its entry of kinds.
var kindOf = func() map[string]*kind {
	out := map[string]*kind{}
	for i := range kinds {
		for _, name := range kinds[i].tools {
			out[name] = &kinds[i]
		}
	}
	return out
}()

// Canonical returns the name that a tool has here whatever its host calls it: one of the kinds above, else the name in
// lower case without the marks by which hosts tell the tools of MCP servers apart.
func Canonical(tool string) string {
	name := fold(tool)
	if k := kindOf[name]; k != nil {
		return k.name
	}
	return name
}

// FilePath returns the path of the file that the arguments of any tool name, by the names that hosts have for it; "" if
// they name none.
func FilePath(arguments map[string]any) string {
	v, _ := lookup(arguments, pathKeys)
	path, _ := v.(string)
	return path
}

// fold writes the name of a tool in one way: mcp__server__tool, mcp_server_tool, server_tool and server-tool are one.
func fold(tool string) string {
	name := strings.ToLower(strings.TrimSpace(tool))
	for _, mark := range []string{"functions.", "mcp__", "mcp_"} {
		name = strings.TrimPrefix(name, mark)
	}
	return underscores.Replace(name)
}

// underscores are what names of tools have between words.
var underscores = strings.NewReplacer("__", "_", "-", "_")

// Arguments returns what a call asks for by canonical names, without what only says how. plain is the text of
// arguments that are no JSON object, with a nil map; of a tool whose one argument tells all it is that argument.
func Arguments(tool, arguments string) (named map[string]any, plain string) {
	k := kindOf[fold(tool)]
	var object map[string]any
	if json.Unmarshal([]byte(arguments), &object) != nil {
		if k != nil && k.identity != "" {
			return map[string]any{k.identity: commandText(arguments)}, ""
		}
		return nil, arguments
	}
	if k == nil {
		return object, ""
	}
	out := map[string]any{}
	for canonical, aliases := range k.keys {
		if v, ok := lookup(object, aliases); ok {
			out[canonical] = k.value(canonical, v)
		}
	}
	if k.identity != "" && out[k.identity] != nil {
		return map[string]any{k.identity: out[k.identity]}, ""
	}
	for key, v := range object {
		if !k.isAlias(key) {
			out[key] = v
		}
	}
	return out, ""
}

// lookup returns the first of the members that is there, whatever the case of its name.
func lookup(object map[string]any, names []string) (any, bool) {
	for _, name := range names {
		for key, v := range object {
			if strings.EqualFold(key, name) && v != nil {
				return v, true
			}
		}
	}
	return nil, false
}

// isAlias reports whether an argument has a canonical name.
func (k *kind) isAlias(key string) bool {
	for _, aliases := range k.keys {
		if slices.Contains(aliases, strings.ToLower(key)) {
			return true
		}
	}
	return false
}

// address is an address in a text that also says what to do with it.
var address = lazyregexp.New(`https?://[^\s"'<>)\]]+`)

// value brings an argument into one form: a command as one line for a shell, an address alone.
func (k *kind) value(key string, v any) any {
	if list, ok := v.([]any); ok && len(list) == 1 {
		v = list[0]
	}
	switch {
	case k.name == Shell && key == "command":
		if list, ok := v.([]any); ok {
			return argv(list)
		}
		if s, ok := v.(string); ok {
			return commandText(s)
		}
	case k.name == Fetch && key == "url":
		if s, ok := v.(string); ok {
			if at := address.FindString(s); at != "" {
				return at
			}
		}
	}
	return v
}

// commandText is a command without the white space around it; a JSON list is read as one.
func commandText(s string) string {
	s = strings.TrimSpace(s)
	var list []any
	if strings.HasPrefix(s, "[") && json.Unmarshal([]byte(s), &list) == nil {
		return argv(list)
	}
	return s
}

// argv is the command that a list of words runs: of a shell that is given a script, the script.
func argv(list []any) string {
	words := make([]string, len(list))
	for i, v := range list {
		words[i], _ = v.(string)
	}
	if len(words) == 3 && strings.HasPrefix(words[1], "-") && strings.HasSuffix(words[1], "c") &&
		strings.HasSuffix(words[0], "sh") {
		return strings.TrimSpace(words[2])
	}
	return strings.Join(words, " ")
}
