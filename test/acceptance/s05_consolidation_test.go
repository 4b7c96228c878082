package acceptance_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/memsidecar/memsidecar/internal/memtest/process"
)

// decision is what became of a text that an agent saved.
type decision struct {
	Decision  string
	ID        string
	DecidedBy string `json:"decided_by"`
	LogDate   string `json:"log_date"`
	Note      string `json:"fallback_reason"`
}

// save has the agent save a text, and returns what became of it.
func save(t *testing.T, p process.Place, text, category string, flags ...string) decision {
	t.Helper()
	args := append([]string{"memory", "consolidate", text, "--category", category}, flags...)
	items := process.Ask[struct{ Items []decision }](t, p, args...).Items
	if len(items) != 1 {
		t.Fatalf("%q: %d decisions, want 1", text, len(items))
	}
	return items[0]
}

// Scenario 5, without a model: what an agent saves is compared with what is known. Something new is added, the same is
// nothing new, more of the same updates. So in both languages, by rules.
func TestConsolidationByRules(t *testing.T) {
	p := process.New(t, program)
	p.Serve(t)
	for _, story := range []struct{ category, first, same, more, other string }{
		{"facts", "The billing database is Postgres 14", "the billing  database is Postgres 14.",
			"The billing database is Postgres 15", "Invoices are sent on Tuesdays"},
		{"preferences", "用户偏好东方航空", "用户偏好东方航空。", "用户偏好东方航空，尤其是早班机", "用户喜欢在下午3点开会"},
		{"preferences", "The user likes green tea", "The user likes green tea.",
			"The user likes green tea, without sugar", "The user prefers tabs in Go"},
		{"facts", "项目后端的端口是 8080", "项目后端的端口是 8080", "项目后端的端口是 9090", "办公室在三楼"},
		// In other words that share none with the first.
		{"facts", "The user lives in Porto", "The user lives in Porto.", "The user has moved to Lisbon", "The user has two cats"},
		{"tasks", "周五前提交报销单", "周五前提交报销单。", "周三前提交报销单", "下周一前续签证书"},
		{"facts", "用户在高德上班", "用户在高德上班。", "用户在美团工作", "用户有两只猫"},
	} {
		first := save(t, p, story.first, story.category)
		same := save(t, p, story.same, story.category)
		more := save(t, p, story.more, story.category)
		other := save(t, p, story.other, story.category)
		got := []string{first.Decision, same.Decision, more.Decision, other.Decision}
		if strings.Join(got, " ") != "add noop update add" || first.DecidedBy != "rules" {
			t.Errorf("%s: %v by %s, want add, noop, update, add by rules", story.first, got, first.DecidedBy)
		}
		if same.ID != first.ID || more.ID != first.ID || other.ID == first.ID {
			t.Errorf("%s: the ids are %s, %s, %s, %s", story.first, first.ID, same.ID, more.ID, other.ID)
		}
		if now := containing(list(t, p), story.more); len(now) != 1 || now[0].ID != first.ID {
			t.Errorf("%q is %+v", story.more, now)
		}
	}

	// What goes to the daily log is an event of today, and no memory until it is looked at.
	daily := save(t, p, "Had a look at the tide tables", "general", "--write-to", "daily")
	if daily.LogDate != day(0) || len(containing(list(t, p), "tide tables")) != 0 {
		t.Errorf("to the daily log: %+v", daily)
	}
	entries := published[logFile](t, p, "logs/"+day(0)+".json").Entries
	if len(entries) != 1 || entries[0].Type != "event" || entries[0].Content != "Had a look at the tide tables" ||
		entries[0].Category != "general" {
		t.Errorf("the log of today has %+v", entries)
	}
}

// Scenario 5, with a model: it chooses among what it is shown, and code carries that out. What it replaces can be had
// back.
func TestConsolidationByModel(t *testing.T) {
	model := withModel(t,
		says(func(shown func(string) int) string {
			return fmt.Sprintf(`{"action":"UPDATE","target":%d,"content":"用户偏好东方航空，尤其是早班机","why":"more precise"}`,
				shown("用户偏好东方航空"))
		}),
		says(func(shown func(string) int) string {
			return fmt.Sprintf(`{"action":"DELETE","target":%d,"content":"","why":"contradicts"}`,
				shown("The user lives in Oslo"))
		}),
		says(func(shown func(string) int) string {
			return fmt.Sprintf(`{"action":"NOOP","target":%d,"content":"","why":"known"}`, shown("The user has moved"))
		}),
	)
	p := process.New(t, program)
	// What a session taught. What a person or an agent saved a model may not retire; that is left to a person.
	write(t, p, "memory.json", `{"version": 2, "memories": [
		{"id": "flights", "category": "preferences", "content": "用户偏好东方航空", "source": "auto_reflection"},
		{"id": "oslo", "category": "facts", "content": "The user lives in Oslo", "source": "auto_reflection"}]}`)
	p.Serve(t)

	first := save(t, p, "用户出差喜欢东方航空的早班机", "preferences")
	if first.Decision != "update" || first.ID != "flights" || first.DecidedBy != "model" {
		t.Errorf("the first: %+v", first)
	}
	second := save(t, p, "The user has moved from Oslo to Bergen and lives there now", "facts")
	if second.Decision != "delete" || second.DecidedBy != "model" {
		t.Errorf("the second: %+v", second)
	}
	all := list(t, p)
	if len(containing(all, "尤其是早班机")) != 1 || len(containing(all, "lives in Oslo")) != 0 ||
		len(containing(all, "Bergen")) != 1 {
		t.Errorf("memories: %+v", all)
	}
	if old := containing(list(t, p, "--all"), "lives in Oslo"); len(old) != 1 || old[0].Status == "active" {
		t.Errorf("what was replaced is %+v", old)
	}
	if d := save(t, p, "The user says that Bergen is where the user lives", "facts"); d.Decision != "noop" {
		t.Errorf("the third: %+v", d)
	}
	if n := model.Stats().Requests; n != 3 {
		t.Errorf("the model was asked %d times, want 3", n)
	}

	// The same text once more needs no question.
	if d := save(t, p, "用户偏好东方航空，尤其是早班机。", "preferences"); d.Decision != "noop" || d.DecidedBy != "rules" {
		t.Errorf("the same text: %+v", d)
	}
	if n := model.Stats().Requests; n != 3 {
		t.Errorf("the same text was asked about: %d questions", n)
	}
}
