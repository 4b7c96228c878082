package daemon

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"go.yaml.in/yaml/v3"

	"github.com/memsidecar/memsidecar/internal/client/web"
	"github.com/memsidecar/memsidecar/internal/daemon/metrics"
	"github.com/memsidecar/memsidecar/internal/daemon/userdirs"
	"github.com/memsidecar/memsidecar/internal/rpc/unixsock/socketpath"
)

// Setting is one setting as it is in effect.
type Setting struct {
	Key     string
	Value   string
	Default string
	// "default", "file PATH:LINE", "environment VARIABLE" or "flag --NAME", the last with the key behind --set
	Origin string
}

// setting knows how one key is read and shown. The error of set says what a value must be.
type setting struct {
	key string
	set func(c *Config, value string) error
	get func(c Config) string
}

// settings lists every key, in the order they are shown.
func settings() []setting {
	return append([]setting{
		{"data", setPath(func(c *Config) *string { return &c.Data }), func(c Config) string { return c.Data }},
		{"socket", setSocket, func(c Config) string { return c.Socket }},
		{"http_listen", func(c *Config, v string) error {
			if err := web.CheckAddress(v); v != "" && err != nil {
				return err
			}
			c.HTTPListen = v
			return nil
		}, func(c Config) string { return c.HTTPListen }},
		{"log_level", func(c *Config, v string) error {
			if err := c.LogLevel.UnmarshalText([]byte(v)); err != nil || strings.ContainsAny(v, "+-") {
				return errors.New("must be debug, info, warn or error")
			}
			return nil
		}, func(c Config) string { return strings.ToLower(c.LogLevel.String()) }},
		{"metrics_listen", func(c *Config, v string) error {
			if err := metrics.CheckAddress(v); err != nil {
				return errors.New("must be the path of a Unix socket, or a loopback address such as 127.0.0.1:9464")
			}
			c.MetricsListen = v
			return nil
		}, func(c Config) string { return c.MetricsListen }},
		{"history_days", setDays(func(c *Config) *int { return &c.HistoryDays }), func(c Config) string {
			return strconv.Itoa(c.HistoryDays)
		}},
		{"session_idle", func(c *Config, v string) error {
			d, err := time.ParseDuration(v)
			if err != nil || d <= 0 {
				return errors.New("must be a length of time such as 30m or 2h")
			}
			c.SessionIdle = d
			return nil
		}, func(c Config) string { return c.SessionIdle.String() }},
		{"timezone", func(c *Config, v string) error { c.Timezone = v; return nil }, func(c Config) string {
			return c.Timezone
		}},
		{"memory_session_reflect_enabled", setEnabled(func(c *Config) *bool { return &c.ReflectDisabled }),
			func(c Config) string { return strconv.FormatBool(!c.ReflectDisabled) }},
		{"memory_consolidation_enabled", setEnabled(func(c *Config) *bool { return &c.ConsolidationDisabled }),
			func(c Config) string { return strconv.FormatBool(!c.ConsolidationDisabled) }},
		{"memory_implicit_recall_enabled", setEnabled(func(c *Config) *bool { return &c.RecallDisabled }),
			func(c Config) string { return strconv.FormatBool(!c.RecallDisabled) }},
		{"memory_implicit_recall_top_k", func(c *Config, v string) (err error) {
			if c.RecallTopK, err = strconv.Atoi(v); err != nil || c.RecallTopK < 1 {
				return errors.New("must be a whole number, 1 to 5")
			}
			return nil
		}, func(c Config) string { return strconv.Itoa(c.RecallTopK) }},
		{"memory_implicit_recall_meaning", setEnabled(func(c *Config) *bool { return &c.RecallByWords }),
			func(c Config) string { return strconv.FormatBool(!c.RecallByWords) }},
		flag("memory_model_selection_enabled", func(c *Config) *bool { return &c.RecallSelection }),
		{"memory_max_prompt_tokens", func(c *Config, v string) (err error) {
			if c.ContextTokens, err = strconv.Atoi(v); err != nil || c.ContextTokens < 1 {
				return errors.New("must be a whole number, 50 to 8000")
			}
			return nil
		}, func(c Config) string { return strconv.Itoa(c.ContextTokens) }},
		{"memory_daily_log_days", setDays(func(c *Config) *int { return &c.ContextLogDays }), func(c Config) string {
			return strconv.Itoa(c.ContextLogDays)
		}},
		{"memory_index_enabled", setEnabled(func(c *Config) *bool { return &c.IndexDisabled }),
			func(c Config) string { return strconv.FormatBool(!c.IndexDisabled) }},
		{"memory_archive_days", setDays(func(c *Config) *int { return &c.ArchiveDays }), func(c Config) string {
			return strconv.Itoa(c.ArchiveDays)
		}},
		{"memory_delete_days", setDays(func(c *Config) *int { return &c.DeleteDays }), func(c Config) string {
			return strconv.Itoa(c.DeleteDays)
		}},
		{"memory_decay_lambda", func(c *Config, v string) error {
			f, err := strconv.ParseFloat(v, 64)
			if err != nil || !(f > 0) {
				return errors.New("must be a number of more than 0, such as 0.05")
			}
			c.DecayLambda = f
			return nil
		}, func(c Config) string { return strconv.FormatFloat(c.DecayLambda, 'g', -1, 64) }},
	}, slices.Concat(llmSettings(), embeddingsSettings(), fleetSettings())...)
}

