package e2e_test

import (
	"flag"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	pb "github.com/memsidecar/memsidecar/gen/memsidecar/v1"
	"github.com/memsidecar/memsidecar/internal/memtest/fakellm"
)

var reflectRounds = flag.Int("reflect.rounds", 16, "rounds of reflecting a session, SIGKILL and restart")

// Where a reflection is killed, in turn.
const (
	afterAppend  = iota // the messages are acknowledged, nobody has asked for a reflection
	atQuestion          // the model has the question and says nothing
	inReply             // the beginning of the reply is sent
	atReply             // all of it is
	atJournal           // the journal has grown since: the operation is written, and perhaps synced
	atPublishing        // a published file has changed since
	afterReply          // the reflection is acknowledged
	steps
)

// assassin is the model's server: it kills the daemon at a step of the reflection that it is asked for.
type assassin struct {
	model *fakellm.Server
	place place

	mu   sync.Mutex
	step int     // guarded by mu
	prey *daemon // nil once it was killed; guarded by mu
}

func (a *assassin) aim(step int, d *daemon) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.step, a.prey = step, d
}

// strike kills the daemon if this is the step.
func (a *assassin) strike(step int) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.prey == nil || a.step != step {
		return false
	}
	_ = a.prey.Cmd.Process.Kill()
	a.prey = nil
	return true
}

func (a *assassin) aimedAt(step int) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.prey != nil && a.step == step
}

func (a *assassin) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	a.strike(atQuestion)
	journal, published := a.written("journal/*.jsonl"), a.written("memory.json")
	a.model.ServeHTTP(&counter{ResponseWriter: w, then: func(n int) {
		if n == 12 {
			a.strike(inReply)
		}
	}}, r)
	a.strike(atReply)
	// The reply is on its way. The client may be waiting for the end of the response, so the look goes on beside this
	// handler.
	for step, changed := range map[int]func() bool{
		atJournal:    func() bool { return a.written("journal/*.jsonl").After(journal) },
		atPublishing: func() bool { return a.written("memory.json").After(published) },
	} {
		if a.aimedAt(step) {
			go func() {
				for a.aimedAt(step) && !changed() {
				}
				a.strike(step)
			}()
		}
	}
}

// written is when any of the files that match was written last. Their sizes say nothing: segments are made larger
// ahead.
func (a *assassin) written(pattern string) (at time.Time) {
	names, _ := filepath.Glob(filepath.Join(a.place.Data, pattern))
	for _, name := range names {
		if info, err := os.Stat(name); err == nil && info.ModTime().After(at) {
			at = info.ModTime()
		}
	}
	return at
}

// counter counts the writes of a response.
type counter struct {
	http.ResponseWriter
	writes int
	then   func(int)
}

func (c *counter) Write(p []byte) (int, error) {
	c.writes++
	c.then(c.writes)
	return c.ResponseWriter.Write(p)
}

func (c *counter) Unwrap() http.ResponseWriter { return c.ResponseWriter }

var berth = regexp.MustCompile(`berth-\d+`)

