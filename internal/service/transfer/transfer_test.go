package transfer_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/memsidecar/memsidecar/internal/memory"
	"github.com/memsidecar/memsidecar/internal/memtest"
	"github.com/memsidecar/memsidecar/internal/service/transfer"
	"github.com/memsidecar/memsidecar/internal/store"
	"github.com/memsidecar/memsidecar/internal/store/durable/crashfs"
	"github.com/memsidecar/memsidecar/internal/store/journal"
)

type place struct {
	st *store.Store
	tr *transfer.Service
}

func newPlace(t *testing.T) place {
	t.Helper()
	fs := crashfs.New()
	st := memtest.OpenStore(t, fs)
	return place{st, transfer.New(st, fs, nil, new(memtest.Clock).Now)}
}

func (p place) update(t *testing.T, space string, fn func(*store.Tx) error) int64 {
	t.Helper()
	res, err := p.st.Update(t.Context(), store.Meta{Space: space, Actor: journal.ActorClient}, fn)
	if err != nil {
		t.Fatal(err)
	}
	return res.Op
}

func (p place) export(t *testing.T, spaces ...string) string {
	t.Helper()
	var b bytes.Buffer
	if err := p.tr.Export(t.Context(), &b, spaces); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func (p place) imported(t *testing.T, text string, opts transfer.Options) transfer.Report {
	t.Helper()
	report, err := p.tr.Import(t.Context(), strings.NewReader(text), opts)
	if err != nil {
		t.Fatal(err)
	}
	return report
}

// full holds something of everything, in two languages, with fields that nobody knows.
func full(t *testing.T) place {
	t.Helper()
	p := newPlace(t)
	earlier := memtest.Epoch.Add(-24 * time.Hour)
	p.update(t, "", func(tx *store.Tx) error {
		m := memtest.Fact("zh", "fetch_url 工具对动态渲染网页无效\n第二行 <b>&\u2028")
		m.CreatedAt, m.UpdatedAt = earlier, earlier.Add(time.Minute)
		m.SetAccesses(3, earlier.Add(time.Hour))
		m.SetContext(&memory.Context{Tool: "fetch_url", Occurrences: 2,
			Extra: map[string]json.RawMessage{"who": json.RawMessage("{\n \"a\": 1\n}")}})
		m.Tags, m.Title, m.Pinned, m.Confidence = []string{"web", "网页"}, "题", true, 0.25
		m.SetExpiresAt(memtest.Epoch.AddDate(1, 0, 0))
		m.SetEvidence([]memory.Evidence{{Log: "2026-02-20", Entry: "e1", Session: "s1"}})
		m.SetRelations([]memory.Relation{{Type: "supports", Target: "old", Strength: 0.75}})
		m.SetStructuredData(json.RawMessage("{\n \"steps\": [1, 2]\n}"))
		m.SetExtra(map[string]json.RawMessage{"colour": json.RawMessage(`"蓝"`), "nested": json.RawMessage("{\n  \"x\": [1,\n 2]}")})
		old := memtest.Fact("old", "was so")
		old.Status = memory.Superseded
		old.SetSupersededBy("zh")
		gone := memtest.Fact("gone", "a secret wish")
		gone.Status = memory.Retired
		tx.Forget("a secret wish")
		tx.SetSummary("Writes Python. 偏好简洁代码风格。")
		return errors.Join(tx.Put(m), tx.Put(old), tx.Put(gone))
	})
	p.update(t, "work", func(tx *store.Tx) error {
		tx.SetDay(&memory.Day{Date: "2026-02-19", Summary: "a quiet day", Archived: true, Extra: map[string]json.RawMessage{"mood": json.RawMessage(`"平"`)}})
		for i := range 3 {
			err := tx.AppendEntry("2026-02-20", &memory.Entry{ID: fmt.Sprint("e", i), Time: "16:20:00", At: earlier.In(time.FixedZone("", 8*3600)).Add(time.Duration(i) * time.Hour),
				Type: "reflection", Content: "站点是 React SPA", Tool: "fetch_url", Error: "empty", Session: "s1", Extra: map[string]json.RawMessage{"k": json.RawMessage("[ 1 ]")}})
			if err != nil {
				return err
			}
		}
		tx.LogArchived(memory.Archived{Date: "2026-02-19", Summary: "a quiet day", Promoted: []string{"zh"}})
		tx.LogDeleted(memory.Archived{Date: "2026-02-18", Entries: 2, Summary: "搬了服务 <b>"})
		tx.LogArchived(memory.Archived{Date: "2026-02-18", Entries: 1}) // begun anew
		return nil
	})
	p.update(t, "work", func(tx *store.Tx) error {
		tx.PutSession(&memory.Session{ID: "s1", State: memory.SessionReflected, StartedAt: earlier, LastAt: earlier.Add(time.Minute), EndedAt: memtest.Epoch, EndReason: "reflect",
			Messages: 2, NextSeq: 3, ReflectedSeq: 3, ReflectedOp: 7, Summary: "总结"})
		return errors.Join(
			tx.AppendMessage("s1", &memory.Message{Seq: 1, At: earlier, Role: "user", Content: "下次不要这样"}),
			tx.AppendMessage("s1", &memory.Message{Seq: 2, At: earlier, Role: "tool", Tool: &memory.ToolCall{Name: "x", Arguments: `{"a":1}`, Failed: true}}))
	})
	return p
}

// numbers are what may differ between a store and one that its export was imported into: what they are called, and
// numbers of operations.
var numbers = regexp.MustCompile(`^\{"memsidecar".*|, "revision": \d+|,"reflected_op":\d+|, "(archive|delete)_operation": \d+`)

func withoutNumbers(export string) []string {
	lines := strings.Split(export, "\n")
	for i, line := range lines {
		lines[i] = numbers.ReplaceAllString(line, "")
	}
	return lines
}

func TestRoundTrip(t *testing.T) {
	from, to := full(t), newPlace(t)
	text := from.export(t)
	dry := to.imported(t, text, transfer.Options{DryRun: true})
	if to.st.LSN() != 0 || len(dry.Operations) > 0 {
		t.Fatalf("a dry run wrote up to %d: %v", to.st.LSN(), dry.Operations)
	}
	report := to.imported(t, text, transfer.Options{})
	if diff := cmp.Diff(dry.Counts, report.Counts); diff != "" {
		t.Errorf("what the dry run said and what was done (-dry +done):\n%s", diff)
	}
	want := []transfer.Count{
		{Space: "default", Kind: transfer.Memory, Added: 3}, {Space: "default", Kind: transfer.Summary, Added: 1}, {Space: "default", Kind: transfer.Forgotten, Added: 1},
		{Space: "work", Kind: transfer.Day, Added: 2}, {Space: "work", Kind: transfer.Entry, Added: 3}, {Space: "work", Kind: transfer.Archived, Added: 3},
		{Space: "work", Kind: transfer.Session, Added: 1},
	}
	if diff := cmp.Diff(want, report.Counts); diff != "" {
		t.Errorf("counts (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(withoutNumbers(text), withoutNumbers(to.export(t))); diff != "" {
		t.Errorf("the export of the import (-from +to):\n%s", diff)
	}
	lsn := to.st.LSN()
	again := to.imported(t, text, transfer.Options{})
	for _, c := range again.Counts {
		if c.Added != 0 || c.Skipped != 0 || c.Same == 0 {
			t.Errorf("imported twice: %+v", c)
		}
	}
	if to.st.LSN() != lsn || len(again.Operations) > 0 {
		t.Errorf("imported twice: wrote up to %d, %d before", to.st.LSN(), lsn)
	}
	// Everything can be taken back, and imported once more.
	for i := len(report.Operations) - 1; i >= 0; i-- {
		if _, err := to.st.Undo(t.Context(), store.Meta{}, report.Operations[i]); err != nil {
			t.Errorf("undo of %d: %v", report.Operations[i], err)
		}
	}
	if left := strings.Count(to.export(t), "\n"); left != 1 {
		t.Errorf("after the undo there is still:\n%s", to.export(t))
	}
	if diff := cmp.Diff(report.Counts, to.imported(t, text, transfer.Options{}).Counts); diff != "" {
		t.Errorf("imported after the undo (-first +now):\n%s", diff)
	}
	if diff := cmp.Diff(withoutNumbers(text), withoutNumbers(to.export(t))); diff != "" {
		t.Errorf("the export after the undo (-from +to):\n%s", diff)
	}
}

// cut fails after some bytes, as a client that is killed does.
type cut struct {
	r    io.Reader
	left int
}

func (c *cut) Read(p []byte) (int, error) {
	if c.left == 0 {
		return 0, errors.New("killed")
	}
	n, err := c.r.Read(p[:min(len(p), c.left)])
	c.left -= n
	return n, err
}

func TestInterruptedImportGoesOn(t *testing.T) {
	from := newPlace(t)
	for i := range 4 {
		from.update(t, fmt.Sprint("space", i%2), func(tx *store.Tx) error {
			for n := range 400 {
				if err := tx.Put(memtest.Fact(fmt.Sprintf("%d-%d", i, n), fmt.Sprintf("memory %d of %d", n, i))); err != nil {
					return err
				}
			}
			return nil
		})
	}
	text := from.export(t)
	to := newPlace(t)
	partly := 0
	for at := len(text) / 5; at < len(text); at += len(text) / 5 {
		if _, err := to.tr.Import(t.Context(), &cut{strings.NewReader(text), at}, transfer.Options{}); err == nil {
			t.Fatal("the interruption went unnoticed")
		}
		if n := to.st.Space("space0").Count(); n > 0 && n < 800 {
			partly++
		}
	}
	if partly == 0 {
		t.Error("no interruption came in the middle")
	}
	report := to.imported(t, text, transfer.Options{})
	same := int64(0)
	for _, c := range report.Counts {
		same += c.Same
	}
	if same == 0 || same == 1600 {
		t.Errorf("the last run found %d of 1600 there", same)
	}
	if diff := cmp.Diff(withoutNumbers(text), withoutNumbers(to.export(t))); diff != "" {
		t.Errorf("after all (-from +to):\n%s", diff)
	}
}

func TestWhatIsLeftOut(t *testing.T) {
	lines := func(more ...string) string {
		return `{"memsidecar":"export","version":1}` + "\n" + strings.Join(more, "\n") + "\n"
	}
	mem := func(id, content, more string) string {
		return fmt.Sprintf(`{"space":"default","memory":{"id":%q,"category":"facts","content":%q,"created_at":"2026-02-01T10:00:00Z","updated_at":"2026-02-01T10:00:00Z"%s}}`, id, content, more)
	}
	record := func(id, more string) string {
		return fmt.Sprintf(`{"space":"default","archived":{"id":%q,"date":%q,"archived_at":"2026-02-01T10:00:00Z"%s}}`, id, id[:10], more)
	}
	session := `{"space":"default","session":{"id":"s","state":"open","started_at":"2026-02-01T10:00:00Z","last_at":"2026-02-01T10:00:00Z","messages":1,"next_seq":2,"reflected_seq":0}}`
	for _, tt := range []struct {
		name, text string
		want       []string // line kind id reason
		added      int64
	}{
		{"forgotten here", lines(mem("a", "Never Again.", ""), mem("b", "fine", "")), []string{"2 memory a FORGOTTEN"}, 1},
		{"forgotten here and retired there", lines(mem("a", "never again", `,"status":"retired"`)), []string{"2 memory a FORGOTTEN"}, 0},
		{"forgotten as an entry", lines(`{"space":"default","date":"2026-02-20","entry":{"id":"e","at":"2026-02-20T10:00:00Z","content":"never again"}}`), []string{"2 entry e FORGOTTEN"}, 0},
		{"another one has the id", lines(mem("known", "something else", "")), []string{"2 memory known ID_EXISTS"}, 0},
		{"twice in the file, differently", lines(mem("a", "one", ""), mem("a", "two", "")), []string{"3 memory a ID_EXISTS"}, 1},
		{"twice in the file", lines(mem("a", "one", ""), mem("a", "one", "")), nil, 1},
		{"the same text under another id", lines(mem("other", "  KNOWN text", "")), nil, 0},
		{"not JSON", lines(`{"space":`, mem("b", "fine", "")), []string{"2 line  INVALID"}, 1},
		{"a name twice", lines(`{"space":"default","space":"x","summary":"y"}`), []string{"2 line  INVALID"}, 0},
		{"unknown kind", lines(`{"space":"default","dream":{}}`), []string{"2 line  INVALID"}, 0},
		{"two things", lines(`{"space":"default","summary":"a","forgotten":{"hash":"x:1","at":"2026-02-01T10:00:00Z"}}`), []string{"2 forgotten  INVALID"}, 0},
		{"space that is none", lines(`{"space":"../x","summary":"a"}`), []string{"2 summary  INVALID"}, 0},
		{"from the future", lines(strings.Replace(mem("a", "x", ""), "2026-02-01T10", "2036-02-01T10", 1)), []string{"2 memory a INVALID"}, 0},
		{"from before 1970", lines(strings.Replace(mem("a", "x", ""), "2026-02-01T10", "1969-02-01T10", 1),
			record("1969-02-20", ""), `{"space":"default","date":"1969-02-20","entry":{"id":"e","at":"2026-02-20T10:00:00Z","content":"x"}}`,
			`{"space":"default","date":"2026-02-20","entry":{"id":"e","at":"1969-02-20T10:00:00Z","content":"x"}}`,
			strings.Replace(session, "2026", "1969", 1)),
			[]string{"2 memory a INVALID", "3 archived 1969-02-20 INVALID", "4 entry e INVALID", "5 entry e INVALID", "6 session s INVALID"}, 0},
		{"unknown status", lines(mem("a", "x", `,"status":"asleep"`)), []string{"2 memory a INVALID"}, 0},
		{"only a private passage", lines(mem("a", "<private>x</private>", "")), []string{"2 memory a INVALID"}, 0},
		{"another summary", lines(`{"space":"default","summary":"another"}`), []string{"2 summary  ID_EXISTS"}, 0},
		{"two summaries for an empty space", lines(`{"space":"new","summary":"one"}`, `{"space":"new","summary":"two"}`), []string{"3 summary  ID_EXISTS"}, 1},
		{"entry before its day", lines(`{"space":"default","date":"2026-02-20","entry":{"id":"e","at":"2026-02-20T10:00:00Z","content":"x"}}`,
			`{"space":"default","day":{"date":"2026-02-20"}}`, `{"space":"default","day":{"date":"2026-02-20","summary":"s","archived":true}}`,
			`{"space":"default","day":{"date":"2026-02-20","summary":"t"}}`), []string{"5 day 2026-02-20 ID_EXISTS"}, 2},
		{"record of another log of the date", lines(record("2026-02-20", ""), record("2026-02-20", `,"entries":2`), record("2026-02-20.2", ""), record("2026-02-20.2", "")),
			[]string{"3 archived 2026-02-20 ID_EXISTS"}, 2},
		{"record of no date", lines(record("2026-02-31", ""), record("2026-02-20", `,"deleted_at":"2036-02-01T10:00:00Z"`)), []string{"2 archived  INVALID", "3 archived 2026-02-20 INVALID"}, 0},
		{"message of no session", lines(`{"space":"default","session_id":"s","message":{"seq":1,"role":"user","content":"x","at":"2026-02-01T10:00:00Z"}}`), []string{"2 message s INVALID"}, 0},
		{"session with a message missing", lines(session, mem("b", "fine", "")), []string{"2 session s INVALID"}, 1},
		{"session with a broken line in it", lines(session, "{", `{"space":"default","session_id":"s","message":{"seq":1,"role":"user","content":"x","at":"2026-02-01T10:00:00Z"}}`), []string{"3 line  INVALID"}, 1},
		{"session with a strange role", lines(session, `{"space":"default","session_id":"s","message":{"seq":1,"role":"boss","content":"x","at":"2026-02-01T10:00:00Z"}}`),
			[]string{"2 session s INVALID", "3 message s INVALID"}, 0},
	} {
		t.Run(tt.name, func(t *testing.T) {
			p := newPlace(t)
			p.update(t, "", func(tx *store.Tx) error {
				tx.Forget("never again")
				tx.SetSummary("a summary")
				return tx.Put(memtest.Fact("known", "known text"))
			})
			dry := p.imported(t, tt.text, transfer.Options{DryRun: true})
			report := p.imported(t, tt.text, transfer.Options{})
			var got []string
			added := int64(0)
			for _, s := range report.Skipped {
				got = append(got, fmt.Sprintf("%d %s %s %s", s.Line, s.Kind, s.ID, s.Reason))
				if strings.Contains(strings.ToLower(s.Detail), "never again") {
					t.Errorf("the report holds text: %s", s.Detail)
				}
			}
			for _, c := range report.Counts {
				added += c.Added
			}
			if diff := cmp.Diff(tt.want, got); diff != "" || added != tt.added {
				t.Errorf("added %d, want %d; left out (-want +got):\n%s\n%+v", added, tt.added, diff, report.Skipped)
			}
			dry.Operations = report.Operations
			if diff := cmp.Diff(dry, report); diff != "" {
				t.Errorf("the dry run said otherwise (-dry +done):\n%s", diff)
			}
		})
	}
}

func TestSecretsAreTakenOut(t *testing.T) {
	p := newPlace(t)
	const secret = "ghp_abcdefghijklmnopqrstuvwxyz0123456789"
	text := `{"memsidecar":"export","version":1}
{"space":"default","memory":{"id":"a","content":"the token is ` + secret + `","created_at":"2026-02-01T10:00:00Z"}}
{"space":"default","date":"2026-02-20","entry":{"id":"e","at":"2026-02-20T10:00:00Z","content":"used ` + secret + `"}}
{"space":"default","archived":{"id":"2026-02-20","date":"2026-02-20","archived_at":"2026-02-01T10:00:00Z","summary":"used ` + secret + `"}}
{"space":"default","session":{"id":"s","state":"open","started_at":"2026-02-01T10:00:00Z","last_at":"2026-02-01T10:00:00Z","messages":1,"next_seq":2,"reflected_seq":0}}
{"space":"default","session_id":"s","message":{"seq":1,"role":"user","content":"it is ` + secret + `","at":"2026-02-01T10:00:00Z"}}
`
	p.imported(t, text, transfer.Options{})
	if out := p.export(t); strings.Contains(out, secret) || strings.Count(out, "[redacted:") != 4 {
		t.Errorf("imported:\n%s", out)
	}
	for _, c := range p.imported(t, text, transfer.Options{}).Counts {
		if c.Same != 1 && c.Kind != transfer.Day {
			t.Errorf("the second time %+v", c)
		}
	}
}

func TestMemoryFile(t *testing.T) {
	from := full(t)
	var b bytes.Buffer
	if err := from.tr.ExportFile(t.Context(), &b, ""); err != nil {
		t.Fatal(err)
	}
	p := newPlace(t)
	report := p.imported(t, b.String(), transfer.Options{Space: "home"})
	want := []transfer.Count{{Space: "home", Kind: transfer.Memory, Added: 1}, {Space: "home", Kind: transfer.Summary, Added: 1}, {Space: "home", Kind: transfer.Forgotten, Added: 1}}
	if diff := cmp.Diff(want, report.Counts); diff != "" {
		t.Errorf("counts (-want +got):\n%s", diff)
	}
	m, err := p.st.Space("home").Get("zh")
	if err != nil || string(m.Extra()["colour"]) != `"蓝"` || m.AccessCount() != 3 || m.Source != memory.SourceUser {
		t.Errorf("imported %+v: %v", m, err)
	}
	// As a person writes it: no ids, no times.
	byHand := `{"version":2,"memories":[{"content":"likes tea"},{"content":"likes tea","category":"偏好"}]}`
	if first := p.imported(t, byHand, transfer.Options{}); first.Counts[0].Added != 2 {
		t.Errorf("by hand: %+v", first)
	}
	if again := p.imported(t, byHand, transfer.Options{}); again.Counts[0].Same != 2 {
		t.Errorf("by hand, again: %+v", again)
	}
}

// TestSalienceOutOfRange: what another program weighs otherwise is brought to the nearest value in range, which the
// report says, from an export as from a memory.json.
func TestSalienceOutOfRange(t *testing.T) {
	for name, text := range map[string]string{
		"memory.json": `{"version":2,"memories":[{"id":"a","content":"likes tea","salience":7},` +
			`{"id":"b","content":"likes rye","salience":-1,"confidence":3}]}`,
		"export": `{"memsidecar":"export","version":1}` + "\n" +
			`{"space":"default","memory":{"id":"a","content":"likes tea","created_at":"2026-01-01T00:00:00Z","salience":7}}` + "\n" +
			`{"space":"default","memory":{"id":"b","content":"likes rye","created_at":"2026-01-01T00:00:00Z","salience":-1,"confidence":3}}`,
	} {
		p := newPlace(t)
		report := p.imported(t, text, transfer.Options{})
		if report.AdjustedCount != 3 || len(report.Adjusted) != 3 || len(report.Skipped) > 0 {
			t.Errorf("%s: %+v, skipped %+v", name, report.Adjusted, report.Skipped)
		}
		for _, a := range report.Adjusted {
			if !strings.Contains(a.Detail, "is not from 0 to 1; took the nearest") || (name == "export") != (a.Line > 0 && a.ID != "") {
				t.Errorf("%s: %+v", name, a)
			}
		}
		for id, want := range map[string]float64{"a": 1, "b": 0} {
			if m, err := p.st.Space("").Get(id); err != nil || m.Salience != want || m.Confidence != 1 {
				t.Errorf("%s: %+v, %v", name, m, err)
			}
		}
	}
}

func TestWhatIsNoImport(t *testing.T) {
	p := newPlace(t)
	for name, text := range map[string]string{
		"empty": "", "text": "hello", "array": "[]", "another document": `{"a":1}`, "backup": `{"memsidecar":"backup","version":1}`, "half a file": `{"version":2,"memories":[`,
	} {
		_, err := p.tr.Import(t.Context(), strings.NewReader(text), transfer.Options{})
		if _, invalid := errors.AsType[*memory.InvalidError](err); !invalid {
			t.Errorf("%s: %v", name, err)
		}
	}
	for _, text := range []string{`{"memsidecar":"export","version":2}`, `{"version":3,"memories":[]}`} {
		if _, err := p.tr.Import(t.Context(), strings.NewReader(text), transfer.Options{}); !errors.Is(err, memory.ErrNewerVersion) {
			t.Errorf("%s: %v", text, err)
		}
	}
	if p.st.LSN() != 0 {
		t.Errorf("something was written up to %d", p.st.LSN())
	}
}

func FuzzImport(f *testing.F) {
	f.Add([]byte(`{"memsidecar":"export","version":1}` + "\n" + `{"space":"default","memory":{"id":"a","content":"x","created_at":"2026-02-01T10:00:00Z"}}`))
	f.Add([]byte(`{"version":2,"memories":[{"content":"likes tea"}],"forgotten":[{"hash":"a:b","at":"2026-02-01T10:00:00Z"}]}`))
	f.Add([]byte(`{"memsidecar":"export","version":1}` + "\n" + `{"space":"w","session":{"id":"s","state":"open","started_at":"2026-02-01T10:00:00Z","messages":1,"next_seq":2}}` + "\n" +
		`{"space":"w","session_id":"s","message":{"seq":1,"role":"user"}}` + "\n" + `{"space":"w","day":{"date":"2026-02-20","summary":"s"}}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		fs := crashfs.New()
		st := memtest.OpenStore(t, fs)
		tr := transfer.New(st, fs, nil, new(memtest.Clock).Now)
		dry, err := tr.Import(t.Context(), bytes.NewReader(data), transfer.Options{DryRun: true})
		report, err2 := tr.Import(t.Context(), bytes.NewReader(data), transfer.Options{})
		if (err == nil) != (err2 == nil) {
			t.Fatalf("dry run: %v; run: %v", err, err2)
		}
		if diff := cmp.Diff(dry.Counts, report.Counts); diff != "" {
			t.Fatalf("the dry run said otherwise (-dry +done):\n%s", diff)
		}
		if err == nil {
			again, err := tr.Import(t.Context(), bytes.NewReader(data), transfer.Options{})
			if err != nil || len(again.Operations) > 0 {
				t.Fatalf("the second time something was written: %+v %v", again, err)
			}
		}
	})
}
