package search

import (
	"flag"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/memsidecar/memsidecar/internal/memory"
	"github.com/memsidecar/memsidecar/internal/search/analysis"
	"github.com/memsidecar/memsidecar/internal/search/embedding"
	"github.com/memsidecar/memsidecar/internal/search/vector"
	"github.com/memsidecar/memsidecar/internal/store/durable/crashfs"
)

var fitDir = flag.String("fit-gate", "", "directory of testdata/paraphrase-* and fitdata/paraphrase-*, to fit the gate on")

const (
	strangerShare  = 0.7  // of the weight of the negatives, for questions that belong to another store
	directionRidge = 0.1  // of the regression of 384 dimensions
	gateRidge      = 1e-3 // of the regressions of the gate
)

// TestFitGate fits the direction of prompts and the regressions of the gate, and judges the fit: each person's store is
// asked with regressions that were fitted without that person, and without his or her memories among the typical ones.
// It prints the regressions for gate.go, and the judgement without the direction and with it; -update writes the
// direction.
func TestFitGate(t *testing.T) {
	if *fitDir == "" {
		t.Skip("no -fit-gate DIR given")
	}
	f := newGateFit(t)
	f.askAll(t)
	for which, name := range []string{gateEnglish: "English", gateE5: "other", gateCross: "across languages"} {
		g := f.fit(func(c *fitCase) bool { return c.which == gateCase(which) }, allFeatures)
		t.Logf("%s: {%.4g, %.4g}", name, g.intercept, g.weights)
	}
	for _, group := range []string{"en", "zh", "cross"} {
		t.Log("without the direction of prompts:")
		f.judge(t, group, withoutDirection)
		t.Log("with it:")
		f.judge(t, group, allFeatures)
	}
}

// allFeatures and withoutDirection select features of gateInput, which ends with the direction.
func allFeatures(features []float64) []float64      { return features }
func withoutDirection(features []float64) []float64 { return features[:len(features)-1] }

// fitCase is a prompt put to a store.
type fitCase struct {
	group          string // en, zh, cross
	asker, owner   string
	category       string
	trap           bool
	needed         bool // a memory of the store answers it
	right          bool // one of the first three hits does
	identifier     bool
	which          gateCase
	known, unknown []float64 // features with and without the typical memories of asker and owner
}

func (c *fitCase) stranger() bool { return c.asker != c.owner }

type fitQuery struct {
	ID, Conv, Text, Category string
	Relevant                 []string
	Trap                     bool
	group                    string
}

type fitStore struct {
	conv, group string
	texts       []string
}

type gateFit struct {
	engine  *Engine
	stores  []fitStore
	queries []fitQuery
	cases   []fitCase
}

func newGateFit(t *testing.T) *gateFit {
	t.Helper()
	models := InsideModels(t)
	f := &gateFit{engine: New(Config{Models: models})}
	f.engine.needsMemory = fitDirection(t, models[0])
	dirs, err := filepath.Glob(filepath.Join(*fitDir, "*", "paraphrase-*"))
	if err != nil || len(dirs) == 0 {
		t.Fatalf("no sets in %s (%v)", *fitDir, err)
	}
	fsys := crashfs.New()
	for _, dir := range dirs {
		f.load(t, dir, fsys)
	}
	EmbedUntil(t, f.engine, fsys, f.embedded)
	return f
}

// load adds the stores and the prompts of one set.
func (f *gateFit) load(t *testing.T, dir string, fsys *crashfs.FS) {
	t.Helper()
	group := strings.TrimPrefix(filepath.Base(dir), "paraphrase-")
	memories := map[string][]*memory.Memory{}
	for i, d := range ReadLines[struct{ ID, Conv, Time, Text string }](t, filepath.Join(dir, "corpus.jsonl")) {
		at, err := time.Parse("2006-01-02T15:04:05", strings.TrimSuffix(d.Time, "Z"))
		if err != nil {
			t.Fatal(err)
		}
		if memories[d.Conv] == nil {
			f.stores = append(f.stores, fitStore{conv: d.Conv, group: group})
		}
		store := &f.stores[len(f.stores)-1]
		if store.conv != d.Conv {
			t.Fatalf("%s: the memories of %s are not together", dir, d.Conv)
		}
		store.texts = append(store.texts, d.Text)
		memories[d.Conv] = append(memories[d.Conv], &memory.Memory{
			ID: d.ID, Content: d.Text, Salience: 0.5, Source: memory.SourceUser, Confidence: 1, Status: memory.Active,
			CreatedAt: at.Add(time.Duration(i) * time.Microsecond),
		})
	}
	for conv, list := range memories {
		if err := f.engine.Load(conv, list, fsys); err != nil {
			t.Fatal(err)
		}
	}
	for _, q := range ReadLines[fitQuery](t, filepath.Join(dir, "queries.jsonl")) {
		q.group = group
		f.queries = append(f.queries, q)
	}
}

