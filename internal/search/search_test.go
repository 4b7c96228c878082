package search_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/memsidecar/memsidecar/internal/memory"
	"github.com/memsidecar/memsidecar/internal/search"
	"github.com/memsidecar/memsidecar/internal/store/journal"
)

const day = 24 * time.Hour

// mem makes an active memory, created ten days before the epoch.
func mem(id, content string, change ...func(*memory.Memory)) *memory.Memory {
	m := &memory.Memory{
		ID: id, Content: content, Category: memory.Facts, Salience: 0.5, Confidence: 1, Status: memory.Active,
		Source: memory.SourceUser, CreatedAt: epoch.Add(-10 * day),
	}
	for _, c := range change {
		c(m)
	}
	return m
}

func engineOf(spaces map[string][]*memory.Memory) *search.Engine {
	e := search.New(search.Config{Now: func() time.Time { return epoch }})
	lsn := int64(0)
	for name, memories := range spaces {
		for _, m := range memories {
			lsn++
			e.Apply(record(lsn, name, journal.Change{Memory: &journal.MemoryChange{ID: m.ID, After: m}}))
		}
	}
	return e
}

func inDefault(memories ...*memory.Memory) *search.Engine {
	return engineOf(map[string][]*memory.Memory{memory.DefaultSpace: memories})
}

func find(t *testing.T, e *search.Engine, req search.Request) *search.Response {
	t.Helper()
	resp, err := e.Search(t.Context(), req)
	if err != nil {
		t.Fatal(err)
	}
	return resp
}

func ids(hits []search.Hit) []string {
	out := []string{}
	for _, h := range hits {
		out = append(out, h.Memory.ID)
	}
	return out
}

func parts(h search.Hit) map[string]float64 {
	out := map[string]float64{}
	for _, p := range h.Parts {
		out[p.Name] += p.Value
	}
	return out
}

func near(a, b float64) bool { return math.Abs(a-b) < 1e-6 }

// aged are memories with every term of "redis cache" that differ in what the formulas look at.
func aged() []*memory.Memory {
	return []*memory.Memory{
		mem("fresh", "the redis cache alpha", func(m *memory.Memory) { m.SetAccesses(m.AccessCount(), epoch); m.Salience = 0.2 }),
		mem("old", "the redis cache bravo", func(m *memory.Memory) {
			m.SetAccesses(m.AccessCount(), epoch.Add(-100*day))
			m.Salience = 1
		}),
		mem("never", "the redis cache charlie", func(m *memory.Memory) { m.CreatedAt = epoch.Add(-30 * day) }),
		mem("pinned", "redis cache delta", func(m *memory.Memory) { m.Pinned = true; m.SetAccesses(50, m.LastAccessed()) }),
	}
}

func TestBalancedExplains(t *testing.T) {
	resp := find(t, inDefault(aged()...), search.Request{Query: "redis cache", Explain: true})
	for _, h := range resp.Hits {
		p := parts(h)
		terms := 0.0
		for name, v := range p {
			if strings.HasPrefix(name, "term:") {
				terms += v
			}
		}
		if !near(terms, p["keyword"]) {
			t.Errorf("%s: terms sum to %v, keyword is %v", h.Memory.ID, terms, p["keyword"])
		}
		if got := p["keyword"] + p["date"] + p["phrase"] + p["neighbours"] + p["subject"]; !near(got, p["relevance"]) {
			t.Errorf("%s: keyword, date, phrase, neighbours and subject sum to %v, relevance is %v", h.Memory.ID, got,
				p["relevance"])
		}
		if got := 0.9 + 0.1*p["salience"]*p["decay"]; !near(got, p["boost"]) {
			t.Errorf("%s: salience and decay make %v, boost is %v", h.Memory.ID, got, p["boost"])
		}
		if p["boost"] < 0.9 || p["boost"] > 1 {
			t.Errorf("%s: boost %v is not bounded", h.Memory.ID, p["boost"])
		}
		if got := p["relevance"] * p["boost"]; !near(got, h.Score) {
			t.Errorf("%s: relevance × boost is %v, score %v", h.Memory.ID, got, h.Score)
		}
	}
	if plain := find(t, inDefault(aged()...), search.Request{Query: "redis cache"}); plain.Hits[0].Parts != nil {
		t.Error("parts without explain")
	}
}

