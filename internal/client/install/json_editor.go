package install

import (
	"bytes"
	"fmt"
	"strings"

	"github.com/memsidecar/memsidecar/internal/client/hook"
)

// jsonEditor is a configuration with an object "hooks" that holds a list for each event.
type jsonEditor struct{ form hookForm }

// hookForm is how a host writes one hook. What is made for a missing file has the other members too.
type hookForm struct {
	nested bool              // the hook is in a list inside an object that says when it is called
	field  string            // the member with the command
	more   map[string]string // other members, as JSON
	order  []string          // of all members
	root   string            // other members of a new file, as JSON with a trailing newline
}

var (
	claudeHook = hookForm{nested: true, field: "command", order: []string{"type", "command", "timeout"},
		more: map[string]string{"type": `"command"`, "timeout": "5"}}
	geminiHook = hookForm{nested: true, field: "command", order: []string{"name", "type", "command", "timeout"},
		more: map[string]string{"name": `"memsidecar"`, "type": `"command"`, "timeout": "5000"}}
	cursorHook = hookForm{field: "command", order: []string{"command", "timeout"},
		more: map[string]string{"timeout": "5"}, root: `"version": 1`}
	copilotHook = hookForm{field: "bash", order: []string{"type", "bash", "timeoutSec"},
		more: map[string]string{"type": `"command"`, "timeoutSec": "5"}, root: `"version": 1`}
	vscodeHook = hookForm{field: "command", order: []string{"type", "command", "timeout"},
		more: map[string]string{"type": `"command"`, "timeout": "5"}}
)

// layout is how a file is indented.
type layout struct{ newline, unit string }

// layoutOf detects the line ends and the indentation of a JSON text.
func layoutOf(text []byte, root *node) layout {
	l := layout{"\n", "  "}
	if bytes.Contains(text, []byte("\r\n")) {
		l.newline = "\r\n"
	}
	if len(root.items) > 0 {
		line := text[bytes.LastIndexByte(text[:root.items[0].start], '\n')+1 : root.items[0].start]
		if len(line) > 0 && len(bytes.Trim(line, " \t")) == 0 {
			l.unit = string(line)
		}
	}
	return l
}

// line returns a line break with the indentation of a depth.
func (l layout) line(depth int) string { return l.newline + strings.Repeat(l.unit, depth) }