// embedded reports whether every memory has its vectors.
func (f *gateFit) embedded() bool {
	for _, s := range f.stores {
		if f.engine.EmbeddingCoverage(s.conv).Waiting > 0 {
			return false
		}
	}
	return true
}

// fitDirection fits the direction on testdata/prompts, which are about nobody of the sets.
func fitDirection(t *testing.T, e5 embedding.Model) vector.Quantized {
	t.Helper()
	var x [][]float64
	var y, w []float64
	for needs, name := range []string{"unrelated.txt", "asks.txt"} {
		data, err := os.ReadFile(filepath.Join("testdata", "prompts", name))
		if err != nil {
			t.Fatal(err)
		}
		for line := range strings.Lines(string(data)) {
			q, err := e5.EmbedQuery(t.Context(), strings.TrimSpace(line))
			if err != nil {
				t.Fatal(err)
			}
			x, y, w = append(x, unit(q.Vector)), append(y, float64(needs)), append(w, 1)
		}
	}
	fitted := fitLogistic(x, y, w, directionRidge)
	weights := make([]float32, len(fitted.weights))
	for i, v := range fitted.weights {
		weights[i] = float32(v)
	}
	direction, ok := vector.Quantize(weights)
	if !ok {
		t.Fatal("the direction is zero")
	}
	if flag.Lookup("update").Value.String() == "true" {
		var rows vector.Rows
		rows.Set(0, direction)
		data := vector.Encode(e5.Identity(), rows.Dim(), func(yield func(vector.Key, []int8) bool) {
			yield(promptDirectionKey, rows.Codes(0))
		})
		if err := os.WriteFile("prompt_direction.e5.vectors", data, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return direction
}

// unit is the vector with length 1.
func unit(q vector.Quantized) (v []float64) {
	squares := 0.0
	for _, c := range q.AppendCodes(nil) {
		v = append(v, float64(int8(c)))
		squares += v[len(v)-1] * v[len(v)-1]
	}
	for i := range v {
		v[i] /= math.Sqrt(squares)
	}
	return v
}

// askAll puts every prompt to its own store, and every paraphrase to the stores of other people in that language.
func (f *gateFit) askAll(t *testing.T) {
	t.Helper()
	person := func(conv string) string { _, name, _ := strings.Cut(conv, "-"); return name }
	language := map[string]bool{}
	for _, s := range f.stores {
		language[s.conv] = analysis.HasHan(s.texts[0])
	}
	for i := range f.queries {
		q := &f.queries[i]
		for j := range f.stores {
			s := &f.stores[j]
			own := s.conv == q.Conv
			if q.Category == "absent" || s.group != q.group || !own &&
				(q.Category != "paraphrase" || person(s.conv) == person(q.Conv) || language[s.conv] != language[q.Conv]) {
				continue
			}
			c := fitCase{
				group: q.group, asker: person(q.Conv), owner: person(s.conv), category: q.Category, trap: q.Trap,
				needed: own && len(q.Relevant) > 0,
			}
			f.ask(t, q, s, &c)
			f.cases = append(f.cases, c)
		}
	}
}

// ask sets the features and the hits of a case.
func (f *gateFit) ask(t *testing.T, q *fitQuery, s *fitStore, c *fitCase) {
	t.Helper()
	e := f.engine
	req := Request{Spaces: []string{s.conv}, Query: q.Text, K: 5, Implicit: true, Arm: Fusion}
	if err := req.validate(e.now); err != nil {
		t.Fatal(err)
	}
	in, err := e.use(t.Context(), req.Spaces)
	if err != nil {
		t.Fatal(err)
	}
	defer in.release()
	a, scratch := e.analyzers.get(), e.scratches.get()
	r := newRanking(&req, a.parseQuery(&req), e, scratch, sourceIndexes(&req, in))
	r.embedQueries = e.queryEmbedder(t.Context(), &req)
	if !r.useEvidence() {
		t.Fatalf("%q is not ranked by evidence", q.Text)
	}
	src := req.sources()[0]
	r.collectByEvidence(r.indexOf(src), src, scratch)
	c.which, c.known = r.gateInput(e.typical)
	_, c.unknown = r.gateInput(e.typical.without(f.textsOf(c.asker, c.owner)))
	c.identifier = r.gate.identifiers > 0
	r.gate.identifiers = 1 // speak, to see what would be shown
	r.rankByEvidence()
	hits := r.selectHits(a)
	for _, h := range hits[:min(3, len(hits))] {
		c.right = c.right || slices.Contains(q.Relevant, h.Memory.ID)
	}
}

// textsOf lists the memories of people.
func (f *gateFit) textsOf(people ...string) (texts []string) {
	for _, s := range f.stores {
		_, person, _ := strings.Cut(s.conv, "-")
		if slices.Contains(people, person) {
			texts = append(texts, s.texts...)
		}
	}
	return texts
}

// without returns the typical memories but for some texts.
func (t *typicalMemories) without(texts []string) *typicalMemories {
	var rest typicalMemories
	drop := map[vector.Key]bool{}
	for _, text := range texts {
		drop[vector.KeyOf(text)] = true
	}
	for i := range t {
		rest[i] = slices.DeleteFunc(slices.Clone(t[i]), func(v typicalVector) bool { return drop[v.key] })
	}
	return &rest
}

// fit makes the regression of the cases that are selected. Positive and negative cases weigh as much, and of the
// negatives the questions of strangers strangerShare. Each case is used with the typical memories of its people and
// without.
func (f *gateFit) fit(selected func(*fitCase) bool, features func([]float64) []float64) regression {
	var n [3]float64 // needed, unrelated, of strangers
	kind := func(c *fitCase) int {
		switch {
		case c.needed:
			return 0
		case c.stranger():
			return 2
		}
		return 1
	}
	used := func(c *fitCase) bool { return selected(c) && !c.identifier && c.known != nil }
	for i := range f.cases {
		if c := &f.cases[i]; used(c) {
			n[kind(c)]++
		}
	}
	weight := [3]float64{1, (1 - strangerShare) * n[0] / n[1], strangerShare * n[0] / n[2]}
	var x [][]float64
	var y, w []float64
	for i := range f.cases {
		c := &f.cases[i]
		if !used(c) {
			continue
		}
		needed := 0.0
		if c.needed {
			needed = 1
		}
		for _, input := range [][]float64{c.unknown, c.known} {
			x, y, w = append(x, features(input)), append(y, needed), append(w, weight[kind(c)])
		}
	}
	return fitLogistic(x, y, w, gateRidge)
}

// judge prints what is answered in a group by regressions that did not see the owner of the store.
func (f *gateFit) judge(t *testing.T, group string, features func([]float64) []float64) {
	t.Helper()
	logits := make([]float64, len(f.cases))
	var of []int
	fitted := map[string]regression{}
	for i := range f.cases {
		c := &f.cases[i]
		if c.group != group {
			continue
		}
		of = append(of, i)
		if c.identifier || c.unknown == nil {
			logits[i] = math.Inf(1)
			if !c.identifier {
				logits[i] = math.Inf(-1)
			}
			continue
		}
		key := fmt.Sprint(c.owner, c.which)
		if _, ok := fitted[key]; !ok {
			fitted[key] = f.fit(func(o *fitCase) bool {
				return o.which == c.which && o.owner != c.owner && o.asker != c.owner
			}, features)
		}
		logits[i] = fitted[key].logit(features(c.unknown))
	}
	t.Logf("%-6s shift  answered  right  overlap  unrelated silent  traps  other store silent", group)
	for _, shift := range []float64{0.2, 0, -0.2, -0.4, -0.6} {
		count := map[string][2]float64{}
		add := func(row string, yes bool) {
			n := count[row]
			n[1]++
			if yes {
				n[0]++
			}
			count[row] = n
		}
		for _, i := range of {
			c, spoken := &f.cases[i], logits[i]+shift > 0
			switch {
			case c.needed && c.category == "paraphrase":
				add("answered", spoken)
				if spoken {
					add("right", c.right)
				}
			case c.needed:
				add(c.category, spoken)
			case c.stranger():
				add("stranger", !spoken)
			default:
				add("unrelated", !spoken)
				if c.trap {
					add("trap", !spoken)
				}
			}
		}
		share := func(row string) float64 { return count[row][0] / count[row][1] }
		t.Logf("%-6s %5.1f %9.3f %6.3f %8.3f %17.3f %6.3f %19.3f", group, shift, share("answered"), share("right"),
			share("overlap"), share("unrelated"), share("trap"), share("stranger"))
	}
}
