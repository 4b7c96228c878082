package recall_test

import (
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/memsidecar/memsidecar/internal/memory"
	"github.com/memsidecar/memsidecar/internal/memtest"
	"github.com/memsidecar/memsidecar/internal/recall"
	"github.com/memsidecar/memsidecar/internal/reflector"
	"github.com/memsidecar/memsidecar/internal/session"
)

// What is recalled is not learnt again: injected, captured and reflected a hundred times, the store stays as it is.
func TestRecalledIsNotLearnt(t *testing.T) {
	prefers := memtest.Fact("tabs", "I prefer tabs over spaces in Go, please always use tabs. 请记住：以后都用制表符。")
	prefers.Category = memory.Preferences
	w := newWorld(t, recall.Config{}, prefers)
	sessions := session.New(session.Config{
		Store: w.store, Now: w.clock.Now, Logger: slog.New(slog.DiscardHandler),
		Reflector: reflector.New(reflector.Config{Store: w.store, Search: w.engine, Now: w.clock.Now, Location: time.UTC, Logger: slog.New(slog.DiscardHandler)}),
	})
	for i := range 100 {
		w.clock.Advance(time.Hour)
		id := fmt.Sprint("s", i)
		got := w.recall(t, recall.Request{Text: "should I use tabs or spaces?", Session: id})
		if len(got.Items) != 1 {
			t.Fatalf("cycle %d: %d items", i, len(got.Items))
		}
		if i%2 == 0 {
			got.Block = strings.NewReplacer("<", `\u003c`, ">", `\u003e`, `"`, `\"`).Replace(got.Block) // a transcript of JSON in JSON
		}
		_, err := sessions.Reflect(t.Context(), session.ReflectRequest{ID: id, Wait: true, Messages: []memory.Message{
			{Role: "user", Content: got.Block + "What is the time?"}, {Role: "assistant", Content: "Late.\n" + got.Block},
			{Role: "tool", Tool: &memory.ToolCall{Name: "hook", Arguments: "{}", Result: got.Block}},
		}})
		if err != nil {
			t.Fatal(err)
		}
	}
	if all := w.store.Space("").Memories(); len(all) != 1 || all[0].Content != prefers.Content {
		for _, m := range all {
			t.Logf("%s [%s] %s", m.ID, m.Category, m.Content)
		}
		t.Errorf("%d memories after 100 cycles, want 1", len(all))
	}
}
