package acceptance_test

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/memsidecar/memsidecar/internal/memtest/process"
)

// Scenario 8: recall and the start context. A prompt brings what fits it, with its age, once a session, and nothing
// where nothing fits.
func TestRecall(t *testing.T) {
	p := process.New(t, program)
	p.Serve(t)
	ago := func(days int) string {
		return time.Now().Add(-time.Duration(days)*24*time.Hour - time.Hour).Format(time.RFC3339)
	}
	p.Succeeds(t, "add", "The staging gateway listens on port 8443", "--category", "facts", "--created-at", ago(0))
	p.Succeeds(t, "add", "Harbour cranes are inspected in May", "--title", "Crane inspection", "--category", "facts",
		"--created-at", ago(40))
	p.Succeeds(t, "add", "用户偏好东方航空，尤其是早班机", "--category", "preferences", "--created-at", ago(1))
	// A clock may be a little ahead of the daemon's; what is further ahead is a mistake.
	p.Succeeds(t, "add", "The timetable was written by Mei", "--category", "facts", "--created-at",
		time.Now().Add(20*time.Hour).Format(time.RFC3339))
	p.Fails(t, 2, "add", "The timetable is renewed", "--created-at", ago(-3))

	// A line is "- title (category, age): text", and without a title "- (category, age) text".
	block := p.Succeeds(t, "recall", "when are the harbour cranes inspected?", "--session", "s1")
	fence := regexp.MustCompile(`^<recalled-memories (id="[0-9a-f]+")>\n`).FindStringSubmatch(block)
	if fence == nil || !strings.HasSuffix(block, "\n</recalled-memories "+fence[1]+">\n") {
		t.Errorf("not fenced: %s", block)
	}
	shows(t, "the block", block, "\n- Crane inspection (facts, 40 days ago): Harbour cranes are inspected in May")
	shows(t, "the block", p.Succeeds(t, "recall", "which port does the staging gateway use?", "--session", "s1"),
		"\n- (facts, today) The staging gateway listens on port 8443")
	shows(t, "the block", p.Succeeds(t, "recall", "用户喜欢哪家航空公司的早班机？", "--session", "s1"),
		"(preferences, 昨天) 用户偏好东方航空")
	shows(t, "a date ahead", p.Succeeds(t, "recall", "who wrote the timetable?", "--session", "s1"), "(facts, today)")

	// What is older than a day is doubted in words; what is fresh is not.
	type recalled struct {
		Items []struct{ Age, Caveat string }
	}
	old := process.Ask[recalled](t, p, "recall", "when are the harbour cranes inspected?", "--session", "s2").Items
	if len(old) != 1 || old[0].Age != "40 days ago" || !strings.Contains(old[0].Caveat, "40 days old") {
		t.Errorf("of 40 days: %+v", old)
	}
	fresh := process.Ask[recalled](t, p, "recall", "which port does the staging gateway use?", "--session", "s2").Items
	if len(fresh) != 1 || fresh[0].Age != "today" || fresh[0].Caveat != "" {
		t.Errorf("of today: %+v", fresh)
	}

	// Not twice in a session, and nothing for what has nothing to do with it.
	for _, prompt := range []string{"harbour cranes inspection", "how do volcanoes erupt?", "讲个笑话"} {
		if told := p.Succeeds(t, "recall", prompt, "--session", "s1"); told != "" {
			t.Errorf("%q: %s", prompt, told)
		}
	}

	// Use makes nothing younger, and neither does another category.
	id := containing(list(t, p), "Harbour cranes")[0].ID
	p.Succeeds(t, "update", id, "--category", "tasks", "--salience", "0.9")
	const asked = "when are the harbour cranes inspected?"
	shows(t, "after an update", p.Succeeds(t, "recall", asked, "--session", "s3"), "40 days ago")
	p.Succeeds(t, "update", id, "--content", "Harbour cranes are inspected in June")
	shows(t, "after a new text", p.Succeeds(t, "recall", asked, "--session", "s4"),
		"(tasks, today): Harbour cranes are inspected in June")
}

