package recall_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/memsidecar/memsidecar/internal/llm"
	"github.com/memsidecar/memsidecar/internal/memory"
	"github.com/memsidecar/memsidecar/internal/service/recall"
)

// chooser is a model that plays a reply, after a while.
type chooser struct {
	took  time.Duration
	reply func(llm.Request) string
	err   error

	mu    sync.Mutex
	asked []llm.Request // guarded by mu
}

func (c *chooser) Do(ctx context.Context, req llm.Request) (llm.Reply, error) {
	c.mu.Lock()
	c.asked = append(c.asked, req)
	c.mu.Unlock()
	select {
	case <-time.After(c.took):
	case <-ctx.Done():
		return llm.Reply{}, ctx.Err()
	}
	if c.err != nil {
		return llm.Reply{}, c.err
	}
	raw := json.RawMessage(c.reply(req))
	return llm.Reply{JSON: raw}, req.Check(raw)
}

func (c *chooser) times() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return len(c.asked)
}

// numbers chooses the lines that hold one of the texts, in the order of the texts.
func numbers(texts ...string) func(llm.Request) string {
	return func(req llm.Request) string {
		out := []int{}
		for _, text := range texts {
			for line := range strings.Lines(req.User) {
				var l struct {
					Number int    `json:"number"`
					Text   string `json:"text"`
				}
				if json.Unmarshal([]byte(line), &l) == nil && l.Number > 0 && strings.Contains(l.Text, text) {
					out = append(out, l.Number)
				}
			}
		}
		raw, _ := json.Marshal(map[string][]int{"selected": out})
		return string(raw)
	}
}

// selecting runs test with a service whose model is asked, in a bubble.
func selecting(t *testing.T, model *chooser, test func(t *testing.T, w *world), memories ...*memory.Memory) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, recall.Config{Model: model}, memories...)
		ctx, cancel := context.WithCancel(t.Context())
		var running sync.WaitGroup
		running.Go(func() { _ = w.Run(ctx) })
		test(t, w)
		cancel()
		running.Wait()
	})
}

func marked(r *recall.Result) (out []string) {
	for _, it := range r.Items {
		id := it.Memory.ID
		if it.Selected {
			id += "*"
		}
		out = append(out, id)
	}
	return out
}

// A prompt is answered at once; what the model chooses for it comes with the next one of its session, once.
func TestSelection(t *testing.T) {
	model := &chooser{took: 3 * time.Second, reply: numbers("oven", "kettle")}
	selecting(t, model, func(t *testing.T, w *world) {
		ask := func(text, session string) string {
			t.Helper()
			began := time.Now()
			got := w.recall(t, recall.Request{Text: text, Session: session})
			if took := time.Since(began); took != 0 {
				t.Errorf("%q waited %v", text, took)
			}
			return fmt.Sprint(marked(got))
		}
		if got := ask("How do I bake the bread for tonight?", "s"); got != "[]" {
			t.Errorf("at first: %s", got)
		}
		if got := ask("Which port does the staging gateway use?", "s"); got != "[port]" {
			t.Errorf("while the model is asked: %s", got)
		}
		time.Sleep(4 * time.Second)
		synctest.Wait()
		if n := model.times(); n != 1 {
			t.Errorf("asked %d times at once", n)
		}
		if got := ask("Go on with the recipe", "other"); got != "[]" {
			t.Errorf("another session: %s", got)
		}
		if got := ask("Go on with the recipe", "s"); got != "[oven* kettle*]" {
			t.Errorf("afterwards: %s", got)
		}
		time.Sleep(4 * time.Second)
		synctest.Wait()
		if got := ask("Go on", "s"); got != "[]" {
			t.Errorf("once more: %s", got)
		}
		synctest.Wait()
		last := model.asked[len(model.asked)-1].User
		if strings.Contains(last, "oven") || strings.Contains(last, "8443") || !strings.Contains(last, "Drinks tea") {
			t.Errorf("the model is shown what the session knows, or not the rest:\n%s", last)
		}
	}, old("port", "The staging gateway listens on port 8443.", 2),
		old("oven", "The oven at home runs 20 degrees too hot.", 40),
		old("kettle", "The kettle is broken.", 3), old("tea", "Drinks tea in the morning.", 9))
}

