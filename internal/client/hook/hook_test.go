package hook_test

import (
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/rogpeppe/go-internal/txtar"

	"github.com/memsidecar/memsidecar/internal/client/hook"
	"github.com/memsidecar/memsidecar/internal/memory"
)

var update = flag.Bool("update", false, "write the golden files")

// TestEvents reads what each host sends and writes what it gets, and requires a fixture for each of its events.
func TestEvents(t *testing.T) {
	for _, h := range hook.Hosts() {
		t.Run(h.Name, func(t *testing.T) {
			inputs := fixtures(t, h.Name)
			var b strings.Builder
			for _, bind := range h.Bindings {
				in, ok := inputs[bind.Kind]
				if !ok {
					t.Errorf("there is no fixture for %s", bind.Kind)
					continue
				}
				ev, err := h.Decode(bind.Kind, in)
				if err != nil {
					t.Fatalf("Decode(%s): %v", bind.Kind, err)
				}
				fmt.Fprintf(&b, "== %s (%s)\n%s\nsomething: %snothing: %s", bind.Kind, bind.Native, shown(t, ev),
					h.Encode(bind.Kind, "<told>\n\"you\"</told>\n"), h.Encode(bind.Kind, ""))
			}
			golden(t, filepath.Join("testdata", "events", h.Name+".golden"), b.String())
		})
	}
}

func fixtures(t testing.TB, host string) map[hook.Kind][]byte {
	t.Helper()
	a, err := txtar.ParseFile(filepath.Join("testdata", "events", host+".txtar"))
	if err != nil {
		t.Fatal(err)
	}
	out := map[hook.Kind][]byte{}
	for _, f := range a.Files {
		out[hook.Kind(f.Name)] = f.Data
	}
	return out
}

func shown(t *testing.T, v any) string {
	t.Helper()
	out, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(out)
}

func golden(t *testing.T, path, got string) {
	t.Helper()
	if *update {
		if err := os.WriteFile(path, []byte(got), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Errorf("%s (-want +got):\n%s", path, diff)
	}
}

func TestDecodeErrors(t *testing.T) {
	for _, tt := range []struct {
		name, host string
		kind       hook.Kind
		in, want   string
	}{
		{"empty", "claude-code", hook.Prompt, "", "not a JSON object"},
		{"a list", "claude-code", hook.Prompt, "[]", "not a JSON object"},
		{"cut off", "gemini", hook.Prompt, `{"session_id":"x"`, "not a JSON object"},
		{"no session", "cursor", hook.Prompt, `{"prompt":"x"}`, "names no session"},
		{"a session that is no text", "codex", hook.Prompt, `{"session_id":7}`, "names no session"},
		{"an event that the host has not", "codex", hook.Reply, `{"session_id":"x"}`,
			"codex has no event reply"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			_, err := hook.ByName(tt.host).Decode(tt.kind, []byte(tt.in))
			if err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("error %v, want one with %q", err, tt.want)
			}
		})
	}
}

// TestSessionNames keeps what a host calls a session from leaving the directory of states.
func TestSessionNames(t *testing.T) {
	ev, err := hook.ByName("claude-code").Decode(hook.Stop, []byte(`{"session_id":"../../etc/会话 x"}`))
	if err != nil {
		t.Fatal(err)
	}
	if want := "..-..-etc----x"; ev.Session != want {
		t.Errorf("session %q, want %q", ev.Session, want)
	}
}

// TestTranscripts reads a transcript whole, and in two parts at every line, which must give the same messages.
func TestTranscripts(t *testing.T) {
	for _, name := range []string{"claude-code", "codex", "copilot"} {
		t.Run(name, func(t *testing.T) {
			h := hook.ByName(name)
			path := filepath.Join("testdata", "transcripts", name+".jsonl")
			all, end, err := hook.ReadTranscript(h, path, 0)
			if err != nil {
				t.Fatal(err)
			}
			golden(t, strings.TrimSuffix(path, ".jsonl")+".golden", listing(all))
			text, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			if end != int64(len(text)) {
				t.Errorf("read up to %d of %d bytes", end, len(text))
			}
			for i, c := range text {
				if c != '\n' {
					continue
				}
				part := filepath.Join(t.TempDir(), "part.jsonl")
				if err := os.WriteFile(part, text[:min(i+3, len(text))], 0o600); err != nil {
					t.Fatal(err)
				}
				first, mid, err := hook.ReadTranscript(h, part, 0)
				if err != nil {
					t.Fatal(err)
				}
				if mid != int64(i)+1 {
					t.Errorf("%d bytes were read, want %d: whole lines, not the one that is being written", mid, i+1)
				}
				rest, _, err := hook.ReadTranscript(h, path, mid)
				if err != nil {
					t.Fatal(err)
				}
				if diff := cmp.Diff(all, append(first, rest...)); diff != "" {
					t.Fatalf("in two parts at byte %d (-whole +parts):\n%s", mid, diff)
				}
			}
		})
	}
}

func listing(messages []memory.Message) string {
	var b strings.Builder
	for _, m := range messages {
		out, _ := json.Marshal(m)
		b.Write(append(out, '\n'))
	}
	return b.String()
}

// TestVSCodeByClaude reads the transcript of VS Code, which calls the hooks of Claude Code.
func TestVSCodeByClaude(t *testing.T) {
	path := filepath.Join("testdata", "transcripts", "copilot.jsonl")
	want, _, err := hook.ReadTranscript(hook.ByName("vscode"), path, 0)
	if err != nil {
		t.Fatal(err)
	}
	got, _, err := hook.ReadTranscript(hook.ByName("claude-code"), path, 0)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got); diff != "" || len(got) == 0 {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func FuzzDecode(f *testing.F) {
	for _, h := range hook.Hosts() {
		for _, in := range fixtures(f, h.Name) {
			f.Add(in)
		}
	}
	f.Add([]byte(`{"session_id":"x","tool_name":"a","tool_response":{"error":[1]},"error":null,"workspace_roots":[1]}`))
	f.Fuzz(func(t *testing.T, in []byte) {
		for _, h := range hook.Hosts() {
			for _, b := range h.Bindings {
				ev, err := h.Decode(b.Kind, in)
				if err != nil {
					continue
				}
				if ev.Session == "" || len(ev.Session) > 128 || strings.ContainsAny(ev.Session, "/\n ") {
					t.Errorf("%s %s: session %q", h.Name, b.Kind, ev.Session)
				}
				if out := h.Encode(b.Kind, string(in)); !json.Valid(out) {
					t.Errorf("%s %s: answer %q is not JSON", h.Name, b.Kind, out)
				}
			}
		}
	})
}

func FuzzTranscript(f *testing.F) {
	for _, name := range []string{"claude-code", "codex", "copilot"} {
		text, err := os.ReadFile(filepath.Join("testdata", "transcripts", name+".jsonl"))
		if err != nil {
			f.Fatal(err)
		}
		for line := range strings.Lines(string(text)) {
			f.Add([]byte(line))
		}
	}
	f.Fuzz(func(_ *testing.T, line []byte) {
		for _, h := range hook.Hosts() {
			hook.ParseLine(h, line)
		}
	})
}
