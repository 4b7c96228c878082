package install

import "github.com/memsidecar/memsidecar/internal/client/hook"

// Add, Remove and Count are what is done to a configuration's text.
func (t *Target) Add(text []byte) ([]byte, error) { return t.editor.add(t, text) }

// Remove is the way back; nil is that the file goes, or its backup comes back.
func (t *Target) Remove(text []byte) ([]byte, error) { return t.editor.remove(t, text) }

// Count is how often each event is registered.
func (t *Target) Count(text []byte) (map[hook.Kind]int, error) { return t.editor.count(t, text) }
