package install

import (
	"bytes"
	_ "embed"
	"fmt"
	"strings"

	"github.com/memsidecar/memsidecar/internal/client/hook"
)

// pluginEditor is OpenCode's: a file of our own, which is there or not.
type pluginEditor struct{}

//go:embed opencode.js
var openCodePlugin string

// pluginMark is the first line of the file. What does not begin with it is not ours.
const pluginMark = "// memsidecar: plugin for OpenCode"

// pluginWords stands before the list of the program and its arguments.
const pluginWords = "const [program, ...args] = "

// add writes our plugin with the program's path. Error: ErrForeign for a file that is not ours.
func (pluginEditor) add(t *Target, before []byte) ([]byte, error) {
	if before != nil && !bytes.HasPrefix(before, []byte(pluginMark)) {
		return nil, fmt.Errorf("%w: it does not begin with %q", ErrForeign, pluginMark)
	}
	var args []string
	for _, a := range append([]string{t.Program}, t.Args...) {
		args = append(args, quoteJSON(a))
	}
	return []byte(strings.Replace(openCodePlugin, `["memsidecar"]`, "["+strings.Join(args, ", ")+"]", 1)), nil
}

// remove deletes the plugin if it is ours.
func (pluginEditor) remove(_ *Target, before []byte) ([]byte, error) {
	if !bytes.HasPrefix(before, []byte(pluginMark)) {
		return before, nil
	}
	return nil, nil
}

// commands returns the commands with which the plugin calls us for each event.
func (pluginEditor) commands(t *Target, text []byte) (map[hook.Kind][]string, error) {
	if !bytes.HasPrefix(text, []byte(pluginMark)) {
		return nil, nil
	}
	words := []string{t.Program}
	if _, list, found := strings.Cut(string(text), pluginWords); found {
		list, _, _ = strings.Cut(list, "\n")
		if n, err := parseJSON([]byte(list)); err == nil && n.kind == '[' {
			words = nil
			for _, it := range n.items {
				words = append(words, it.value.text)
			}
		}
	}
	out := map[hook.Kind][]string{}
	for _, b := range t.Host.Bindings {
		for range strings.Count(string(text), `call("`+string(b.Kind)+`"`) {
			command := append([]string{words[0], "hook", "--host", t.Host.Name, string(b.Kind)}, words[1:]...)
			out[b.Kind] = append(out[b.Kind], ShellCommand(command))
		}
	}
	return out, nil
}
