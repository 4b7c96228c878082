// Package acceptance_test shows what memsidecar is: eleven scenarios, one a file, each told through the built program,
// its socket and its files. A scenario begins with an empty directory and a daemon, does what a user or an agent does,
// and looks at what they would see.
package acceptance_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/memsidecar/memsidecar/internal/memtest/fakellm"
	"github.com/memsidecar/memsidecar/internal/memtest/process"
)

// program is the binary under test, built once.
var program string

func TestMain(m *testing.M) { process.Main(m, &program) }

// memoryFile is memory.json as another program reads it.
type memoryFile struct {
	Version        int
	LastUpdated    string `json:"last_updated"`
	RollingSummary string `json:"rolling_summary"`
	Memories       []memory
}

// memory is a memory in memory.json, and in what the program prints with --json.
type memory struct {
	ID           string
	Category     string
	Content      string
	Salience     float64
	CreatedAt    string `json:"created_at"`
	LastAccessed string `json:"last_accessed"`
	AccessCount  int    `json:"access_count"`
	Source       string
	Context      struct {
		Tool        string
		ErrorType   string `json:"error_type"`
		LearnedFrom string `json:"learned_from"`
	}
	Status string
}

// logFile is the log of a day as another program reads it.
type logFile struct {
	Date    string
	Entries []struct {
		Time, Type, Content, Category, Tool, Error string
	}
	Summary  *string
	Archived bool
}

// published reads a file of the data directory after the daemon has published everything.
func published[T any](t *testing.T, p process.Place, name string) (out T) {
	t.Helper()
	p.Succeeds(t, "daemon", "publish")
	if err := json.Unmarshal([]byte(read(t, p, name)), &out); err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	return out
}

// read is a file of the data directory.
func read(t *testing.T, p process.Place, name string) string {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(p.Data, name))
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

// write puts a file into the data directory, as an editor or another program does.
func write(t *testing.T, p process.Place, name, text string) {
	t.Helper()
	path := filepath.Join(p.Data, name)
	err := os.MkdirAll(filepath.Dir(path), 0o700)
	if err == nil {
		err = os.WriteFile(path, []byte(text), 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// list is what the program lists, with its flags.
func list(t *testing.T, p process.Place, flags ...string) []memory {
	t.Helper()
	args := append([]string{"list", "--limit", "1000"}, flags...)
	return process.Ask[struct{ Memories []memory }](t, p, args...).Memories
}

// containing are those memories whose text contains all the parts.
func containing(all []memory, parts ...string) (out []memory) {
next:
	for _, m := range all {
		for _, part := range parts {
			if !strings.Contains(m.Content, part) {
				continue next
			}
		}
		out = append(out, m)
	}
	return out
}

// shows fails the test for each part that the text lacks.
func shows(t *testing.T, what, text string, parts ...string) {
	t.Helper()
	for _, part := range parts {
		if !strings.Contains(text, part) {
			t.Errorf("%s lacks %q:\n%s", what, part, text)
		}
	}
}

// day is the date so many days ago.
func day(ago int) string { return time.Now().AddDate(0, 0, -ago).Format(time.DateOnly) }

// withModel starts a stub of a model server on this machine, and lets the daemons that follow ask it.
func withModel(t *testing.T, answers ...fakellm.Step) *fakellm.Server {
	t.Helper()
	model := fakellm.Start(t, answers...)
	fakellm.UseServer(t, model.URL)
	return model
}

// says is an answer that is made from the question: from the numbers under which it shows what is known.
func says(answer func(shown func(text string) int) string) fakellm.Step {
	return fakellm.Step{Answer: func(q fakellm.Request) string { return answer(q.Target) }}
}