// setPath returns a setter for a path. A leading ~ is not expanded.
func setPath(field func(*Config) *string) func(*Config, string) error {
	return func(c *Config, v string) error {
		if strings.HasPrefix(v, "~/") {
			return errors.New("must be a path; ~ is not expanded here")
		}
		*field(c) = v
		return nil
	}
}

// setSocket sets the socket from a path or an address with unix: before it.
func setSocket(c *Config, v string) error {
	path, err := socketpath.Of(v)
	if err != nil {
		return errors.New("must be the path of a file; abstract sockets are not supported")
	}
	return setPath(func(c *Config) *string { return &c.Socket })(c, path)
}

// setDays returns a setter for a positive number of days.
func setDays(field func(*Config) *int) func(*Config, string) error {
	return func(c *Config, v string) error {
		n, err := strconv.Atoi(v)
		if err != nil || n < 1 {
			return errors.New("must be a whole number of days, 1 or more")
		}
		*field(c) = n
		return nil
	}
}

// flag is a setting that is false unless it is set.
func flag(key string, field func(*Config) *bool) setting {
	return setting{key, func(c *Config, v string) error {
		on, err := strconv.ParseBool(strings.ToLower(v))
		if err != nil {
			return errors.New("must be true or false")
		}
		*field(c) = on
		return nil
	}, func(c Config) string { return strconv.FormatBool(*field(&c)) }}
}

// setEnabled returns a setter for a boolean whose field is inverted, so that the zero value means enabled.
func setEnabled(disabled func(*Config) *bool) func(*Config, string) error {
	return func(c *Config, v string) error {
		on, err := strconv.ParseBool(strings.ToLower(v))
		if err != nil {
			return errors.New("must be true or false")
		}
		*disabled(c) = !on
		return nil
	}
}

// LoadConfig puts a configuration together: defaults, then file, then the environment, then flags, which has values
// by key. An empty file means DefaultFile, when that exists. Everything that is wrong is reported at once: in the
// file an unknown key is an error, in the environment only the known names are looked at.
func LoadConfig(flags map[string]string, env func(string) string, file string) (Config, error) {
	c := Config{origins: map[string]string{}}
	errs := []error{c.readFile(env, file), c.readEnv(env), c.readFlags(flags)}
	if err := errors.Join(errs...); err != nil {
		return c, err
	}
	c, err := c.WithDefaults(env)
	if err != nil {
		return c, err
	}
	return c, c.validate()
}

// Settings lists every setting as it is in effect, with its default and its origin.
func (c Config) Settings() []Setting {
	var out []Setting
	defaults := c.defaults()
	for _, s := range settings() {
		out = append(out, Setting{Key: s.key, Value: s.get(c), Default: s.get(defaults), Origin: c.origin(s.key)})
	}
	return out
}

// Warnings lists what was set and has no effect, one sentence each.
func (c Config) Warnings() []string { return c.warnings }

// retired are settings of the first version. People who come from it have them in their environment.
var retired = []struct{ key, instead string }{
	{"memory_auto_extract", "memory_session_reflect_enabled"},
	{"memory_reflection_enabled", "memory_session_reflect_enabled"},
}

// warnRetired notes a setting of the first version. It reports whether key is one.
func (c *Config) warnRetired(key, origin string) bool {
	for _, r := range retired {
		if r.key == key {
			c.warnings = append(c.warnings, fmt.Sprintf("%s (%s) has no effect any more; use %s instead", key, origin,
				r.instead))
			return true
		}
	}
	return false
}