// However the model replies, no more than five memories come, all of them shown to it and still there.
func TestSelectionReplies(t *testing.T) {
	var many []*memory.Memory
	for i := range 250 {
		many = append(many, old(fmt.Sprintf("m%03d", i), fmt.Sprintf("Something unlike number %d.", i), i))
	}
	for _, tt := range []struct {
		name, reply string
		err         error
		want        int
	}{
		{"nothing", `{"selected":[]}`, nil, 0},
		{"unknown numbers", `{"selected":[0,-1,201,999999]}`, nil, 0},
		{"one of them known", `{"selected":[0,7,7,999999]}`, nil, 1},
		{"too many", `{"selected":[1,2,3,4,5,6,7,8,9]}`, nil, 5},
		{"not a list", `{"selected":"all"}`, nil, 0},
		{"error", ``, &llm.Error{Reason: llm.ErrUnreachable, Later: true}, 0},
	} {
		t.Run(tt.name, func(t *testing.T) {
			model := &chooser{reply: func(llm.Request) string { return tt.reply }, err: tt.err}
			selecting(t, model, func(t *testing.T, w *world) {
				for i := range 2 {
					got := w.recall(t, recall.Request{Text: "Gardening for beginners", Session: "s"})
					synctest.Wait()
					if want := tt.want * i; len(got.Items) != want {
						t.Errorf("prompt %d: %v, want %d", i, marked(got), want)
					}
				}
				failed := tt.err != nil || tt.name == "not a list"
				if n := model.times(); failed && n != 1 || !failed && n != 2 {
					t.Errorf("asked %d times", n)
				}
				if lines := strings.Count(model.asked[0].User, `"number":`); lines != recall.MaxIndexLines {
					t.Errorf("%d memories listed", lines)
				}
			}, many...)
		})
	}
}

// Nobody is asked about a question of the agent itself or without a session, and no secret is sent. The stop ends a
// question.
func TestSelectionAsksLittle(t *testing.T) {
	model := &chooser{took: time.Hour, reply: numbers()}
	secret := "ghp_" + "16C7e42F292c6912E7710c838347Ae178B4a"
	selecting(t, model, func(t *testing.T, w *world) {
		w.recall(t, recall.Request{Text: "Gardening", Session: "s", Explicit: true})
		w.recall(t, recall.Request{Text: "Gardening"})
		w.recall(t, recall.Request{Text: " ", Session: "blank"})
		synctest.Wait()
		if n := model.times(); n != 0 {
			t.Errorf("asked %d times", n)
		}
		w.recall(t, recall.Request{Text: "用 " + secret + " 登录，然后整理花园", Session: "s", WorkingTools: []string{"Bash"}})
		synctest.Wait()
		if model.times() != 1 || strings.Contains(model.asked[0].User, secret) ||
			!strings.Contains(model.asked[0].System, "智能体") || !strings.Contains(model.asked[0].User, "Bash") {
			t.Errorf("asked %+v", model.asked)
		}
		for i := range 100 { // more than can wait
			w.recall(t, recall.Request{Text: "Gardening", Session: fmt.Sprint("s", i)})
		}
	}, old("tea", "Drinks tea.", 1))
	if model.times() > 2 {
		t.Errorf("asked %d times", model.times())
	}
}

// TestSelectionOfFailure: a secret in the output of a tool is redacted before the line that tells is cut, since half of
// one is not recognised.
func TestSelectionOfFailure(t *testing.T) {
	model := &chooser{reply: numbers()}
	selecting(t, model, func(t *testing.T, w *world) {
		w.recall(t, recall.Request{Session: "s", FailedTool: &memory.ToolCall{Name: "psql", Error: "database not found" +
			strings.Repeat(" in here", 19) + " postgres://ada:tulipmeadowlantern@db.example/x"}})
		synctest.Wait()
		if model.times() != 1 || !strings.Contains(model.asked[0].User, "psql database not found") ||
			strings.Contains(model.asked[0].User, "tulip") {
			t.Errorf("asked %+v", model.asked)
		}
	}, old("tea", "Drinks tea.", 1))
}
