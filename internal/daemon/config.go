package daemon

import (
	"errors"
	"fmt"
	"log/slog"
	"path/filepath"
	"strings"
	"time"

	"github.com/memsidecar/memsidecar/internal/archiver"
	"github.com/memsidecar/memsidecar/internal/daemon/userdirs"
	"github.com/memsidecar/memsidecar/internal/rpc/unixsock/socketpath"
	"github.com/memsidecar/memsidecar/internal/service/recall"
	"github.com/memsidecar/memsidecar/internal/store"
)

// Config is everything that can be set, and these comments are its reference. Each setting has a key, which is its
// name in the configuration file. A source overrides the ones before it: default, file, environment, command line.
//
// In the environment a key is written in capitals behind MEMSIDECAR_, such as MEMSIDECAR_LOG_LEVEL; the keys that
// begin with memory_ are also known without that prefix: MEMORY_ARCHIVE_DAYS. Fields with the zero value stand for
// the default.
type Config struct {
	// Data is the directory that holds the memories, an absolute path. Key data.
	// Default $XDG_DATA_HOME/memsidecar, else ~/.local/share/memsidecar.
	Data string
	// Socket is the path that the daemon listens on. Key socket. Default memsidecar.sock in
	// $XDG_RUNTIME_DIR/memsidecar for the default data directory, and a name of its own there for any other; see
	// SocketFor.
	Socket string
	// HTTPListen is where the API is served over HTTP too, with the panel: a numeric loopback address such as
	// 127.0.0.1:8765, or the absolute path of a Unix socket. Key http_listen, default none: nothing is served over
	// HTTP, and no port is open.
	HTTPListen string
	// LogLevel is the least level that is logged: debug, info, warn or error. Key log_level, default info.
	LogLevel slog.Level
	// MetricsListen is where metrics and health are served over HTTP: the absolute path of a Unix socket, or a
	// loopback address such as 127.0.0.1:9464. Key metrics_listen, default none.
	MetricsListen string
	// HistoryDays is for how many days operations can be listed and undone, 1 or more. Key history_days, default 90, and 1 on a
	// node of a fleet.
	HistoryDays int
	// SessionIdle is the time without messages after which a session is taken to have ended, such as 30m or 2h.
	// Key session_idle, default 30m.
	SessionIdle time.Duration
	// Timezone decides which day it is for the daily logs: local, UTC or a name such as Asia/Shanghai.
	// Key timezone, default local.
	Timezone string
	// ReflectDisabled keeps what sessions say and learns nothing from it: no memories, no question to a model.
	// Key memory_session_reflect_enabled, the opposite, default true.
	ReflectDisabled bool
	// ConsolidationDisabled stores what agents save as it is, without comparing it with what is known.
	// Key memory_consolidation_enabled, the opposite, default true.
	ConsolidationDisabled bool
	// RecallDisabled recalls nothing for prompts; what an agent asks for itself it gets.
	// Key memory_implicit_recall_enabled, the opposite, default true.
	RecallDisabled bool
	// RecallByWords recalls for prompts by words alone, which saves a few milliseconds of each. Key
	// memory_implicit_recall_meaning, the opposite, default true.
	RecallByWords bool
	// RecallTopK is the number of memories that fit a prompt which are recalled, 1 to 5. Key
	// memory_implicit_recall_top_k, default 3.
	RecallTopK int
	// RecallSelection has the language model choose more memories for each prompt, which come with the next one of
	// the session. It costs a question for each prompt. Key memory_model_selection_enabled, default false.
	RecallSelection bool
	// ContextLogDays is the number of days, today included, whose log entries the context at the start of a session
	// lists, 1 to 31. Key memory_daily_log_days, default 2.
	ContextLogDays int
	// IndexDisabled searches and recalls by words alone, whatever models there are. Key memory_index_enabled, the
	// opposite, default true.
	IndexDisabled bool
	// ContextTokens is the token budget of the context at the start of a session, 50 to 8,000.
	// Key memory_max_prompt_tokens, default 4000.
	ContextTokens int
	// ArchiveDays is the age in days at which a daily log is summarised and archived, 1 or more.
	// Key memory_archive_days, default 30.
	ArchiveDays int
	// DeleteDays is the age in days at which an archived log is deleted, not less than ArchiveDays.
	// Key memory_delete_days, default 60.
	DeleteDays int
	// DecayLambda is how fast age counts in the profiles that let it, per day and more than 0: the factor is
	// exp(−λ·days), so that 0.05 halves a score in 14 days. Key memory_decay_lambda, default 0.05.
	DecayLambda float64
	// LLM is the language model that is asked, if any. Its keys begin with llm_.
	LLM LLM
	// Fleet makes the daemon a node of a fleet. Its keys begin with fleet.
	Fleet Fleet
	// Embeddings says who tells what texts mean. Its keys begin with embeddings_.
	Embeddings Embeddings

	// by key, where the value came from; empty for a default
	origins map[string]string
	// the environment that defaults depend on; nil until WithDefaults
	env func(string) string
	// what was set and has no effect any more, one sentence each
	warnings []string
}

// Defaults of Config.
const (
	DefaultSessionIdle = 30 * time.Minute
	DefaultTimezone    = "local"
	DefaultDecayLambda = 0.05
)