// origin returns where the value of a key came from, for messages.
func (c Config) origin(key string) string {
	if o := c.origins[key]; o != "" {
		return o
	}
	return "default"
}

// set parses and stores the value of a key. The error names the origin.
func (c *Config) set(key, value, origin string) error {
	if c.warnRetired(key, origin) {
		return nil
	}
	all := settings()
	i := slices.IndexFunc(all, func(s setting) bool { return s.key == key })
	if i < 0 {
		return fmt.Errorf("%s: unknown setting %q; the settings are %s", origin, key, strings.Join(keys(), ", "))
	}
	if err := all[i].set(c, value); err != nil {
		if mayBeSecret(key) {
			return fmt.Errorf("%s: %s %w", origin, key, err)
		}
		return fmt.Errorf("%s: %s is %q; it %w", origin, key, value, err)
	}
	c.origins[key] = origin
	return nil
}

// keys returns all keys in the order of settings.
func keys() []string {
	var out []string
	for _, s := range settings() {
		out = append(out, s.key)
	}
	return out
}

// readEnv applies the environment variables.
func (c *Config) readEnv(env func(string) string) error {
	var errs []error
	for _, key := range keys() {
		name := strings.ToUpper(key)
		names := []string{"MEMSIDECAR_" + name}
		if strings.HasPrefix(key, "memory_") {
			names = []string{name, "MEMSIDECAR_" + name} // the more particular name wins
		}
		for _, n := range names {
			if v := env(n); v != "" {
				errs = append(errs, c.set(key, v, "environment "+n))
			}
		}
	}
	for _, r := range retired {
		if name := strings.ToUpper(r.key); env(name) != "" {
			c.warnRetired(r.key, "environment "+name)
		}
	}
	return errors.Join(errs...)
}

// readFlags applies the command line.
func (c *Config) readFlags(flags map[string]string) error {
	var errs []error
	for _, key := range slices.Sorted(maps.Keys(flags)) {
		origin := "flag --set " + key
		if key == "data" || key == "socket" { // these have flags of their own
			origin = "flag --" + key
		}
		errs = append(errs, c.set(key, flags[key], origin))
	}
	return errors.Join(errs...)
}

// readFile reads a mapping from keys to scalars. The keys are looked up by hand, so that an error names the line
// and what was meant, and not a Go type.
func (c *Config) readFile(env func(string) string, file string) error {
	named := file != ""
	if !named {
		var err error
		if file, err = userdirs.ConfigFile(env); err != nil {
			return nil //nolint:nilerr // without a home there is no default file; a needed directory reports it
		}
	}
	data, err := os.ReadFile(file)
	switch {
	case errors.Is(err, fs.ErrNotExist) && !named:
		return nil
	case err != nil:
		return fmt.Errorf("read configuration: %w", err)
	}
	var doc yaml.Node
	if err := yaml.Unmarshal(data, &doc); err != nil {
		return fmt.Errorf("configuration %s: %w", file, err)
	}
	if len(doc.Content) == 0 {
		return nil
	}
	root := doc.Content[0]
	if root.Kind != yaml.MappingNode {
		return fmt.Errorf("file %s:%d: must hold lines of the form \"key: value\"", file, root.Line)
	}
	var errs []error
	seen := map[string]bool{}
	for i := 0; i+1 < len(root.Content); i += 2 {
		key, value := root.Content[i], root.Content[i+1]
		at := fmt.Sprintf("file %s:%d", file, key.Line)
		switch {
		case seen[key.Value]:
			errs = append(errs, fmt.Errorf("%s: %q is set twice", at, key.Value))
		case value.Kind != yaml.ScalarNode || value.Tag == "!!null":
			errs = append(errs, fmt.Errorf("%s: %q needs a single value", at, key.Value))
		default:
			errs = append(errs, c.set(key.Value, filePath(file, key.Value, value.Value), at))
		}
		seen[key.Value] = true
	}
	return errors.Join(errs...)
}

// filePath resolves a relative path in a file against the directory of the file. An address of a socket is no path.
func filePath(file, key, value string) string {
	if key == "socket" && (strings.HasPrefix(value, "unix:") || strings.HasPrefix(value, "unix-abstract:") || strings.HasPrefix(value, "@")) {
		return value
	}
	if (key == "data" || key == "socket" || key == "llm_api_key_file" || key == "embeddings_api_key_file") &&
		value != "" && value[0] != '~' && !filepath.IsAbs(value) {
		return filepath.Join(filepath.Dir(file), value)
	}
	return value
}
