package daemon_test

import (
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/memsidecar/memsidecar/internal/daemon"
)

func TestConfigLLM(t *testing.T) {
	home := t.TempDir()
	file := filepath.Join(home, "config.yaml")
	write(t, file, "llm_provider: openai\nllm_model: small\nllm_api_key_file: key\nllm_daily_tokens: "+
		"unlimited\nllm_headers: |\n  X-Title: a secret title\n  X-Team: 7\n")
	write(t, filepath.Join(home, "key"), "abc\n")
	c, err := daemon.LoadConfig(nil, lookup(home, map[string]string{"MEMSIDECAR_LLM_TIMEOUT": "90s"}), file)
	if err != nil {
		t.Fatal(err)
	}
	want := []string{
		"llm_base_url=https://api.openai.com/v1 (default)", "llm_api_key_file=" + home + "/key (file " + file + ":3)",
		"llm_daily_tokens=unlimited (file " + file + ":4)", "llm_headers=X-Team: (hidden); X-Title: (hidden) (file " +
			file + ":5)",
		"llm_timeout=1m30s (environment MEMSIDECAR_LLM_TIMEOUT)",
	}
	if diff := cmp.Diff(want, values(c, "llm_base_url", "llm_api_key_file", "llm_daily_tokens", "llm_headers",
		"llm_timeout")); diff != "" {
		t.Error(diff)
	}
	client, ok := c.LLM.Client(lookup(home, nil))
	if !ok || client.Model != "small" || client.Timeout != 90*time.Second ||
		client.Headers.Get("x-title") != "a secret title" {
		t.Errorf("got %+v", client)
	}
	if key, err := client.Key(); err != nil || key != "abc" {
		t.Errorf("the key is %q, %v", key, err)
	}
}

func TestConfigWithoutLLM(t *testing.T) {
	home := t.TempDir()
	for _, vars := range []map[string]string{nil,
		{"MEMSIDECAR_LLM_PROVIDER": "none", "MEMSIDECAR_LLM_MODEL": "small"}} {
		c, err := daemon.LoadConfig(nil, lookup(home, vars), "")
		if err != nil {
			t.Fatal(err)
		}
		if client, ok := c.LLM.Client(lookup(home, vars)); ok {
			t.Errorf("got %+v", client)
		}
	}
	if _, ok := (daemon.LLM{}).Client(lookup(home, nil)); ok {
		t.Error("the zero value has a model")
	}
}

func TestConfigLLMErrors(t *testing.T) {
	const key = "sk-hunter2"
	tests := []struct {
		name, file string
		want       []string
	}{
		{"provider", "llm_provider: skynet\n", []string{"none, openai or anthropic"}},
		{"no model", "llm_provider: openai\n", []string{"llm_model (default): is empty"}},
		{"plain http far away", "llm_provider: openai\nllm_model: m\nllm_base_url: http://gpu.lan/v1\n",
			[]string{"config.yaml:3", "plain http", "llm_allow_http"}},
		{"password in the address", "llm_base_url: https://a:" + key + "@host/v1\n",
			[]string{"config.yaml:1", "user or password"}},
		{"the key instead of its name", "llm_api_key_env: " + key + "\n",
			[]string{"config.yaml:1", "not the key itself"}},
		{"the key in a header", "llm_headers: 'Authorization: Bearer " + key + "'\n",
			[]string{"the header Authorization cannot be set", "llm_api_key_file"}},
		{"no header", "llm_headers: " + key + "\n", []string{"Name: value"}},
		{"two keys", "llm_provider: openai\nllm_model: m\nllm_api_key_env: A\nllm_api_key_file: /b\n",
			[]string{"set only one"}},
		{"budget below one reply", "llm_provider: openai\nllm_model: m\nllm_daily_tokens: 8192\n",
			[]string{"more than llm_max_output_tokens, which is 8192"}},
		{"everything at once", "llm_timeout: soon\nllm_idle_timeout: -1s\nllm_daily_tokens: " +
			"0\nllm_max_output_tokens: 0\nllm_concurrency: 65\nllm_allow_http: perhaps\n",
			[]string{"llm_timeout", "llm_idle_timeout", "llm_daily_tokens", "llm_max_output_tokens", "from 1 to 64",
				"true or false"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			home := t.TempDir()
			file := filepath.Join(home, "config.yaml")
			write(t, file, tt.file)
			_, err := daemon.LoadConfig(nil, lookup(home, nil), file)
			if err == nil {
				t.Fatal("no error")
			}
			for _, w := range tt.want {
				if !strings.Contains(err.Error(), w) {
					t.Errorf("%q is not in the error: %v", w, err)
				}
			}
			if strings.Contains(err.Error(), "hunter2") {
				t.Errorf("the key is in the error: %v", err)
			}
		})
	}
}