// WithDefaults returns c with every field that has the zero value set to its default. The directories are taken from
// env. Data is made absolute. Errors: no home directory, no possible socket path.
func (c Config) WithDefaults(env func(string) string) (Config, error) {
	c.env = env
	return c.fillDefaults(env)
}

// defaults is what holds without any source.
func (c Config) defaults() Config {
	if c.env == nil {
		return Config{}
	}
	defaults, err := Config{}.fillDefaults(c.env)
	if err != nil {
		return Config{} // no home directory: the settings that need none still have a default
	}
	return defaults
}

// fillDefaults sets the fields that have the zero value.
func (c Config) fillDefaults(env func(string) string) (Config, error) {
	var err error
	if c.Data == "" {
		if c.Data, err = userdirs.Data(env); err != nil {
			return c, err
		}
	}
	if c.Data, err = filepath.Abs(c.Data); err != nil {
		return c, fmt.Errorf("data directory: %w", err)
	}
	if c.Socket == "" {
		if c.Socket, err = userdirs.Socket(c.Data, env); err != nil {
			return c, err
		}
	}
	if c.Socket, err = filepath.Abs(c.Socket); err != nil {
		return c, fmt.Errorf("socket: %w", err)
	}
	if c.Fleet.URL != "" {
		setDefault(&c.HistoryDays, fleetHistoryDays)
	}
	setDefault(&c.HistoryDays, store.DefaultHistoryDays)
	setDefault(&c.SessionIdle, DefaultSessionIdle)
	setDefault(&c.Timezone, DefaultTimezone)
	setDefault(&c.RecallTopK, recall.DefaultTopK)
	setDefault(&c.ContextTokens, recall.DefaultContextTokens)
	setDefault(&c.ContextLogDays, recall.DefaultLogDays)
	setDefault(&c.ArchiveDays, archiver.DefaultArchiveDays)
	setDefault(&c.DeleteDays, archiver.DefaultDeleteDays)
	setDefault(&c.DecayLambda, DefaultDecayLambda)
	c.LLM, c.Fleet = c.LLM.withDefaults(), c.Fleet.withDefaults()
	return c, nil
}

// setDefault sets a field to value if it is zero.
func setDefault[T comparable](field *T, value T) {
	var zero T
	if *field == zero {
		*field = value
	}
}

// validate joins everything that is wrong with a configuration that has its defaults.
func (c Config) validate() error {
	var errs []error
	add := func(key, format string, args ...any) {
		errs = append(errs, fmt.Errorf("%s (%s): %s", key, c.origin(key), fmt.Sprintf(format, args...)))
	}
	if c.HistoryDays < 1 {
		add("history_days", "is %d; it must be 1 or more", c.HistoryDays)
	}
	if c.SessionIdle < time.Second {
		add("session_idle", "is %s; it must be 1s or more", c.SessionIdle)
	}
	if c.RecallTopK < 1 || c.RecallTopK > recall.MaxItems {
		add("memory_implicit_recall_top_k", "is %d; it must be 1 to %d", c.RecallTopK, recall.MaxItems)
	}
	if c.ContextTokens < recall.MinTokens || c.ContextTokens > recall.MaxTokens {
		add("memory_max_prompt_tokens", "is %d; it must be %d to %d", c.ContextTokens, recall.MinTokens,
			recall.MaxTokens)
	}
	if c.ContextLogDays < 1 || c.ContextLogDays > recall.MaxLogDays {
		add("memory_daily_log_days", "is %d; it must be 1 to %d", c.ContextLogDays, recall.MaxLogDays)
	}
	if _, err := c.location(); err != nil {
		add("timezone", "%q is not known; use local, UTC or a name such as Asia/Shanghai", c.Timezone)
	}
	if c.ArchiveDays < 1 {
		add("memory_archive_days", "is %d; it must be 1 or more", c.ArchiveDays)
	}
	// A log that is deleted before it is archived would leave no summary.
	if c.DeleteDays < c.ArchiveDays {
		add("memory_delete_days", "is %d; it must not be less than memory_archive_days, which is %d", c.DeleteDays,
			c.ArchiveDays)
	}
	if !(c.DecayLambda > 0 && c.DecayLambda <= 10) {
		add("memory_decay_lambda", "is %v; it must be more than 0 and at most 10", c.DecayLambda)
	}
	if err := socketpath.Check(c.Socket); err != nil {
		errs = append(errs, fmt.Errorf("socket (%s): %w", c.origin("socket"), err))
	}
	errs = append(errs, c.validateLLM()...)
	errs = append(errs, c.validateEmbeddings()...)
	return errors.Join(errs...)
}

// Location is the time zone that decides which day it is. It is the local one when Timezone is unknown, which
// LoadConfig has refused.
func (c Config) Location() *time.Location {
	loc, err := c.location()
	if err != nil {
		return time.Local
	}
	return loc
}

// location parses Timezone; "local" is the zone of the machine.
func (c Config) location() (*time.Location, error) {
	if c.Timezone == "" || strings.EqualFold(c.Timezone, DefaultTimezone) {
		return time.Local, nil
	}
	return time.LoadLocation(c.Timezone)
}
