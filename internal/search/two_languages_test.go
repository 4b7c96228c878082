package search_test

import (
	"flag"
	"path/filepath"
	"slices"
	"testing"

	"github.com/memsidecar/memsidecar/internal/memory"
	"github.com/memsidecar/memsidecar/internal/search"
	"github.com/memsidecar/memsidecar/internal/search/analysis"
)

var allPairs = flag.Bool("pairs", false, "put the memories of every two people together that speak two languages")

// TestTwoLanguages asks stores with the memories of two people, one in English and one in Chinese, in both languages.
// The memories of the other language must not drown. With -pairs it also recalls for the questions as prompts.
func TestTwoLanguages(t *testing.T) {
	p := newPairs(t)
	asked, first, three := map[languages]float64{}, map[languages]float64{}, map[languages]float64{}
	spoken, shown := map[languages]float64{}, map[languages]float64{}
	for _, pair := range p.pairs {
		for _, set := range []string{"paraphrase-en", "paraphrase-zh", "paraphrase-cross"} {
			for _, q := range search.ReadLines[evalQuery](t, filepath.Join(pairsDir, set, "queries.jsonl")) {
				if q.Category != "paraphrase" || !pair.holds[p.texts[q.Relevant[0]]] {
					continue
				}
				key := languages{analysis.HasHan(q.Text), analysis.HasHan(p.texts[q.Relevant[0]])}
				asked[key]++
				at, _ := p.ask(t, pair, q, false)
				if at == 0 {
					first[key]++
				}
				if at >= 0 {
					three[key]++
				}
				if !*allPairs {
					continue
				}
				at, hits := p.ask(t, pair, q, true)
				if hits > 0 {
					spoken[key]++
				}
				if at >= 0 {
					shown[key]++
				}
			}
		}
	}
	for key, n := range asked {
		t.Logf("Chinese question %v, Chinese memory %v: first %.2f, among the first three %.2f of %.0f", key.question,
			key.memory, first[key]/n, three[key]/n, n)
		if *allPairs {
			t.Logf("	as a prompt: answered %.2f, a right one shown %.2f", spoken[key]/n, shown[key]/n)
		}
		if three[key]/n < 0.2 { // .04 without the weight of the other language
			t.Errorf("Chinese question %v, Chinese memory %v: only %.2f", key.question, key.memory, three[key]/n)
		}
	}
}

// ask returns which of the first three hits is relevant, -1 for none, and how many there are.
func (p *pairs) ask(t *testing.T, pair pair, q evalQuery, implicit bool) (at, hits int) {
	t.Helper()
	resp := find(t, p.engine, search.Request{
		Spaces: []string{pair.space}, Query: q.Text, K: 3, Arm: search.Fusion, Implicit: implicit,
	})
	return slices.IndexFunc(resp.Hits, func(h search.Hit) bool {
		return slices.ContainsFunc(q.Relevant, func(id string) bool { return p.texts[id] == h.Memory.Content })
	}), len(resp.Hits)
}

var pairsDir = filepath.Join("..", "..", "bench", "retrieval", "testdata")

// languages says which of a question and its memory are Chinese.
type languages struct{ question, memory bool }

// pairs are spaces with the memories of two people.
type pairs struct {
	engine *search.Engine
	texts  map[string]string // of the memories, by id; the set across languages has the same ones with other ids
	pairs  []pair
}

type pair struct {
	space string
	holds map[string]bool // texts
}

// newPairs returns the first pair, or all, with their vectors.
func newPairs(t *testing.T) *pairs {
	t.Helper()
	p := &pairs{engine: search.New(search.Config{Models: search.InsideModels(t)}), texts: map[string]string{}}
	people := map[bool][]string{} // by whether they speak Chinese
	memories := map[string][]*memory.Memory{}
	for _, set := range []string{"paraphrase-en", "paraphrase-zh", "paraphrase-cross"} {
		for i, d := range search.ReadLines[evalDoc](t, filepath.Join(pairsDir, set, "corpus.jsonl")) {
			p.texts[d.ID] = d.Text
			if set == "paraphrase-cross" {
				continue
			}
			if memories[d.Conv] == nil {
				people[set == "paraphrase-zh"] = append(people[set == "paraphrase-zh"], d.Conv)
			}
			memories[d.Conv] = append(memories[d.Conv], evalMemory(d, i))
		}
	}
	for _, chinese := range people[true] {
		for _, english := range people[false] {
			if len(p.pairs) == 0 || *allPairs {
				p.add(t, chinese+"-"+english, slices.Concat(memories[chinese], memories[english]))
			}
		}
	}
	return p
}

// add adds a space with its vectors.
func (p *pairs) add(t *testing.T, space string, memories []*memory.Memory) {
	t.Helper()
	one := pair{space, map[string]bool{}}
	for _, m := range memories {
		one.holds[m.Content] = true
	}
	if err := p.engine.Load(space, memories, newDir(t)); err != nil {
		t.Fatal(err)
	}
	embedAll(t, p.engine, space)
	p.pairs = append(p.pairs, one)
}
