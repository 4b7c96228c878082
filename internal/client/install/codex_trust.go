package install

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"unicode"

	"github.com/memsidecar/memsidecar/internal/client/hook"
)

// Trust says what a host's own review makes of a hook.
type Trust string

// The states of a review. Codex skips a hook that is not trusted without a word.
const (
	TrustUnneeded  Trust = ""          // the host asks for no review
	TrustGiven     Trust = "trusted"   // and switched on
	TrustMissing   Trust = "untrusted" // never reviewed
	TrustOutdated  Trust = "changed"   // reviewed, but what is registered now is another command
	TrustSwitchOff Trust = "disabled"  // reviewed and switched off
)

// Trust returns the host's review of each registered event. Only Codex has one: under hooks.state it keeps a hash of
// each hook, by file, event and position. A hook whose hash is another than the kept one does not run.
func (t *Target) Trust() (map[hook.Kind]Trust, error) {
	if t.editor != (tomlEditor{codexHooks{}}) {
		return nil, nil
	}
	text, err := os.ReadFile(t.Path)
	if errors.Is(err, os.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read the configuration of %s: %w", t.Host.Title, err)
	}
	tables := tomlTables(text)
	out := map[hook.Kind]Trust{}
	groups := map[string]int{} // of each event so far: the position is part of the key
	for i, table := range tables {
		event, ok := strings.CutPrefix(table.head, "[[hooks.")
		if event = strings.TrimSuffix(event, "]]"); !ok {
			continue
		}
		if native, found := strings.CutSuffix(event, ".hooks"); found {
			if kind := t.kindOfCommand(table.strings["command"]); kind != "" {
				out[kind] = trustOf(tables, t.Path, native, groups[native]-1, innerHooks(tables[:i], event), table)
			}
			continue
		}
		groups[event]++
	}
	return out, nil
}

// innerHooks counts the hooks of the same group before a table.
func innerHooks(before []tomlTable, event string) int {
	n := 0
	for i := len(before) - 1; i >= 0 && before[i].head == "[[hooks."+event+"]]"; i-- {
		n++
	}
	return n
}

// trustOf compares the hash of a hook with the one that was reviewed.
func trustOf(tables []tomlTable, path, native string, group, index int, h tomlTable) Trust {
	event := snakeCase(native)
	head := "[hooks.state." + quoteJSON(fmt.Sprintf("%s:%s:%d:%d", path, event, group, index)) + "]"
	for _, state := range tables {
		switch {
		case state.head != head:
		case state.words["enabled"] == "false":
			return TrustSwitchOff
		case state.strings["trusted_hash"] != codexHash(event, h.strings["command"], h.words["timeout"]):
			return TrustOutdated
		default:
			return TrustGiven
		}
	}
	return TrustMissing
}

// codexHash is the hash that Codex keeps of a command hook without a matcher: SHA-256 of its normal form as JSON with
// sorted members. Checked against the answers of hooks/list of Codex 0.169.
func codexHash(event, command, timeout string) string {
	const maxEnd = 3 // seconds that Codex gives a hook at a session's end, whatever is written
	seconds, err := strconv.Atoi(timeout)
	if err != nil {
		seconds = 600 // its default
	}
	if event == "session_end" {
		seconds = min(seconds, maxEnd)
	}
	type handler struct {
		Async   bool   `json:"async"`
		Command string `json:"command"`
		Timeout int    `json:"timeout"`
		Type    string `json:"type"`
	}
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	_ = e.Encode(struct { // strings and numbers: it cannot fail
		Event string    `json:"event_name"`
		Hooks []handler `json:"hooks"`
	}{event, []handler{{Command: command, Timeout: seconds, Type: "command"}}})
	sum := sha256.Sum256(bytes.TrimSuffix(b.Bytes(), []byte("\n")))
	return "sha256:" + hex.EncodeToString(sum[:])
}

// snakeCase writes SessionStart as session_start, as Codex does in its keys.
func snakeCase(name string) string {
	var b strings.Builder
	for i, r := range name {
		if unicode.IsUpper(r) && i > 0 {
			b.WriteByte('_')
		}
		b.WriteRune(unicode.ToLower(r))
	}
	return b.String()
}

// tomlTable is a table's head as it is written, and those of its members that stand in one line.
type tomlTable struct {
	head    string
	strings map[string]string // values of basic strings
	words   map[string]string // other values: numbers, true and false
}

// tomlTables splits a file into tables. What is in no table is left out.
func tomlTables(text []byte) []tomlTable {
	var out []tomlTable
	for line := range strings.Lines(string(text)) {
		line = strings.TrimSpace(line)
		if strings.HasPrefix(line, "[") {
			out = append(out, tomlTable{head: line, strings: map[string]string{}, words: map[string]string{}})
			continue
		}
		key, value, found := strings.Cut(line, "=")
		if key = strings.TrimSpace(key); !found || len(out) == 0 || strings.HasPrefix(key, "#") {
			continue
		}
		if s, ok := tomlValue(line, key); ok {
			out[len(out)-1].strings[key] = s
			continue
		}
		value, _, _ = strings.Cut(value, "#")
		out[len(out)-1].words[key] = strings.TrimSpace(value)
	}
	return out
}
