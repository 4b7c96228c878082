package search_test

import (
	"bytes"
	"testing"

	"github.com/memsidecar/memsidecar/internal/memory"
	"github.com/memsidecar/memsidecar/internal/search"
)

// TestWordsFirst asks the model for a vector of the query only where words are not sure.
func TestWordsFirst(t *testing.T) {
	retired := mem("old", "The rail pass RP-2201 is in the red drawer")
	retired.Status = memory.Retired
	memories := append(drinks(), retired,
		mem("e", "The tomato seeds of batch TS-7781 are in the blue drawer"), mem("f", "Batches TS-7790 and TS-7795 are sown"),
		mem("g", "Seeds of batch TS-7790 came late"), mem("h", "番茄种子放在蓝色抽屉里"))
	f := &fake{calibrated: true}
	withVectors(t, f, newDir(t), memories, func(t *testing.T, e *search.Engine, _ *bytes.Buffer) {
		for _, c := range []struct {
			query string
			asked bool // the model
			first string
		}{
			{"blue drawer", false, "e"},
			{"Tomato seeds", false, "e"},
			{"蓝色抽屉", false, "h"},
			{"where did TS-7781 come from and who sowed it?", false, "e"},
			{"drawer blue", true, "e"},                // stands so in no memory
			{"tomato drawer", true, "e"},              // nor does this
			{"is there a blue drawer?", true, "e"},    // a question
			{"TS-7790", true, "f"},                    // of two memories
			{"red drawer RP-2201", true, "f"},         // retired
			{"drawer", true, "e"},                     // one word
			{"the user likes coffee", true, "a"},      // words that say nothing about the topic are no part of a list
			{"blue drawer in the morning", true, "e"}, // stands so in no memory
			{"purple drawer TS-7781", false, "e"},     // an identifier decides whatever stands beside it
			{"TS-7781 2026-11-20", true, "e"},         // a date asks for memories of that day
		} {
			before := f.queries
			resp := find(t, e, search.Request{Query: c.query, Arm: search.Fusion, AsOf: epoch})
			if asked := f.queries > before; asked != c.asked || asked != resp.VectorsUsed {
				t.Errorf("%q: model asked %v, vectors used %v, want %v", c.query, asked, resp.VectorsUsed, c.asked)
			}
			if got := ids(resp.Hits); len(got) == 0 || got[0] != c.first {
				t.Errorf("%q: found %v, want %s first", c.query, got, c.first)
			} else if resp.Hits[0].Strength == "" {
				t.Errorf("%q: no strength", c.query)
			}
		}
		if use := e.QueryUse(); use.ByWords != 5 {
			t.Errorf("%d queries were sure by words, want 5", use.ByWords)
		}
		before := f.queries
		find(t, e, search.Request{Query: "blue drawer", Arm: search.Fusion, AsOf: epoch, Filter: memory.Filter{Tags: []string{"none"}}})
		if f.queries == before {
			t.Error("a memory that the filter leaves out made words sure")
		}
	})
}