// TestReflectKill kills the daemon at every step of reflecting a session by a model, again and again. After each
// restart every session is reflected exactly once: its memory is there once, and one operation holds it with the
// mark.
func TestReflectKill(t *testing.T) {
	p := newPlace(t)
	a := &assassin{place: p, model: fakellm.New(fakellm.Step{Answer: func(q fakellm.Request) string {
		_, session, _ := strings.Cut(strings.Join(q.Messages, ""), "SESSION")
		all := berth.FindAllString(session, -1)
		if len(all) == 0 {
			return "" // the daemon was killed before it had sent the question
		}
		return fmt.Sprintf(`{"summary":"About %[1]s.","history":"","items":[{"action":"ADD","target":0,"category":"facts","title":"","content":"The ferry to Oslo leaves from %[1]s","salience":0.5,"why":""}],"rules":[]}`, all[len(all)-1])
	}})}
	srv := httptest.NewServer(a)
	t.Cleanup(func() {
		srv.CloseClientConnections()
		srv.Close()
	})
	fakellm.UseServer(t, srv.URL)
	t.Setenv("MEMSIDECAR_LLM_DAILY_TOKENS", "unlimited")

	killed := map[int]int{}
	for round := range *reflectRounds {
		step := round % steps
		d := p.serve(t)
		sessions := pb.NewSessionServiceClient(p.dial(t))
		id, name := fmt.Sprintf("s%d", round), fmt.Sprintf("berth-%d", round)
		_, err := sessions.Append(t.Context(),
			&pb.SessionServiceAppendRequest{SessionId: id, Messages: []*pb.SessionMessage{
				{Seq: 1, Role: pb.Role_ROLE_USER, Content: "The ferry to Oslo leaves from " + name},
				{Seq: 2, Role: pb.Role_ROLE_ASSISTANT, Content: "Noted."},
			}})
		if err != nil {
			t.Fatal(err)
		}
		a.aim(step, d)
		if !a.strike(afterAppend) {
			_, err = sessions.Reflect(t.Context(), &pb.SessionServiceReflectRequest{SessionId: id})
			late := step == atJournal || step == atPublishing // the kill may come before or after the acknowledgement
			if acknowledged := err == nil; acknowledged != (step == afterReply) && !late {
				t.Errorf("round %d: killed at step %d, and the reflection ended with %v", round, step, err)
			}
			a.strike(afterReply)
		}
		<-d.Done
		killed[step]++
		d.Kill()
		a.aim(-1, nil)

		d = p.serve(t)
		res, err := pb.NewSessionServiceClient(p.dial(t)).Reflect(t.Context(),
			&pb.SessionServiceReflectRequest{SessionId: id})
		if err != nil || res.GetPending() || res.GetSession().GetState() != pb.SessionState_SESSION_STATE_REFLECTED {
			t.Fatalf("round %d, step %d: %v, %v\n%s", round, step, res, err, d.Logged())
		}
		d.Kill()
	}
	checkReflectedOnce(t, p, *reflectRounds)
	p.Succeeds(t, "check")
	t.Logf("%d rounds, killed at steps %v, the model was asked %d times", *reflectRounds, killed,
		a.model.Stats().Requests)
}

// checkReflectedOnce counts memories and operations of the sessions s0, s1…
func checkReflectedOnce(t *testing.T, p place, rounds int) {
	t.Helper()
	d := p.serve(t)
	defer d.Stop(t)
	texts := map[string]int{}
	for token := ""; ; {
		page, err := p.memories(t).List(t.Context(), &pb.MemoryServiceListRequest{PageSize: 1000, PageToken: token})
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range page.GetMemories() {
			texts[m.GetContent()]++
		}
		if token = page.GetNextPageToken(); token == "" {
			break
		}
	}
	ops := map[string]int{}
	for token := ""; ; {
		page, err := pb.NewOperationServiceClient(p.dial(t)).List(t.Context(),
			&pb.OperationServiceListRequest{PageSize: 1000, PageToken: token, IncludeBookkeeping: true})
		if err != nil {
			t.Fatal(err)
		}
		for _, op := range page.GetOperations() {
			if op.GetActor() == pb.Actor_ACTOR_REFLECT {
				ops[op.GetSessionId()]++
			}
		}
		if token = page.GetNextPageToken(); token == "" {
			break
		}
	}
	for i := range rounds {
		text, id := fmt.Sprintf("The ferry to Oslo leaves from berth-%d", i), fmt.Sprintf("s%d", i)
		if texts[text] != 1 || ops[id] != 1 {
			t.Errorf("session %s: %d memories, %d reflections", id, texts[text], ops[id])
		}
	}
	if len(texts) != rounds {
		t.Errorf("%d different memories of %d sessions", len(texts), rounds)
	}
}
