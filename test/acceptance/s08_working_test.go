package acceptance_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/memsidecar/memsidecar/internal/memtest/process"
)

// TestWorkingMemory: what an agent does in a session is known after its context was compacted: where it works, which
// tools it has used and which of them failed, and what it noted. It ends with the session; what worked stays as a
// skill.
func TestWorkingMemory(t *testing.T) {
	p := process.New(t, program)
	p.Serve(t)
	run := filepath.Join(p.Home(), "runs", "charts")
	p.Succeeds(t, "session", "start", "w1")
	p.Succeeds(t, "session", "working", "w1", "--dir", run)
	if info, err := os.Stat(run); err != nil || info.Mode().Perm() != 0o700 {
		t.Fatalf("the run directory: %v, %v", info, err)
	}
	if got := strings.TrimSpace(p.Succeeds(t, "session", "path", "w1", "tides/march.csv")); got !=
		filepath.Join(run, "tides", "march.csv") {
		t.Errorf("a relative path is %s", got)
	}

	p.Succeeds(t, "session", "working", "w1", "--tool", "Bash", "--tool", "Bash", "--tool", "Read",
		"--summary", "Drawing the tide charts of March.")
	block := p.Succeeds(t, "session", "working", "w1", "--block")
	shows(t, "the state", block, "Current agent state", run, "Bash 2", "Read 1", time.Now().Format("Monday, January 2, 2006"),
		"Drawing the tide charts of March.")
	// It is handed over once after each compaction, and not while the agent still has it.
	recall := func() string { return p.Succeeds(t, "recall", "go on with the charts", "--session", "w1") }
	if got := recall(); strings.Contains(got, "Current agent state") {
		t.Errorf("before a compaction a prompt gets\n%s", got)
	}
	p.Succeeds(t, "session", "working", "w1", "--compacted")
	shows(t, "the prompt after it", recall(), "Current agent state", run)
	if got := recall(); strings.Contains(got, "Current agent state") {
		t.Errorf("the next prompt gets it again:\n%s", got)
	}
	// An agent that notes nothing gets it, too.
	p.Succeeds(t, "session", "working", "w2", "--dir", run, "--tool", "Bash", "--compacted")
	shows(t, "the prompt of an agent without a note", p.Succeeds(t, "recall", "go on", "--session", "w2"), "Current agent state", run,
		"Bash 1")

	p.Succeeds(t, "memory", "skill", "add", "Tide chart", "--session", "w1", "--when", "a chart of tides is wanted",
		"--step", "web_search: tide table", "--step", "read_url", "--step", "summarize")
	p.Succeeds(t, "session", "end", "w1")
	if got := p.Succeeds(t, "session", "working", "w1", "--block"); strings.Contains(got, run) {
		t.Errorf("the session has ended, and its state is\n%s", got)
	}
	file := published[memoryFile](t, p, "memory.json")
	skills := containing(file.Memories, "Tide chart")
	if len(skills) != 1 || skills[0].Category != "procedural" || skills[0].Salience != 0.7 || skills[0].Source != "skill" {
		t.Errorf("the skill is %+v", skills)
	}
	shows(t, "memory.json", read(t, p, "memory.json"), `"web_search"`, `"read_url"`, `"summarize"`)
	// The same steps once more are counted, not kept twice.
	p.Succeeds(t, "memory", "skill", "add", "Tide chart", "--when", "a chart of tides is wanted",
		"--step", "web_search: tide table", "--step", "read_url", "--step", "summarize")
	if again := containing(list(t, p), "Tide chart"); len(again) != 1 {
		t.Errorf("the skill twice: %+v", again)
	}
}