// quoteJSON quotes a string without escaping characters that JSON allows, as people write it.
func quoteJSON(s string) string {
	var b strings.Builder
	b.WriteByte('"')
	for _, r := range s {
		switch {
		case r == '"' || r == '\\':
			b.WriteString(`\` + string(r))
		case r < ' ':
			fmt.Fprintf(&b, `\u%04x`, r)
		default:
			b.WriteRune(r)
		}
	}
	return b.String() + `"`
}

// hook writes one hook at a depth.
func (f hookForm) hook(l layout, depth int, command string) string {
	at := depth
	if f.nested {
		at = depth + 2
	}
	var b strings.Builder
	b.WriteByte('{')
	for i, name := range f.order {
		value, ok := f.more[name]
		if !ok {
			value = quoteJSON(command)
		}
		if i > 0 {
			b.WriteByte(',')
		}
		b.WriteString(l.line(at+1) + `"` + name + `": ` + value)
	}
	b.WriteString(l.line(at) + "}")
	if !f.nested {
		return b.String()
	}
	return "{" + l.line(depth+1) + `"hooks": [` + l.line(depth+2) + b.String() + l.line(depth+1) + "]" + l.line(depth) +
		"}"
}

// event returns the member of one event with its list of hooks.
func (f hookForm) event(t *Target, l layout, depth int, b hook.Binding) string {
	return quoteJSON(b.Native) + ": [" + l.line(depth+1) + f.hook(l, depth+1, t.command(b.Kind)) + l.line(depth) + "]"
}

// hooks returns the member "hooks" with all events of a host.
func (f hookForm) hooks(t *Target, l layout) string {
	var events []string
	for _, b := range t.Host.Bindings {
		events = append(events, f.event(t, l, 2, b))
	}
	return `"hooks": {` + l.line(2) + strings.Join(events, ","+l.line(2)) + l.line(1) + "}"
}

// root reads a configuration: its root and its hooks, which may be missing.
func (s jsonEditor) root(text []byte) (root, hooks *node, err error) {
	if root, err = parseJSON(text); err != nil {
		return nil, nil, err
	}
	if root.kind != '{' {
		return nil, nil, fmt.Errorf("%w: it is not a JSON object", ErrUnreadable)
	}
	if hooks = root.member("hooks"); hooks == nil {
		return root, nil, nil
	}
	if hooks.kind != '{' {
		return nil, nil, fmt.Errorf("%w: \"hooks\" is not an object", ErrUnreadable)
	}
	return root, hooks, nil
}

// add registers the hooks: in a new file, in a file without hooks, or event by event beside the hooks of others.
func (s jsonEditor) add(t *Target, before []byte) ([]byte, error) {
	if before == nil {
		l := layout{"\n", "  "}
		rest := ""
		if s.form.root != "" {
			rest = l.line(1) + s.form.root + ","
		}
		return []byte("{" + rest + l.line(1) + s.form.hooks(t, l) + "\n}\n"), nil
	}
	root, hooks, err := s.root(before)
	if err != nil {
		return nil, err
	}
	l := layoutOf(before, root)
	if hooks == nil {
		return insert(before, root, l.line(1), s.form.hooks(t, l)), nil
	}
	text := before
	for _, b := range t.Host.Bindings {
		if text, err = s.addEvent(t, text, l, b); err != nil {
			return nil, err
		}
	}
	return text, nil
}

// addEvent makes sure that the hook of one event is there once.
func (s jsonEditor) addEvent(t *Target, text []byte, l layout, b hook.Binding) ([]byte, error) {
	_, hooks, err := s.root(text)
	if err != nil {
		return nil, err
	}
	list := hooks.member(b.Native)
	if list == nil {
		return insert(text, hooks, l.line(2), s.form.event(t, l, 2, b)), nil
	}
	if list.kind != '[' {
		return nil, fmt.Errorf("%w: the hooks of %q are not a list", ErrUnreadable, b.Native)
	}
	ours := s.ourHooks(t, list)
	switch {
	case len(ours) == 0:
		return insert(text, list, l.line(3), s.form.hook(l, 3, t.command(b.Kind))), nil
	case len(ours) > 1:
		last := ours[len(ours)-1]
		return s.addEvent(t, removeItem(text, last.list, last.index), l, b)
	}
	if c := ours[0].command; c.text != t.command(b.Kind) {
		return splice(text, c.start, c.end, quoteJSON(t.command(b.Kind))), nil
	}
	return text, nil
}

// foundHook is a hook of ours: where its command stands, and the item that goes when it goes.
type foundHook struct {
	command *node
	list    *node
	index   int
}

// ourHooks finds our hooks in the list of an event. One that somebody put beside others goes alone.
func (s jsonEditor) ourHooks(t *Target, list *node) []foundHook {
	var out []foundHook
	for i, it := range list.items {
		if c := s.commandOf(t, it.value); c != nil {
			out = append(out, foundHook{c, list, i})
			continue
		}
		inner := it.value.member("hooks")
		if it.value.kind != '{' || inner == nil {
			continue
		}
		var in []foundHook
		for k, h := range inner.items {
			if c := s.commandOf(t, h.value); c != nil {
				in = append(in, foundHook{c, inner, k})
			}
		}
		if len(in) == 1 && len(inner.items) == 1 {
			in[0].list, in[0].index = list, i
		}
		out = append(out, in...)
	}
	return out
}

// commandOf returns the command of a hook entry if the command is ours for this host, else nil.
func (s jsonEditor) commandOf(t *Target, n *node) *node {
	if n.kind != '{' {
		return nil
	}
	c := n.member(s.form.field)
	if c == nil || c.kind != '"' || t.kindOfCommand(c.text) == "" {
		return nil
	}
	return c
}

// remove deletes our hooks one at a time, and the containers that were created for them.
func (s jsonEditor) remove(t *Target, before []byte) ([]byte, error) {
	text := before
	for {
		root, hooks, err := s.root(text)
		if err != nil {
			return nil, err
		}
		if hooks == nil {
			if len(text) == len(before) { // nothing of ours was in it
				return before, nil
			}
			return s.withoutEmptyRoot(text, root), nil
		}
		next := s.removeOne(t, text, root, hooks)
		if next == nil {
			return text, nil
		}
		text = next
	}
}

// removeOne takes out the last hook of ours, and with it the list and the object that were made for it; nil when
// there is none.
func (s jsonEditor) removeOne(t *Target, text []byte, root, hooks *node) []byte {
	for e := len(hooks.items) - 1; e >= 0; e-- {
		list := hooks.items[e].value
		if list.kind != '[' {
			continue
		}
		ours := s.ourHooks(t, list)
		if len(ours) == 0 {
			continue
		}
		last := ours[len(ours)-1]
		switch {
		case last.list != list || !createdByUs(text, list):
			return removeItem(text, last.list, last.index)
		case !createdByUs(text, hooks):
			return removeItem(text, hooks, e)
		default:
			for i, it := range root.items {
				if it.value == hooks {
					return removeItem(text, root, i)
				}
			}
		}
	}
	return nil
}

// createdByUs reports whether a container was made for the one item in it: it would be empty without it, and was not
// empty before, because then the item would stand right behind the bracket.
func createdByUs(text []byte, n *node) bool {
	if len(n.items) != 1 {
		return false
	}
	before, after := text[n.start+1:n.items[0].start], text[n.items[0].value.end:n.end-1]
	return len(before) > 0 && len(bytes.TrimSpace(before)) == 0 && len(bytes.TrimSpace(after)) == 0
}

// withoutEmptyRoot is what is left without hooks, nil when that is only what add writes into a new file.
func (s jsonEditor) withoutEmptyRoot(text []byte, root *node) []byte {
	if len(root.items) == 0 && bytes.Equal(bytes.TrimSpace(text), []byte("{\n}")) {
		return nil
	}
	if s.form.root != "" && string(text) == "{\n  "+s.form.root+"\n}\n" {
		return nil
	}
	return text
}

// commands returns the commands with which each event calls us.
func (s jsonEditor) commands(t *Target, text []byte) (map[hook.Kind][]string, error) {
	if text == nil {
		return nil, nil
	}
	_, hooks, err := s.root(text)
	if err != nil || hooks == nil {
		return nil, err
	}
	out := map[hook.Kind][]string{}
	for _, it := range hooks.items {
		if it.value.kind != '[' {
			continue
		}
		for _, f := range s.ourHooks(t, it.value) {
			kind := t.kindOfCommand(f.command.text)
			out[kind] = append(out[kind], f.command.text)
		}
	}
	return out, nil
}
