package reflector_test

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/memsidecar/memsidecar/internal/llm"
	"github.com/memsidecar/memsidecar/internal/memory"
	"github.com/memsidecar/memsidecar/internal/reflector"
	"github.com/memsidecar/memsidecar/internal/store"
	"github.com/memsidecar/memsidecar/internal/store/journal"
)

// during is a model that does something before its first reply.
func during(text string, do func()) *scripted {
	first := true
	return &scripted{reply: func(llm.Request) (string, error) {
		if first {
			first = false
			do()
		}
		return text, nil
	}}
}

// TestPurgeDuringQuestion: what is erased while the model is asked comes back neither with its reply nor with the
// messages read before.
func TestPurgeDuringQuestion(t *testing.T) {
	const secret = "blue lagoon stone"
	b := open(t, t.TempDir())
	b.know("The spare key lies under the " + secret)
	b.say("s1", user("I prefer that the spare key lies under the "+secret+" or in the shed")...)
	model := during(reply(item("UPDATE", 1, "The spare key lies under the "+secret+" or in the shed")), func() {
		p, err := b.store.PlanPurge(t.Context(), store.PurgeRequest{Space: "p", Texts: []string{secret}})
		if err != nil {
			t.Fatal(err)
		}
		if err := p.Commit(t.Context()); err != nil {
			t.Fatal(err)
		}
		if err := p.Rewrite(t.Context()); err != nil {
			t.Fatal(err)
		}
		if err := p.Finish(); err != nil {
			t.Fatal(err)
		}
	})
	scriptedReply := model.reply
	model.reply = func(q llm.Request) (string, error) {
		if len(model.asked) == 1 {
			return scriptedReply(q)
		}
		if strings.Contains(q.User, secret) {
			t.Error("the second question holds what was erased")
		}
		return reply(), nil
	}
	b.model(model)
	res := b.reflect("s1")
	if len(model.asked) != 2 {
		t.Errorf("asked %d times", len(model.asked))
	}
	texts := append(b.contents(), res.Summary)
	_, entries, err := b.store.Space("p").Log("2026-02-21")
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		texts = append(texts, e.Content)
	}
	if all := strings.Join(texts, "\n"); strings.Contains(all, secret) {
		t.Errorf("it came back:\n%s", all)
	}
}

// TestWriteDuringQuestion: a write made while the model is asked survives; what it changed of a shown memory makes
// the model's change of that stale, and nothing else.
func TestWriteDuringQuestion(t *testing.T) {
	b := open(t, t.TempDir())
	b.know("We use Postgres 14", "The cat is called Miso")
	b.say("s1", user("We use Postgres 16 and the cat Miso likes fish")...)
	var n1, n2 int
	model := &scripted{}
	model.reply = func(q llm.Request) (string, error) {
		n1, n2 = ordinal(q, "We use Postgres 14"), ordinal(q, "The cat is called Miso")
		b.update(func(tx *store.Tx) error {
			m := tx.Memory("m1").Clone()
			m.Content = "We use MariaDB 11"
			if err := tx.Put(m); err != nil {
				return err
			}
			return tx.Put(&memory.Memory{ID: "m9", Category: memory.Facts, Content: "Written meanwhile",
				Source: memory.SourceUser, Confidence: 1})
		})
		return reply(item("UPDATE", n1, "We use Postgres 16"),
			item("UPDATE", n2, "The cat is called Miso and likes fish")), nil
	}
	b.model(model)
	res := b.reflect("s1")
	var reasons []string
	for _, o := range res.Outcomes {
		reasons = append(reasons, o.Status+" "+o.Reason)
	}
	if diff := cmp.Diff([]string{"rejected TARGET_CHANGED", "applied UPDATED"}, reasons); diff != "" ||
		len(model.asked) != 1 {
		t.Errorf("asked %d times (-want +got):\n%s", len(model.asked), diff)
	}
	want := map[string]string{"m1": "We use MariaDB 11", "m2": "The cat is called Miso and likes fish",
		"m9": "Written meanwhile"}
	if diff := cmp.Diff(want, b.texts()); diff != "" {
		t.Error(diff)
	}
}

