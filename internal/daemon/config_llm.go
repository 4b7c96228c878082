package daemon

import (
	"errors"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/memsidecar/memsidecar/internal/lazyregexp"
	"github.com/memsidecar/memsidecar/internal/llm"
)

// NoProvider is the provider of a daemon without a language model.
const NoProvider = "none"

// DefaultDailyTokens is the default of LLM.DailyTokens.
const DefaultDailyTokens = 1_000_000

// Unlimited is the value of LLM.DailyTokens for no limit.
const Unlimited = -1

// LLM says which language model is asked, and how much. docs/llm.md tells more.
type LLM struct {
	// Provider is none, openai (any server with OpenAI's chat completions) or anthropic. Key llm_provider, default
	// none.
	Provider string
	// BaseURL is the address of the server, such as http://localhost:11434/v1. Key llm_base_url, default the
	// provider's own.
	BaseURL string
	// Model is the name the server knows the model by. Key llm_model, required with a provider.
	Model string
	// KeyEnv names the environment variable that holds the key. The daemon's environment is that of whoever started
	// it. Key llm_api_key_env.
	KeyEnv string
	// KeyFile is a file that holds the key and has mode 0600 or stricter; only one of KeyEnv and KeyFile may be set.
	// Key llm_api_key_file.
	KeyFile string
	// Headers are sent with each request: "X-Title: memory; X-Team: a", or one a line. Not for keys. Key llm_headers.
	Headers http.Header
	// AllowHTTP permits plain http to other machines. Key llm_allow_http, default false.
	AllowHTTP bool
	// Timeout bounds one question with its retries. Key llm_timeout, default 10m.
	Timeout time.Duration
	// IdleTimeout bounds the time in which the server sends nothing. Key llm_idle_timeout, default 2m.
	IdleTimeout time.Duration
	// DailyTokens is how many tokens a day may use, read and written, or Unlimited. Key llm_daily_tokens, default
	// 1000000.
	DailyTokens int64
	// MaxOutputTokens bounds one reply, with the model's reasoning. Key llm_max_output_tokens, default 8192.
	MaxOutputTokens int
	// Concurrency is how many questions are asked at once. Key llm_concurrency, default 2.
	Concurrency int
}

// withDefaults fills in optional fields.
func (l LLM) withDefaults() LLM {
	setDefault(&l.Provider, NoProvider)
	setDefault(&l.BaseURL, llm.DefaultBaseURL(l.Provider))
	setDefault(&l.Timeout, llm.DefaultTimeout)
	setDefault(&l.IdleTimeout, llm.DefaultIdleTimeout)
	setDefault(&l.DailyTokens, DefaultDailyTokens)
	setDefault(&l.MaxOutputTokens, llm.DefaultMaxOutputTokens)
	setDefault(&l.Concurrency, llm.DefaultConcurrency)
	return l
}

// llmSettings lists the keys of LLM, in the order they are shown.
func llmSettings() []setting {
	return []setting{
		{"llm_provider", func(c *Config, v string) error {
			if !slices.Contains([]string{NoProvider, llm.OpenAI, llm.Anthropic}, v) {
				return errors.New("must be none, openai or anthropic")
			}
			c.LLM.Provider = v
			return nil
		}, func(c Config) string { return c.LLM.Provider }},
		// Whether plain http is allowed is known only when all is read.
		{"llm_base_url", func(c *Config, v string) error { c.LLM.BaseURL = v; return llm.CheckBaseURL(v, true) },
			func(c Config) string { return c.LLM.BaseURL }},
		{"llm_model", func(c *Config, v string) error { c.LLM.Model = v; return nil }, func(c Config) string {
			return c.LLM.Model
		}},
		{"llm_api_key_env", func(c *Config, v string) error {
			if !variable.MatchString(v) {
				return errors.New("must be the name of an environment variable, in capitals, and not the key itself")
			}
			c.LLM.KeyEnv = v
			return nil
		}, func(c Config) string { return c.LLM.KeyEnv }},
		{"llm_api_key_file", setPath(func(c *Config) *string { return &c.LLM.KeyFile }), func(c Config) string {
			return c.LLM.KeyFile
		}},
		{"llm_headers", setHeaders, showHeaders},
		{"llm_allow_http", func(c *Config, v string) error {
			on, err := strconv.ParseBool(strings.ToLower(v))
			if err != nil {
				return errors.New("must be true or false")
			}
			c.LLM.AllowHTTP = on
			return nil
		}, func(c Config) string { return strconv.FormatBool(c.LLM.AllowHTTP) }},
		{"llm_timeout", setDuration(func(c *Config) *time.Duration { return &c.LLM.Timeout }), func(c Config) string {
			return c.LLM.Timeout.String()
		}},
		{"llm_idle_timeout", setDuration(func(c *Config) *time.Duration { return &c.LLM.IdleTimeout }),
			func(c Config) string { return c.LLM.IdleTimeout.String() }},
		{"llm_daily_tokens", setDailyTokens, func(c Config) string {
			if c.LLM.DailyTokens == Unlimited {
				return "unlimited"
			}
			return strconv.FormatInt(c.LLM.DailyTokens, 10)
		}},
		{"llm_max_output_tokens", setCount(func(c *Config) *int { return &c.LLM.MaxOutputTokens }, 1_000_000),
			func(c Config) string { return strconv.Itoa(c.LLM.MaxOutputTokens) }},
		{"llm_concurrency", setCount(func(c *Config) *int { return &c.LLM.Concurrency }, llm.MaxConcurrency),
			func(c Config) string { return strconv.Itoa(c.LLM.Concurrency) }},
	}
}