// TestOldTruth is what the balanced profile is for: a better match is found first however old and unimportant it is.
func TestOldTruth(t *testing.T) {
	e := inDefault(
		mem("truth", "The staging database password rotates on the first Monday", func(m *memory.Memory) {
			m.CreatedAt = epoch.Add(-900 * day)
			m.Salience = 0
		}),
		mem("noise", "The database of recipes", func(m *memory.Memory) {
			m.Salience = 1
			m.Pinned = true
			m.SetAccesses(99, epoch)
		}),
	)
	got := ids(find(t, e, search.Request{Query: "when does the staging database password rotate?"}).Hits)
	if diff := cmp.Diff("truth", got[0]); diff != "" {
		t.Error(diff)
	}
}

func TestFilters(t *testing.T) {
	memories := []*memory.Memory{
		mem("plain", "deploy alpha release"),
		mem("task", "deploy bravo release", func(m *memory.Memory) {
			m.Category = memory.Tasks
			m.Tags = []string{"ops"}
		}),
		mem("session", "deploy charlie release", func(m *memory.Memory) {
			m.SetEvidence([]memory.Evidence{{Session: "s1"}})
		}),
		mem("learnt", "deploy delta release", func(m *memory.Memory) {
			m.SetContext(&memory.Context{LearnedFrom: "session_s2"})
			m.Source = "auto_reflection"
		}),
		mem("pinned", "deploy echo release", func(m *memory.Memory) { m.Pinned = true; m.Salience = 0.9 }),
		mem("retired", "deploy foxtrot release", func(m *memory.Memory) { m.Status = memory.Retired }),
		mem("statusless", "deploy golf release", func(m *memory.Memory) { m.Status = "" }),
		mem("expired", "deploy hotel release", func(m *memory.Memory) { m.SetExpiresAt(epoch) }),
		mem("recent", "deploy india release", func(m *memory.Memory) { m.CreatedAt = epoch.Add(-day) }),
		mem("future", "deploy juliet release", func(m *memory.Memory) { m.CreatedAt = epoch.Add(day) }),
	}
	active := []string{"future", "learnt", "pinned", "plain", "recent", "session", "statusless", "task"}
	for _, tt := range []struct {
		name   string
		filter memory.Filter
		score  float64
		asOf   time.Time
		want   []string
	}{
		{name: "default", want: active},
		{name: "category", filter: memory.Filter{Categories: []string{memory.Tasks}}, want: []string{"task"}},
		{name: "tag", filter: memory.Filter{Tags: []string{"x", "ops"}}, want: []string{"task"}},
		{name: "source", filter: memory.Filter{Sources: []string{"auto_reflection"}}, want: []string{"learnt"}},
		{name: "sessions", filter: memory.Filter{Sessions: []string{"s1", "s2"}}, want: []string{"learnt", "session"}},
		{name: "retired", filter: memory.Filter{Statuses: []memory.Status{memory.Retired}}, want: []string{"retired"}},
		{name: "active by name", filter: memory.Filter{Statuses: []memory.Status{memory.Active}}, want: active},
		{name: "created after", filter: memory.Filter{CreatedFrom: epoch.Add(-day)}, want: []string{"future", "recent"}},
		{name: "created before", filter: memory.Filter{CreatedBefore: epoch.Add(-day)},
			want: []string{"learnt", "pinned", "plain", "session", "statusless", "task"}},
		{name: "salience", filter: memory.Filter{MinSalience: 0.8}, want: []string{"pinned"}},
		{name: "pinned", filter: memory.Filter{Pinned: new(true)}, want: []string{"pinned"}},
		{name: "not pinned", filter: memory.Filter{Pinned: new(false), CreatedFrom: epoch.Add(-2 * day)},
			want: []string{"future", "recent"}},
		{name: "as of earlier", asOf: epoch.Add(-5 * day), want: []string{"expired", "learnt", "pinned", "plain", "session",
			"statusless", "task"}},
		{name: "as of later", asOf: epoch.Add(2 * day), filter: memory.Filter{CreatedFrom: epoch},
			want: []string{"future"}},
		{name: "as of before expiry", asOf: epoch.Add(-time.Second),
			filter: memory.Filter{CreatedBefore: epoch.Add(-2 * day)},
			want:   []string{"expired", "learnt", "pinned", "plain", "session", "statusless", "task"}},
		{name: "score", score: 2, want: []string{}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got := ids(find(t, inDefault(memories...),
				search.Request{Query: "deploy release", K: 50, Filter: tt.filter, MinScore: tt.score, AsOf: tt.asOf}).Hits)
			slices.Sort(got)
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestSpaces(t *testing.T) {
	e := engineOf(map[string][]*memory.Memory{
		"":      {mem("d", "kafka topics are compacted")},
		"alpha": {mem("a", "kafka topics live in alpha"), mem("d", "unrelated to the other d")},
		"bravo": {mem("b", "kafka topics live in bravo")},
	})
	for _, tt := range []struct {
		spaces []string
		want   []string
	}{
		{nil, []string{"default/d"}},
		{[]string{"default"}, []string{"default/d"}},
		{[]string{"alpha"}, []string{"alpha/a"}},
		{[]string{"alpha", "bravo", "alpha", "nowhere"}, []string{"alpha/a", "bravo/b"}},
		{[]string{"nowhere"}, nil},
	} {
		var got []string
		for _, h := range find(t, e, search.Request{Spaces: tt.spaces, Query: "kafka topics"}).Hits {
			got = append(got, h.Space+"/"+h.Memory.ID)
		}
		slices.Sort(got)
		if diff := cmp.Diff(tt.want, got); diff != "" {
			t.Errorf("%v (-want +got):\n%s", tt.spaces, diff)
		}
	}
}

func TestAbstains(t *testing.T) {
	small := inDefault(
		mem("db", "The database is Postgres 16"),
		mem("tea", "用户喜欢喝绿茶"),
		mem("retired", "The mascot is a heron", func(m *memory.Memory) { m.Status = memory.Retired }),
	)
	large := loaded(t, synthetic(2000))
	large.Apply(record(9999, "", journal.Change{
		Memory: &journal.MemoryChange{ID: "lamp", After: mem("lamp", "The lamp in the hall needs a new bulb")}}))
	for _, tt := range []struct {
		name   string
		engine *search.Engine
		query  string
		want   []string
		reason string
	}{
		{"unrelated question", small, "what is the weather", []string{}, search.ReasonNoMatch},
		{"unrelated question in Chinese", small, "明天会不会下雨", []string{}, search.ReasonNoMatch},
		{"only shared content word", small,
			"which database should we think about for the next quarterly migration planning?", []string{"db"}, ""},
		{"only shared content word in Chinese", small, "绿茶怎么泡才好", []string{"tea"}, ""},
		{"empty", small, " \n", []string{}, search.ReasonNoTerms},
		{"stop words", small, "what is it about?", []string{}, search.ReasonNoTerms},
		{"one general word", small, "quarter", []string{}, search.ReasonNoMatch},
		{"a search for a general word", inDefault(mem("help", "Asks for help in the evening")), "help",
			[]string{"help"}, ""},
		{"a question with a general word", inDefault(mem("help", "Asks for help in the evening")),
			"can you help me with this", []string{}, search.ReasonWeak},
		{"filtered", small, "heron mascot", []string{}, search.ReasonFiltered},
		{"unknown words in a large store", large, "how long should banana bread stay in the oven", []string{},
			search.ReasonNoMatch},
		{"one word of many in a large store", large,
			"lamp oil prices doubled across European wholesale markets throughout wartime shortages", []string{},
			search.ReasonWeak},
		{"enough words in a large store", large, "which lamp needs another bulb", []string{"lamp"}, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			resp := find(t, tt.engine, search.Request{Query: tt.query})
			if diff := cmp.Diff(tt.want, ids(resp.Hits)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			if resp.Abstained != (len(tt.want) == 0) || resp.Reason != tt.reason {
				t.Errorf("abstained %v for %q, want %q", resp.Abstained, resp.Reason, tt.reason)
			}
		})
	}
}

func TestDateBoost(t *testing.T) {
	on := func(d time.Time) func(*memory.Memory) { return func(m *memory.Memory) { m.CreatedAt = d } }
	e := inDefault(
		mem("january", "Talked about the garden fence", on(time.Date(2026, 1, 10, 9, 0, 0, 0, time.UTC))),
		mem("lastweek", "Talked about the garden gate", on(time.Date(2026, 2, 11, 9, 0, 0, 0, time.UTC))),
		mem("yesterday", "Ordered paint", on(time.Date(2026, 2, 20, 9, 0, 0, 0, time.UTC))),
		mem("mention", "Release planned for 2026-03-01"),
	)
	for _, tt := range []struct {
		query string
		want  []string
	}{
		{"what did we say about the garden last week?", []string{"lastweek", "january"}},
		{"what did we say about the garden on 2026-01-10?", []string{"january", "lastweek"}},
		{"上周的 garden", []string{"lastweek", "january"}},
		{"what happened yesterday?", []string{"yesterday"}},
		{"昨天", []string{"yesterday"}},
		{"what is on 2026-03-01", []string{"mention"}},
		{"2 days ago", []string{}},
	} {
		t.Run(tt.query, func(t *testing.T) {
			if diff := cmp.Diff(tt.want, ids(
				find(t, e, search.Request{Query: tt.query, AsOf: epoch}).Hits)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestNearDuplicatesAreShownOnce(t *testing.T) {
	e := inDefault(
		mem("one", "The user prefers window seats on long flights to Asia."),
		mem("two", "the user prefers window seats on long flights to Asia"),
		mem("port", "The proxy listens on port 8080 of the build host"),
		mem("otherport", "The proxy listens on port 8081 of the build host"),
		mem("likes", "User likes the dark theme in the editor"),
		mem("dislikes", "User does not like the dark theme in the editor"),
	)
	for query, want := range map[string]int{"window seats on flights": 1, "proxy port build host": 2,
		"dark theme editor": 2} {
		if got := ids(find(t, e, search.Request{Query: query}).Hits); len(got) != want {
			t.Errorf("%q finds %v, want %d", query, got, want)
		}
	}
}

func TestSimilar(t *testing.T) {
	e := inDefault(
		mem("same", "User flies with China Eastern, morning flights preferred."),
		mem("changed", "User flies with China Eastern, evening flights preferred"),
		mem("other", "The build runs on port 8080"),
		mem("retired", "User flies with China Eastern, morning flights preferred", func(m *memory.Memory) {
			m.Status = memory.Retired
		}),
		mem("zh", "用户偏好东方航空，尤其是早班机"),
		mem("it", "It is what it is"),
	)
	for _, tt := range []struct {
		text, id string
		low, up  float64
	}{
		{"user flies with  China Eastern, morning flights preferred", "same", 1, 1},
		{"User flies with China Eastern; she prefers morning flights", "same", 0.8, 0.99},
		{"The build runs on port 9090", "other", 0.3, 0.9},
		{"The build does not run on port 8080", "other", 0.5, 0.9},
		{"用户偏好东方航空，尤其是早班机。", "zh", 1, 1},
		{"用户偏好南方航空，尤其是早班机", "zh", 0.4, 0.95},
		{"it is what it is.", "it", 1, 1},
	} {
		hits, err := e.Similar(t.Context(), "", tt.text, 3)
		if err != nil {
			t.Fatal(err)
		}
		if len(hits) == 0 || hits[0].Memory.ID != tt.id || hits[0].Score < tt.low || hits[0].Score > tt.up {
			t.Errorf("%q: got %v, want %s with %v to %v", tt.text, describe(hits), tt.id, tt.low, tt.up)
		}
	}
	if hits, _ := e.Similar(t.Context(), "", "entirely foreign matter", 3); len(hits) != 0 {
		t.Errorf("foreign text is similar to %v", describe(hits))
	}
}

func describe(hits []search.Hit) (out []string) {
	for _, h := range hits {
		out = append(out, fmt.Sprintf("%s %.3f", h.Memory.ID, h.Score))
	}
	return out
}

func TestInvalid(t *testing.T) {
	e := inDefault(mem("a", "text"))
	for _, tt := range []struct {
		name  string
		req   search.Request
		field string
	}{
		{"profile", search.Request{Query: "a", Profile: "best"}, "profile"},
		{"negative k", search.Request{Query: "a", K: -1}, "limit"},
		{"large k", search.Request{Query: "a", K: 201}, "limit"},
		{"encoding", search.Request{Query: "a\xff"}, "query"},
		{"length", search.Request{Query: strings.Repeat("字", 8001)}, "query"},
		{"score", search.Request{Query: "a", MinScore: math.NaN()}, "min_score"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			_, err := e.Search(t.Context(), tt.req)
			invalid, ok := errors.AsType[*memory.InvalidError](err)
			if !ok || len(invalid.Violations) != 1 || invalid.Violations[0].Field != tt.field {
				t.Errorf("error %v, want a violation of %s", err, tt.field)
			}
		})
	}
	if _, err := e.Search(t.Context(), search.Request{Query: strings.Repeat("字", 8000)}); err != nil {
		t.Errorf("the longest query: %v", err)
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := e.Search(ended, search.Request{Query: "text"}); !errors.Is(err, context.Canceled) {
		t.Errorf("after the end of the context: %v", err)
	}
}

// TestForgottenDoesNotWeigh: memories that are no longer active change neither the rarity of words nor the average
// length.
func TestForgottenDoesNotWeigh(t *testing.T) {
	fresh, used := inDefault(mem("a", "The invoice is in the blue folder")), inDefault(mem("a", "The invoice is in the blue folder"))
	lsn := int64(10)
	for i := range 300 {
		id := fmt.Sprint("old", i)
		m := mem(id, fmt.Sprintf("invoice %d was put into the folder where the accountant reads it every month", i))
		lsn++
		used.Apply(record(lsn, "", journal.Change{Memory: &journal.MemoryChange{ID: id, After: m}}))
		gone := m.Clone()
		gone.Status = memory.Retired
		lsn++
		used.Apply(record(lsn, "", journal.Change{Memory: &journal.MemoryChange{ID: id, Before: m, After: gone}}))
	}
	req := search.Request{Query: "where did I put the invoice", AsOf: epoch, Explain: true}
	want, got := find(t, fresh, req), find(t, used, req)
	if diff := cmp.Diff(want.Hits, got.Hits); diff != "" || len(want.Hits) != 1 {
		t.Errorf("hits (-fresh +used):\n%s", diff)
	}
}

// TestLeadingPartOfIdentifier: an identifier finds what holds it as the beginning of a longer one.
func TestLeadingPartOfIdentifier(t *testing.T) {
	memories := synthetic(200)
	memories = append(memories, mem("door", "The sensor qx-1a2b3c-door needs a new battery"), mem("other", "The sensor qx-9z8y7x-door is fine"))
	resp := find(t, loaded(t, memories), search.Request{Query: "which battery did the sensor qx-1a2b3c need?", AsOf: epoch})
	if len(resp.Hits) == 0 || resp.Hits[0].Memory.ID != "door" {
		t.Errorf("found %v", ids(resp.Hits))
	}
}

// TestDateFinds: a question about a day is answered by the memory of that day, also when it shares no word.
func TestDateFinds(t *testing.T) {
	memories := synthetic(200)
	memories = append(memories, mem("ache", "Had a sore throat all day", func(m *memory.Memory) {
		m.CreatedAt = time.Date(2024, 3, 23, 10, 0, 0, 0, time.UTC)
	}))
	for _, q := range []string{"Which ailment did I mention on March 23rd, 2024?", "Which ailment was it on 23.03.2024?", "2024年3月23号那天有什么不舒服"} {
		resp := find(t, loaded(t, memories), search.Request{Query: q, AsOf: epoch})
		if len(resp.Hits) == 0 || resp.Hits[0].Memory.ID != "ache" {
			t.Errorf("%q finds %v", q, ids(resp.Hits))
		}
	}
}

// TestDescription: the description of a memory is indexed, follows its changes, and is part of what is embedded.
func TestDescription(t *testing.T) {
	described := func(text string) *memory.Memory {
		return mem("described", "Ask Ines before noon", func(m *memory.Memory) { m.SetDescription(text) })
	}
	before, after := described("Harbour pilots"), described("Ferry tickets")
	e := inDefault(before, mem("other", "The crane is repaired"))
	if hits := find(t, e, search.Request{Query: "harbour pilots"}).Hits; len(hits) != 1 || hits[0].Memory.ID != "described" {
		t.Errorf("found %+v", hits)
	}
	e.Apply(record(9, "", journal.Change{Memory: &journal.MemoryChange{ID: "described", Before: before, After: after}}))
	if hits := find(t, e, search.Request{Query: "harbour pilots"}).Hits; len(hits) != 0 {
		t.Errorf("the former description finds %+v", hits)
	}
	if hits := find(t, e, search.Request{Query: "ferry tickets"}).Hits; len(hits) != 1 {
		t.Errorf("the new description finds %+v", hits)
	}
	if got, want := search.EmbeddedText(after), "Ferry tickets\nAsk Ines before noon"; got != want {
		t.Errorf("embedded %q, want %q", got, want)
	}
}

// TestLastSentence asks in two sentences: what the last one is about comes first, whichever it is.
func TestLastSentence(t *testing.T) {
	e := inDefault(saidIn("a", "The stall with ceramics opens at nine.", "The ferry to Porto leaves at seven.")...)
	for query, want := range map[string]string{
		"I liked the ceramics. And the ferry?": "The ferry",
		"I liked the ferry. And the ceramics?": "The stall",
		"我喜欢 ceramics。那么 ferry 呢？":             "The ferry",
	} {
		hits := find(t, e, search.Request{Query: query, AsOf: epoch}).Hits
		if len(hits) == 0 || !strings.HasPrefix(hits[0].Memory.Content, want) {
			t.Errorf("%q: found %v, want %q first", query, ids(hits), want)
		}
	}
}