// TestDryRunIsADiff: a dry run tells what the operation would hold, and changes nothing.
func TestDryRunIsADiff(t *testing.T) {
	b := open(t, t.TempDir())
	b.know("We use Postgres 14")
	b.say("s1", user("We use Postgres 16 and I like green tea")...)
	b.model(says(reply(item("UPDATE", 1, "We use Postgres 16"), item("ADD", 0, "The user likes green tea"),
		item("UPDATE", 1, "We use a database"))))
	lsn := b.store.LSN()
	dry, err := b.Reflect(t.Context(), "p", "s1", reflector.Options{DryRun: true})
	if err != nil || b.store.LSN() != lsn {
		t.Fatalf("%v, at operation %d", err, b.store.LSN())
	}
	kinds := func(changes []journal.Change) (out []string) {
		for _, c := range changes {
			switch {
			case c.Memory != nil && c.Memory.Before != nil:
				out = append(out, c.Memory.Before.Content+" → "+c.Memory.After.Content)
			case c.Memory != nil:
				out = append(out, c.Memory.After.Content)
			case c.Entry != nil:
				out = append(out, c.Entry.After.Type)
			case c.Session != nil:
				out = append(out, string(c.Session.After.State))
			}
		}
		return out
	}
	want := []string{"We use Postgres 14 → We use Postgres 16", "The user likes green tea", memory.EntryReflection,
		memory.EntrySessionSummary, string(memory.SessionReflected)}
	if diff := cmp.Diff(want, kinds(dry.Changes)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	res := b.reflect("s1")
	rec, err := b.store.Operation(t.Context(), res.Op)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, kinds(rec.Changes)); diff != "" {
		t.Errorf("the dry run told something else (-told +done):\n%s", diff)
	}
}

// TestOpenSession: at a summary of the context what was said so far is learnt from, with the summary, and the session
// goes on.
func TestOpenSession(t *testing.T) {
	b := open(t, t.TempDir())
	b.say("s1", user("I prefer tabs")...)
	summarise := func(n int64, text string) {
		b.update(func(tx *store.Tx) error {
			s := *tx.Session("s1")
			s.State, s.EndedAt, s.Summaries = memory.SessionOpen, time.Time{}, n
			tx.PutSession(&s)
			return tx.AppendMessage("s1", &memory.Message{At: saturday, Role: memory.RoleSummary, Content: text})
		})
	}
	summarise(1, "They agreed on the harbour API at port 8443.")
	model := says(reply(item("ADD", 0, "The harbour API listens on port 8443")))
	b.model(model)
	reflectOpen := func() reflector.Result {
		t.Helper()
		res, err := b.Reflect(t.Context(), "p", "s1", reflector.Options{Open: true})
		if err != nil {
			t.Fatal(err)
		}
		return res
	}
	res := reflectOpen()
	s, err := b.store.Space("p").Session("s1")
	if err != nil || s.State != memory.SessionOpen || s.ReflectedSeq != 2 || s.ReflectedSummaries != 1 ||
		s.ReflectedOp != res.Op || !s.EndedAt.IsZero() {
		t.Fatalf("the session is %+v, %v", s, err)
	}
	if q := model.asked[0].User; !strings.Contains(q, `"role":"summary","text":"They agreed on the harbour API`) ||
		!strings.Contains(q, "I prefer tabs") {
		t.Errorf("the question lacks the summary or the messages: %s", q)
	}
	if again := reflectOpen(); !again.AlreadyReflected || len(model.asked) != 1 {
		t.Errorf("again: %+v", again)
	}
	summarise(2, "They agreed on the harbour API at port 9443.")
	if res := reflectOpen(); res.AlreadyReflected || len(model.asked) != 2 ||
		strings.Contains(model.asked[1].User, "I prefer tabs") {
		t.Errorf("a new summary alone: %+v, asked %d times", res, len(model.asked))
	}
	b.say("s1", user("And I like tea")...)
	if res := b.reflect("s1"); res.Messages != 1 || len(model.asked) != 3 ||
		strings.Contains(model.asked[2].User, "8443.") {
		t.Errorf("at its end: %+v", res)
	}
}