// variable excludes nearly everything that could be a key by mistake: keys have small letters.
var variable = lazyregexp.New(`^[A-Z_][A-Z0-9_]{0,127}$`)

// mayBeSecret reports whether a value that was refused could hold a key or a password, so that an error must not
// quote it.
func mayBeSecret(key string) bool {
	return key == "llm_api_key_env" || key == "llm_headers" || key == "llm_base_url" ||
		key == "embeddings_api_key_env" || key == "embeddings_base_url" || key == "fleet"
}

// setDuration returns a setter for a positive duration.
func setDuration(field func(*Config) *time.Duration) func(*Config, string) error {
	return func(c *Config, v string) error {
		d, err := time.ParseDuration(v)
		if err != nil || d <= 0 {
			return errors.New("must be a length of time such as 90s or 10m")
		}
		*field(c) = d
		return nil
	}
}

// setCount returns a setter for a number from 1 to most.
func setCount(field func(*Config) *int, most int) func(*Config, string) error {
	return func(c *Config, v string) error {
		n, err := strconv.Atoi(v)
		if err != nil || n < 1 || n > most {
			return fmt.Errorf("must be a whole number from 1 to %d", most)
		}
		*field(c) = n
		return nil
	}
}

// setDailyTokens accepts a positive number or "unlimited".
func setDailyTokens(c *Config, v string) error {
	if v == "unlimited" {
		c.LLM.DailyTokens = Unlimited
		return nil
	}
	n, err := strconv.ParseInt(v, 10, 64)
	if err != nil || n < 1 {
		return errors.New("must be a whole number of tokens, 1 or more, or unlimited")
	}
	c.LLM.DailyTokens = n
	return nil
}

// setHeaders reads headers that stand one a line, or are separated by semicolons.
func setHeaders(c *Config, v string) error {
	c.LLM.Headers = http.Header{}
	for line := range strings.FieldsFuncSeq(v, func(r rune) bool { return r == ';' || r == '\n' }) {
		if line = strings.TrimSpace(line); line == "" {
			continue
		}
		name, value, ok := strings.Cut(line, ":")
		name, value = strings.TrimSpace(name), strings.TrimSpace(value)
		if !ok {
			return errors.New(`must have the form "Name: value; Other: value"`)
		}
		if err := llm.CheckHeader(name, value); err != nil {
			return fmt.Errorf("is not possible: %w", err)
		}
		c.LLM.Headers.Add(name, value)
	}
	return nil
}

// showHeaders leaves the values out, for who knows what they are.
func showHeaders(c Config) string {
	names := slices.Sorted(maps.Keys(c.LLM.Headers))
	for i := range names {
		names[i] += ": (hidden)"
	}
	return strings.Join(names, "; ")
}

// validateLLM reports everything that is wrong between settings. Without a provider nothing is.
func (c Config) validateLLM() (errs []error) {
	l := c.LLM
	if l.Provider == NoProvider {
		return nil
	}
	add := func(key, format string, args ...any) {
		errs = append(errs, fmt.Errorf("%s (%s): %w", key, c.origin(key), fmt.Errorf(format, args...)))
	}
	if err := llm.CheckBaseURL(l.BaseURL, l.AllowHTTP); err != nil {
		add("llm_base_url", "%w", err)
	}
	if l.Model == "" {
		add("llm_model", "is empty; name the model that %s is to be asked for", l.Provider)
	}
	if l.KeyEnv != "" && l.KeyFile != "" {
		add("llm_api_key_file", "is set, and llm_api_key_env too; set only one")
	}
	if l.DailyTokens != Unlimited && l.DailyTokens <= int64(l.MaxOutputTokens) {
		add("llm_daily_tokens", "is %d; it must be more than llm_max_output_tokens, which is %d, or nothing could be "+
			"asked", l.DailyTokens, l.MaxOutputTokens)
	}
	return errs
}

// Client is the configuration of the model's client, without clock, logger and ledger. ok is false when there is no
// model.
func (l LLM) Client(env func(string) string) (cfg llm.Config, ok bool) {
	if l.Provider == "" || l.Provider == NoProvider {
		return llm.Config{}, false
	}
	cfg = llm.Config{
		Provider: l.Provider, BaseURL: l.BaseURL, AllowHTTP: l.AllowHTTP, Model: l.Model, Headers: l.Headers,
		Timeout: l.Timeout, IdleTimeout: l.IdleTimeout, MaxOutputTokens: l.MaxOutputTokens, Concurrency: l.Concurrency,
	}
	switch {
	case l.KeyEnv != "":
		cfg.Key = llm.KeyFromEnv(env, l.KeyEnv)
	case l.KeyFile != "":
		cfg.Key = llm.KeyFromFile(l.KeyFile)
	}
	return cfg, true
}
