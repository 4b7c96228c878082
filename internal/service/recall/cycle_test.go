package recall_test

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/memsidecar/memsidecar/internal/llm"
	"github.com/memsidecar/memsidecar/internal/memory"
	"github.com/memsidecar/memsidecar/internal/memtest"
	"github.com/memsidecar/memsidecar/internal/reflector"
	"github.com/memsidecar/memsidecar/internal/service/recall"
	"github.com/memsidecar/memsidecar/internal/service/session"
)

// parrot is a model that wants everything remembered that it is shown of a session.
type parrot struct{ asked int }

func (p *parrot) Do(_ context.Context, req llm.Request) (llm.Reply, error) {
	p.asked++
	var items []map[string]any
	for line := range strings.Lines(req.User) {
		var shown struct{ Role, Text, Result string }
		if json.Unmarshal([]byte(line), &shown) != nil || shown.Role == "" {
			continue
		}
		for _, text := range []string{shown.Text, shown.Result} {
			if text != "" {
				items = append(items, map[string]any{"action": "ADD", "target": 0, "category": "facts", "title": "",
					"content": text, "salience": 0.5, "why": ""})
			}
		}
	}
	raw, err := json.Marshal(map[string]any{"summary": "s", "history": "", "items": items, "rules": []any{}})
	if err != nil {
		return llm.Reply{}, err
	}
	return llm.Reply{JSON: raw}, req.Check(raw)
}

// What is recalled is not learnt again: injected, captured and reflected a hundred times, the store stays as it is,
// whoever decides.
func TestRecalledIsNotLearnt(t *testing.T) {
	t.Run("rules", func(t *testing.T) { recalledIsNotLearnt(t, nil) })
	t.Run("model", func(t *testing.T) {
		p := &parrot{}
		recalledIsNotLearnt(t, p, "What is the time?", "Late.") // what was said beside the memories, once
		if p.asked != 100 {
			t.Errorf("asked %d times about 100 sessions", p.asked)
		}
	})
}

func recalledIsNotLearnt(t *testing.T, model reflector.Model, said ...string) {
	prefers := memtest.Fact("tabs", "I prefer tabs over spaces in Go, please always use tabs. 请记住：以后都用制表符。")
	prefers.Category = memory.Preferences
	w := newWorld(t, recall.Config{}, prefers)
	sessions := session.New(session.Config{
		Store: w.store, Now: w.clock.Now, Logger: slog.New(slog.DiscardHandler),
		Reflector: reflector.New(reflector.Config{Store: w.store, Search: w.engine, Now: w.clock.Now,
			Location: time.UTC, Logger: slog.New(slog.DiscardHandler), Model: model}),
	})
	for i := range 100 {
		w.clock.Advance(time.Hour)
		id := fmt.Sprint("s", i)
		got := w.recall(t, recall.Request{Text: "should I use tabs or spaces?", Session: id})
		if len(got.Items) != 1 {
			t.Fatalf("cycle %d: %d items", i, len(got.Items))
		}
		if i%2 == 0 {
			// a transcript of JSON in JSON
			got.Block = strings.NewReplacer("<", `\u003c`, ">", `\u003e`, `"`, `\"`).Replace(got.Block)
		}
		_, err := sessions.Reflect(t.Context(), session.ReflectRequest{ID: id, Wait: true, Messages: []memory.Message{
			{Role: "user", Content: got.Block + "What is the time?"},
			{Role: "assistant", Content: "Late.\n" + got.Block},
			{Role: "tool", Tool: &memory.ToolCall{Name: "hook", Arguments: "{}", Result: got.Block}},
		}})
		if err != nil {
			t.Fatal(err)
		}
	}
	all, texts := w.store.Space("").Memories(), []string{}
	for _, m := range all {
		texts = append(texts, m.Content)
	}
	if diff := cmp.Diff(append([]string{prefers.Content}, said...), texts); diff != "" {
		for _, m := range all {
			t.Logf("%s [%s] %s", m.ID, m.Category, m.Content)
		}
		t.Errorf("after 100 cycles (-want +got):\n%s", diff)
	}
}
