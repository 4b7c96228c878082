package search_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/memsidecar/memsidecar/internal/memory"
	"github.com/memsidecar/memsidecar/internal/search"
)

// saidIn makes a memory of each text, a minute apart, learnt in the session if it has a name.
func saidIn(session string, texts ...string) (all []*memory.Memory) {
	for i, text := range texts {
		m := &memory.Memory{
			ID: fmt.Sprintf("%s%d", session, i), Category: memory.General, Content: text, Salience: 0.5,
			Status: memory.Active,
			Source: memory.SourceUser, CreatedAt: epoch.Add(time.Duration(i)*time.Minute - 72*time.Hour),
		}
		if session != "" {
			m.SetContext(&memory.Context{LearnedFrom: "session_" + session})
		}
		all = append(all, m)
	}
	return all
}

func TestNeighboursOfASessionAnswer(t *testing.T) {
	texts := []string{"Which flower grows by the gate?", "Lupins, mostly.", "The roof needs tar.",
		"Nobody repaired the fence."}
	question := search.Request{Query: "which flower grows by the gate", AsOf: epoch}
	t.Run("session", func(t *testing.T) {
		got := ids(find(t, inDefault(saidIn("s", texts...)...), question).Hits)
		if diff := cmp.Diff([]string{"s0", "s1"}, got); diff != "" {
			t.Errorf("found (-want +got):\n%s", diff)
		}
	})
	t.Run("no session", func(t *testing.T) {
		got := ids(find(t, inDefault(saidIn("", texts...)...), question).Hits)
		if diff := cmp.Diff([]string{"0"}, got); diff != "" {
			t.Errorf("found (-want +got):\n%s", diff)
		}
	})
	t.Run("neighbour removed by the filter", func(t *testing.T) {
		all := saidIn("s", texts...)
		all[1].Status = memory.Superseded
		if diff := cmp.Diff([]string{"s0"}, ids(find(t, inDefault(all...), question).Hits)); diff != "" {
			t.Errorf("found (-want +got):\n%s", diff)
		}
	})
}

func TestAnUnknownNameAsksForMore(t *testing.T) {
	var texts []string
	for i := range 60 {
		texts = append(texts, fmt.Sprintf("Entry %d is about shelf %d.", i, i))
	}
	texts = append(texts, "Bruno plays the cello on Sundays.")
	e := inDefault(saidIn("s", texts...)...)
	for query, want := range map[string]bool{
		"When does Bruno play the cello?":               true,
		"When does Leopold play?":                       false,
		"When does Leopold buy a cello?":                false,
		"Does Leopold play the cello on Sundays often?": true, // three informative words outweigh the name
	} {
		if got := len(find(t, e, search.Request{Query: query, AsOf: epoch}).Hits) > 0; got != want {
			t.Errorf("%q answered: %v, want %v", query, got, want)
		}
	}
}
