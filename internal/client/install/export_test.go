package install

import "github.com/memsidecar/memsidecar/internal/client/hook"

// Install and Uninstall change one part alone.
func (t *Target) Install() (*Change, error) { return t.file().Install(Parts()) }

// Uninstall is the way back.
func (t *Target) Uninstall() (*Change, error) { return t.file().Uninstall(Parts()) }

func (t *Target) file() *File { return &File{Path: t.Path, Targets: []*Target{t}} }

// Add, Remove and Count are what is done to a configuration's text.
func (t *Target) Add(text []byte) ([]byte, error) { return t.editor.add(t, text) }

// Remove is the way back; nil is that the file goes, or its backup comes back.
func (t *Target) Remove(text []byte) ([]byte, error) { return t.editor.remove(t, text) }

// Count is how often each event is registered.
func (t *Target) Count(text []byte) (map[hook.Kind]int, error) {
	commands, err := t.editor.commands(t, text)
	if len(commands) == 0 || err != nil {
		return nil, err
	}
	out := map[hook.Kind]int{}
	for kind, list := range commands {
		out[kind] = len(list)
	}
	return out, nil
}

// Command is what is registered for an event.
func (t *Target) Command(kind hook.Kind) string { return t.command(kind) }

// CodexHash is the hash that Codex keeps of a hook.
var CodexHash = codexHash
