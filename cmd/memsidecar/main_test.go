package main

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/memsidecar/memsidecar/internal/memtest"
	"github.com/memsidecar/memsidecar/internal/search/embedding/bert"
)

func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){"memsidecar": main})
}

// TestScripts runs the real program with a home of its own for each script. Beside testscript's commands there are
//
//	value NAME PATH      sets a variable to a value of the JSON printed last: value ID result.outcomes.0.id
//	daysago NAME N       sets a variable to the local date N days ago
//	lacks DIR TEXT       fails if any file below DIR holds the text
//	damage FILE OLD NEW  replaces the first OLD in a file
//	log FILE DATE TEXT   writes a daily log with one entry
//	await PATTERN CMD…   runs a command until its output matches, for at most ten seconds
//	fakellm NAME HOW     starts a model server that behaves as one of fakes, and sets a variable to its address
//	asked URL TIMES      fails unless that model server was asked so often, and the daemon's ledger of tokens agrees
//	examples             runs the harmless examples of help, README.md and docs
//	flip FILE NEW        copies a file with one bit in its middle turned
func TestScripts(t *testing.T) {
	testscript.Run(t, testscript.Params{
		Dir:   "testdata/script",
		Setup: setup,
		Condition: func(name string) (bool, error) {
			if name != "model" {
				return false, fmt.Errorf("there is no condition %q", name)
			}
			_, err := bert.NewMiniLM()
			return err == nil, nil
		},
		Cmds: map[string]func(ts *testscript.TestScript, neg bool, args []string){
			"value": cmdValue, "daysago": cmdDaysAgo, "lacks": cmdLacks, "damage": cmdDamage, "await": cmdAwait,
			"log":            cmdLog,
			"fakellm":        cmdFakeLLM,
			"fakeembeddings": cmdFakeEmbeddings, "asked": cmdAsked, "flip": cmdFlip, "examples": cmdExamples,
		},
	})
}

func setup(env *testscript.Env) error {
	// A socket's path may have 107 bytes, which the directory of a script would use up.
	runtime, err := os.MkdirTemp("/tmp", "ms")
	if err != nil {
		return err
	}
	home := filepath.Join(env.WorkDir, "home")
	env.Setenv("HOME", home)
	env.Setenv("XDG_RUNTIME_DIR", runtime)
	env.Setenv("DATA", filepath.Join(home, ".local/share/memsidecar"))
	env.Setenv("STATE", filepath.Join(home, ".local/state/memsidecar"))
	env.Setenv("GORACE", "atexit_sleep_ms=0") // with the race detector every command would wait a second at its end
	env.Defer(func() {
		// A script that failed has left its daemon behind.
		program := filepath.Join(filepath.SplitList(env.Getenv("PATH"))[0], "memsidecar")
		stop := exec.Command(program, "daemon", "stop", "--timeout", "5s")
		stop.Env = env.Vars
		_ = stop.Run()
		_ = os.RemoveAll(runtime)
	})
	return os.MkdirAll(home, 0o700)
}

func cmdValue(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: value NAME PATH")
	}
	var v any
	if err := json.Unmarshal([]byte(ts.ReadFile("stdout")), &v); err != nil {
		ts.Fatalf("stdout is not JSON: %v", err)
	}
	for part := range strings.SplitSeq(args[1], ".") {
		switch x := v.(type) {
		case map[string]any:
			v = x[part]
		case []any:
			n, err := strconv.Atoi(part)
			if err != nil || n >= len(x) {
				ts.Fatalf("there is no %s in a list of %d", part, len(x))
			}
			v = x[n]
		default:
			v = nil
		}
	}
	if v == nil {
		ts.Fatalf("there is no %s", args[1])
	}
	ts.Setenv(args[0], fmt.Sprint(v))
}

func cmdDaysAgo(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: daysago NAME N")
	}
	n, err := strconv.Atoi(args[1])
	ts.Check(err)
	ts.Setenv(args[0], time.Now().AddDate(0, 0, -n).Format(time.DateOnly))
}

func cmdLacks(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: lacks DIR TEXT")
	}
	files := 0
	ts.Check(filepath.WalkDir(ts.MkAbs(args[0]), func(path string, e os.DirEntry, err error) error {
		if err != nil || !e.Type().IsRegular() {
			return err
		}
		files++
		if strings.Contains(string(memtest.Plain([]byte(ts.ReadFile(path)))), args[1]) {
			ts.Fatalf("%s holds %q", path, args[1])
		}
		return nil
	}))
	if files == 0 {
		ts.Fatalf("%s holds no files", args[0])
	}
}

func cmdDamage(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 3 {
		ts.Fatalf("usage: damage FILE OLD NEW")
	}
	files, err := filepath.Glob(ts.MkAbs(args[0]))
	ts.Check(err)
	for _, file := range files {
		text := ts.ReadFile(file)
		if strings.Contains(text, args[1]) {
			ts.Check(os.WriteFile(file, []byte(strings.Replace(text, args[1], args[2], 1)), 0o600))
			return
		}
	}
	ts.Fatalf("none of %d files %s holds %q", len(files), args[0], args[1])
}

func cmdAwait(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: await PATTERN COMMAND...")
	}
	pattern := regexp.MustCompile(args[0])
	for deadline := time.Now().Add(10 * time.Second); ; time.Sleep(50 * time.Millisecond) {
		ts.Check(ts.Exec(args[1], args[2:]...))
		out := ts.ReadFile("stdout")
		if pattern.MatchString(out) {
			return
		}
		if time.Now().After(deadline) {
			ts.Fatalf("no %q in:\n%s", args[0], out)
		}
	}
}

func cmdLog(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 3 {
		ts.Fatalf("usage: log FILE DATE TEXT")
	}
	text := fmt.Sprintf(`{"date": %q, "entries": [{"time": "10:00:00", "type": "event", "content": %q}], "summary": `+
		`null, "archived": false}`, args[1], args[2])
	ts.Check(os.WriteFile(ts.MkAbs(args[0]), []byte(text), 0o600))
}

func cmdFlip(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: flip FILE NEW")
	}
	data, err := os.ReadFile(ts.MkAbs(args[0]))
	ts.Check(err)
	data[len(data)/2] ^= 1
	ts.Check(os.WriteFile(ts.MkAbs(args[1]), data, 0o600))
}
