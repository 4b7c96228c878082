package daemon

import (
	"errors"
	"fmt"
	"log/slog"
	"strconv"
	"time"

	"github.com/memsidecar/memsidecar/internal/llm"
	"github.com/memsidecar/memsidecar/internal/redact"
	"github.com/memsidecar/memsidecar/internal/search/embedding"
)

// Embeddings selects what embeds texts: the models inside the program, a server, or nothing. See docs/embeddings.md.
type Embeddings struct {
	// BaseURL is the address of a server with OpenAI's /v1/embeddings, such as http://localhost:11434/v1; empty for
	// none. Key embeddings_base_url, default none.
	BaseURL string
	// Model is the model's name on the server. Key embeddings_model, required with an address.
	Model string
	// KeyEnv names the environment variable that holds the key. Key embeddings_api_key_env.
	KeyEnv string
	// KeyFile is a file that holds the key and has mode 0600 or stricter; only one of KeyEnv and KeyFile may be set.
	// Key embeddings_api_key_file.
	KeyFile string
	// QueryPrefix is put before queries, as some models need it. Key embeddings_query_prefix.
	QueryPrefix string
	// TextPrefix is put before stored texts. Key embeddings_text_prefix.
	TextPrefix string
	// AllowHTTP permits plain http to other machines. Key embeddings_allow_http, default false.
	AllowHTTP bool
	// Off disables the models inside; they are not used with a server either. Key embeddings_inside, default true, is
	// its opposite.
	Off bool
}

// embeddingsSettings lists the keys of Embeddings in the order in which they are shown.
func embeddingsSettings() []setting {
	text := func(key string, field func(*Config) *string) setting {
		return setting{key, func(c *Config, v string) error { *field(c) = v; return nil }, func(c Config) string {
			return *field(&c)
		}}
	}
	return []setting{
		{"embeddings_inside", setEnabled(func(c *Config) *bool { return &c.Embeddings.Off }), func(c Config) string {
			return strconv.FormatBool(!c.Embeddings.Off)
		}},
		{"embeddings_base_url", func(c *Config, v string) error {
			c.Embeddings.BaseURL = v
			return llm.CheckBaseURL(v, true)
		}, func(c Config) string { return c.Embeddings.BaseURL }},
		text("embeddings_model", func(c *Config) *string { return &c.Embeddings.Model }),
		{"embeddings_api_key_env", func(c *Config, v string) error {
			if !variable.MatchString(v) {
				return errors.New("must be the name of an environment variable, in capitals, and not the key itself")
			}
			c.Embeddings.KeyEnv = v
			return nil
		}, func(c Config) string { return c.Embeddings.KeyEnv }},
		{"embeddings_api_key_file", setPath(func(c *Config) *string { return &c.Embeddings.KeyFile }),
			func(c Config) string { return c.Embeddings.KeyFile }},
		text("embeddings_query_prefix", func(c *Config) *string { return &c.Embeddings.QueryPrefix }),
		text("embeddings_text_prefix", func(c *Config) *string { return &c.Embeddings.TextPrefix }),
		flag("embeddings_allow_http", func(c *Config) *bool { return &c.Embeddings.AllowHTTP }),
	}
}

// validateEmbeddings returns all contradictions between settings. Without an address there are none.
func (c Config) validateEmbeddings() (errs []error) {
	e := c.Embeddings
	if e.BaseURL == "" {
		return nil
	}
	add := func(key, what string) { errs = append(errs, fmt.Errorf("%s (%s): %s", key, c.origin(key), what)) }
	if !e.AllowHTTP && llm.CheckBaseURL(e.BaseURL, true) == nil && llm.CheckBaseURL(e.BaseURL, false) != nil {
		add("embeddings_base_url", "is plain http to another machine, which others on the network can read; use "+
			"https, or set embeddings_allow_http to true")
	}
	if e.Model == "" {
		add("embeddings_model", "is empty; set it to the name of a model on the server")
	}
	if e.KeyEnv != "" && e.KeyFile != "" {
		add("embeddings_api_key_file", "is set, and so is embeddings_api_key_env; set only one")
	}
	return errs
}

// client returns a client of the server, nil when none is configured. It removes secrets from what it sends.
func (e Embeddings) client(env func(string) string, now func() time.Time, log *slog.Logger) *embedding.Client {
	if e.BaseURL == "" {
		return nil
	}
	cfg := embedding.Config{
		URL: e.BaseURL, Model: e.Model, QueryPrefix: e.QueryPrefix, TextPrefix: e.TextPrefix, HTTP: llm.HTTPClient(),
		Now: now, Logger: log,
		Clean: func(s string) string { clean, _ := redact.Text(s); return clean },
	}
	switch {
	case e.KeyEnv != "":
		cfg.Key = llm.KeyFromEnv(env, e.KeyEnv)
	case e.KeyFile != "":
		cfg.Key = llm.KeyFromFile(e.KeyFile)
	}
	return embedding.New(cfg)
}
