package daemon_test

import (
	"log/slog"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/memsidecar/memsidecar/internal/daemon"
	"github.com/memsidecar/memsidecar/internal/daemon/userdirs"
)

// lookup is an environment with a home and what is given.
func lookup(home string, vars map[string]string) func(string) string {
	return func(name string) string {
		if name == "HOME" {
			return home
		}
		if name == "XDG_RUNTIME_DIR" && vars[name] == "" {
			return "/run/user/1"
		}
		return vars[name]
	}
}

// values is what Settings says, as KEY=VALUE (ORIGIN), for the keys wanted.
func values(c daemon.Config, keys ...string) []string {
	var out []string
	for _, k := range keys {
		for _, s := range c.Settings() {
			if s.Key == k {
				out = append(out, s.Key+"="+s.Value+" ("+s.Origin+")")
			}
		}
	}
	return out
}

func TestConfigDefaults(t *testing.T) {
	home := t.TempDir()
	c, err := daemon.LoadConfig(nil, lookup(home, nil), "")
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, s := range c.Settings() {
		got = append(got, s.Key+"="+s.Value)
		if s.Origin != "default" {
			t.Errorf("origin of %s is %q", s.Key, s.Origin)
		}
	}
	want := []string{
		"data=" + home + "/.local/share/memsidecar", "socket=/run/user/1/memsidecar/memsidecar.sock", "http_listen=",
		"log_level=info", "metrics_listen=", "history_days=90",
		"session_idle=30m0s", "timezone=local", "memory_session_reflect_enabled=true",
		"memory_consolidation_enabled=true",
		"memory_implicit_recall_enabled=true", "memory_implicit_recall_top_k=3", "memory_implicit_recall_meaning=true",
		"memory_model_selection_enabled=false", "memory_max_prompt_tokens=4000", "memory_daily_log_days=2",
		"memory_index_enabled=true", "memory_archive_days=30",
		"memory_delete_days=60", "memory_decay_lambda=0.05",
		"llm_provider=none", "llm_base_url=", "llm_model=", "llm_api_key_env=", "llm_api_key_file=", "llm_headers=",
		"llm_allow_http=false",
		"llm_timeout=10m0s", "llm_idle_timeout=2m0s", "llm_daily_tokens=1000000", "llm_max_output_tokens=8192",
		"llm_concurrency=2",
		"embeddings_inside=true", "embeddings_base_url=", "embeddings_model=", "embeddings_api_key_env=",
		"embeddings_api_key_file=", "embeddings_query_prefix=",
		"embeddings_text_prefix=", "embeddings_allow_http=false",
		"fleet=", "fleet_ack=shared", "fleet_idle=10m0s", "fleet_bytes=1073741824",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if c.Location() != time.Local {
		t.Errorf("location is %v", c.Location())
	}
}

// A zero Config must do what a loaded one without any source does.
func TestConfigZeroValue(t *testing.T) {
	env := lookup(t.TempDir(), nil)
	loaded, err := daemon.LoadConfig(nil, env, "")
	if err != nil {
		t.Fatal(err)
	}
	zero, err := daemon.Config{}.WithDefaults(env)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(loaded.Settings(), zero.Settings()); diff != "" {
		t.Error(diff)
	}
}

func TestConfigPrecedence(t *testing.T) {
	home := t.TempDir()
	file := filepath.Join(home, ".config", "memsidecar", "config.yaml")
	write(t, file, "# mine\nmemory_archive_days: 10\nmemory_delete_days: 20\nlog_level: "+
		"debug\nmemory_consolidation_enabled: false\ndata: mem\n")
	tests := []struct {
		name  string
		vars  map[string]string
		flags map[string]string
		want  []string
	}{
		{"file", nil, nil, []string{
			"memory_archive_days=10 (file " + file + ":2)", "memory_consolidation_enabled=false (file " + file + ":5)",
			"data=" + filepath.Dir(file) + "/mem (file " + file + ":6)",
		}},
		{"environment over file", map[string]string{"MEMORY_ARCHIVE_DAYS": "12"}, nil,
			[]string{"memory_archive_days=12 (environment MEMORY_ARCHIVE_DAYS)"}},
		{"own name over published name", map[string]string{"MEMORY_ARCHIVE_DAYS": "12",
			"MEMSIDECAR_MEMORY_ARCHIVE_DAYS": "13"}, nil,
			[]string{"memory_archive_days=13 (environment MEMSIDECAR_MEMORY_ARCHIVE_DAYS)"}},
		{"socket as an address", map[string]string{"MEMSIDECAR_SOCKET": "unix:///run/ms.sock"}, nil,
			[]string{"socket=/run/ms.sock (environment MEMSIDECAR_SOCKET)"}},
		{"flag over all", map[string]string{"MEMSIDECAR_DATA": "/env"}, map[string]string{"data": "/flag"},
			[]string{"data=/flag (flag --data)"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			c, err := daemon.LoadConfig(tt.flags, lookup(home, tt.vars), "")
			if err != nil {
				t.Fatal(err)
			}
			var keys []string
			for _, w := range tt.want {
				key, _, _ := strings.Cut(w, "=")
				keys = append(keys, key)
			}
			if diff := cmp.Diff(tt.want, values(c, keys...)); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// published are the settings that the layered design publishes, with a value other than the default for each place.
var published = []struct {
	key, standard string
	places        [4]string // file, MEMORY_*, MEMSIDECAR_MEMORY_*, --set
}{
	{"memory_session_reflect_enabled", "true", [4]string{"false", "true", "false", "true"}},
	{"memory_consolidation_enabled", "true", [4]string{"false", "true", "false", "true"}},
	{"memory_archive_days", "30", [4]string{"11", "12", "13", "14"}},
	{"memory_delete_days", "60", [4]string{"71", "72", "73", "74"}},
	{"memory_decay_lambda", "0.05", [4]string{"0.1", "0.2", "0.3", "0.4"}},
	{"memory_implicit_recall_enabled", "true", [4]string{"false", "true", "false", "true"}},
	{"memory_implicit_recall_top_k", "3", [4]string{"1", "2", "4", "5"}},
	{"memory_daily_log_days", "2", [4]string{"3", "4", "5", "6"}},
	{"memory_max_prompt_tokens", "4000", [4]string{"500", "600", "700", "800"}},
	{"memory_index_enabled", "true", [4]string{"false", "true", "false", "true"}},
}

// TestPublishedSettings sets each published setting in each place, alone and together with all places below it.
func TestPublishedSettings(t *testing.T) {
	for _, p := range published {
		t.Run(p.key, func(t *testing.T) {
			home := t.TempDir()
			if got := settingOf(t, home, p.key, "", nil, nil); got.Value != p.standard || got.Default != p.standard ||
				got.Origin != "default" {
				t.Errorf("without a source: %+v", got)
			}
			file := filepath.Join(home, "config.yaml")
			write(t, file, p.key+": "+p.places[0]+"\n")
			short := strings.ToUpper(p.key)
			vars, flags := map[string]string{}, map[string]string{}
			origins := [4]string{"file " + file + ":1", "environment " + short, "environment MEMSIDECAR_" + short,
				"flag --set " + p.key}
			for place, value := range p.places {
				alone := [2]map[string]string{{}, {}}
				switch place {
				case 1:
					vars[short], alone[0][short] = value, value
				case 2:
					vars["MEMSIDECAR_"+short], alone[0]["MEMSIDECAR_"+short] = value, value
				case 3:
					flags[p.key], alone[1][p.key] = value, value
				}
				want := daemon.Setting{Key: p.key, Value: value, Default: p.standard, Origin: origins[place]}
				if got := settingOf(t, home, p.key, file, vars, flags); got != want {
					t.Errorf("over the places below: %+v, want %+v", got, want)
				}
				if place > 0 {
					if got := settingOf(t, home, p.key, "", alone[0], alone[1]); got != want {
						t.Errorf("alone: %+v, want %+v", got, want)
					}
				}
			}
		})
	}
}

// settingOf loads the configuration and returns one setting.
func settingOf(t *testing.T, home, key, file string, vars, flags map[string]string) daemon.Setting {
	t.Helper()
	c, err := daemon.LoadConfig(flags, lookup(home, vars), file)
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range c.Settings() {
		if s.Key == key {
			return s
		}
	}
	t.Fatalf("%s is not listed", key)
	return daemon.Setting{}
}

// TestRetiredSettings: people of the first version have them set. They are told what to use, in each place.
func TestRetiredSettings(t *testing.T) {
	home := t.TempDir()
	file := filepath.Join(home, "config.yaml")
	write(t, file, "memory_auto_extract: true\n")
	c, err := daemon.LoadConfig(nil, lookup(home, map[string]string{"MEMORY_REFLECTION_ENABLED": "no"}), file)
	if err != nil {
		t.Fatal(err)
	}
	want := []string{
		"memory_auto_extract (file " + file + ":1) has no effect any more; use memory_session_reflect_enabled instead",
		"memory_reflection_enabled (environment MEMORY_REFLECTION_ENABLED) has no effect any more; use " +
			"memory_session_reflect_enabled instead",
	}
	if diff := cmp.Diff(want, c.Warnings()); diff != "" {
		t.Error(diff)
	}
}

func TestConfigErrors(t *testing.T) {
	tests := []struct {
		name, file string
		vars       map[string]string
		want       []string
	}{
		{"unknown key names key and line", "log_level: info\nmemory_archive_dayz: 3\n", nil,
			[]string{"config.yaml:2", `"memory_archive_dayz"`}},
		{"a key that nothing uses is unknown", "memory_explicit_recall_enabled: true\n", nil,
			[]string{`unknown setting "memory_explicit_recall_enabled"`}},
		{"recall of too many", "memory_implicit_recall_top_k: 6\n", nil,
			[]string{"memory_implicit_recall_top_k", "must be 1 to 5"}},
		{"twice", "timezone: UTC\ntimezone: local\n", nil, []string{"config.yaml:2", "twice"}},
		{"not a mapping", "- a\n", nil, []string{"key: value"}},
		{"nested", "data:\n  dir: /x\n", nil, []string{"single value"}},
		{"not yaml", "data: [\n", nil, []string{"config.yaml"}},
		{"everything at once", "memory_archive_days: 0\nhistory_days: many\n",
			map[string]string{"MEMORY_DECAY_LAMBDA": "-1", "MEMSIDECAR_SESSION_IDLE": "soon"},
			[]string{"memory_archive_days", "history_days", "MEMORY_DECAY_LAMBDA", "MEMSIDECAR_SESSION_IDLE"}},
		{"ages in the wrong order", "memory_archive_days: 90\n", nil,
			[]string{"memory_delete_days", "memory_archive_days, which is 90"}},
		{"timezone", "timezone: Mars/Olympus\n", nil, []string{"Mars/Olympus"}},
		{"level", "log_level: loud\n", nil, []string{"debug, info, warn or error"}},
		{"socket too long", "socket: /" + strings.Repeat("x", 120) + "\n", nil, []string{"socket", "too long"}},
		{"abstract socket", "socket: \"@memsidecar\"\n", nil, []string{"must be the path of a file"}},
		{"tilde", "data: ~/mem\n", nil, []string{"~ is not expanded"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			home := t.TempDir()
			file := filepath.Join(home, "config.yaml")
			write(t, file, tt.file)
			_, err := daemon.LoadConfig(nil, lookup(home, tt.vars), file)
			if err == nil {
				t.Fatal("no error")
			}
			for _, w := range tt.want {
				if !strings.Contains(err.Error(), w) {
					t.Errorf("%q is not in the error: %v", w, err)
				}
			}
		})
	}
}

func TestConfigFileNamedButMissing(t *testing.T) {
	_, err := daemon.LoadConfig(nil, lookup(t.TempDir(), nil), "/nowhere/config.yaml")
	if err == nil || !strings.Contains(err.Error(), "/nowhere/config.yaml") {
		t.Errorf("got %v", err)
	}
}

func TestConfigLevel(t *testing.T) {
	c, err := daemon.LoadConfig(nil, lookup(t.TempDir(), map[string]string{"MEMSIDECAR_LOG_LEVEL": "WARN"}), "")
	if err != nil || c.LogLevel != slog.LevelWarn {
		t.Errorf("got %v, %v", c.LogLevel, err)
	}
}

func TestSocketFor(t *testing.T) {
	home := t.TempDir()
	real := filepath.Join(home, "real")
	if err := os.Mkdir(real, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(real, filepath.Join(home, "link")); err != nil {
		t.Fatal(err)
	}
	env := lookup(home, nil)
	socket := func(data string) string {
		t.Helper()
		s, err := userdirs.Socket(data, env)
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	if got := socket(filepath.Join(home, ".local/share/memsidecar")); got != "/run/user/1/memsidecar/memsidecar.sock" {
		t.Errorf("default data has %s", got)
	}
	a, b := socket(real), socket(filepath.Join(home, "other"))
	if a == b || filepath.Dir(a) != "/run/user/1/memsidecar" {
		t.Errorf("sockets are %s and %s", a, b)
	}
	if got := socket(filepath.Join(home, "link")); got != a {
		t.Errorf("the link has %s, the directory %s", got, a)
	}
	if x, y := socket(filepath.Join(home, "link", "new")), socket(filepath.Join(real, "new")); x != y {
		t.Errorf("a directory that is still to be made has %s and %s", x, y)
	}
	if got := socket(real + "/"); got != a {
		t.Errorf("with a slash it is %s", got)
	}
}

func TestNoHome(t *testing.T) {
	_, err := daemon.LoadConfig(nil, func(string) string { return "" }, "")
	if err == nil || !strings.Contains(err.Error(), "XDG_DATA_HOME") {
		t.Errorf("got %v", err)
	}
}

func write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

// TestEverySettingHasAReader: a field of Config that a setting writes is read somewhere else in the program. Twice a
// setting was documented that nothing read.
func TestEverySettingHasAReader(t *testing.T) {
	files, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
	}
	var source strings.Builder
	for _, name := range files {
		if strings.HasSuffix(name, "_test.go") || strings.HasPrefix(name, "config") {
			continue // configuration files define, parse, check and show the fields
		}
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		source.Write(text)
	}
	for _, field := range reflect.VisibleFields(reflect.TypeFor[daemon.Config]()) {
		switch {
		case !field.IsExported(), field.Name == "LLM", field.Name == "Embeddings":
			continue // the latter two are turned into clients by methods of their own, which have tests
		case field.Name == "LogLevel":
			continue // read where the process's logger is made, in cmd/memsidecar
		}
		if !regexp.MustCompile(`cfg\.`+field.Name+`\b`).MatchString(source.String()) && field.Name != "Timezone" {
			t.Errorf("nothing reads Config.%s", field.Name)
		}
	}
	if !strings.Contains(source.String(), "cfg.Location()") {
		t.Error("nothing reads Config.Timezone")
	}
}
