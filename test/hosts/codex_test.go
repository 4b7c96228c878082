//go:build unix

package hosts_test

import (
	"bufio"
	"encoding/json"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// trustCodex trusts the installed hooks as a person does with /hooks, through Codex's own server.
func trustCodex(t *testing.T, w *world) {
	t.Helper()
	cmd := exec.Command(filepath.Join(w.bin, "codex"), "app-server")
	cmd.Env, cmd.Dir = w.environ(), filepath.Join(w.home, "work")
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() {
		_ = in.Close()
		_ = cmd.Process.Kill()
		_ = cmd.Wait() // killed
	}()
	lines := bufio.NewScanner(out)
	lines.Buffer(nil, 16<<20)
	call := func(id int, method string, params any) json.RawMessage {
		t.Helper()
		data, _ := json.Marshal(map[string]any{"id": id, "method": method, "params": params})
		if _, err := in.Write(append(data, '\n')); err != nil {
			t.Fatal(err)
		}
		for id != 0 && lines.Scan() {
			var got struct {
				ID            int
				Result, Error json.RawMessage
			}
			if json.Unmarshal(lines.Bytes(), &got) == nil && got.ID == id {
				if got.Error != nil {
					t.Fatalf("%s: %s", method, got.Error)
				}
				return got.Result
			}
		}
		return nil
	}
	call(1, "initialize", map[string]any{"clientInfo": map[string]string{"name": "memsidecar-test", "version": "1"}})
	call(0, "initialized", map[string]any{})
	var list struct {
		Data []struct {
			Hooks []struct{ Key, Command, CurrentHash string }
		}
	}
	if err := json.Unmarshal(call(2, "hooks/list", map[string]any{"cwds": []string{cmd.Dir}}), &list); err != nil {
		t.Fatal(err)
	}
	state := map[string]any{}
	for _, d := range list.Data {
		for _, h := range d.Hooks {
			if strings.Contains(h.Command, "memsidecar-hook hook --host codex") {
				state[h.Key] = map[string]any{"trusted_hash": h.CurrentHash, "enabled": true}
			}
		}
	}
	if len(state) == 0 {
		t.Fatal("Codex lists no hooks of memsidecar")
	}
	call(3, "config/batchWrite", map[string]any{"edits": []map[string]any{{"keyPath": "hooks.state", "value": state,
		"mergeStrategy": "upsert"}}})
}