// TestRecallLimits: at most three for a prompt and 500 characters of each; five and 2,000 where the agent asks.
func TestRecallLimits(t *testing.T) {
	p := process.New(t, program)
	p.Serve(t)
	for n := range 8 {
		var more strings.Builder
		for more.Len() < 3000 {
			fmt.Fprintf(&more, " Pump %d%d was painted.", n, more.Len())
		}
		p.Succeeds(t, "add", fmt.Sprintf("The staging gateway of site %d listens on port 844%d.%s", n, n, more.String()))
	}
	type recalled struct {
		Items []struct{ Text string }
	}
	for _, tt := range []struct {
		flags       []string
		most, chars int
	}{{nil, 3, 500}, {[]string{"--explicit"}, 5, 2000}} {
		args := append([]string{"recall", "which port has the staging gateway?"}, tt.flags...)
		items := process.Ask[recalled](t, p, args...).Items
		if len(items) != tt.most {
			t.Errorf("%v: %d memories, want %d", tt.flags, len(items), tt.most)
		}
		for _, i := range items {
			if n := len([]rune(i.Text)); n > tt.chars || n < tt.chars/2 {
				t.Errorf("%v: a text of %d characters, want it cut to %d", tt.flags, n, tt.chars)
			}
		}
	}
}

// TestStartContext: a session begins with what there is to know: the date, the rolling summary, memories under their
// headings, two days of logs, the project's instructions. It is within its budget, and the same to the byte until the
// session ends.
func TestStartContext(t *testing.T) {
	p := process.New(t, program)
	d := p.Serve(t)
	repo := filepath.Join(p.Home(), "repo")
	if err := os.MkdirAll(filepath.Join(repo, ".git"), 0o700); err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{"AGENTS.md": "Run the tests first.\n",
		"CLAUDE.md": "Never read when there is AGENTS.md.\n"} {
		if err := os.WriteFile(filepath.Join(repo, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	p.Succeeds(t, "add", "The user likes a blue colour scheme", "--category", "preferences")
	p.Succeeds(t, "add", "The user's company is TechCorp", "--category", "facts")
	p.Succeeds(t, "add", "The user writes the weekly report on Monday mornings", "--category", "patterns")
	p.Succeeds(t, "memory", "skill", "add", "Deep research",
		"--step", "web_search", "--step", "read_url", "--step", "summarize")
	p.Succeeds(t, "memory", "summary", "set", "Mei keeps the ferries running.")
	p.Succeeds(t, "log", "add", "Painted the pier", "--at", day(1)+" 10:00")
	p.Succeeds(t, "log", "add", "Sold the old crane", "--at", day(2)+" 10:00")
	begin := func(session string, flags ...string) string {
		return p.Succeeds(t, append([]string{"session", "context", session, "--cwd", repo, "--instructions"}, flags...)...)
	}
	first := begin("s1", "--tools", "default")
	shows(t, "the context", first, time.Now().Format("Monday, January 2, 2006"), "Mei keeps the ferries running.",
		"# USER MEMORY", "## User Preferences\n- The user likes a blue colour scheme",
		"## Known Facts\n- The user's company is TechCorp", "## User Patterns\n- The user writes the weekly report",
		"## Proven Skills\n", "Painted the pier", "Run the tests first.", "memory_write", "memory_search", "memory_delete")
	for _, absent := range []string{"Sold the old crane", "Never read when"} {
		if strings.Contains(first, absent) {
			t.Errorf("the context has %q", absent)
		}
	}

	// Frozen: not even a restart changes a byte for this session, while the next one sees what is new.
	p.Succeeds(t, "add", "The user has moved to Bergen", "--category", "facts")
	d.Stop(t)
	p.Serve(t)
	if again := begin("s1"); again != first {
		t.Errorf("the context has changed:\n%s\nwas\n%s", again, first)
	}
	shows(t, "the next session", begin("s2"), "Bergen")

	// However much there is, it stays within 4,000 tokens, and an index within 200 lines and 25,000 bytes.
	for n := range 260 {
		p.Succeeds(t, "add", fmt.Sprintf("Pier %d. %.200s", n, strings.Repeat("The harbour office keeps a map of it. ", 8)))
	}
	if n := len(begin("s3")); n > 4000*5 || n < 4000 {
		t.Errorf("the context has %d bytes, which is not 4,000 tokens", n)
	}
	index := begin("s4", "--index", "--tokens", "8000")
	if lines := strings.Count(index, "\n- ["); lines > 200 || lines < 100 || len(index) > 25_000+4000 {
		t.Errorf("the index has %d lines and %d bytes", lines, len(index))
	}
}
