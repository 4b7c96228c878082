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

// count returns how often the plugin calls us for each event.
func (pluginEditor) count(t *Target, text []byte) (map[hook.Kind]int, error) {
	if !bytes.HasPrefix(text, []byte(pluginMark)) {
		return nil, nil
	}
	out := map[hook.Kind]int{}
	for _, b := range t.Host.Bindings {
		out[b.Kind] = strings.Count(string(text), `call("`+string(b.Kind)+`"`)
	}
	return out, nil
}
