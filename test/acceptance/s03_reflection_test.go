package acceptance_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/memsidecar/memsidecar/internal/memtest/process"
)

// Scenario 3: a session ends, and one question to a model decides what is learnt from it: something new, something that
// has changed, something that is known.
func TestReflection(t *testing.T) {
	model := withModel(t, says(func(shown func(string) int) string {
		return fmt.Sprintf(`{"summary":"用户说明了航班偏好和数据库升级。","history":"Staging moved to Postgres 16.","items":[
			{"action":"ADD","target":0,"category":"preferences","title":"",
			 "content":"用户偏好东方航空的早班机","salience":0.85,"why":"said so"},
			{"action":"UPDATE","target":%d,"category":"facts","title":"",
			 "content":"The staging database is Postgres 16","salience":0.6,"why":"upgraded"},
			{"action":"NOOP","target":%d,"category":"preferences","title":"",
			 "content":"The user writes short mails","salience":0.5,"why":"known"}
			],"rules":[]}`, shown("The staging database"), shown("The user writes short mails"))
	}))
	p := process.New(t, program)
	p.Serve(t)
	p.Succeeds(t, "add", "The staging database is Postgres 15", "--id", "staging", "--category", "facts")
	p.Succeeds(t, "add", "The user writes short mails", "--id", "mails", "--category", "preferences")

	for _, said := range []string{"我出差都坐东方航空，最好是早班机。", "Remember: the staging database is Postgres 16 now.",
		"As you know, I write short mails."} {
		p.Succeeds(t, "session", "append", "abc123", said)
	}
	reply := process.Ask[struct {
		DecidedBy string `json:"decided_by"`
		Summary   string
		Items     []struct {
			Decision string
			Memory   struct {
				Content, Category string
				Salience          float64
			}
			TargetID string `json:"target_id"`
		}
	}](t, p, "session", "reflect", "abc123")

	var got strings.Builder
	for _, i := range reply.Items {
		got.WriteString(fmt.Sprintf("(%s, %s, %s, %v, %s)\n", i.Decision, i.Memory.Content, i.Memory.Category, i.Memory.Salience,
			i.TargetID))
	}
	want := "(add, 用户偏好东方航空的早班机, preferences, 0.85, )\n" +
		"(update, The staging database is Postgres 16, facts, 0.6, staging)\n" +
		"(noop, The user writes short mails, preferences, 0.5, mails)\n"
	if got.String() != want || reply.DecidedBy != "model" {
		t.Errorf("decided by %s:\n%swant\n%s", reply.DecidedBy, got.String(), want)
	}
	if n := model.Stats().Requests; n != 1 {
		t.Errorf("the model was asked %d times, want once", n)
	}
	if asked := strings.Join(model.Requests()[0].Messages, "\n"); strings.Contains(asked, "staging\"") {
		t.Errorf("the model was shown an id:\n%s", asked)
	}

	// memory.json has it; the updated memory is still the same one.
	file := published[memoryFile](t, p, "memory.json")
	added := containing(file.Memories, "东方航空")
	if len(file.Memories) != 3 || len(added) != 1 || added[0].Source != "auto_reflection" {
		t.Errorf("memory.json has %+v", file.Memories)
	}
	if now := containing(file.Memories, "Postgres 16"); len(now) != 1 || now[0].ID != "staging" {
		t.Errorf("the staging database is %+v", now)
	}

	// The session is learnt from once, and one undo removes all that was learnt.
	p.Succeeds(t, "session", "reflect", "abc123")
	if n := model.Stats().Requests; n != 1 {
		t.Errorf("asked again for the same session: %d questions", n)
	}
	op := process.Ask[struct {
		Session struct {
			Operation string `json:"reflected_operation_id"`
		}
	}](t, p, "session", "get", "abc123").Session.Operation
	p.Succeeds(t, "undo", op)
	all := list(t, p)
	if len(all) != 2 || len(containing(all, "Postgres 15")) != 1 {
		t.Errorf("after the undo there are %+v", all)
	}
}
